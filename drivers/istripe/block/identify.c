// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/identify.h"
#include "block/leg.h"
#include "block/limits.h"
#include "block/nexus.h"
#include "block/resize.h"
#include "block/volume.h"
#include "block/write_protect.h"

/* A new path needs more than the serial number: VPD 83h of another path, or the user's word. */
static bool identify_is_leg(const struct istripe_nexus *nexus)
{
	const struct istripe_leg *leg = nexus->leg;
	const char *known = leg->lun.designator;

	lockdep_assert_held(&leg->identify_lock);
	if (!known[0] || istripe_lun_is(&nexus->found, known))
		return true;
	return istripe_lun_was(&nexus->found, known, leg->designator_since) &&
	       (leg->designator_since[0] || leg->designator_given || nexus->started);
}

/* From now on the LUN must also offer what it has got. */
static void identify_remember(struct istripe_leg *leg, const struct istripe_lun *lun)
{
	lockdep_assert_held(&leg->identify_lock);
	if (leg->lun.designator[0] && !leg->designator_since[0] && !lun->by_serial &&
	    !istripe_lun_is(lun, leg->lun.designator))
		strscpy(leg->designator_since, lun->designator, sizeof(leg->designator_since));
}

static int identify_designator(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	const struct istripe_leg *leg = nexus->leg;
	const struct istripe_lun *lun = &nexus->found;

	if (!identify_is_leg(nexus))
		return istripe_reason_fail(why, -ENODEV,
					   "leg %u is LUN %s, but %s answers here: path not used",
					   leg->index, leg->lun.designator, lun->designator);
	/*
	 * Targets may give one serial number to several LUNs: somebody has to vouch for it. The
	 * path that has been live is none of several, it is the one that others are to join.
	 */
	if (lun->by_serial && READ_ONCE(leg->path_count) > 1 && !leg->designator_given &&
	    !nexus->started)
		return istripe_reason_fail(why, -ENOTUNIQ,
					   "the LUN has a serial number, but no VPD 83h: for several paths write %s to designator of leg %u",
					   lun->designator, leg->index);
	return 0;
}

/* The volume relies on them: by its queue limits, and by the flushes that it sends. */
static int identify_capabilities(struct istripe_leg *leg, const struct istripe_lun *lun,
				 struct istripe_reason *why)
{
	bool cache_is_new = lun->caching.write_cache && !leg->lun.caching.write_cache;

	/* Perhaps it has only not said that it has none. */
	if (cache_is_new && !lun->caching.dpofua && lun->untold)
		return -EAGAIN;
	/* A leg without flushes goes on over the other paths. */
	if (cache_is_new && !lun->caching.told)
		return istripe_reason_fail(why, -E2BIG,
					   "leg %u has no write cache, and the LUN does not say so over this path: path not used",
					   leg->index);
	if (!istripe_limits_at_least(leg, lun))
		return istripe_reason_fail(why, -E2BIG,
					   "leg %u takes longer commands, atomic writes or FUA, than the LUN does over this path: path not used",
					   leg->index);
	/* Before @write_through: then a write is flushed, over whatever nexus it has come. */
	if (cache_is_new && !lun->caching.dpofua)
		WRITE_ONCE(leg->no_fua, true);
	if (lun->caching.write_cache)
		WRITE_ONCE(leg->caches, leg->caches + 1);
	/* The disk, and what is made of it, said that there is nothing to flush. */
	if (cache_is_new && !leg->write_through) {
		/* Pairs with the barriers of its readers, which then see @no_fua and @caches. */
		smp_store_release(&leg->write_through, true);
		if (lun->caching.dpofua)
			pr_notice("%s/%u: the LUN has a write cache now: all writes are sent with FUA until the volume has been down\n",
				  leg->volume->name, leg->index);
		else
			pr_notice("%s/%u: the LUN has a write cache now: all writes are flushed until the volume has been down\n",
				  leg->volume->name, leg->index);
	}
	return 0;
}

/* A LUN may give up blocks that are not the volume's. */
static int identify_size(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_leg *leg = nexus->leg;
	u64 blocks = nexus->found.capacity.blocks;

	if (blocks >= leg->lun.capacity.blocks)
		return 0;
	if (!leg->needed_blocks || blocks < leg->needed_blocks)
		return istripe_reason_fail(why, -ENOSPC,
					   "leg %u has %llu blocks, the LUN has shrunk to %llu: path not used",
					   leg->index, leg->lun.capacity.blocks, blocks);
	pr_notice_ratelimited("%s: the LUN has %llu blocks instead of %llu, the volume needs %llu\n",
			      nexus->label, blocks, leg->lun.capacity.blocks, leg->needed_blocks);
	leg->lun.capacity.blocks = blocks;
	leg->first_blocks = min(leg->first_blocks, blocks);
	return 0;
}

