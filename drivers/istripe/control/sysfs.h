/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a running volume shows and lets tune below its disk, in
 * /sys/block/istripeN/istripe. See Documentation/ABI/testing/sysfs-block-istripe.
 */
#ifndef ISTRIPE_CONTROL_SYSFS_H
#define ISTRIPE_CONTROL_SYSFS_H

struct istripe_path;
struct istripe_volume;

/**
 * istripe_sysfs_create() - make the tree of a volume
 * @volume: just started
 *
 * The disk has already been announced without it, so the disk is announced again
 * as changed when the tree is complete.
 *
 * Context: process, GFP_KERNEL.
 * Return: 0; -ENOMEM or another error of sysfs, then there is no tree.
 */
int istripe_sysfs_create(struct istripe_volume *volume);

/**
 * istripe_sysfs_remove() - remove the tree of a volume
 * @volume: about to be stopped; it may have no tree
 *
 * Afterwards no file of the tree is being read or written, nor will be.
 *
 * Context: process, sleeps; not from a file of the tree.
 */
void istripe_sysfs_remove(struct istripe_volume *volume);

/**
 * istripe_sysfs_add_path() - make the directories of a path that has come
 * @path: of a volume that has its tree
 *
 * Context: process, GFP_KERNEL; no other change of the volume meanwhile.
 * Return: 0; -ENOMEM or another error of sysfs, then there are none.
 */
int istripe_sysfs_add_path(struct istripe_path *path);

/**
 * istripe_sysfs_remove_path() - remove the directories of a path that goes
 * @path: the path
 *
 * Context: process, sleeps; not from a file of them.
 */
void istripe_sysfs_remove_path(struct istripe_path *path);

/**
 * istripe_sysfs_add_sessions() - make those of a path's sessions and connections only
 * @path: has its own directory
 *
 * Context: process, GFP_KERNEL; no other change of the volume meanwhile.
 * Return: 0; -ENOMEM or another error of sysfs, then there are none.
 */
int istripe_sysfs_add_sessions(struct istripe_path *path);

/**
 * istripe_sysfs_remove_sessions() - undo istripe_sysfs_add_sessions()
 * @path: the path
 *
 * Context: process, sleeps; not from a file of them.
 */
void istripe_sysfs_remove_sessions(struct istripe_path *path);

#endif
