// SPDX-License-Identifier: GPL-2.0
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <istripe/reason.h>
#include "block/allowance.h"
#include "block/delay.h"
#include "block/ghost.h"
#include "block/last_error.h"
#include "block/leg.h"
#include "block/leg_life.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/path.h"

void istripe_leg_add_path(struct istripe_leg *leg, struct istripe_path *path)
{
	lockdep_assert_held(&leg->paths_lock);
	spin_lock_bh(&leg->lock);
	/* Readers take no lock: complete first (pairs with their READ_ONCE() of leg->paths). */
	smp_store_release(&leg->paths[path->index], path);
	WRITE_ONCE(leg->path_end, max(leg->path_end, path->index + 1));
	WRITE_ONCE(leg->path_count, leg->path_count + 1);
	WRITE_ONCE(leg->nexus_count, leg->nexus_count + path->nexus_count);
	/* Those that are unfenced since before: the leg serves nothing until their fence. */
	WRITE_ONCE(leg->unfenced_nexuses, leg->unfenced_nexuses + istripe_path_unfenced(path));
	spin_unlock_bh(&leg->lock);
}

static int leg_create_paths(struct istripe_leg *leg, const struct istripe_leg_params *params)
{
	struct istripe_path *path;
	u32 i;

	for (i = 0; i < params->path_count; i++) {
		path = istripe_path_create(leg, &params->paths[i]);
		if (IS_ERR(path))
			return PTR_ERR(path);
		mutex_lock(&leg->paths_lock);
		istripe_leg_add_path(leg, path);
		mutex_unlock(&leg->paths_lock);
	}
	return 0;
}

struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params,
				       const struct istripe_nexus_ops *nexus_ops)
{
	struct istripe_leg *leg = kzalloc(sizeof(*leg), GFP_KERNEL);
	int ret;

	if (!leg)
		return ERR_PTR(-ENOMEM);
	leg->volume = volume;
	leg->index = index;
	leg->nexus_ops = nexus_ops;
	strscpy(leg->lun.designator, params->designator, sizeof(leg->lun.designator));
	leg->designator_given = params->designator[0];
	leg->policy = params->policy;
	leg->fence = params->fence;
	leg->fence_timeout_ms = params->fence_timeout_ms;
	leg->ghost_timeout_ms = params->ghost_timeout_ms;
	leg->alua = params->alua;
	mutex_init(&leg->identify_lock);
	mutex_init(&leg->paths_lock);
	spin_lock_init(&leg->lock);
	INIT_LIST_HEAD(&leg->parked);
	init_waitqueue_head(&leg->usable);
	istripe_leg_init_works(leg);
	istripe_delay_init(leg);
	istripe_overlays_init(leg);
	ret = istripe_allowance_init(leg) ?: init_srcu_struct(&leg->srcu);
	if (ret) {
		istripe_allowance_free(leg);
		kfree(leg);
		return ERR_PTR(ret);
	}
	ret = leg_create_paths(leg, params);
	if (ret) {
		istripe_leg_destroy(leg);
		return ERR_PTR(ret);
	}
	return leg;
}

/* A reserve nexus with saved unfenced writes logs in, too, even if it is not wanted by then. */
static bool nexus_is_awaited(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->wanted) || istripe_leg_nexus_waits(nexus);
}

void istripe_leg_start(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;

	mutex_lock(&leg->paths_lock);
	spin_lock_bh(&leg->lock);
	WRITE_ONCE(leg->down_since, jiffies);
	spin_unlock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus_is_awaited(nexus))
			istripe_nexus_event(nexus, ISTRIPE_NEXUS_START);
	mutex_unlock(&leg->paths_lock);
}

int istripe_leg_nexus_error(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_reason last;

	istripe_last_error_read(nexus, &last);
	return istripe_reason_fail(why, nexus->first_error, "leg %u path %u: %s", nexus->leg->index,
				   nexus->path->index, last.text);
}

/* Nothing may be served while saved unfenced writes of this nexus may be carried out. */
static int leg_check_unfenced(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_reason last;

	/* A sibling cannot end them: nothing is proven of sessions of an earlier start. */
	if (!istripe_leg_nexus_waits(nexus))
		return 0;
	istripe_last_error_read(nexus, &last);
	return istripe_reason_fail(why, nexus->first_error ?: -ENOTCONN,
				   "leg %u path %u has left writes that its target may still carry out, and cannot end them, see unfenced: %s",
				   nexus->leg->index, nexus->path->index, last.text);
}

/* A path that leads to another LUN than the user has named is only a path that has failed. */
static bool nexus_fails_leg(const struct istripe_nexus *nexus)
{
	return nexus->mismatch &&
	       !(nexus->mismatch == -ENODEV && nexus->leg->designator_given);
}

/* Says more than the other one: the leg fails for it, or may come up when it is tried again. */
static bool nexus_says_more(const struct istripe_nexus *nexus, const struct istripe_nexus *other)
{
	return !other || nexus_fails_leg(nexus) ||
	       (other->first_error == -EACCES && !nexus_fails_leg(other));
}

