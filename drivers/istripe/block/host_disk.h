/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCSI disks of this host that are LUNs of a volume's legs, reached through another initiator
 * (open-iscsi, Fibre Channel): known by their designators, or by their serial numbers when they
 * have none.
 *
 * Disks that come while the volume is up are claimed, so that nobody mounts them.
 *
 * A mutex covers which volumes are started and which disks they know. It is taken within
 * functions of the class of SCSI devices, and nothing that waits is done within it.
 */
#ifndef ISTRIPE_BLOCK_HOST_DISK_H
#define ISTRIPE_BLOCK_HOST_DISK_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <istripe/params.h>

struct istripe_volume;

/**
 * struct istripe_host_disks - SCSI disks that are LUNs of a volume
 * @entry:	on the list of all volumes that are started; empty when this one is not
 * @known:	the disks, each claimed if that was possible
 * @work:	at those that have come or gone
 */
struct istripe_host_disks {
	struct list_head entry;
	struct list_head known;
	struct work_struct work;
};

/**
 * istripe_host_disks_init() - nothing is known yet
 * @volume: fresh
 *
 * Context: any.
 */
void istripe_host_disks_init(struct istripe_volume *volume);

/**
 * istripe_host_disks_start() - make sure that this host uses no LUN of the volume as another disk
 * @volume: all of its legs are identified and claimed; nothing has been written on them
 * @policy: what to do about disks that are there, but not in use
 * @why: reason on failure
 * @why_bytes: its size
 *
 * In use is what is claimed: mounted, swapped to, or part of another device, with all or a
 * partition of it.
 *
 * Context: process, sleeps; as long as the other initiator takes to open a disk.
 * Return: 0; -EBUSY one is in use, or there; -ENOMEM.
 */
int istripe_host_disks_start(struct istripe_volume *volume, enum istripe_host_disk policy,
			     char *why, size_t why_bytes);

/**
 * istripe_host_disks_stop() - others may have the disks
 * @volume: its legs are stopped; it may not have been started
 *
 * Context: process, sleeps; as long as SCSI disks that have just come take to get ready.
 */
void istripe_host_disks_stop(struct istripe_volume *volume);

/**
 * istripe_host_disks_register() - have SCSI devices of the host shown to us
 *
 * Context: module init.
 * Return: 0 or -errno.
 */
int istripe_host_disks_register(void);

/**
 * istripe_host_disks_unregister() - undo istripe_host_disks_register()
 *
 * Context: module exit, no volumes left.
 */
void istripe_host_disks_unregister(void);

#endif
