// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "block/limits.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "scsi/atomic.h"

/* Linux 6.1 counts the bytes of a request that zeroes in 32 bits. */
#define MAX_ZEROES_BYTES	(2u << 30)

/* A request larger than this gains nothing and would occupy the session's window. */
#define MAX_TRANSFER_BYTES	(16u << 20)

static u32 blocks_to_sectors(const struct istripe_lun *lun, u64 blocks)
{
	u32 per_block = lun->capacity.block_bytes >> SECTOR_SHIFT;

	return min_t(u64, blocks, U32_MAX / per_block) * per_block;
}

/* The optimal transfer length is no limit: some LUNs report 4 KiB. */
static u32 lun_max_sectors(const struct istripe_lun *lun)
{
	u32 limit = MAX_TRANSFER_BYTES >> SECTOR_SHIFT;

	if (lun->limits.max_transfer)
		limit = min(limit, blocks_to_sectors(lun, lun->limits.max_transfer));
	return limit;
}

static u32 lun_write_same_sectors(const struct istripe_lun *lun)
{
	/* Not reported: 65535 blocks, as sd does. */
	return blocks_to_sectors(lun, lun->limits.max_write_same ?: 0xffff);
}

/* Some LUNs do not know WRITE SAME: it needs a hint that this one does. */
static u32 lun_write_zeroes_sectors(const struct istripe_lun *lun)
{
	if (!lun->limits.max_write_same && !lun->provisioning.write_same16)
		return 0;
	return lun_write_same_sectors(lun);
}

/* Older LUNs do not tell which commands deallocate: as sd does, they are tried. */
bool istripe_limits_unmap(const struct istripe_lun *lun)
{
	return (lun->provisioning.unmap || !lun->provisioning.told) && lun->limits.max_unmap &&
	       lun->limits.max_unmap_descriptors;
}

bool istripe_limits_zeroes_by_unmap(const struct istripe_lun *lun)
{
	return lun->provisioning.write_same16 && lun->capacity.provisioning &&
	       READ_ONCE(lun->capacity.reads_zeroes);
}

static u32 lun_discard_sectors(const struct istripe_lun *lun)
{
	if (!lun->capacity.provisioning)
		return 0;
	if (istripe_limits_unmap(lun))
		return blocks_to_sectors(lun, lun->limits.max_unmap);
	return lun->provisioning.write_same16 || !lun->provisioning.told ?
		lun_write_same_sectors(lun) : 0;
}

/* No offer for a kernel without atomic writes. */
static void lun_atomic(const struct istripe_lun *lun, struct istripe_atomic *offer)
{
	*offer = (struct istripe_atomic) {};
	if (ISTRIPE_COMPAT_ATOMIC_WRITES)
		istripe_atomic_of_lun(&lun->limits, &lun->capacity, offer);
}

static bool atomic_at_least(const struct istripe_lun *lun, const struct istripe_lun *needed)
{
	struct istripe_atomic offer, wanted;

	lun_atomic(lun, &offer);
	lun_atomic(needed, &wanted);
	return istripe_atomic_at_least(&offer, &wanted);
}

/* The offer of the disk. */
static void volume_atomic(const struct istripe_volume *volume, struct istripe_atomic *offer)
{
	struct istripe_atomic leg;
	u32 i;

	lun_atomic(&volume->legs[0]->lun, offer);
	for (i = 1; i < volume->leg_count; i++) {
		lun_atomic(&volume->legs[i]->lun, &leg);
		istripe_atomic_narrow(offer, &leg);
	}
	istripe_atomic_place(offer, &volume->stripe);
}

