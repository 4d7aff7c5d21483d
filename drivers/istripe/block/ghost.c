// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "block/ghost.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/path.h"
#include "block/volume.h"

/* Another path is live meanwhile, and the fence may be a login through it. */
#define WAIT_MIN_MS	30000
/* Two for each overlay that is cut out of a large ghost. */
#define CUTS_MAX	64
/* Until overlays are made again that could not be made. */
#define OVERLAY_AGAIN_MS	5000

int istripe_ghosts_init(struct istripe_ghosts *ghosts, u32 max)
{
	ghosts->max = max;
	ghosts->ghosts = kvcalloc(max + CUTS_MAX, sizeof(*ghosts->ghosts), GFP_KERNEL);
	return ghosts->ghosts ? 0 : -ENOMEM;
}

void istripe_ghosts_free(struct istripe_ghosts *ghosts)
{
	kvfree(ghosts->ghosts);
}

bool istripe_ghosts_allowed(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->fence) == ISTRIPE_FENCE_AUTO && !READ_ONCE(leg->volume->has_keys) &&
	       !READ_ONCE(leg->pr_key.listed);
}

bool istripe_ghosts_add(struct istripe_nexus *nexus, struct istripe_leg_task *leg_task,
			bool failed)
{
	struct istripe_ghosts *ghosts = &nexus->ghosts;
	struct istripe_ghost *ghost = &ghosts->ghosts[ghosts->count];
	struct istripe_leg *leg = nexus->leg;

	lockdep_assert_held(&leg->lock);
	if (ghosts->count - ghosts->cuts == ghosts->max)
		return false;
	istripe_leg_task_range(leg_task, &ghost->range);
	ghost->failed = failed;
	ghost->overlay = NULL;
	if (failed)
		WRITE_ONCE(leg->ghosts_failed, true);
	istripe_range_add(&ghosts->all, &ghost->range);
	if (!ghosts->count) {
		ghosts->overlays_due = jiffies;
		WRITE_ONCE(leg->ghost_nexuses, leg->ghost_nexuses + 1);
	}
	WRITE_ONCE(ghosts->count, ghosts->count + 1);
	WRITE_ONCE(leg->failed_writes.ghosts, leg->failed_writes.ghosts + failed);
	leg->failed_writes.paths |= failed ? BIT(nexus->path->index) : 0;
	leg_task->resent = true;
	leg_task->unlike = false;
	return true;
}

void istripe_ghosts_end(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;

	lockdep_assert_held(&leg->lock);
	if (nexus->ghosts.count)
		WRITE_ONCE(leg->ghost_nexuses, leg->ghost_nexuses - 1);
	if (!leg->ghost_nexuses)
		WRITE_ONCE(leg->ghosts_failed, false);
	istripe_overlays_fenced(nexus);
	WRITE_ONCE(nexus->ghosts.count, 0);
	nexus->ghosts.cuts = 0;
	nexus->ghosts.overlaid = false;
	nexus->ghosts.told = false;
	nexus->ghosts.all = (struct istripe_range) {};
	nexus->wait_failed = false;
}

void istripe_ghosts_resend(struct istripe_nexus *nexus, struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	lockdep_assert_held(&nexus->leg->lock);
	if (nexus->tcp_has_pages || nexus->pages_astray || !istripe_ghosts_allowed(nexus->leg))
		return;
	list_for_each_entry_safe(leg_task, next, &nexus->awaiting_fence, entry)
		if (!leg_task->behind &&
		    istripe_ghosts_add(nexus, leg_task, leg_task->given_up != BLK_STS_OK))
			list_move_tail(&leg_task->entry, list);
}

static bool ghost_is_in_the_way(const struct istripe_leg *leg, const struct istripe_ghost *ghost,
				const struct istripe_range *range, bool write)
{
	struct istripe_range shared;

	if (!istripe_range_share(&ghost->range, range, &shared))
		return false;
	if (write)
		return !ghost->overlay;
	return ghost->failed && !istripe_overlays_cover(leg, &shared);
}

static bool ghosts_are_in_the_way(const struct istripe_nexus *nexus,
				  const struct istripe_range *range, bool write)
{
	const struct istripe_ghosts *ghosts = &nexus->ghosts;
	u32 i;

	if (!istripe_range_meets(&ghosts->all, range))
		return false;
	for (i = 0; i < ghosts->count; i++)
		if (ghost_is_in_the_way(nexus->leg, &ghosts->ghosts[i], range, write))
			return true;
	return false;
}

