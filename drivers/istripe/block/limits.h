/* SPDX-License-Identifier: GPL-2.0 */
/* Queue limits of a volume, from its LUNs and its geometry. */
#ifndef ISTRIPE_BLOCK_LIMITS_H
#define ISTRIPE_BLOCK_LIMITS_H

#include <compat/disk.h>

struct istripe_lun;
struct istripe_volume;

/* Does the LUN take UNMAP? */
bool istripe_limits_unmap(const struct istripe_lun *lun);

/* May WRITE SAME with zeroes set the UNMAP bit? */
bool istripe_limits_zeroes_by_unmap(const struct istripe_lun *lun);

/*
 * Does @lun take all reads and writes that it took when the queue limits were made (@needed)? Of a
 * LUN that is write protected only reads count.
 */
bool istripe_limits_at_least(const struct istripe_lun *lun, const struct istripe_lun *needed);

/* @lun is @common over another path, before any limit is made: what holds over both. */
void istripe_limits_narrow(struct istripe_lun *common, const struct istripe_lun *lun);

/* For a volume whose legs are identified and whose geometry is set. */
void istripe_limits_derive(const struct istripe_volume *volume,
			   struct istripe_disk_limits *limits);

#endif
