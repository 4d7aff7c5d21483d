// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "layout/stripe.h"

#define SECTOR_SHIFT_BYTES	9

/* A range of the volume in chunks, as the map needs it for every leg. */
struct span {
	u64 row;		/* of its first chunk */
	u32 leg;		/* of its first chunk */
	u32 head_sectors;	/* of its first chunk that are before the range */
	u32 tail_sectors;	/* of its last chunk that are behind the range */
	u32 chunks;
};

static bool sectors_fit(u64 sectors)
{
	return sectors <= (u64)S64_MAX >> SECTOR_SHIFT_BYTES;
}

static bool chunk_valid(u32 chunk_bytes)
{
	return is_power_of_2(chunk_bytes) && chunk_bytes >= ISTRIPE_STRIPE_CHUNK_BYTES_MIN &&
	       chunk_bytes <= ISTRIPE_STRIPE_CHUNK_BYTES_MAX;
}

int istripe_stripe_init(struct istripe_stripe *s, u32 legs, u32 chunk_bytes, u64 leg_sectors,
			u64 leg_offset_sectors)
{
	u32 chunk_sectors = chunk_bytes >> SECTOR_SHIFT_BYTES;
	u64 capacity, end;

	if (!legs || legs > ISTRIPE_STRIPE_LEGS_MAX || !chunk_valid(chunk_bytes))
		return -EINVAL;
	if (legs > 1)
		leg_sectors &= ~(u64)(chunk_sectors - 1);
	if (!leg_sectors || check_add_overflow(leg_offset_sectors, leg_sectors, &end) ||
	    !sectors_fit(end))
		return -ERANGE;
	if (check_mul_overflow(leg_sectors, (u64)legs, &capacity) || !sectors_fit(capacity))
		return -ERANGE;

	*s = (struct istripe_stripe) {
		.legs = legs,
		.chunk_sectors = chunk_sectors,
		.chunk_shift = ilog2(chunk_sectors),
		.leg_sectors = leg_sectors,
		.leg_offset_sectors = leg_offset_sectors,
	};
	return 0;
}

int istripe_stripe_grow(struct istripe_stripe *s, u64 leg_sectors)
{
	struct istripe_stripe grown;
	int ret;

	ret = istripe_stripe_init(&grown, s->legs, s->chunk_sectors << SECTOR_SHIFT_BYTES,
				  leg_sectors, s->leg_offset_sectors);
	if (ret)
		return ret;
	if (grown.leg_sectors < s->leg_sectors)
		return -EINVAL;
	/* One store: all else is the same, and is being read. */
	WRITE_ONCE(s->leg_sectors, grown.leg_sectors);
	return 0;
}

u64 istripe_stripe_capacity_sectors(const struct istripe_stripe *s)
{
	return READ_ONCE(s->leg_sectors) * s->legs;
}

static void span_init(struct span *span, const struct istripe_stripe *s, u64 sector, u32 sectors)
{
	u32 mask = s->chunk_sectors - 1;
	u64 end = sector + sectors;
	u64 first = sector >> s->chunk_shift;
	u64 last = (end - 1) >> s->chunk_shift;

	span->row = div_u64_rem(first, s->legs, &span->leg);
	span->head_sectors = sector & mask;
	span->tail_sectors = -(u32)end & mask;
	span->chunks = last - first + 1;
}

/* Extent @i starts with chunk @i of the span and has every legs-th one from there. */
static void extent_init(struct istripe_extent *e, const struct istripe_stripe *s,
			const struct span *span, u32 i, u32 pieces, bool last)
{
	u32 leg = span->leg + i;
	u32 head = i ? 0 : span->head_sectors;
	u64 row = span->row;

	if (leg >= s->legs) {
		leg -= s->legs;
		row++;
	}
	e->leg = leg;
	e->leg_sector = s->leg_offset_sectors + (row << s->chunk_shift) + head;
	e->sectors = (pieces << s->chunk_shift) - head - (last ? span->tail_sectors : 0);
	e->first_sector = (i << s->chunk_shift) - (i ? span->head_sectors : 0);
	e->first_piece_sectors = min(e->sectors, s->chunk_sectors - head);
	e->piece_sectors = s->chunk_sectors;
	e->stride_sectors = s->legs << s->chunk_shift;
}

static void extent_init_whole(struct istripe_extent *e, const struct istripe_stripe *s, u64 sector,
			      u32 sectors)
{
	*e = (struct istripe_extent) {
		.leg_sector = s->leg_offset_sectors + sector,
		.sectors = sectors,
		.first_piece_sectors = sectors,
		.piece_sectors = s->chunk_sectors,
		.stride_sectors = s->chunk_sectors,
	};
}

u32 istripe_stripe_map(const struct istripe_stripe *s, u64 sector, u32 sectors,
		       struct istripe_extent *extents)
{
	u64 capacity = istripe_stripe_capacity_sectors(s);
	u32 i, count, rows, more;
	struct span span;

	if (!sectors || sectors > capacity || sector > capacity - sectors)
		return 0;
	if (s->legs == 1) {
		extent_init_whole(extents, s, sector, sectors);
		return 1;
	}
	span_init(&span, s, sector, sectors);
	count = min(span.chunks, s->legs);
	/* The first @more legs have one piece more; the last of those has the last chunk. */
	rows = (span.chunks - 1) / s->legs;
	more = (span.chunks - 1) % s->legs + 1;
	for (i = 0; i < count; i++)
		extent_init(&extents[i], s, &span, i, rows + (i < more), i == more - 1);
	return count;
}

void istripe_extent_cut(const struct istripe_extent *e, u32 skip_sectors, u32 sectors,
			struct istripe_extent *part)
{
	u32 head = e->first_piece_sectors;
	u32 first = e->first_sector + skip_sectors;
	u32 beyond;

	if (skip_sectors < head) {
		head -= skip_sectors;
	} else {
		/* In one of the further pieces; each is one gap further on. */
		beyond = skip_sectors - head;
		first += (beyond / e->piece_sectors + 1) * (e->stride_sectors - e->piece_sectors);
		head = e->piece_sectors - beyond % e->piece_sectors;
	}
	*part = *e;
	part->leg_sector += skip_sectors;
	part->sectors = sectors;
	part->first_sector = first;
	part->first_piece_sectors = min(head, sectors);
}

u64 istripe_stripe_sector(const struct istripe_stripe *s, u32 leg, u64 leg_sector)
{
	u64 sector = leg_sector - s->leg_offset_sectors;
	u64 row = sector >> s->chunk_shift;

	return s->legs == 1 ? sector :
	       ((row * s->legs + leg) << s->chunk_shift) + (sector & (s->chunk_sectors - 1));
}

u32 istripe_stripe_request_sectors(const struct istripe_stripe *s, u32 leg_limit_sectors)
{
	u32 rest = leg_limit_sectors & (s->chunk_sectors - 1);
	u64 whole = leg_limit_sectors - rest;

	return min(whole * s->legs + rest, (u64)U32_MAX);
}

u32 istripe_stripe_io_min_bytes(const struct istripe_stripe *s)
{
	return s->legs > 1 ? s->chunk_sectors << SECTOR_SHIFT_BYTES : 0;
}

u32 istripe_stripe_io_opt_bytes(const struct istripe_stripe *s)
{
	return istripe_stripe_io_min_bytes(s) * s->legs;
}
