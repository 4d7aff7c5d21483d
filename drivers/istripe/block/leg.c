// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/slab.h>

#include "block/bundle.h"
#include "block/capacity.h"
#include "block/delay.h"
#include "block/leg.h"
#include "block/limits.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/protection.h"
#include "block/roster.h"
#include "block/volume.h"

struct istripe_path *istripe_leg_next_path(const struct istripe_leg *leg, u32 *at)
{
	const struct istripe_bundle *bundle;
	struct istripe_path *path;
	u32 i;

	lockdep_assert(srcu_read_lock_held(&leg->srcu) || lockdep_is_held(&leg->lock) ||
		       lockdep_is_held(&leg->roster_lock));
	for (i = *at; i / ISTRIPE_CONNECTIONS_MAX < READ_ONCE(leg->bundle_end); i++) {
		bundle = READ_ONCE(leg->bundles[i / ISTRIPE_CONNECTIONS_MAX]);
		path = bundle ? READ_ONCE(bundle->members[i % ISTRIPE_CONNECTIONS_MAX]) : NULL;
		*at = i + 1;
		if (path)
			return path;
	}
	return NULL;
}

static struct istripe_path *leg_pick(struct istripe_leg *leg,
				     const struct istripe_leg_task *leg_task)
{
	struct istripe_bundle *bundle = istripe_policy_pick(leg, leg_task->task.data.length_bytes,
							    leg_task->turn);

	return bundle ? istripe_bundle_pick(bundle, leg_task->task.lane) : NULL;
}

void istripe_leg_tell(struct istripe_leg *leg, const struct istripe_path *except,
		      enum istripe_path_event event)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	u32 at;

	istripe_leg_for_each_path(leg, path, at)
		if (path != except && READ_ONCE(path->state) == ISTRIPE_PATH_LIVE)
			istripe_path_event(path, event);
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_leg_send(struct istripe_leg *leg, struct istripe_leg_task *leg_task, bool may_send,
		      bool more)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;

	leg_task->overdue = 0;
	WRITE_ONCE(leg_task->since, jiffies);
	do {
		path = leg_pick(leg, leg_task);
		if (path && istripe_path_submit(path, leg_task, may_send, more))
			break;
	} while (!istripe_leg_park(leg, leg_task));
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_leg_submit(struct istripe_leg *leg, struct istripe_leg_task *leg_task, bool may_send,
			bool more)
{
	if (istripe_allowance_take(leg, leg_task))
		istripe_leg_send(leg, leg_task, may_send, more);
}

void istripe_leg_push(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	u32 at;

	istripe_leg_for_each_path(leg, path, at)
		istripe_path_push(path);
	srcu_read_unlock(&leg->srcu, section);
}

bool istripe_leg_park(struct istripe_leg *leg, struct istripe_leg_task *leg_task)
{
	bool live, failed;

	spin_lock_bh(&leg->lock);
	live = istripe_leg_serving(leg);
	failed = !live && (leg->failed || leg->stopping);
	if (!live && !failed) {
		leg_task->busy = false;
		list_add_tail(&leg_task->entry, &leg->parked);
	}
	/* Before somebody else finds it parked, and lets it in again. */
	if (!live)
		istripe_allowance_drop(leg);
	spin_unlock_bh(&leg->lock);
	if (failed)
		istripe_io_task_failed(leg_task, BLK_STS_TRANSPORT);
	return !live;
}

/* Send again what waited; the list is the caller's own. What has been given up has its fence. */
static u32 leg_redrive(struct istripe_leg *leg, struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;
	u32 count = 0;

	list_for_each_entry_safe(leg_task, next, list, entry) {
		list_del(&leg_task->entry);
		if (leg_task->given_up) {
			istripe_io_task_failed(leg_task, BLK_STS_TRANSPORT);
			continue;
		}
		istripe_leg_submit(leg, leg_task, false, false);
		count++;
	}
	return count;
}

static void leg_fail_all(struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	list_for_each_entry_safe(leg_task, next, list, entry) {
		list_del(&leg_task->entry);
		istripe_io_task_failed(leg_task, BLK_STS_TRANSPORT);
	}
}

static bool leg_hold_is_over(const struct istripe_leg *leg, unsigned long down_since)
{
	s32 hold_ms = READ_ONCE(leg->volume->recovery_timeout_ms);

	return hold_ms >= 0 && time_after_eq(jiffies, down_since + msecs_to_jiffies(hold_ms));
}

