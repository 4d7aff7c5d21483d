/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCSI disks of this host that are LUNs of a volume's legs, reached through another initiator
 * (open-iscsi, Fibre Channel). They are recognized by their designators, or by their serial numbers
 * when they have none. Disks that come while the volume is up are claimed, so that nobody mounts
 * them, as soon as their driver is bound, or as soon as whoever was faster lets go.
 *
 * A mutex covers the list of started volumes and the disks that they know. The callbacks of the
 * class and of the bus of SCSI devices take it, so nothing waits while it is held.
 */
#ifndef ISTRIPE_BLOCK_HOST_DISK_H
#define ISTRIPE_BLOCK_HOST_DISK_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <istripe/params.h>

struct istripe_reason;
struct istripe_volume;

struct istripe_host_disks {
	struct list_head entry;		/* on the list of started volumes, or empty */
	struct list_head known;		/* the disks, each claimed if that was possible */
	struct delayed_work work;	/* handles disks that have come, are let go, or are gone */
	atomic_t checks;		/* of the work, since the last event */
};

void istripe_host_disks_init(struct istripe_volume *volume);

/*
 * -EBUSY when this host uses a LUN of the volume as another disk or, if @policy says so, when there
 * is such a disk; -ENOMEM. The legs are identified and claimed; nothing has been written on them.
 *
 * A disk is in use when it, or a partition of it, is claimed: mounted, swapped to, or part of
 * another device. Sleeps as long as the other initiator takes to open a disk. A disk that is not
 * ready after ten seconds is handled like one that comes later.
 */
int istripe_host_disks_start(struct istripe_volume *volume, enum istripe_host_disk policy,
			     struct istripe_reason *why);

/* Releases the disks; the legs are stopped. Sleeps as long as the other initiator, as above. */
void istripe_host_disks_stop(struct istripe_volume *volume);

/* Module init and exit: the class of SCSI devices reports those that come and go, the bus when. */
int istripe_host_disks_register(void);
void istripe_host_disks_unregister(void);

#endif
