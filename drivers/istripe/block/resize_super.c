// SPDX-License-Identifier: GPL-2.0
#include "block/resize_super.h"
#include "block/super.h"
#include "block/volume.h"
#include "block/write_protect.h"

static u64 growth_sectors(const struct istripe_volume *volume, u64 least_sectors)
{
	const struct istripe_metadata *metadata = &volume->metadata;

	return metadata->growth.sectors ?: least_sectors - metadata->legs[0].data_offset_sectors;
}

u64 istripe_super_growth_share(const struct istripe_volume *volume, u64 least_sectors)
{
	struct istripe_md md;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return least_sectors;
	md = volume->metadata.legs[0];
	md.data_sectors = growth_sectors(volume, least_sectors);
	return istripe_md_share_sectors(&md);
}

bool istripe_super_growth_begun(const struct istripe_volume *volume)
{
	return volume->metadata.growth.sectors;
}

u32 istripe_super_growth_ended(const struct istripe_volume *volume)
{
	return READ_ONCE(volume->metadata.growth.ended);
}

/* With what it grows to. */
static int compare_grown(const struct istripe_volume *volume, u32 leg, u64 sectors,
			 const struct istripe_md *now, char *why, size_t why_bytes)
{
	struct istripe_md grown = volume->metadata.legs[leg];

	grown.data_sectors = sectors;
	return istripe_md_check_unchanged(&grown, now, leg, why, why_bytes);
}

int istripe_super_growth_compare(struct istripe_volume *volume, u32 leg, u32 ended,
				 const struct istripe_md *now, char *why, size_t why_bytes)
{
	const struct istripe_md *then = &volume->metadata.legs[leg];
	struct istripe_super_growth *growth = &volume->metadata.growth;
	int ret;

	mutex_lock(&growth->lock);
	if (growth->ended != ended) {
		ret = -EAGAIN;
		goto unlock;
	}
	ret = istripe_md_check_unchanged(then, now, leg, why, why_bytes);
	if (ret && growth->sectors)
		ret = compare_grown(volume, leg, growth->sectors, now, why, why_bytes);
unlock:
	mutex_unlock(&growth->lock);
	return ret;
}

static void growth_begin(struct istripe_super_growth *growth)
{
	mutex_lock(&growth->lock);
	growth->sectors = growth->target;
	mutex_unlock(&growth->lock);
}

static void growth_end(struct istripe_volume *volume)
{
	struct istripe_super_growth *growth = &volume->metadata.growth;
	u32 i;

	mutex_lock(&growth->lock);
	for (i = 0; i < volume->leg_count; i++)
		volume->metadata.legs[i].data_sectors = growth->sectors;
	growth->sectors = 0;
	WRITE_ONCE(growth->ended, growth->ended + 1);
	mutex_unlock(&growth->lock);
}

/* It is ours, or we do not touch it. */
static int super_recognize(const struct istripe_super_io *io, struct istripe_super_walk *walk)
{
	struct istripe_md now;
	int ret;

	/* Once begun it is better to end with all of them the same. */
	if (istripe_resize_is_ending(walk->volume) && !istripe_super_growth_begun(walk->volume)) {
		scnprintf(io->why, io->why_bytes, "the volume is about to go down");
		return -ESHUTDOWN;
	}
	ret = istripe_super_read(io, &now);
	if (ret)
		return ret;
	ret = istripe_super_growth_compare(walk->volume, io->leg,
					   istripe_super_growth_ended(walk->volume), &now, io->why,
					   io->why_bytes);
	walk->refused = ret;
	return ret;
}

static int super_read_back(const struct istripe_super_io *io, struct istripe_super_walk *walk)
{
	const struct istripe_volume *volume = walk->volume;
	struct istripe_md now;
	int ret = istripe_super_read(io, &now);

	if (ret)
		return ret;
	ret = compare_grown(volume, io->leg, volume->metadata.growth.target, &now, io->why,
			    io->why_bytes);
	walk->refused = ret;
	return ret;
}

/* What else it says stays as it is, whoever has made it. */
static int super_grow(const struct istripe_super_io *io, struct istripe_super_walk *walk)
{
	struct istripe_super_growth *growth = &walk->volume->metadata.growth;
	int ret = super_recognize(io, walk);

	if (ret)
		return ret;
	growth_begin(growth);
	istripe_md_resize(istripe_super_page(io), growth->target);
	ret = istripe_super_transfer(io, ISTRIPE_SUPER_AT_BYTES, true,
				     "write its superblock");
	if (!ret)
		ret = istripe_super_flush(io);
	return ret ?: super_read_back(io, walk);
}

int istripe_super_growth_write(struct istripe_volume *volume, u64 least_sectors, char *why,
			       size_t why_bytes)
{
	struct istripe_super_walk walk = {
		.volume = volume,
		.timeout_ms = 2 * READ_ONCE(volume->command_timeout_ms),
		.why = why,
		.why_bytes = why_bytes,
	};
	int ret;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	ret = istripe_super_all_live(&walk) ?: istripe_write_protect_check(volume, why, why_bytes);
	if (!ret)
		ret = istripe_super_each_leg(&walk, super_recognize);
	if (ret)
		return ret;
	volume->metadata.growth.target = growth_sectors(volume, least_sectors);
	ret = istripe_super_each_leg(&walk, super_grow);
	if (!ret)
		growth_end(volume);
	return ret;
}