static void leg_set_unfenced(struct istripe_leg *leg, struct istripe_path *path)
{
	lockdep_assert_held(&leg->lock);
	if (!path->unfenced)
		WRITE_ONCE(leg->unfenced_paths, leg->unfenced_paths + 1);
	path->unfenced = true;
}

/*
 * Takes what waits for a fence, to be failed: from now on the leg serves nothing until
 * istripe_leg_path_fenced(). Returns how many there were.
 */
static u32 leg_take_fenced(struct istripe_leg *leg, struct list_head *list)
{
	struct istripe_path *path;
	struct list_head *entry;
	u32 count = 0;
	u32 at;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_path(leg, path, at) {
		if (list_empty(&path->fenced))
			continue;
		list_for_each(entry, &path->fenced)
			count++;
		list_splice_tail_init(&path->fenced, list);
		leg_set_unfenced(leg, path);
	}
	return count;
}

static void leg_say_unfenced(const struct istripe_leg *leg, u32 count)
{
	if (count)
		pr_err("%s/%u: %u writes fail that the target may still carry out: no I/O until their session is known to be dead\n",
		       leg->volume->name, leg->index, count);
}

/* How long until something that waits has waited long enough; false: nothing does. */
static bool leg_hold_left(const struct istripe_leg *leg, unsigned long *left)
{
	s32 hold_ms = READ_ONCE(leg->volume->recovery_timeout_ms);
	unsigned long hold = msecs_to_jiffies(hold_ms);
	unsigned long end = leg->down_since + hold;

	lockdep_assert_held(&leg->lock);
	*left = time_before(jiffies, end) ? end - jiffies : 0;
	return hold_ms >= 0 && !istripe_leg_serving(leg) && !leg->failed;
}

static void leg_arm_hold(struct istripe_leg *leg)
{
	unsigned long left;

	lockdep_assert_held(&leg->lock);
	if (leg_hold_left(leg, &left))
		mod_delayed_work(istripe_recovery_wq, &leg->hold_work, left);
	else
		cancel_delayed_work(&leg->hold_work);
}

/* @served: before the change that has just been made. */
static void leg_judge_hold(struct istripe_leg *leg, bool served)
{
	if (served && !istripe_leg_serving(leg))
		leg->down_since = jiffies;
	leg_arm_hold(leg);
}

static void leg_hold_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(to_delayed_work(work), struct istripe_leg,
					       hold_work);
	u32 unfenced = 0;
	LIST_HEAD(list);
	bool over;

	spin_lock_bh(&leg->lock);
	/* A path may have come back, and even gone again, since we were queued. */
	over = !istripe_leg_serving(leg) && !leg->failed && leg_hold_is_over(leg, leg->down_since);
	if (over) {
		leg->failed = true;
		list_splice_init(&leg->parked, &list);
		unfenced = leg_take_fenced(leg, &list);
	}
	leg_arm_hold(leg);
	spin_unlock_bh(&leg->lock);
	/* With one path nothing is served before it has logged in again anyway. */
	if (leg->path_count > 1)
		leg_say_unfenced(leg, unfenced);
	if (over)
		pr_err("%s/%u: no path for %d ms: I/O fails until one is back\n",
		       leg->volume->name, leg->index, READ_ONCE(leg->volume->recovery_timeout_ms));
	leg_fail_all(&list);
}

void istripe_leg_set_recovery_timeout(struct istripe_leg *leg)
{
	spin_lock_bh(&leg->lock);
	leg_arm_hold(leg);
	spin_unlock_bh(&leg->lock);
}

/* @lanes: how many connections are there for tasks now; none: the path is lost. */
static void leg_set_live(struct istripe_leg *leg, struct istripe_path *path, u32 lanes)
{
	struct istripe_bundle *bundle = path->bundle;
	u32 before = bundle->lanes;

	lockdep_assert_held(&leg->lock);
	WRITE_ONCE(bundle->lanes, before - path->lanes + lanes);
	WRITE_ONCE(path->lanes, lanes);
	WRITE_ONCE(path->live, lanes);
	WRITE_ONCE(leg->live_paths, leg->live_paths + (lanes ? 1 : -1));
	WRITE_ONCE(leg->live_bundles, leg->live_bundles + !!bundle->lanes - !!before);
}

void istripe_leg_path_off(struct istripe_leg *leg, struct istripe_path *path)
{
	bool served = istripe_leg_serving(leg);

	if (!path->live)
		return;
	leg_set_live(leg, path, 0);
	istripe_proof_lost(path);
	leg_judge_hold(leg, served);
}