static int identify_compare(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	const struct istripe_lun *lun = &nexus->found;
	struct istripe_leg *leg = nexus->leg;
	int ret = identify_designator(nexus, why);

	if (ret || !leg->identified)
		return ret;
	if (leg->lun.capacity.block_bytes != lun->capacity.block_bytes)
		return istripe_reason_fail(why, -EINVAL,
					   "leg %u has blocks of %u bytes, the LUN now says %u: path not used",
					   leg->index, leg->lun.capacity.block_bytes,
					   lun->capacity.block_bytes);
	/* Nothing depends on them yet: it must not matter which path was the first. */
	if (!leg->lun_final) {
		istripe_limits_narrow(&leg->lun, lun);
		leg->first_blocks = min(leg->first_blocks, lun->capacity.blocks);
	}
	ret = identify_capabilities(leg, lun, why);
	if (ret && lun->untold)
		return istripe_reason_fail(why, -EAGAIN,
					   "the LUN has not answered all questions about itself: it is asked again");
	if (ret)
		return ret;
	return identify_size(nexus, why);
}

/* Through a port that takes no I/O: all else is compared when it does. */
static int identify_partly(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_leg *leg = nexus->leg;
	int ret;

	mutex_lock(&leg->identify_lock);
	ret = identify_designator(nexus, why);
	mutex_unlock(&leg->identify_lock);
	istripe_identify_forget(nexus);
	return ret;
}

void istripe_identify_recall(struct istripe_nexus *nexus, struct istripe_lun_before *before)
{
	struct istripe_leg *leg = nexus->leg;

	mutex_lock(&leg->identify_lock);
	nexus->asked_caches = leg->caches;
	*before = (struct istripe_lun_before) {
		.known = leg->identified,
		.capacity = leg->lun.capacity,
		.caching = leg->lun.caching,
		.keyed = READ_ONCE(leg->pr_key.key),
	};
	mutex_unlock(&leg->identify_lock);
	spin_lock_bh(&leg->lock);
	before->access = nexus->access;
	nexus->key.listings = leg->pr_key.listings;
	spin_unlock_bh(&leg->lock);
	/* It has got a cache since it was identified. Pairs with the release above. */
	if (smp_load_acquire(&leg->write_through)) {
		before->caching.write_cache = true;
		before->caching.dpofua = !READ_ONCE(leg->no_fua);
	}
	before->caching.write_protected = READ_ONCE(leg->protected) == ISTRIPE_PROTECTED_REPORTED;
}

static void identify_note_cache(struct istripe_nexus *nexus)
{
	const struct istripe_vpd_caching *caching = &nexus->found.caching;

	WRITE_ONCE(nexus->fua, caching->dpofua || caching->write_cache);
	/* Some writes may have been neither flushed nor sent with FUA. */
	if (caching->write_cache && nexus->cacheless)
		nexus->flushed = false;
	WRITE_ONCE(nexus->cacheless,
		   caching->told && !caching->write_cache ? nexus->asked_caches : 0);
	if (nexus->cacheless && nexus->leg->lun.caching.write_cache)
		WRITE_ONCE(nexus->leg->uncached, nexus->cacheless);
}

void istripe_identify_flushed(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	struct istripe_nexus *other;
	int section;

	mutex_lock(&leg->identify_lock);
	/* It may have gone again meanwhile. */
	if (leg->uncached <= nexus->asked_caches)
		WRITE_ONCE(leg->uncached, 0);
	mutex_unlock(&leg->identify_lock);
	section = srcu_read_lock(&leg->srcu);
	/* Their writes would be flushed one by one. Those that know do not tell each other. */
	istripe_leg_for_each_nexus(leg, other)
		if (other != nexus && !READ_ONCE(other->fua) &&
		    READ_ONCE(other->state) == ISTRIPE_NEXUS_LIVE)
			istripe_nexus_event(other, ISTRIPE_NEXUS_REVALIDATE);
	srcu_read_unlock(&leg->srcu, section);
}

int istripe_identify(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_leg *leg = nexus->leg;
	const struct istripe_lun *lun = &nexus->found;
	bool grown = false, news = false;
	int ret;

	if (!istripe_alua_usable(lun->access.state))
		return identify_partly(nexus, why);
	mutex_lock(&leg->identify_lock);
	ret = identify_compare(nexus, why);
	if (!ret)
		identify_remember(leg, lun);
	if (!ret && !leg->identified) {
		if (leg->lun.designator[0])
			strscpy(nexus->found.designator, leg->lun.designator,
				sizeof(nexus->found.designator));
		leg->lun = *lun;
		leg->first_blocks = lun->capacity.blocks;
		leg->caches = lun->caching.write_cache;
		leg->identified = true;
	}
	if (!ret && lun->caching.told && lun->caching.write_cache) {
		leg->lun.caching.told = true;
		WRITE_ONCE(leg->no_flush, false);
	}
	if (!ret) {
		identify_note_cache(nexus);
		istripe_limits_lower(leg, lun);
		nexus->blocks = lun->capacity.blocks;
		grown = nexus->blocks > leg->lun.capacity.blocks;
		news = istripe_write_protect_found(nexus);
	}
	mutex_unlock(&leg->identify_lock);
	if (news)
		istripe_write_protect_update(leg->volume);
	if (grown)
		istripe_resize_found(nexus);
	else if (!ret)
		nexus->announced_blocks = 0;
	return ret;
}

void istripe_identify_forget(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool protected;

	mutex_lock(&leg->identify_lock);
	protected = nexus->blocks && READ_ONCE(nexus->protected);
	nexus->blocks = 0;
	mutex_unlock(&leg->identify_lock);
	/* Only nexuses with a session count for write protection. */
	if (protected)
		istripe_write_protect_update(leg->volume);
}
