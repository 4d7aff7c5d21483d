/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stripe map: which sectors of which leg hold a range of the volume.
 *
 * Chunk n of the volume is chunk n / legs of leg n % legs, as in dm-stripe and in the first (and
 * with equal members only) zone of md raid0. A contiguous range is contiguous on each leg, so a
 * request is one command per leg: with 3 legs, sectors 5..30 and a chunk of 8 sectors:
 *
 *	volume	|  5-7  |  8-15 | 16-23 | 24-30 |
 *	leg	|   0   |   1   |   2   |   0   |
 *	sector	|  5-7  |  0-7  |  0-7  |  8-14 |
 *
 * gives three extents: leg 0 sector 5 length 10, legs 1 and 2 sector 0 length 8. Leg 0's data are
 * two pieces of the request's buffer: 3 sectors at sector 0 and 7 sectors at sector 19.
 *
 * A sector is 512 bytes, whatever the block size of the LUN is.
 */
#ifndef ISTRIPE_LAYOUT_STRIPE_H
#define ISTRIPE_LAYOUT_STRIPE_H

#include <linux/types.h>

#define ISTRIPE_STRIPE_LEGS_MAX		64
#define ISTRIPE_STRIPE_CHUNK_BYTES_MIN	4096u
#define ISTRIPE_STRIPE_CHUNK_BYTES_MAX	(4u << 20)

/* Geometry of a volume, constant after init but for its size. */
struct istripe_stripe {
	u32 legs;		/* 1..ISTRIPE_STRIPE_LEGS_MAX */
	u32 chunk_sectors;	/* interleave, a power of two, 8..8192 */
	u8 chunk_shift;		/* its logarithm, 3..13 */
	u64 leg_sectors;	/* in use on each leg; whole chunks when there are several legs */
	u64 leg_offset_sectors;	/* where they start on each leg (data offset of MD metadata) */
};

/*
 * The part of a request on one leg. In the request's buffer the pieces are @stride_sectors -
 * @piece_sectors apart: the second one starts at @first_sector + @first_piece_sectors + that gap.
 * With one leg everything is the first piece.
 */
struct istripe_extent {
	u64 leg_sector;			/* first sector on the leg, data offset included */
	u32 leg;			/* index of the leg */
	u32 sectors;			/* the leg's share, contiguous on the leg, > 0 */
	u32 first_sector;		/* of the first piece, from the start of the request */
	u32 first_piece_sectors;	/* length of the first piece, 1..@sectors */
	u32 piece_sectors;	/* length of every further piece, the last one may be shorter */
	u32 stride_sectors;		/* distance of the starts of two full pieces */
};

/**
 * istripe_stripe_init() - check and complete a geometry
 * @s: filled, untouched on error
 * @legs: 1..ISTRIPE_STRIPE_LEGS_MAX
 * @chunk_bytes: a power of two, ISTRIPE_STRIPE_CHUNK_BYTES_MIN..ISTRIPE_STRIPE_CHUNK_BYTES_MAX
 * @leg_sectors: room for data on every leg; rounded down to whole chunks with several legs
 * @leg_offset_sectors: where the data start on each leg
 * Return: 0; -EINVAL for a bad number of legs or chunk; -ERANGE when not one chunk is left on a
 * leg, or the volume or a leg would be larger than a loff_t can tell.
 */
int istripe_stripe_init(struct istripe_stripe *s, u32 legs, u32 chunk_bytes, u64 leg_sectors,
			u64 leg_offset_sectors);

/**
 * istripe_stripe_grow() - use more of each leg
 * @s: geometry; nothing but @s->leg_sectors changes, and no sector of the volume moves
 * @leg_sectors: as for istripe_stripe_init()
 *
 * Ranges may be mapped meanwhile: they are refused or not, as before or after. The caller orders
 * this before it announces the larger volume.
 *
 * Context: any, one caller at a time.
 * Return: 0, untouched when whole chunks make no difference; -EINVAL it would shrink; -ERANGE see
 * istripe_stripe_init().
 */
int istripe_stripe_grow(struct istripe_stripe *s, u64 leg_sectors);

/**
 * istripe_stripe_capacity_sectors() - size of the volume
 * @s: geometry
 * Return: sectors.
 */
u64 istripe_stripe_capacity_sectors(const struct istripe_stripe *s);

/**
 * istripe_stripe_map() - find the legs' shares of a range of the volume
 * @s: geometry
 * @sector: first sector
 * @sectors: length; any, discards included
 * @extents: filled; room for min(legs, chunks touched) of them, @s->legs is always enough
 *
 * Each leg appears at most once; extents are in the order of their first pieces in the request.
 * Together the pieces cover the request exactly once.
 *
 * Return: number of extents; 0 when the range is empty or not within the volume.
 */
u32 istripe_stripe_map(const struct istripe_stripe *s, u64 sector, u32 sectors,
		       struct istripe_extent *extents);

/**
 * istripe_stripe_sector() - where in the volume a sector of a leg is
 * @s: geometry
 * @leg: index of the leg
 * @leg_sector: data offset included, as in an extent
 * Return: the sector of the volume.
 */
u64 istripe_stripe_sector(const struct istripe_stripe *s, u32 leg, u64 leg_sector);

/**
 * istripe_extent_cut() - a part of an extent
 * @e: from istripe_stripe_map()
 * @skip_sectors: where the part starts, from the start of the extent
 * @sectors: its length, > 0; @skip_sectors + @sectors is at most @e->sectors
 * @part: filled; may be @e
 */
void istripe_extent_cut(const struct istripe_extent *e, u32 skip_sectors, u32 sectors,
			struct istripe_extent *part);

/**
 * istripe_stripe_request_sectors() - largest request that asks no leg for too much
 * @s: geometry
 * @leg_limit_sectors: largest command that every leg takes
 *
 * Holds wherever the request starts. Rounding to the block size is the caller's.
 *
 * Return: sectors, at most U32_MAX; 0 when @leg_limit_sectors is 0.
 */
u32 istripe_stripe_request_sectors(const struct istripe_stripe *s, u32 leg_limit_sectors);

/**
 * istripe_stripe_io_min_bytes() - smallest request that keeps a leg busy with one piece
 * @s: geometry
 * Return: bytes, the chunk; 0 with one leg: the LUN's own figure holds.
 */
u32 istripe_stripe_io_min_bytes(const struct istripe_stripe *s);

/**
 * istripe_stripe_io_opt_bytes() - smallest request that uses every leg
 * @s: geometry
 * Return: bytes, a full stripe; 0 with one leg: the LUN's own figure holds.
 */
u32 istripe_stripe_io_opt_bytes(const struct istripe_stripe *s);

#endif
