// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "scsi/atomic.h"

#define SECTOR_SHIFT_BYTES	9

/* WRITE ATOMIC(16) has 16 bits for its length. */
#define BLOCKS_MAX		U16_MAX

/* Cut the longest command, and with it the longest write; what is left may be no offer. */
static void atomic_cut(struct istripe_atomic *offer, u32 max_bytes)
{
	max_bytes = min(offer->max_bytes, max_bytes);
	if (!offer->unit_min_bytes || max_bytes < offer->unit_min_bytes) {
		*offer = (struct istripe_atomic) {};
		return;
	}
	offer->max_bytes = max_bytes & ~(offer->unit_min_bytes - 1);
	offer->unit_max_bytes = rounddown_pow_of_two(offer->max_bytes);
}

static bool grain_valid(u32 blocks)
{
	return !blocks || (is_power_of_2(blocks) && blocks <= BLOCKS_MAX);
}

void istripe_atomic_of_lun(const struct istripe_vpd_block_limits *limits,
			   const struct istripe_vpd_capacity *capacity,
			   struct istripe_atomic *offer)
{
	u32 physical = capacity->physical_block_bytes / capacity->block_bytes;
	u32 most = min_t(u32, limits->max_atomic, BLOCKS_MAX);

	*offer = (struct istripe_atomic) {};
	if (!grain_valid(limits->atomic_alignment) || !grain_valid(limits->atomic_granularity))
		return;
	if (limits->max_transfer)
		most = min(most, limits->max_transfer);
	offer->alignment_bytes = max(limits->atomic_alignment, 1u) * capacity->block_bytes;
	/* A write that is as long as the alignment has it, wherever it is. */
	offer->unit_min_bytes = max(limits->atomic_granularity ?: physical,
				    limits->atomic_alignment) * capacity->block_bytes;
	offer->max_bytes = most * capacity->block_bytes;
	atomic_cut(offer, U32_MAX);
}

void istripe_atomic_narrow(struct istripe_atomic *offer, const struct istripe_atomic *other)
{
	offer->alignment_bytes = max(offer->alignment_bytes, other->alignment_bytes);
	/* No offer stays none: its max_bytes is 0. */
	offer->unit_min_bytes = max(offer->unit_min_bytes, other->unit_min_bytes);
	atomic_cut(offer, other->max_bytes);
}

/* Where the data start moves every write on the LUN. */
static bool place_aligned(const struct istripe_atomic *offer, const struct istripe_stripe *s)
{
	return !((s->leg_offset_sectors << SECTOR_SHIFT_BYTES) & (offer->alignment_bytes - 1));
}

void istripe_atomic_place(struct istripe_atomic *offer, const struct istripe_stripe *s)
{
	u32 chunk_bytes = s->chunk_sectors << SECTOR_SHIFT_BYTES;

	if (!offer->unit_min_bytes)
		return;
	if (!place_aligned(offer, s)) {
		*offer = (struct istripe_atomic) {};
		return;
	}
	if (s->legs == 1)
		return;
	atomic_cut(offer, chunk_bytes);
	if (offer->unit_min_bytes)
		offer->boundary_bytes = chunk_bytes;
}

bool istripe_atomic_at_least(const struct istripe_atomic *offer,
			     const struct istripe_atomic *needed)
{
	if (!needed->unit_min_bytes)
		return true;
	return offer->unit_min_bytes && offer->unit_min_bytes <= needed->unit_min_bytes &&
	       offer->max_bytes >= needed->max_bytes &&
	       offer->alignment_bytes <= needed->alignment_bytes;
}