/* The writes that were lost. */
u32 istripe_ghosts_writes(const struct istripe_nexus *nexus)
{
	lockdep_assert_held(&nexus->leg->lock);
	return nexus->ghosts.count - nexus->ghosts.cuts;
}

static void ghost_cut_off(struct istripe_ghosts *ghosts, const struct istripe_ghost *ghost,
			  u64 lba, u64 end)
{
	if (lba == end)
		return;
	ghosts->ghosts[ghosts->count] = *ghost;
	ghosts->ghosts[ghosts->count].range = (struct istripe_range) { .lba = lba, .end = end };
	ghosts->cuts++;
	WRITE_ONCE(ghosts->count, ghosts->count + 1);
}

/* The blocks before and behind those that are @wanted become other ghosts. False: no room. */
static bool ghost_cut(struct istripe_ghosts *ghosts, struct istripe_ghost *ghost,
		      const struct istripe_range *wanted, u32 blocks_max)
{
	struct istripe_range part = { .lba = max(wanted->lba, ghost->range.lba) };

	if (istripe_range_blocks(&ghost->range) <= blocks_max)
		return true;
	if (ghosts->cuts + 2 > CUTS_MAX)
		return false;
	part.lba -= (u32)(part.lba - ghost->range.lba) % blocks_max;
	part.end = min(part.lba + blocks_max, ghost->range.end);
	ghost_cut_off(ghosts, ghost, ghost->range.lba, part.lba);
	ghost_cut_off(ghosts, ghost, part.end, ghost->range.end);
	ghost->range = part;
	return true;
}

/* @range: set to that of a write that waits for the ghost. */
static bool ghost_is_waited_for(const struct istripe_nexus *nexus,
				const struct istripe_ghost *ghost, struct istripe_range *range)
{
	const struct istripe_leg_task *leg_task;

	list_for_each_entry(leg_task, &nexus->awaiting_fence, entry) {
		if (!leg_task->behind || !leg_task->task.write)
			continue;
		istripe_leg_task_range(leg_task, range);
		if (ghost_is_in_the_way(nexus->leg, ghost, range, true))
			return true;
	}
	return false;
}

/*
 * The next ghost from @at on that a write waits for, and for which there is @room; @at becomes its
 * place. A larger one is cut: it gets at most @blocks_max blocks, of which the write wants some.
 */
static struct istripe_ghost *ghosts_waited_for(struct istripe_nexus *nexus, u32 *at,
					       u32 blocks_max, u32 room)
{
	struct istripe_ghosts *ghosts = &nexus->ghosts;
	struct istripe_ghost *ghost;
	struct istripe_range range;

	lockdep_assert_held(&nexus->leg->lock);
	for (; *at < ghosts->count; ++*at) {
		ghost = &ghosts->ghosts[*at];
		if (ghost_is_waited_for(nexus, ghost, &range) &&
		    min_t(u64, istripe_range_blocks(&ghost->range), blocks_max) <= room &&
		    ghost_cut(ghosts, ghost, &range, blocks_max))
			return ghost;
	}
	return NULL;
}

static void ghosts_fail(struct istripe_ghosts *ghosts, const struct istripe_range *range)
{
	u32 i;

	for (i = 0; i < ghosts->count; i++)
		ghosts->ghosts[i].failed |= istripe_range_meets(&ghosts->ghosts[i].range, range);
}

void istripe_ghosts_fail(const struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_nexus *nexus;
	struct istripe_range range;

	istripe_leg_task_range(leg_task, &range);
	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		ghosts_fail(&nexus->ghosts, &range);
	WRITE_ONCE(leg->ghosts_failed, leg->ghost_nexuses);
	spin_unlock_bh(&leg->lock);
}

struct istripe_nexus *istripe_ghosts_in_the_way(const struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_nexus *nexus;
	struct istripe_range range;

	lockdep_assert_held(&leg->lock);
	istripe_leg_task_range(leg_task, &range);
	istripe_leg_for_each_nexus(leg, nexus)
		if (ghosts_are_in_the_way(nexus, &range, leg_task->task.write))
			return nexus;
	return NULL;
}

/*
 * The pages of a lost write are its owner's as soon as it has failed. Those that a queue below TCP
 * still had when the session was closed are free by then.
 */