void istripe_leg_path_lost(struct istripe_leg *leg, struct istripe_path *path)
{
	spin_lock_bh(&leg->lock);
	istripe_leg_path_off(leg, path);
	spin_unlock_bh(&leg->lock);
}

void istripe_leg_path_want(struct istripe_leg *leg, struct istripe_path *path, bool wanted)
{
	spin_lock_bh(&leg->lock);
	WRITE_ONCE(path->wanted, wanted && path->member < path->bundle->staying);
	if (!path->wanted)
		istripe_leg_path_off(leg, path);
	spin_unlock_bh(&leg->lock);
}

void istripe_leg_fence(struct istripe_leg *leg, struct istripe_leg_task *leg_task)
{
	LIST_HEAD(list);
	u32 count = 0;

	spin_lock_bh(&leg->lock);
	list_add_tail(&leg_task->entry, &leg_task->path->fenced);
	if (leg_task->given_up && leg->bundle_count == 1) {
		bool served = istripe_leg_serving(leg);

		/* It is about to fail; no other path can end its session: the wait has an end. */
		leg_set_unfenced(leg, leg_task->path);
		leg_judge_hold(leg, served);
	}
	if (leg->stopping || leg->failed)
		count = leg_take_fenced(leg, &list);
	spin_unlock_bh(&leg->lock);
	if (leg->path_count > 1)
		leg_say_unfenced(leg, count);
	leg_fail_all(&list);
}

void istripe_leg_path_marked(struct istripe_leg *leg, struct istripe_path *path)
{
	spin_lock_bh(&leg->lock);
	path->marked = true;
	spin_unlock_bh(&leg->lock);
}

bool istripe_leg_path_is_marked(struct istripe_leg *leg, const struct istripe_path *path)
{
	bool marked;

	spin_lock_bh(&leg->lock);
	marked = path->marked;
	spin_unlock_bh(&leg->lock);
	return marked;
}

void istripe_leg_path_fenced(struct istripe_leg *leg, struct istripe_path *path)
{
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	path->marked = false;
	list_splice_init(&path->fenced, &list);
	if (path->unfenced) {
		path->unfenced = false;
		WRITE_ONCE(leg->unfenced_paths, leg->unfenced_paths - 1);
	}
	if (istripe_leg_serving(leg)) {
		leg->failed = false;
		list_splice_init(&leg->parked, &list);
		leg_arm_hold(leg);
	}
	spin_unlock_bh(&leg->lock);
	atomic64_add(leg_redrive(leg, &list), &leg->redriven);
}

bool istripe_leg_path_waits(struct istripe_leg *leg, const struct istripe_path *path)
{
	bool waits;

	spin_lock_bh(&leg->lock);
	waits = path->unfenced || path->marked || !list_empty(&path->fenced);
	spin_unlock_bh(&leg->lock);
	return waits;
}

void istripe_leg_path_live(struct istripe_leg *leg, struct istripe_path *path)
{
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	if (path->live || !path->wanted) {
		spin_unlock_bh(&leg->lock);
		return;
	}
	leg_set_live(leg, path, path->owned->conn_count);
	if (istripe_leg_serving(leg)) {
		leg->failed = false;
		list_splice_init(&leg->parked, &list);
	}
	leg_arm_hold(leg);
	spin_unlock_bh(&leg->lock);
	atomic64_add(leg_redrive(leg, &list), &leg->redriven);
}

bool istripe_leg_is(struct istripe_leg *leg, const struct istripe_lun *lun)
{
	bool same;

	mutex_lock(&leg->identify_lock);
	same = !leg->lun.designator[0] || !strcmp(leg->lun.designator, lun->designator);
	mutex_unlock(&leg->identify_lock);
	return same;
}

static int leg_compare(const struct istripe_leg *leg, const struct istripe_lun *lun, char *why,
		       size_t why_bytes)
{
	if (leg->lun.designator[0] && strcmp(leg->lun.designator, lun->designator)) {
		scnprintf(why, why_bytes, "leg %u is LUN %s, but %s answers here: path refused",
			  leg->index, leg->lun.designator, lun->designator);
		return -ENODEV;
	}
	if (!leg->identified)
		return 0;
	if (leg->lun.capacity.block_bytes != lun->capacity.block_bytes) {
		scnprintf(why, why_bytes,
			  "leg %u has blocks of %u bytes, the LUN now says %u: path refused",
			  leg->index, leg->lun.capacity.block_bytes, lun->capacity.block_bytes);
		return -EINVAL;
	}
	if (lun->caching.write_cache && !leg->lun.caching.write_cache) {
		scnprintf(why, why_bytes,
			  "leg %u had no write cache, the LUN now has one, and nobody flushes it: path refused",
			  leg->index);
		return -EINVAL;
	}
	if (!istripe_limits_at_least(lun, &leg->lun)) {
		scnprintf(why, why_bytes,
			  "leg %u takes longer commands, atomic writes or FUA, than the LUN does over this path: path refused",
			  leg->index);
		return -EINVAL;
	}
	if (lun->capacity.blocks < leg->lun.capacity.blocks) {
		scnprintf(why, why_bytes,
			  "leg %u has %llu blocks, the LUN has shrunk to %llu: path refused",
			  leg->index, leg->lun.capacity.blocks, lun->capacity.blocks);
		return -ENOSPC;
	}
	return 0;
}

