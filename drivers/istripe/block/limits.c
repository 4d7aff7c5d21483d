// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/minmax.h>

#include "block/limits.h"
#include "block/path.h"
#include "block/volume.h"

/* A request larger than this gains nothing and would occupy the session's window. */
#define MAX_TRANSFER_BYTES	(16u << 20)

static u32 blocks_to_sectors(const struct istripe_lun *lun, u64 blocks)
{
	u32 per_block = lun->capacity.block_bytes >> SECTOR_SHIFT;

	return min_t(u64, blocks, U32_MAX / per_block) * per_block;
}

/* The optimal transfer length is no limit: there are LUNs that like 4 KiB best. */
static u32 lun_max_sectors(const struct istripe_lun *lun)
{
	u32 limit = MAX_TRANSFER_BYTES >> SECTOR_SHIFT;

	if (lun->limits.max_transfer)
		limit = min(limit, blocks_to_sectors(lun, lun->limits.max_transfer));
	return limit;
}

static u32 lun_write_same_sectors(const struct istripe_lun *lun)
{
	/* Not reported means 65535 blocks to be careful, as sd does. */
	return blocks_to_sectors(lun, lun->limits.max_write_same ?: 0xffff);
}

/* Without a hint that it knows WRITE SAME, a LUN is not asked to. */
static u32 lun_write_zeroes_sectors(const struct istripe_lun *lun)
{
	if (!lun->limits.max_write_same && !lun->provisioning.write_same16)
		return 0;
	return lun_write_same_sectors(lun);
}

bool istripe_limits_unmap(const struct istripe_lun *lun)
{
	return lun->provisioning.unmap && lun->limits.max_unmap &&
	       lun->limits.max_unmap_descriptors;
}

bool istripe_limits_zeroes_by_unmap(const struct istripe_lun *lun)
{
	return lun->provisioning.write_same16 &&
	       (lun->provisioning.reads_zeroes || lun->capacity.reads_zeroes);
}

static u32 lun_discard_sectors(const struct istripe_lun *lun)
{
	if (!lun->capacity.provisioning)
		return 0;
	if (istripe_limits_unmap(lun))
		return blocks_to_sectors(lun, lun->limits.max_unmap);
	return lun->provisioning.write_same16 ? lun_write_same_sectors(lun) : 0;
}

static void derive_discard(const struct istripe_volume *volume, const struct istripe_lun *lun,
			   struct istripe_disk_limits *limits)
{
	u32 block = volume->block_bytes;
	/* One that cannot be told in bytes is none. */
	u32 granularity = clamp(lun->limits.unmap_granularity, 1u, (1u << 30) / block);

	limits->discard_sectors = istripe_stripe_request_sectors(&volume->stripe,
								 lun_discard_sectors(lun));
	if (!limits->discard_sectors)
		return;
	limits->discard_granularity_bytes =
		max(granularity * block, limits->physical_block_bytes);
	if (lun->limits.unmap_alignment_valid)
		limits->discard_alignment_bytes = lun->limits.unmap_alignment % granularity * block;
}

void istripe_limits_derive(const struct istripe_volume *volume,
			   struct istripe_disk_limits *limits)
{
	const struct istripe_leg *leg = volume->legs[0];
	const struct istripe_lun *lun = &leg->lun;
	const struct istripe_path_params *path = &leg->paths[0]->params;
	u32 preferred = lun->limits.optimal_transfer;

	*limits = (struct istripe_disk_limits) {
		.logical_block_bytes = volume->block_bytes,
		.physical_block_bytes = lun->capacity.physical_block_bytes,
		.alignment_offset_bytes = lun->capacity.lowest_aligned_lba * volume->block_bytes %
					  lun->capacity.physical_block_bytes,
		.max_sectors = istripe_stripe_request_sectors(&volume->stripe,
							      lun_max_sectors(lun)),
		.write_zeroes_sectors = istripe_stripe_request_sectors(&volume->stripe,
								lun_write_zeroes_sectors(lun)),
		.rotational = lun->rotational,
		.write_cache = lun->caching.write_cache,
		.fua = lun->caching.write_cache && lun->caching.dpofua,
		/* Pages must hold still from the first byte of a digest to the last (P21). */
		.stable_writes = path->offer.value[ISTRIPE_KEY_DATA_DIGEST] !=
				 ISTRIPE_DIGEST_NONE,
	};
	limits->io_min_bytes = istripe_stripe_io_min_bytes(&volume->stripe) ?:
			       max_t(u32, limits->physical_block_bytes,
				     lun->limits.optimal_granularity * volume->block_bytes);
	limits->io_opt_bytes = istripe_stripe_io_opt_bytes(&volume->stripe);
	/* A hint worth passing on is at least as large as a page and whole blocks. */
	if (!limits->io_opt_bytes && preferred && preferred < U32_MAX / volume->block_bytes &&
	    preferred * volume->block_bytes >= PAGE_SIZE &&
	    preferred * volume->block_bytes % limits->physical_block_bytes == 0)
		limits->io_opt_bytes = preferred * volume->block_bytes;
	derive_discard(volume, lun, limits);
}
