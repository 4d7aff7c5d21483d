/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exclusive use: a LUN, and an array, is in one place of one volume of this host, whatever the
 * names, portals and network namespaces are, and in no other disk. Two disks over the same blocks
 * would overwrite each other.
 *
 * Other disks are those that another initiator of this host reaches (open-iscsi, Fibre Channel).
 * They are recognized by their designators, or by their serial numbers when they have none. Disks
 * that come while the volume is up are claimed, so that nobody mounts them, as soon as their driver
 * is bound, or as soon as whoever was faster lets go.
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
	bool ending;			/* no news of disks any more */
	bool array;			/* the array of its superblocks is claimed, too */
	struct list_head known;		/* the disks, each claimed if that was possible */
	struct delayed_work work;	/* handles disks that have come, are let go, or are gone */
	atomic_t checks;		/* of the work, since the last event */
};

void istripe_host_disks_init(struct istripe_volume *volume);

/*
 * Claims the LUNs of legs that are identified, before anything is written on them. -EINVAL a LUN is
 * in two places of the volume; -EBUSY another volume has it, or this host uses it as another disk
 * or, if @policy says so, has such a disk; -ENOMEM.
 *
 * A disk is in use when it, or a partition of it, is claimed: mounted, swapped to, or part of
 * another device. Sleeps as long as the other initiator takes to open a disk. A disk that is not
 * ready after ten seconds is handled like one that comes later.
 */
int istripe_host_disks_start(struct istripe_volume *volume, enum istripe_host_disk policy,
			     struct istripe_reason *why);

/*
 * Claims the array, if there are superblocks, after the LUNs: copies of LUNs have other designators
 * and the same array. -EBUSY another volume has it.
 */
int istripe_host_disks_claim_array(struct istripe_volume *volume, struct istripe_reason *why);

/* Gives up all claims; the legs are stopped. Sleeps as long as the other initiator, as above. */
void istripe_host_disks_stop(struct istripe_volume *volume);

/* Module init and exit: the class of SCSI devices reports those that come and go, the bus when. */
int istripe_host_disks_register(void);
void istripe_host_disks_unregister(void);

#endif