int istripe_leg_identify(struct istripe_leg *leg, struct istripe_path *path, char *why,
			 size_t why_bytes)
{
	const struct istripe_lun *lun = &path->found;
	bool grown = false, news = false;
	int ret;

	mutex_lock(&leg->identify_lock);
	ret = leg_compare(leg, lun, why, why_bytes);
	if (!ret && !leg->identified) {
		leg->lun = *lun;
		leg->first_blocks = lun->capacity.blocks;
		leg->identified = true;
	}
	if (!ret) {
		path->blocks = lun->capacity.blocks;
		grown = path->blocks > leg->lun.capacity.blocks;
		news = istripe_protection_found(path);
	}
	mutex_unlock(&leg->identify_lock);
	if (news)
		istripe_protection_look(leg->volume);
	if (grown)
		istripe_capacity_found(path);
	else if (!ret)
		path->announced_blocks = 0;
	return ret;
}

/* A spare that has left writes logs in, too, even when it is one no more by then. */
static bool leg_awaits(struct istripe_leg *leg, const struct istripe_path *path)
{
	return READ_ONCE(path->wanted) || istripe_leg_path_waits(leg, path);
}

void istripe_leg_start(struct istripe_leg *leg)
{
	struct istripe_path *path;
	u32 at;

	mutex_lock(&leg->roster_lock);
	spin_lock_bh(&leg->lock);
	leg->down_since = jiffies;
	spin_unlock_bh(&leg->lock);
	istripe_leg_for_each_path(leg, path, at)
		if (leg_awaits(leg, path))
			istripe_path_start(path);
	mutex_unlock(&leg->roster_lock);
}

int istripe_leg_path_error(struct istripe_path *path, char *why, size_t why_bytes)
{
	int used = scnprintf(why, why_bytes, "leg %u path %u: ", path->leg->index,
			     path->bundle->index);

	istripe_path_last_error(path, why + used, why_bytes - used);
	return path->first_error;
}

/*
 * A path that does not come up, and has left writes in its last life: nothing is served
 * before they are known to be dead.
 */
static int leg_check_past(struct istripe_path *path, char *why, size_t why_bytes)
{
	int used;

	/* Through a sibling they cannot be ended: of these sessions nothing is proven yet. */
	if (!istripe_leg_path_waits(path->leg, path))
		return 0;
	used = scnprintf(why, why_bytes,
			 "leg %u path %u has left writes that its target may still carry out, and cannot end them: ",
			 path->leg->index, path->bundle->index);
	istripe_path_last_error(path, why + used, why_bytes - used);
	return path->first_error ?: -ENOTCONN;
}

/* What the paths have come to; those that only were not reachable go on trying. */
static int leg_judge(struct istripe_leg *leg, char *why, size_t why_bytes)
{
	struct istripe_path *path, *failed = NULL;
	u32 live = 0;
	int ret;
	u32 at;

	istripe_leg_for_each_path(leg, path, at) {
		if (!READ_ONCE(path->wanted))
			continue;
		if (!path->first_error)
			live++;
		else if (!failed || path->refused)
			failed = path;
	}
	if (failed && (!live || failed->refused))
		return istripe_leg_path_error(failed, why, why_bytes);
	istripe_leg_for_each_path(leg, path, at) {
		ret = leg_check_past(path, why, why_bytes);
		if (ret)
			return ret;
	}
	istripe_leg_for_each_path(leg, path, at)
		if (path->first_error)
			istripe_path_persist(path);
	return 0;
}

