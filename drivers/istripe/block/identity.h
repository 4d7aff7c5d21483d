/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a disk says of itself to programs that look for disks: udev, lsblk, LVM. They read
 * it in sysfs, from the disk and from the device that it belongs to, as for SCSI and NVMe.
 */
#ifndef ISTRIPE_BLOCK_IDENTITY_H
#define ISTRIPE_BLOCK_IDENTITY_H

struct attribute_group;
struct istripe_volume;

/* Of the disk itself; for device_add_disk(). */
extern const struct attribute_group *istripe_identity_disk_groups[];

/**
 * istripe_identity_create() - make the device that the disk belongs to
 * @volume: its legs and metadata are known; @volume->device is set
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int istripe_identity_create(struct istripe_volume *volume);

/**
 * istripe_identity_destroy() - undo istripe_identity_create()
 * @volume: its disk is deleted
 *
 * Context: process; waits for those who read.
 */
void istripe_identity_destroy(struct istripe_volume *volume);

/**
 * istripe_identity_init() - make the class of these devices
 *
 * Context: module init.
 * Return: 0 or -errno.
 */
int istripe_identity_init(void);

/**
 * istripe_identity_exit() - undo istripe_identity_init()
 *
 * Context: module exit, no volumes left.
 */
void istripe_identity_exit(void);

#endif
