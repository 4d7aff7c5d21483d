/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a running volume below its disk, in /sys/block/istripeN/istripe. See
 * Documentation/ABI/testing/sysfs-block-istripe.
 */
#ifndef ISTRIPE_CONTROL_SYSFS_H
#define ISTRIPE_CONTROL_SYSFS_H

struct istripe_path;
struct istripe_volume;

/*
 * Makes the tree of a volume that has just started: 0, or an error of sysfs and no tree. The disk
 * has been announced without it, so it is announced again, as changed.
 */
int istripe_sysfs_create(struct istripe_volume *volume);

/* Waits until no file of the tree is in use, so must not be called from one. No tree is fine. */
void istripe_sysfs_remove(struct istripe_volume *volume);

/* Of a volume with a tree that nothing else changes: 0, or an error of sysfs and no directories. */
int istripe_sysfs_add_path(struct istripe_path *path);

/* Waits until none of its files is in use. */
void istripe_sysfs_remove_path(struct istripe_path *path);

/* Only the directories of a path's sessions and connections. */
int istripe_sysfs_add_sessions(struct istripe_path *path);

void istripe_sysfs_remove_sessions(struct istripe_path *path);

#endif