/* A disk that runs may offer less than its LUNs do: no atomic write is longer than a chunk. */
static bool atomic_at_least_disk(const struct istripe_leg *leg, const struct istripe_lun *lun)
{
	const struct istripe_volume *volume = leg->volume;
	struct istripe_atomic offer, wanted;

	if (!READ_ONCE(volume->write_protect.running))
		return atomic_at_least(lun, &leg->lun);
	volume_atomic(volume, &wanted);
	lun_atomic(lun, &offer);
	istripe_atomic_place(&offer, &volume->stripe);
	return istripe_atomic_at_least(&offer, &wanted);
}

/* Without a cache a LUN needs no FUA; what goes to one that has got a cache since is flushed. */
static bool fua_at_least(const struct istripe_lun *lun, const struct istripe_lun *needed)
{
	return lun->caching.dpofua || !lun->caching.write_cache || !needed->caching.dpofua ||
	       !needed->caching.write_cache;
}

/* One that is not told is withdrawn from the disk when the LUN refuses the command. */
static void narrow_hints(struct istripe_lun *common_lun, const struct istripe_lun *lun)
{
	struct istripe_vpd_block_limits *common = &common_lun->limits;
	const struct istripe_vpd_block_limits *limits = &lun->limits;

	/* 0: discards are WRITE SAME. */
	if (common->max_unmap) {
		common->max_unmap = min_not_zero(common->max_unmap, limits->max_unmap);
		common->max_unmap_descriptors = min_not_zero(common->max_unmap_descriptors,
							     limits->max_unmap_descriptors);
	}
	common->max_write_same = min_not_zero(common->max_write_same, limits->max_write_same);
	if (!istripe_limits_zeroes_by_unmap(lun) && !lun->untold)
		WRITE_ONCE(common_lun->capacity.reads_zeroes, false);
}

void istripe_limits_narrow(struct istripe_lun *common, const struct istripe_lun *lun)
{
	common->capacity.blocks = min(common->capacity.blocks, lun->capacity.blocks);
	common->limits.max_transfer = min_not_zero(common->limits.max_transfer,
						   lun->limits.max_transfer);
	common->caching.write_cache |= lun->caching.write_cache;
	if (lun->caching.write_protected)
		return;
	common->caching.dpofua &= lun->caching.dpofua;
	narrow_hints(common, lun);
	if (!atomic_at_least(lun, common))
		common->limits.max_atomic = 0;
}

/* The longest request that asks no more of each leg than the leg takes. */
static u32 volume_sectors(const struct istripe_volume *volume,
			  u32 (*lun_sectors)(const struct istripe_lun *lun))
{
	u32 sectors = U32_MAX;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		sectors = min(sectors, lun_sectors(&volume->legs[i]->lun));
	return istripe_stripe_request_sectors(&volume->stripe, sectors);
}

/*
 * Requests are not as long as the disk may allow, unless max_sectors_kb says so: which allows no
 * more than @lun takes after istripe_limits_lower().
 */
static bool transfer_at_least(const struct istripe_leg *leg, const struct istripe_lun *lun)
{
	const struct istripe_volume *volume = leg->volume;
	u32 sectors = lun_max_sectors(lun);

	return sectors >= lun_max_sectors(&leg->lun) ||
	       (READ_ONCE(volume->write_protect.running) &&
		istripe_stripe_request_sectors(&volume->stripe, sectors) >=
		queue_max_sectors(volume->disk->queue));
}

/* Not UNMAP and WRITE SAME: istripe_limits_lower() makes them shorter. */
bool istripe_limits_at_least(const struct istripe_leg *leg, const struct istripe_lun *lun)
{
	if (!transfer_at_least(leg, lun))
		return false;
	/* It may offer less while it is write protected; when that ends it is asked again. */
	return lun->caching.write_protected ||
	       (atomic_at_least_disk(leg, lun) && fua_at_least(lun, &leg->lun));
}

