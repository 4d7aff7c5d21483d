// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/sched/mm.h>
#include <compat/workqueue.h>

#include <istripe/reason.h>
#include "block/metadata.h"
#include "block/nexus.h"
#include "block/resize.h"
#include "block/volume.h"
#include "layout/stripe.h"

/* Sizes of all legs. */
struct survey {
	u64 least_sectors;
	u64 most_sectors;
	u32 least;		/* index of the smallest leg */
	u32 most;		/* and of the largest */
};

/*
 * The least that a nexus which is logged in has found; without one, the present size. A new nexus
 * is added to the leg before it logs in, and takes the lock to report: no live one is missed.
 */
static u64 leg_found_blocks(struct istripe_leg *leg)
{
	const struct istripe_nexus *nexus;
	u64 blocks = U64_MAX;
	int section;

	lockdep_assert_held(&leg->identify_lock);
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus->blocks)
			blocks = min(blocks, nexus->blocks);
	srcu_read_unlock(&leg->srcu, section);
	return blocks == U64_MAX ? leg->lun.capacity.blocks : blocks;
}

static u64 leg_sectors(const struct istripe_leg *leg, u64 blocks)
{
	return blocks << (ilog2(leg->lun.capacity.block_bytes) - SECTOR_SHIFT);
}

static void volume_survey(const struct istripe_volume *volume, struct survey *survey)
{
	struct istripe_leg *leg;
	u64 sectors;
	u32 i;

	*survey = (struct survey) { .least_sectors = U64_MAX };
	for (i = 0; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		mutex_lock(&leg->identify_lock);
		sectors = leg_sectors(leg, leg_found_blocks(leg));
		mutex_unlock(&leg->identify_lock);
		if (sectors < survey->least_sectors) {
			survey->least_sectors = sectors;
			survey->least = i;
		}
		if (sectors > survey->most_sectors) {
			survey->most_sectors = sectors;
			survey->most = i;
		}
	}
}

static bool volume_has_room(const struct istripe_volume *volume, const struct survey *survey)
{
	const struct istripe_stripe *now = &volume->stripe;
	struct istripe_stripe grown = *now;

	return !istripe_stripe_grow(&grown,
				    istripe_metadata_growth_share(volume, survey->least_sectors)) &&
	       grown.leg_sectors > now->leg_sectors;
}

/* Superblocks are written on a rescan only. */
static bool volume_may_grow(const struct istripe_volume *volume, const struct survey *survey,
			    bool asked)
{
	return (volume->metadata.kind == ISTRIPE_METADATA_NONE || asked) &&
	       volume_has_room(volume, survey);
}

/*
 * From now on no nexus may find less. False: a nexus that has logged in meanwhile, or has been
 * asked again, has found less than @sectors.
 */
static bool leg_commit(struct istripe_leg *leg, u64 sectors)
{
	u64 found;
	bool ok;

	mutex_lock(&leg->identify_lock);
	found = leg_found_blocks(leg);
	ok = leg_sectors(leg, found) >= sectors;
	if (ok) {
		leg->former_blocks = leg->lun.capacity.blocks;
		leg->former_needed_blocks = leg->needed_blocks;
		leg->lun.capacity.blocks = found;
		leg->needed_blocks = istripe_lun_blocks(&leg->lun, sectors);
	}
	mutex_unlock(&leg->identify_lock);
	return ok;
}

static void leg_undo_commit(struct istripe_leg *leg)
{
	mutex_lock(&leg->identify_lock);
	leg->lun.capacity.blocks = leg->former_blocks;
	leg->needed_blocks = leg->former_needed_blocks;
	mutex_unlock(&leg->identify_lock);
}

static void volume_take_back(struct istripe_volume *volume, u32 legs)
{
	while (legs)
		leg_undo_commit(volume->legs[--legs]);
}

/* All legs or none: a disk that does not grow must not need more of its legs than before. */
static bool volume_commit(struct istripe_volume *volume, u64 sectors)
{
	u32 done;

	for (done = 0; done < volume->leg_count; done++)
		if (!leg_commit(volume->legs[done], sectors))
			break;
	if (done == volume->leg_count)
		return true;
	volume_take_back(volume, done);
	return false;
}