int istripe_leg_wait(struct istripe_leg *leg, char *why, size_t why_bytes)
{
	struct istripe_path *path;
	int ret = 0;
	u32 at;

	mutex_lock(&leg->roster_lock);
	istripe_leg_for_each_path(leg, path, at) {
		if (!leg_awaits(leg, path) ||
		    !wait_for_completion_killable(&path->first_result))
			continue;
		scnprintf(why, why_bytes, "interrupted while %s was connecting", path->label);
		ret = -EINTR;
		break;
	}
	if (!ret)
		ret = leg_judge(leg, why, why_bytes);
	mutex_unlock(&leg->roster_lock);
	return ret;
}

int istripe_leg_check(struct istripe_leg *leg, char *why, size_t why_bytes)
{
	struct istripe_path *path;
	int used;
	u32 at = 0;

	if (READ_ONCE(leg->live_paths))
		return 0;
	used = scnprintf(why, why_bytes, "leg %u was lost again: ", leg->index);
	mutex_lock(&leg->roster_lock);
	path = istripe_leg_next_path(leg, &at);
	istripe_path_last_error(path, why + used, why_bytes - used);
	mutex_unlock(&leg->roster_lock);
	return -ENOTCONN;
}

void istripe_leg_expire(struct istripe_leg *leg)
{
	LIST_HEAD(list);
	u32 unfenced;

	spin_lock_bh(&leg->lock);
	leg->stopping = true;
	list_splice_init(&leg->parked, &list);
	list_splice_init(&leg->delay.tasks, &list);
	istripe_allowance_expire(leg, &list);
	unfenced = leg_take_fenced(leg, &list);
	spin_unlock_bh(&leg->lock);
	leg_say_unfenced(leg, unfenced);
	leg_fail_all(&list);
}

void istripe_leg_stop_begin(struct istripe_leg *leg)
{
	struct istripe_path *path;
	u32 at;

	istripe_leg_expire(leg);
	mutex_lock(&leg->roster_lock);
	istripe_leg_for_each_path(leg, path, at)
		istripe_path_event(path, ISTRIPE_PATH_STOP);
	mutex_unlock(&leg->roster_lock);
}

void istripe_leg_stop(struct istripe_leg *leg)
{
	struct istripe_path *path;
	u32 at;

	istripe_leg_expire(leg);
	mutex_lock(&leg->roster_lock);
	istripe_leg_for_each_path(leg, path, at)
		istripe_path_stop(path);
	mutex_unlock(&leg->roster_lock);
	istripe_proof_stop(leg);
	cancel_delayed_work_sync(&leg->hold_work);
	istripe_delay_stop(leg);
	istripe_allowance_stop(leg);
}

static int leg_create_bundles(struct istripe_leg *leg, const struct istripe_leg_params *params)
{
	struct istripe_bundle *bundle;
	u32 i;

	for (i = 0; i < params->path_count; i++) {
		bundle = istripe_bundle_create(leg, &params->paths[i]);
		if (IS_ERR(bundle))
			return PTR_ERR(bundle);
		mutex_lock(&leg->roster_lock);
		istripe_roster_enter(leg, bundle);
		mutex_unlock(&leg->roster_lock);
	}
	return 0;
}

struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params)
{
	struct istripe_leg *leg = kzalloc(sizeof(*leg), GFP_KERNEL);
	int ret;

	if (!leg)
		return ERR_PTR(-ENOMEM);
	leg->volume = volume;
	leg->index = index;
	strscpy(leg->lun.designator, params->designator, sizeof(leg->lun.designator));
	leg->policy = params->policy;
	leg->fence = params->fence;
	mutex_init(&leg->identify_lock);
	mutex_init(&leg->roster_lock);
	spin_lock_init(&leg->lock);
	INIT_LIST_HEAD(&leg->parked);
	INIT_DELAYED_WORK(&leg->hold_work, leg_hold_work);
	istripe_delay_init(leg);
	istripe_proof_init(leg);
	istripe_lun_reset_init(leg);
	ret = istripe_allowance_init(leg) ?: init_srcu_struct(&leg->srcu);
	if (ret) {
		istripe_allowance_free(leg);
		kfree(leg);
		return ERR_PTR(ret);
	}
	ret = leg_create_bundles(leg, params);
	if (ret) {
		istripe_leg_destroy(leg);
		return ERR_PTR(ret);
	}
	return leg;
}

void istripe_leg_destroy(struct istripe_leg *leg)
{
	u32 i;

	if (IS_ERR_OR_NULL(leg))
		return;
	/* Its works are cancelled, its paths idle, its volume's disk gone. */
	for (i = 0; i < leg->bundle_end; i++)
		istripe_bundle_destroy(leg->bundles[i]);
	cleanup_srcu_struct(&leg->srcu);
	istripe_allowance_free(leg);
	kfree(leg);
}