void istripe_limits_lower(struct istripe_leg *leg, const struct istripe_lun *lun)
{
	const struct istripe_volume *volume = leg->volume;
	struct request_queue *q;
	u32 transfer, discard, zeroes;

	lockdep_assert_held(&leg->identify_lock);
	if (!lun->caching.write_protected)
		narrow_hints(&leg->lun, lun);
	if (!READ_ONCE(volume->write_protect.running))
		return;
	q = volume->disk->queue;
	transfer = lun_max_sectors(lun);
	discard = lun_discard_sectors(&leg->lun);
	zeroes = lun_write_zeroes_sectors(&leg->lun);
	istripe_compat_lower_transfer(q, istripe_stripe_request_sectors(&volume->stripe, transfer));
	istripe_compat_lower_discard(q, istripe_stripe_request_sectors(&volume->stripe, discard));
	istripe_compat_lower_write_zeroes(q, istripe_stripe_request_sectors(&volume->stripe,
									    zeroes));
	if (!istripe_limits_zeroes_by_unmap(&leg->lun))
		istripe_compat_lower_zeroes_by_unmap(q);
}

bool istripe_limits_discard_is_long(const struct istripe_leg *leg, u64 blocks)
{
	const struct istripe_volume *volume = leg->volume;
	u32 sectors = lun_discard_sectors(&leg->lun);

	if (blocks_to_sectors(&leg->lun, blocks) <= sectors)
		return false;
	istripe_compat_lower_discard(volume->disk->queue,
				     istripe_stripe_request_sectors(&volume->stripe, sectors));
	return true;
}

/* Bytes from the start of the data on a leg to the next grain; one begins at @first_bytes. */
static u32 leg_grain_offset_bytes(const struct istripe_volume *volume, u32 first_bytes,
				  u32 grain_bytes)
{
	u32 start_bytes;

	div_u64_rem(volume->stripe.leg_offset_sectors << SECTOR_SHIFT, grain_bytes, &start_bytes);
	return (first_bytes % grain_bytes + grain_bytes - start_bytes) % grain_bytes;
}

static void derive_discard(const struct istripe_volume *volume, struct istripe_disk_limits *limits)
{
	u32 block = volume->block_bytes;
	u32 granularity, i;

	limits->discard_sectors = volume_sectors(volume, lun_discard_sectors);
	if (!limits->discard_sectors)
		return;
	limits->discard_granularity_bytes = limits->physical_block_bytes;
	for (i = 0; i < volume->leg_count; i++) {
		const struct istripe_vpd_block_limits *leg = &volume->legs[i]->lun.limits;

		/* So that it fits a u32 in bytes. */
		granularity = clamp(leg->unmap_granularity, 1u, (1u << 30) / block);
		limits->discard_granularity_bytes = max(limits->discard_granularity_bytes,
							granularity * block);
		/* Several legs have no common alignment. */
		if (volume->leg_count == 1 && leg->unmap_alignment_valid)
			limits->discard_alignment_bytes =
				leg_grain_offset_bytes(volume,
						       leg->unmap_alignment % granularity * block,
						       granularity * block);
	}
	/* The block layer does not cut a request for that at all. */
	if (limits->discard_granularity_bytes >> SECTOR_SHIFT > limits->discard_sectors)
		limits->discard_granularity_bytes = limits->physical_block_bytes;
}

/* The volume is as demanding as the most demanding of its legs. */
static void derive_leg(struct istripe_leg *leg, struct istripe_disk_limits *limits)
{
	const struct istripe_vpd_caching *caching = &leg->lun.caching;
	const struct istripe_keys *offer;
	const struct istripe_nexus *nexus;
	int section;

	limits->physical_block_bytes = max(limits->physical_block_bytes,
					   leg->lun.capacity.physical_block_bytes);
	limits->zeroes_by_unmap &= istripe_limits_zeroes_by_unmap(&leg->lun);
	limits->rotational |= leg->lun.rotational;
	limits->write_cache |= caching->write_cache;
	limits->fua &= !caching->write_cache || caching->dpofua;
	/* A page must not change while its data digest is computed and sent (P21). */
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, nexus) {
		offer = &nexus->path->params.offer;
		limits->stable_writes |=
			offer->value[ISTRIPE_KEY_DATA_DIGEST] != ISTRIPE_DIGEST_NONE;
	}
	srcu_read_unlock(&leg->srcu, section);
}