/* On failure legs keep the size that a superblock may already say. */
static int volume_write_supers(struct istripe_volume *volume, u64 least_sectors,
			       u64 *share_sectors)
{
	struct istripe_reason why = {};
	bool before = volume->metadata.growth.begun;
	int ret = istripe_metadata_grow(volume, least_sectors, share_sectors, &why);
	bool begun = volume->metadata.growth.begun;

	/* Growth that an earlier attempt has begun was committed then. */
	if (ret && begun == before)
		volume_take_back(volume, volume->leg_count);
	if (ret)
		pr_err("%s: the disk keeps its size: %s%s\n", volume->name, why.text, begun ?
		       "; superblocks may say more by now: rescan again before it goes down" : "");
	return ret;
}

/* 0 also when the disk does not grow because a nexus has meanwhile found less. */
static int volume_grow(struct istripe_volume *volume, const struct survey *survey)
{
	u64 before = istripe_stripe_capacity_sectors(&volume->stripe);
	u64 share, now;
	int ret;

	if (!volume_commit(volume, survey->least_sectors))
		return 0;
	ret = volume_write_supers(volume, survey->least_sectors, &share);
	if (ret)
		return ret;
	istripe_stripe_grow(&volume->stripe, share);
	now = istripe_stripe_capacity_sectors(&volume->stripe);
	/* The stripe grows before the disk; pairs with the barrier in io_prepare_extents(). */
	smp_wmb();
	set_capacity_and_notify(volume->disk, now);
	pr_info("%s: %s has grown from %llu to %llu sectors\n", volume->name,
		volume->disk->disk_name, before, now);
	return 0;
}

static bool leg_found_more(struct istripe_leg *leg)
{
	const struct istripe_nexus *nexus;
	bool more = false;
	int section;

	mutex_lock(&leg->identify_lock);
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, nexus)
		more = more || nexus->blocks > leg->lun.capacity.blocks;
	srcu_read_unlock(&leg->srcu, section);
	mutex_unlock(&leg->identify_lock);
	return more;
}

static bool volume_found_more(const struct istripe_volume *volume)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		if (leg_found_more(volume->legs[i]))
			return true;
	return false;
}

static bool volume_must_explain(const struct istripe_volume *volume, const struct survey *survey)
{
	if (survey->least_sectors == survey->most_sectors && !volume_has_room(volume, survey))
		return false;
	return volume_found_more(volume) || istripe_metadata_growth_begun(volume);
}

static void volume_tell(const struct istripe_volume *volume, const struct survey *survey)
{
	const char *until = volume_has_room(volume, survey) ?
			    " until a rescan lets its superblocks say more" : "";

	if (survey->least_sectors == survey->most_sectors)
		pr_notice_ratelimited("%s: legs have %llu sectors: the disk keeps its size%s\n",
				      volume->name, survey->least_sectors, until);
	else
		pr_notice_ratelimited("%s: leg %u has %llu sectors, leg %u has %llu: the disk keeps its size%s\n",
				      volume->name, survey->most, survey->most_sectors,
				      survey->least, survey->least_sectors, until);
}

/* Logs once for each size and rescan, however often a nexus logs in. */
static void volume_explain(struct istripe_volume *volume, const struct survey *survey)
{
	struct istripe_resize *resize = &volume->resize;

	if (!volume_must_explain(volume, survey))
		return;
	if (READ_ONCE(resize->asking))
		return;
	if (resize->told_least_sectors == survey->least_sectors &&
	    resize->told_most_sectors == survey->most_sectors)
		return;
	resize->told_least_sectors = survey->least_sectors;
	resize->told_most_sectors = survey->most_sectors;
	volume_tell(volume, survey);
}

/* The second pass is for legs that have grown further since an attempt that has now ended. */
static int volume_review(struct istripe_volume *volume, bool asked)
{
	struct survey survey;
	int ret, pass;

	for (pass = 0; pass < 2; pass++) {
		volume_survey(volume, &survey);
		if (!volume_may_grow(volume, &survey, asked))
			break;
		ret = volume_grow(volume, &survey);
		if (ret)
			return ret;
	}
	if (pass < 2)
		volume_explain(volume, &survey);
	return 0;
}

