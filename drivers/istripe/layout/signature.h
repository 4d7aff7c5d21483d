/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signatures: bytes at fixed places near the start of a LUN, or its end, by which others (file
 * systems, volume managers, partition tables, databases) know what is theirs. A LUN that carries
 * one is not taken for a new array without being told to.
 */
#ifndef ISTRIPE_LAYOUT_SIGNATURE_H
#define ISTRIPE_LAYOUT_SIGNATURE_H

#include <linux/types.h>

#define ISTRIPE_SIGNATURE_BLOCK_BYTES	4096u	/* no signature straddles such a border */
#define ISTRIPE_SIGNATURE_AREA_BYTES	(68u << 10)	/* those near the start are within */

/**
 * istripe_signature_place() - enumerate the places to look at
 * @lun_bytes: size of the LUN
 * @n: 0, 1, ... until there are no more
 * @at_bytes: set to where the block starts, a multiple of its size
 *
 * A small LUN may have a block twice.
 *
 * Return: true; false: all places have been told.
 */
bool istripe_signature_place(u64 lun_bytes, u32 n, u64 *at_bytes);

/**
 * istripe_signature_find() - name the signature in a block
 * @block: ISTRIPE_SIGNATURE_BLOCK_BYTES of a LUN
 * @lun_bytes: its size
 * @at_bytes: where on the LUN they are, from istripe_signature_place()
 * Return: what it is, as a phrase that goes after "it holds"; NULL: nothing known.
 */
const char *istripe_signature_find(const void *block, u64 lun_bytes, u64 at_bytes);

/**
 * istripe_signature_is_zfs() - is it a label of ZFS
 * @what: from istripe_signature_find()
 * Return: true: istripe_signature_zfs_block() tells what else is to be wiped.
 */
bool istripe_signature_is_zfs(const char *what);

/**
 * istripe_signature_zfs_block() - enumerate the blocks of the labels of ZFS, in the order to wipe
 * @lun_bytes: size of the LUN
 * @n: 0, 1, ... until there are no more
 * @at_bytes: set to where the block starts
 *
 * A pool has four labels, and is known by each one. The block that istripe_signature_find() knows
 * is the last one of a label, so that what is left of a wipe that was cut short is found again.
 *
 * Return: true; false: all blocks have been told, or the LUN is smaller than the labels.
 */
bool istripe_signature_zfs_block(u64 lun_bytes, u32 n, u64 *at_bytes);

#endif
