// SPDX-License-Identifier: GPL-2.0
#include "block/growth.h"
#include "block/protection.h"
#include "block/visit.h"
#include "block/volume.h"

static u64 growth_sectors(const struct istripe_volume *volume, u64 least_sectors)
{
	const struct istripe_metadata *metadata = &volume->metadata;

	return metadata->growth.sectors ?: least_sectors - metadata->legs[0].data_offset_sectors;
}

u64 istripe_growth_share(const struct istripe_volume *volume, u64 least_sectors)
{
	struct istripe_md md;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return least_sectors;
	md = volume->metadata.legs[0];
	md.data_sectors = growth_sectors(volume, least_sectors);
	return istripe_md_share_sectors(&md);
}

bool istripe_growth_begun(const struct istripe_volume *volume)
{
	return volume->metadata.growth.sectors;
}

u32 istripe_growth_ended(const struct istripe_volume *volume)
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

int istripe_growth_compare(struct istripe_volume *volume, u32 leg, u32 ended,
			   const struct istripe_md *now, char *why, size_t why_bytes)
{
	const struct istripe_md *then = &volume->metadata.legs[leg];
	struct istripe_growth *growth = &volume->metadata.growth;
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

static void growth_begin(struct istripe_growth *growth)
{
	mutex_lock(&growth->lock);
	growth->sectors = growth->target;
	mutex_unlock(&growth->lock);
}

static void growth_end(struct istripe_volume *volume)
{
	struct istripe_growth *growth = &volume->metadata.growth;
	u32 i;

	mutex_lock(&growth->lock);
	for (i = 0; i < volume->leg_count; i++)
		volume->metadata.legs[i].data_sectors = growth->sectors;
	growth->sectors = 0;
	WRITE_ONCE(growth->ended, growth->ended + 1);
	mutex_unlock(&growth->lock);
}

/* It is ours, or we do not touch it. */
static int visit_recognize(const struct istripe_visit *visit, struct istripe_round *round)
{
	struct istripe_md now;
	int ret;

	/* Once begun it is better to end with all of them the same. */
	if (istripe_capacity_is_ending(round->volume) && !istripe_growth_begun(round->volume)) {
		scnprintf(visit->why, visit->why_bytes, "the volume is about to go down");
		return -ESHUTDOWN;
	}
	ret = istripe_visit_read_super(visit, &now);
	if (ret)
		return ret;
	ret = istripe_growth_compare(round->volume, visit->leg,
				     istripe_growth_ended(round->volume), &now, visit->why,
				     visit->why_bytes);
	round->refused = ret;
	return ret;
}

static int visit_read_back(const struct istripe_visit *visit, struct istripe_round *round)
{
	const struct istripe_volume *volume = round->volume;
	struct istripe_md now;
	int ret = istripe_visit_read_super(visit, &now);

	if (ret)
		return ret;
	ret = compare_grown(volume, visit->leg, volume->metadata.growth.target, &now, visit->why,
			    visit->why_bytes);
	round->refused = ret;
	return ret;
}

/* What else it says stays as it is, whoever has made it. */
static int visit_grow(const struct istripe_visit *visit, struct istripe_round *round)
{
	struct istripe_growth *growth = &round->volume->metadata.growth;
	int ret = visit_recognize(visit, round);

	if (ret)
		return ret;
	growth_begin(growth);
	istripe_md_resize(istripe_visit_page(visit), growth->target);
	ret = istripe_visit_transfer(visit, ISTRIPE_VISIT_SUPER_AT_BYTES, true,
				     "write its superblock");
	if (!ret)
		ret = istripe_visit_flush(visit);
	return ret ?: visit_read_back(visit, round);
}

int istripe_growth_write(struct istripe_volume *volume, u64 least_sectors, char *why,
			 size_t why_bytes)
{
	struct istripe_round round = {
		.volume = volume,
		.timeout_ms = 2 * READ_ONCE(volume->command_timeout_ms),
		.why = why,
		.why_bytes = why_bytes,
	};
	int ret;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	ret = istripe_visit_all_live(&round) ?: istripe_protection_check(volume, why, why_bytes);
	if (!ret)
		ret = istripe_visit_legs(&round, visit_recognize);
	if (ret)
		return ret;
	volume->metadata.growth.target = growth_sectors(volume, least_sectors);
	ret = istripe_visit_legs(&round, visit_grow);
	if (!ret)
		growth_end(volume);
	return ret;
}
