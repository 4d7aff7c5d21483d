/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exclusive use: a LUN, and an array, is in one place of one volume of this host, whatever the
 * names, portals and network namespaces are. Two disks over the same blocks would overwrite each
 * other.
 *
 * A mutex, a leaf, covers the list of owners, and keeps the volumes that are on it.
 */
#ifndef ISTRIPE_BLOCK_EXCLUSIVE_H
#define ISTRIPE_BLOCK_EXCLUSIVE_H

#include <linux/list.h>
#include <linux/types.h>

struct istripe_reason;
struct istripe_volume;

struct istripe_exclusive {
	struct list_head entry;	/* on the list of volumes that have claimed their LUNs */
	bool array;		/* the array of its superblocks is claimed, too */
};

/*
 * Claims the LUNs of legs that are identified, before anything is written on them. -EINVAL a LUN is
 * in two places of the volume; -EBUSY another volume has it.
 */
int istripe_exclusive_luns(struct istripe_volume *volume, struct istripe_reason *why);

/*
 * Claims the array, if there are superblocks, after the LUNs: copies of LUNs have other designators
 * and the same array. -EBUSY another volume has it.
 */
int istripe_exclusive_array(struct istripe_volume *volume, struct istripe_reason *why);

/* Gives up all claims, if any; the legs are stopped. */
void istripe_exclusive_drop(struct istripe_volume *volume);

#endif
