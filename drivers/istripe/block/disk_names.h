/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The identity of a disk for programs such as udev, lsblk and LVM. They read it in sysfs, from the
 * disk and from its parent device, as for SCSI and NVMe.
 */
#ifndef ISTRIPE_BLOCK_DISK_NAMES_H
#define ISTRIPE_BLOCK_DISK_NAMES_H

struct attribute_group;
struct istripe_volume;

/* For device_add_disk(). */
extern const struct attribute_group *istripe_parent_disk_groups[];

/* Makes @volume->device, once legs and metadata are known. */
int istripe_parent_create(struct istripe_volume *volume);

/* After the disk is deleted; waits for readers. */
void istripe_parent_destroy(struct istripe_volume *volume);

/* Module init and exit: the class of these devices. */
int istripe_parent_init(void);
void istripe_parent_exit(void);

#endif
