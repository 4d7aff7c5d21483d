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
extern const struct attribute_group *istripe_disk_names_groups[];

/* Makes @volume->device, once legs and metadata are known. */
int istripe_disk_names_create(struct istripe_volume *volume);

/* After the disk is deleted; waits for readers. */
void istripe_disk_names_destroy(struct istripe_volume *volume);

/* Module init and exit: the class of these devices. */
int istripe_disk_names_init(void);
void istripe_disk_names_exit(void);

#endif