static bool ghosts_may_fail(const struct istripe_nexus *nexus,
			    const struct istripe_leg_task *leg_task)
{
	return leg_task->behind ||
	       (!nexus->tcp_has_pages && istripe_ghosts_writes(nexus) < nexus->ghosts.max);
}

long istripe_ghosts_left(const struct istripe_nexus *nexus,
			 const struct istripe_leg_task *leg_task)
{
	const struct istripe_leg *leg = nexus->leg;
	s32 recovery_ms = READ_ONCE(leg->volume->recovery_timeout_ms);
	unsigned long since = leg_task->since;

	lockdep_assert_held(&leg->lock);
	if (recovery_ms < 0 || !ghosts_may_fail(nexus, leg_task))
		return LONG_MAX;
	/* An outage of all paths has a time of its own (P63). */
	if (time_after(leg->serving_since, since))
		since = leg->serving_since;
	return since + msecs_to_jiffies(max(recovery_ms, WAIT_MIN_MS)) - jiffies;
}

long istripe_ghosts_overlay_left(const struct istripe_nexus *nexus,
				 const struct istripe_leg_task *leg_task)
{
	s32 timeout_ms = READ_ONCE(nexus->leg->ghost_timeout_ms);
	unsigned long due = nexus->ghosts.overlays_due;

	lockdep_assert_held(&nexus->leg->lock);
	/* A read only waits for a write that has failed: it needs the data of a later one. */
	if (!leg_task->behind || !leg_task->task.write || timeout_ms < 0 ||
	    !istripe_ghosts_allowed(nexus->leg))
		return LONG_MAX;
	/* All writes that were lost with the session are of the same age. */
	if (!nexus->ghosts.overlaid)
		due = leg_task->since + msecs_to_jiffies(timeout_ms);
	return due - jiffies;
}

u32 istripe_ghosts_waiting_ms(const struct istripe_nexus *nexus)
{
	const struct istripe_leg_task *leg_task;
	unsigned long age = 0;

	lockdep_assert_held(&nexus->leg->lock);
	list_for_each_entry(leg_task, &nexus->awaiting_fence, entry)
		age = max(age, jiffies - leg_task->since);
	return jiffies_to_msecs(age);
}

bool istripe_ghosts_time_out(const struct istripe_nexus *nexus)
{
	const struct istripe_leg_task *leg_task;

	/* Those for which there was no overlay wait on. */
	if (nexus->ghosts.overlaid && !list_empty(&nexus->awaiting_fence))
		return false;
	list_for_each_entry(leg_task, &nexus->awaiting_fence, entry)
		if (istripe_ghosts_overlay_left(nexus, leg_task) == LONG_MAX)
			return false;
	return istripe_ghosts_allowed(nexus->leg) && READ_ONCE(nexus->leg->ghost_timeout_ms) >= 0;
}

/* The next one from @at on that gets an overlay. */
static struct istripe_ghost *ghosts_next(struct istripe_nexus *nexus, u32 *at)
{
	const struct istripe_leg *leg = nexus->leg;

	/* When other hosts may write to the LUN no copy must come over their data. */
	if (!istripe_ghosts_allowed(leg))
		return NULL;
	return ghosts_waited_for(nexus, at, istripe_overlay_blocks_max(leg),
				 istripe_overlay_blocks_left(leg));
}

/* False: the ghost @at is over, or not waited for. Sets @news for the first one of the nexus. */
static bool ghost_attach(struct istripe_nexus *nexus, u32 at, struct istripe_overlay *overlay,
			 bool *news)
{
	struct istripe_leg *leg = nexus->leg;
	struct istripe_ghost *ghost;
	u32 next = at;
	bool attached;

	spin_lock_bh(&leg->lock);
	ghost = ghosts_next(nexus, &next);
	attached = ghost && next == at && ghost->range.lba == overlay->range.lba &&
		   ghost->range.end == overlay->range.end;
	if (attached) {
		ghost->overlay = overlay;
		istripe_overlay_add(leg, overlay);
		*news |= !nexus->ghosts.told;
		nexus->ghosts.told = true;
	}
	spin_unlock_bh(&leg->lock);
	return attached;
}

