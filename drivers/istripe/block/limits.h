/* SPDX-License-Identifier: GPL-2.0 */
/* Queue limits of a volume, from its LUNs and its geometry. */
#ifndef ISTRIPE_BLOCK_LIMITS_H
#define ISTRIPE_BLOCK_LIMITS_H

#include <compat/disk.h>

struct istripe_lun;
struct istripe_volume;

/**
 * istripe_limits_unmap() - does the LUN take UNMAP
 * @lun: the LUN
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_limits_unmap(const struct istripe_lun *lun);

/**
 * istripe_limits_zeroes_by_unmap() - may WRITE SAME with zeroes set the UNMAP bit
 * @lun: the LUN
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_limits_zeroes_by_unmap(const struct istripe_lun *lun);

/**
 * istripe_limits_at_least() - does a LUN take all commands that another one takes
 * @lun: as a nexus found it
 * @needed: as it was when the queue limits were made
 *
 * Of a LUN that is write protected only what is read counts.
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_limits_at_least(const struct istripe_lun *lun, const struct istripe_lun *needed);

/**
 * istripe_limits_derive() - what the block layer may ask of a volume
 * @volume: legs identified, geometry set
 * @limits: filled
 *
 * Context: process.
 */
void istripe_limits_derive(const struct istripe_volume *volume,
			   struct istripe_disk_limits *limits);

#endif