static u32 leg_alignment_offset_bytes(const struct istripe_leg *leg)
{
	const struct istripe_volume *volume = leg->volume;

	return leg_grain_offset_bytes(volume,
				      leg->lun.capacity.lowest_aligned_lba * volume->block_bytes,
				      leg->lun.capacity.physical_block_bytes);
}

/* Of several legs if it is the same for all, and chunks are made of whole physical blocks. */
static u32 volume_alignment_offset_bytes(const struct istripe_volume *volume)
{
	const struct istripe_leg *first = volume->legs[0], *leg;
	u32 physical_bytes = first->lun.capacity.physical_block_bytes;
	u32 offset_bytes = leg_alignment_offset_bytes(first);
	u32 i;

	for (i = 1; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		if (leg->lun.capacity.physical_block_bytes != physical_bytes ||
		    leg_alignment_offset_bytes(leg) != offset_bytes ||
		    istripe_stripe_io_min_bytes(&volume->stripe) % physical_bytes)
			return 0;
	}
	return offset_bytes;
}

/* The hints of the only LUN; those of the stripe with several. */
static void derive_hints(const struct istripe_volume *volume, struct istripe_disk_limits *limits)
{
	const struct istripe_lun *lun = &volume->legs[0]->lun;
	u32 granularity = lun->limits.optimal_granularity * volume->block_bytes;
	u32 preferred = lun->limits.optimal_transfer;

	limits->io_min_bytes = istripe_stripe_io_min_bytes(&volume->stripe);
	limits->io_opt_bytes = istripe_stripe_io_opt_bytes(&volume->stripe);
	limits->alignment_offset_bytes = volume_alignment_offset_bytes(volume);
	if (volume->leg_count > 1)
		return;
	/* As sd does: figures that do not fit each other are no hints. */
	if (granularity & (limits->physical_block_bytes - 1))
		granularity = 0;
	limits->io_min_bytes = max(limits->physical_block_bytes, granularity);
	/* Read-ahead follows it: it must be a page at least, in whole blocks. */
	if (preferred && blocks_to_sectors(lun, preferred) <= limits->max_sectors &&
	    preferred * volume->block_bytes >= PAGE_SIZE &&
	    preferred * volume->block_bytes % limits->io_min_bytes == 0)
		limits->io_opt_bytes = preferred * volume->block_bytes;
}

static void derive_atomic(const struct istripe_volume *volume, struct istripe_disk_limits *limits)
{
	struct istripe_atomic offer;

	volume_atomic(volume, &offer);
	limits->atomic_unit_min_bytes = offer.unit_min_bytes;
	limits->atomic_unit_max_bytes = offer.unit_max_bytes;
	limits->atomic_max_bytes = offer.max_bytes;
	limits->atomic_boundary_bytes = offer.boundary_bytes;
}

void istripe_limits_derive(const struct istripe_volume *volume,
			   struct istripe_disk_limits *limits)
{
	u32 i;

	*limits = (struct istripe_disk_limits) {
		.logical_block_bytes = volume->block_bytes,
		.max_sectors = volume_sectors(volume, lun_max_sectors),
		.write_zeroes_sectors = min(volume_sectors(volume, lun_write_zeroes_sectors),
					    MAX_ZEROES_BYTES >> SECTOR_SHIFT),
		.zeroes_by_unmap = true,
		.fua = true,
	};
	for (i = 0; i < volume->leg_count; i++)
		derive_leg(volume->legs[i], limits);
	limits->fua &= limits->write_cache;
	derive_hints(volume, limits);
	derive_discard(volume, limits);
	derive_atomic(volume, limits);
}
