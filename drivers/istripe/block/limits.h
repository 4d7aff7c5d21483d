/* SPDX-License-Identifier: GPL-2.0 */
/* Queue limits of a volume, from its LUNs and its geometry. */
#ifndef ISTRIPE_BLOCK_LIMITS_H
#define ISTRIPE_BLOCK_LIMITS_H

#include <compat/disk.h>

struct istripe_leg;
struct istripe_lun;
struct istripe_volume;

/* Does the LUN take UNMAP? */
bool istripe_limits_unmap(const struct istripe_lun *lun);

/* May WRITE SAME with zeroes set the UNMAP bit? */
bool istripe_limits_zeroes_by_unmap(const struct istripe_lun *lun);

/*
 * Does @lun take all reads and writes that the disk sends to @leg, by the queue limits that were
 * made of leg->lun? Of a LUN that is write protected only reads count.
 */
bool istripe_limits_at_least(const struct istripe_leg *leg, const struct istripe_lun *lun);

/* @lun is @common over another path, before any limit is made: what holds over both. */
void istripe_limits_narrow(struct istripe_lun *common, const struct istripe_lun *lun);

/*
 * @lun is @leg over another path, and istripe_limits_at_least(): lowers the limits of UNMAP and
 * WRITE SAME, of @leg and of a disk that runs, and the longest read or write of the disk. Under
 * identify_lock.
 */
void istripe_limits_lower(struct istripe_leg *leg, const struct istripe_lun *lun);

/* The LUN has refused so many blocks of a discard. True: it takes less; the limit is lowered. */
bool istripe_limits_discard_is_long(const struct istripe_leg *leg, u64 blocks);

/* For a volume whose legs are identified and whose geometry is set. */
void istripe_limits_derive(const struct istripe_volume *volume,
			   struct istripe_disk_limits *limits);

#endif
