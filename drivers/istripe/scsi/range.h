/* SPDX-License-Identifier: GPL-2.0 */
/* A range of logical blocks. An empty one meets no other. */
#ifndef ISTRIPE_SCSI_RANGE_H
#define ISTRIPE_SCSI_RANGE_H

#include <linux/minmax.h>
#include <linux/types.h>

struct istripe_range {
	u64 lba;
	u64 end;			/* behind the last block */
};

/**
 * istripe_range_blocks() - length of a range
 * @range: any
 * Return: blocks.
 */
static inline u64 istripe_range_blocks(const struct istripe_range *range)
{
	return range->end - range->lba;
}

/**
 * istripe_range_share() - the blocks that two ranges have in common
 * @a: a range
 * @b: another one
 * @shared: filled; of no use when there are none
 * Return: whether there are any.
 */
static inline bool istripe_range_share(const struct istripe_range *a,
				       const struct istripe_range *b,
				       struct istripe_range *shared)
{
	shared->lba = max(a->lba, b->lba);
	shared->end = min(a->end, b->end);
	return shared->lba < shared->end;
}

/**
 * istripe_range_meets() - have two ranges blocks in common?
 * @a: a range
 * @b: another one
 * Return: whether they have.
 */
static inline bool istripe_range_meets(const struct istripe_range *a,
				       const struct istripe_range *b)
{
	struct istripe_range shared;

	return istripe_range_share(a, b, &shared);
}

/**
 * istripe_range_add() - extend a range to one that has another one, too
 * @range: may be empty
 * @other: not empty
 */
static inline void istripe_range_add(struct istripe_range *range,
				     const struct istripe_range *other)
{
	bool empty = range->lba == range->end;

	range->lba = empty ? other->lba : min(range->lba, other->lba);
	range->end = empty ? other->end : max(range->end, other->end);
}

#endif