/* Returns how many ghosts are waited for all the same. */
static u32 ghosts_missing(struct istripe_nexus *nexus)
{
	struct istripe_ghosts *ghosts = &nexus->ghosts;
	struct istripe_leg *leg = nexus->leg;
	u32 at, missing = 0;

	spin_lock_bh(&leg->lock);
	for (at = 0; ghosts_waited_for(nexus, &at, U32_MAX, U32_MAX); at++)
		missing++;
	ghosts->overlaid = ghosts->count;
	ghosts->overlays_due = jiffies + (missing ? msecs_to_jiffies(OVERLAY_AGAIN_MS) : 0);
	spin_unlock_bh(&leg->lock);
	return missing;
}

static struct istripe_overlay *ghost_overlay_alloc(struct istripe_nexus *nexus, u32 *at)
{
	struct istripe_range range = {};
	struct istripe_ghost *ghost;

	spin_lock_bh(&nexus->leg->lock);
	ghost = ghosts_next(nexus, at);
	if (ghost)
		range = ghost->range;
	spin_unlock_bh(&nexus->leg->lock);
	return ghost ? istripe_overlay_alloc(nexus->leg, &range) : NULL;
}

static void ghosts_create_overlays(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	struct istripe_overlay *overlay;
	bool any = false, news = false;
	u32 at;

	for (at = 0; at < READ_ONCE(nexus->ghosts.count); at++) {
		overlay = ghost_overlay_alloc(nexus, &at);
		if (overlay && ghost_attach(nexus, at, overlay, &news))
			any = true;
		else
			istripe_overlay_free(overlay);
	}
	if (any)
		istripe_announce(&leg->volume->announce);
	if (news)
		pr_warn("%s: ghost_timeout_ms is over: writes of other data to the blocks of lost writes go on, and istripe keeps their data in memory, too, until the lost session is known to be dead: do not reset this host\n",
			nexus->label);
	if (ghosts_missing(nexus))
		pr_warn_ratelimited("%s: ghost_timeout_ms is over: data for the blocks of lost writes cannot be kept in memory: writes of other data to them go on waiting\n",
				    nexus->label);
}

/* Has a task waited for ghost_timeout_ms? Takes leg->lock. */
static bool ghosts_want_overlays(const struct istripe_nexus *nexus)
{
	const struct istripe_leg_task *leg_task;
	struct istripe_leg *leg = nexus->leg;
	bool want = false;

	spin_lock_bh(&leg->lock);
	list_for_each_entry(leg_task, &nexus->awaiting_fence, entry)
		want |= istripe_ghosts_overlay_left(nexus, leg_task) <= 0;
	spin_unlock_bh(&leg->lock);
	return want;
}

/* Moves the tasks that no ghost of the nexus keeps any more to @list. */
static void ghosts_take_overlaid(struct istripe_nexus *nexus, struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	lockdep_assert_held(&nexus->leg->lock);
	list_for_each_entry_safe(leg_task, next, &nexus->awaiting_fence, entry)
		if (leg_task->behind && istripe_ghosts_in_the_way(leg_task) != nexus)
			list_move_tail(&leg_task->entry, list);
}

void istripe_ghosts_overlay(struct istripe_leg *leg, struct list_head *list)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (ghosts_want_overlays(nexus))
			ghosts_create_overlays(nexus);
	spin_lock_bh(&leg->lock);
	leg->overlays.noted = false;
	istripe_leg_for_each_nexus(leg, nexus)
		ghosts_take_overlaid(nexus, list);
	spin_unlock_bh(&leg->lock);
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_ghosts_take_timed_out(struct istripe_nexus *nexus, bool serving,
				   struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	lockdep_assert_held(&nexus->leg->lock);
	list_for_each_entry_safe(leg_task, next, &nexus->awaiting_fence, entry) {
		/* The time of an outage ends what waits then, see leg_recovery_work(). */
		if (!serving || istripe_ghosts_left(nexus, leg_task) > 0)
			continue;
		if (!leg_task->behind)
			istripe_ghosts_add(nexus, leg_task, true);
		list_move_tail(&leg_task->entry, list);
		nexus->wait_failed = true;
	}
}

void istripe_ghosts_warn(const struct istripe_leg *leg, const char *what)
{
	if (READ_ONCE(leg->ghost_nexuses) || READ_ONCE(leg->overlays.count))
		pr_warn("%s/%u: %s with ghost_writes: until the lost paths have logged in again no other host may write to this LUN\n",
			leg->volume->name, leg->index, what);
}
