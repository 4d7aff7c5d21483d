/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the volumes of this host have claimed: one LUN, and one array, is in one place of one
 * volume, whatever the names, portals and network namespaces are. Two disks over the same
 * blocks would overwrite each other.
 *
 * A lock of its own covers the list, and that what is on it does not go; it is a leaf.
 */
#ifndef ISTRIPE_BLOCK_EXCLUSIVE_H
#define ISTRIPE_BLOCK_EXCLUSIVE_H

#include <linux/list.h>
#include <linux/types.h>

struct istripe_leg;
struct istripe_volume;

/**
 * struct istripe_exclusive - what a volume has claimed
 * @entry:	on the list of all that have claimed their LUNs
 * @array:	and the array of their superblocks
 */
struct istripe_exclusive {
	struct list_head entry;
	bool array;
};

/**
 * istripe_exclusive_find() - which leg is a LUN
 * @volume: all of its legs are identified, or the first @end
 * @end: so many legs are looked at
 * @designator: the LUN
 *
 * Context: any that keeps the volume.
 * Return: the first such leg, or NULL.
 */
const struct istripe_leg *istripe_exclusive_find(const struct istripe_volume *volume, u32 end,
						 const char *designator);

/**
 * istripe_exclusive_luns() - claim the LUNs of a volume's legs
 * @volume: all of its legs are identified; nothing has been written on them
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process.
 * Return: 0; -EINVAL a LUN is in two places of the volume; -EBUSY another volume has it.
 */
int istripe_exclusive_luns(struct istripe_volume *volume, char *why, size_t why_bytes);

/**
 * istripe_exclusive_array() - claim the array that a volume's superblocks are of
 * @volume: has claimed its LUNs, and its superblocks make an array, or it has none
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Copies of LUNs have other designators, and the same array.
 *
 * Context: process.
 * Return: 0; -EBUSY another volume has it.
 */
int istripe_exclusive_array(struct istripe_volume *volume, char *why, size_t why_bytes);

/**
 * istripe_exclusive_drop() - others may have all of it
 * @volume: its legs are stopped; it may have claimed nothing
 *
 * Context: process.
 */
void istripe_exclusive_drop(struct istripe_volume *volume);

#endif