static void resize_work(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(work, struct istripe_volume, resize.work);
	struct istripe_resize *resize = &volume->resize;
	unsigned int noio = memalloc_noio_save();
	bool asked = READ_ONCE(resize->asked);
	int ret = 0;

	if (asked) {
		WRITE_ONCE(resize->asked, false);
		resize->told_most_sectors = 0;
	}
	if (READ_ONCE(resize->running))
		ret = volume_review(volume, asked);
	if (asked)
		resize->error = ret;
	memalloc_noio_restore(noio);
}

void istripe_resize_init(struct istripe_resize *resize)
{
	INIT_WORK(&resize->work, resize_work);
	mutex_init(&resize->rescan_lock);
}

/* Others ask their LUN before they are live. */
static void volume_ask(const struct istripe_volume *volume, const struct istripe_nexus *except,
		       enum istripe_nexus_event event)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_tell(volume->legs[i], except, event);
}

/*
 * Not on the recovery queue: the uevent may wait for memory, memory for I/O, and I/O for recovery.
 */
void istripe_resize_check(struct istripe_volume *volume)
{
	queue_work(istripe_compat_unbound_wq(), &volume->resize.work);
}

void istripe_resize_found(struct istripe_nexus *nexus)
{
	struct istripe_volume *volume = nexus->leg->volume;

	if (!READ_ONCE(volume->resize.running))
		return;
	istripe_resize_check(volume);
	/* Once for each size: other nexuses that find it would make us ask again. */
	if (nexus->announced_blocks == nexus->found.capacity.blocks)
		return;
	nexus->announced_blocks = nexus->found.capacity.blocks;
	volume_ask(volume, nexus, ISTRIPE_NEXUS_REVALIDATE);
}

/* One that has identified its LUN at a login, as on trial, counts, and is asked when it is live. */
static bool nexus_is_asked(const struct istripe_nexus *nexus)
{
	enum istripe_nexus_state state = READ_ONCE(nexus->state);

	return state == ISTRIPE_NEXUS_LIVE ||
	       (state == ISTRIPE_NEXUS_CONNECTING && READ_ONCE(nexus->blocks));
}

/* A nexus that is not wanted is not asked. The section keeps the others. */
static int leg_wait_asked(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;
	int ret = 0;

	istripe_leg_for_each_nexus(leg, nexus) {
		if (!READ_ONCE(nexus->wanted))
			continue;
		if (nexus_is_asked(nexus))
			flush_work(&nexus->work.work);
		/* Also of a nexus that went down because of what it found. */
		ret = ret ?: READ_ONCE(nexus->revalidate_error);
	}
	srcu_read_unlock(&leg->srcu, section);
	if (!ret && !READ_ONCE(leg->usable_nexuses))
		ret = -ENOTCONN;
	return ret;
}

static int volume_wait(const struct istripe_volume *volume)
{
	int ret = 0;
	int error;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		error = leg_wait_asked(volume->legs[i]);
		ret = ret ?: error;
	}
	return ret;
}

int istripe_resize_rescan(struct istripe_volume *volume)
{
	struct istripe_resize *resize = &volume->resize;
	int ret;
	u32 i;

	if (mutex_lock_killable(&resize->rescan_lock))
		return -EINTR;
	WRITE_ONCE(resize->asking, true);
	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_wake(volume->legs[i]);
	volume_ask(volume, NULL, ISTRIPE_NEXUS_REVALIDATE_NOW);
	ret = volume_wait(volume);
	WRITE_ONCE(resize->asking, false);
	/* The work runs also when nothing new was found: growth may have begun before. */
	resize->error = 0;
	if (!ret)
		WRITE_ONCE(resize->asked, true);
	istripe_resize_check(volume);
	flush_work(&resize->work);
	ret = ret ?: resize->error;
	mutex_unlock(&resize->rescan_lock);
	return ret;
}

void istripe_resize_start(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->resize.running, true);
	/*
	 * istripe_resize_found() ignored what nexuses found before. Both sides take identify_lock:
	 * a nexus that we do not see here sees @running.
	 */
	if (!volume_found_more(volume))
		return;
	istripe_resize_check(volume);
	volume_ask(volume, NULL, ISTRIPE_NEXUS_REVALIDATE);
}

void istripe_resize_end(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->resize.ending, true);
}

bool istripe_resize_is_ending(const struct istripe_volume *volume)
{
	return READ_ONCE(volume->resize.ending);
}

void istripe_resize_stop(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->resize.running, false);
	cancel_work_sync(&volume->resize.work);
}