/* Nexuses whose target was only unreachable go on trying. */
static int leg_judge_first_results(struct istripe_leg *leg, struct istripe_reason *why)
{
	struct istripe_nexus *nexus, *failed = NULL;
	u32 live = 0;
	int ret;

	istripe_leg_for_each_nexus(leg, nexus) {
		if (!READ_ONCE(nexus->wanted))
			continue;
		if (!nexus->first_error)
			live++;
		else if (nexus_says_more(nexus, failed))
			failed = nexus;
	}
	if (failed && (!live || nexus_fails_leg(failed)))
		return istripe_leg_nexus_error(failed, why);
	istripe_leg_for_each_nexus(leg, nexus) {
		ret = leg_check_unfenced(nexus, why);
		if (ret)
			return ret;
	}
	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus->first_error)
			istripe_nexus_persist(nexus);
	return 0;
}

/* A nexus that is live, but over a port that takes no I/O. */
static struct istripe_nexus *leg_find_unusable(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (READ_ONCE(nexus->live) && !istripe_nexus_usable(nexus))
			return nexus;
	return NULL;
}

/* While no port takes I/O the nexuses go on asking theirs. */
static int leg_wait_usable(struct istripe_leg *leg, struct istripe_reason *why)
{
	struct istripe_nexus *nexus = leg_find_unusable(leg);
	u32 timeout_ms;
	long left;

	if (READ_ONCE(leg->usable_nexuses) || !nexus)
		return 0;
	timeout_ms = READ_ONCE(nexus->path->params.timers.login_timeout_ms);
	left = wait_event_killable_timeout(leg->usable, READ_ONCE(leg->usable_nexuses),
					   msecs_to_jiffies(timeout_ms));
	if (left > 0)
		return 0;
	return istripe_reason_fail(why, left ? -EINTR : -ENODEV,
				   "leg %u: no target port takes I/O: that of path %u is %s",
				   leg->index, nexus->path->index,
				   istripe_alua_state_name(READ_ONCE(nexus->access.state)));
}

int istripe_leg_wait(struct istripe_leg *leg, struct istripe_reason *why)
{
	struct istripe_nexus *nexus;
	int ret = 0;

	mutex_lock(&leg->paths_lock);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (!nexus_is_awaited(nexus) ||
		    !wait_for_completion_killable(&nexus->first_result))
			continue;
		ret = istripe_reason_fail(why, -EINTR, "interrupted while %s was connecting",
					  nexus->label);
		break;
	}
	if (!ret)
		ret = leg_judge_first_results(leg, why);
	if (!ret)
		ret = leg_wait_usable(leg, why);
	mutex_lock(&leg->identify_lock);
	leg->lun_final = true;
	mutex_unlock(&leg->identify_lock);
	mutex_unlock(&leg->paths_lock);
	return ret;
}

int istripe_leg_check(struct istripe_leg *leg, struct istripe_reason *why)
{
	struct istripe_nexus *nexus;
	struct istripe_reason last;
	u32 at = 0;

	if (READ_ONCE(leg->usable_nexuses))
		return 0;
	mutex_lock(&leg->paths_lock);
	nexus = istripe_leg_next_nexus(leg, &at);
	istripe_last_error_read(nexus, &last);
	mutex_unlock(&leg->paths_lock);
	return istripe_reason_fail(why, -ENOTCONN, "leg %u was lost again: %s", leg->index,
				   last.text);
}

void istripe_leg_stop_begin(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;

	istripe_leg_expire(leg);
	mutex_lock(&leg->paths_lock);
	istripe_leg_for_each_nexus(leg, nexus)
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_STOP);
	mutex_unlock(&leg->paths_lock);
}

void istripe_leg_stop(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;

	istripe_leg_expire(leg);
	mutex_lock(&leg->paths_lock);
	istripe_leg_for_each_nexus(leg, nexus)
		istripe_nexus_stop(nexus);
	mutex_unlock(&leg->paths_lock);
	istripe_ghosts_warn(leg, "it stops");
	/* In this order: the first one may queue the second one. */
	cancel_delayed_work_sync(&leg->fence_work);
	istripe_overlays_stop(leg);
	cancel_delayed_work_sync(&leg->recovery_work);
	istripe_delay_stop(leg);
	istripe_allowance_stop(leg);
}

void istripe_leg_destroy(struct istripe_leg *leg)
{
	u32 i;

	if (IS_ERR_OR_NULL(leg))
		return;
	/* The disk is gone, nexuses are idle: no reader is left. A reservation may have queued: */
	cancel_delayed_work_sync(&leg->fence_work);
	for (i = 0; i < leg->path_end; i++)
		istripe_path_destroy(leg->paths[i]);
	cleanup_srcu_struct(&leg->srcu);
	istripe_overlays_free(leg);
	istripe_allowance_free(leg);
	kfree(leg);
}
