// SPDX-License-Identifier: GPL-2.0
#include "block/busy.h"
#include "block/delay.h"
#include "block/elapsed.h"
#include "block/ghost.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/requeue.h"
#include "block/volume.h"
#include "block/workqueue.h"

#define TRANSITION_S		60	/* of access states at most, if the target does not say */
#define TRANSITIONS_MAX_S	600	/* of several ports, one after the other */
#define REFUSES_AGAIN_MS	5000	/* after the leg has come back: of the outage before */

struct istripe_nexus *istripe_leg_next_nexus(const struct istripe_leg *leg, u32 *at)
{
	const struct istripe_path *path;
	struct istripe_nexus *nexus;
	u32 i;

	lockdep_assert(srcu_read_lock_held(&leg->srcu) || lockdep_is_held(&leg->lock) ||
		       lockdep_is_held(&leg->paths_lock));
	for (i = *at; i / ISTRIPE_CONNECTIONS_MAX < READ_ONCE(leg->path_end); i++) {
		path = READ_ONCE(leg->paths[i / ISTRIPE_CONNECTIONS_MAX]);
		nexus = path ? READ_ONCE(path->nexuses[i % ISTRIPE_CONNECTIONS_MAX]) : NULL;
		*at = i + 1;
		if (nexus)
			return nexus;
	}
	return NULL;
}

const char *const istripe_leg_state_names[] = {
	[ISTRIPE_LEG_LIVE] = "live",
	[ISTRIPE_LEG_DEGRADED] = "degraded",
	[ISTRIPE_LEG_WAITING] = "waiting",
	[ISTRIPE_LEG_FAILED] = "failed",
};

enum istripe_leg_state istripe_leg_state(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	u32 usable, idle = 0;
	bool failed, unserved;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		/* One that is being added has not failed. */
		idle += !nexus->wanted ||
			(nexus->live ? !istripe_nexus_usable(nexus) :
				       !completion_done(&nexus->first_result));
	usable = leg->unfenced_nexuses ? 0 : leg->usable_nexuses;
	failed = leg->failed;
	unserved = leg->unserved.tasks;
	spin_unlock_bh(&leg->lock);
	if (usable && !unserved)
		return usable + idle >= leg->nexus_count ? ISTRIPE_LEG_LIVE : ISTRIPE_LEG_DEGRADED;
	return failed ? ISTRIPE_LEG_FAILED : ISTRIPE_LEG_WAITING;
}

/* After a change of istripe_leg_state(), or of an access state or waiting writes of a path. */
static void leg_announce(struct istripe_leg *leg)
{
	istripe_announce(&leg->volume->announce);
}

/* After a time-out, when each path that gets I/O has failed the task. */
static struct istripe_nexus *leg_pick_unchosen(const struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	u16 failed_over = leg_task->failed_over;

	if (READ_ONCE(leg->unfenced_nexuses) || istripe_policy_pick_other(leg, 0, failed_over))
		return NULL;
	return istripe_policy_pick_unchosen(leg, failed_over | leg_task->avoid) ?:
	       istripe_policy_pick_unchosen(leg, failed_over);
}

static struct istripe_nexus *leg_pick(const struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_path *path = istripe_policy_pick(leg, leg_task->task.data.length_bytes);
	u16 avoid = leg_task->avoid;
	u16 busy = istripe_busy_paths(leg);

	if (path && unlikely((avoid | busy) & BIT(path->index)))
		path = istripe_policy_pick_other(leg, path->index, avoid | busy) ?:
		       istripe_policy_pick_other(leg, path->index, avoid) ?: path;
	return path ? istripe_path_pick(path, istripe_path_lane(path, &leg_task->task)) : NULL;
}

/* One that logs in may have asked the LUN already: it gets the event when it is live. */
static bool leg_may_tell(const struct istripe_nexus *nexus, enum istripe_nexus_event event)
{
	enum istripe_nexus_state state = READ_ONCE(nexus->state);

	if (state != ISTRIPE_NEXUS_LIVE)
		return state == ISTRIPE_NEXUS_CONNECTING;
	return event != ISTRIPE_NEXUS_ACCESS || READ_ONCE(nexus->access.tpgs);
}

void istripe_leg_tell(struct istripe_leg *leg, const struct istripe_nexus *except,
		      enum istripe_nexus_event event)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus != except && leg_may_tell(nexus, event))
			istripe_nexus_event(nexus, event);
	srcu_read_unlock(&leg->srcu, section);
}

static void leg_wake(struct istripe_leg *leg, const struct istripe_nexus *except)
{
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus != except)
			istripe_nexus_wake(nexus);
}

void istripe_leg_wake(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);

	leg_wake(leg, NULL);
	srcu_read_unlock(&leg->srcu, section);
}

/*
 * Keeps a task, not in flight, until the leg serves. False: it does, submit the task. True: it is
 * parked, or has failed because nothing waits any more.
 */
static bool leg_park(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	bool serving, failed;

	spin_lock_bh(&leg->lock);
	serving = istripe_leg_serving(leg);
	failed = !serving && (leg->failed || leg->stopping);
	if (!serving && !failed) {
		istripe_leg_task_stop_clocks(leg_task);
		list_add_tail(&leg_task->entry, &leg->parked);
	}
	/* Before leg->lock is released: then the task may be redriven, and let in again. */
	if (!serving)
		istripe_allowance_drop(leg);
	spin_unlock_bh(&leg->lock);
	if (failed)
		istripe_leg_task_fail(leg_task, BLK_STS_TRANSPORT);
	return !serving;
}

void istripe_leg_send(struct istripe_leg_task *leg_task, enum istripe_submit when)
{
	struct istripe_leg *leg = leg_task->leg;
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	leg_task->timeouts = 0;
	if (!leg_task->flushes)
		leg_task->generation = READ_ONCE(leg->generations);
	WRITE_ONCE(leg_task->since, jiffies);
	do {
		nexus = unlikely(leg_task->late_over) ? leg_pick_unchosen(leg_task) : NULL;
		nexus = nexus ?: leg_pick(leg_task);
		if (nexus && istripe_nexus_submit(nexus, leg_task, when))
			break;
	} while (!leg_park(leg_task));
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_leg_push(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		istripe_nexus_push(nexus);
	srcu_read_unlock(&leg->srcu, section);
}

/* @alone: also of a leg with one nexus, which serves nothing before that has logged in anyway. */
static void leg_say_failed(struct istripe_leg *leg, bool alone)
{
	struct istripe_failed_writes failed;

	spin_lock_bh(&leg->lock);
	failed = leg->failed_writes;
	WRITE_ONCE(leg->failed_writes.ghosts, 0);
	leg->failed_writes.unfenced = 0;
	leg->failed_writes.paths = 0;
	spin_unlock_bh(&leg->lock);
	if ((failed.ghosts || failed.unfenced) && (alone || leg->nexus_count > 1))
		pr_err("%s/%u: %u writes fail that the target may still carry out: no %s until their session over path %*pbl is known to be dead\n",
		       leg->volume->name, leg->index, failed.ghosts + failed.unfenced,
		       failed.unfenced ? "I/O" : "I/O to the same blocks", ISTRIPE_PATHS_MAX,
		       &failed.paths);
}

void istripe_leg_redrive(struct istripe_leg *leg, struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	if (READ_ONCE(leg->failed_writes.ghosts))
		leg_say_failed(leg, false);
	list_for_each_entry_safe(leg_task, next, list, entry) {
		list_del(&leg_task->entry);
		leg_task->behind = false;
		if (leg_task->given_up)
			istripe_leg_task_fail(leg_task, leg_task->given_up);
		else
			istripe_leg_submit(leg_task, ISTRIPE_SUBMIT_LATER);
	}
}

static void leg_redrive_lost(struct istripe_leg *leg, struct list_head *list)
{
	u32 ms = READ_ONCE(leg->back_after_ms) ? xchg(&leg->back_after_ms, 0) : 0;

	if (ms)
		pr_info("%s/%u: I/O goes on after %u ms\n", leg->volume->name, leg->index, ms);
	istripe_leg_redrive(leg, list);
	istripe_requeue_kick(leg);
}

unsigned long istripe_leg_outage_end(const struct istripe_leg *leg, s32 recovery_ms)
{
	unsigned long end = leg->down_since + msecs_to_jiffies(recovery_ms);
	unsigned long last = end + TRANSITIONS_MAX_S * HZ;
	const struct istripe_nexus *nexus;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (nexus->live && nexus->access.state == SCSI_ACCESS_STATE_TRANSITIONING &&
		    time_after(nexus->transition_end, end))
			end = nexus->transition_end;
		if (!nexus->live && nexus->busy && time_after(nexus->busy_end, end))
			end = nexus->busy_end;
	}
	return time_before(end, last) ? end : last;
}

static bool leg_recovery_is_over(const struct istripe_leg *leg)
{
	s32 recovery_ms = READ_ONCE(leg->volume->recovery_timeout_ms);

	return recovery_ms >= 0 && time_after_eq(jiffies, istripe_leg_outage_end(leg, recovery_ms));
}

static void nexus_set_unfenced(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;

	lockdep_assert_held(&leg->lock);
	if (!nexus->unfenced)
		WRITE_ONCE(leg->unfenced_nexuses, leg->unfenced_nexuses + 1);
	nexus->unfenced = true;
	leg_announce(leg);
}

u32 istripe_leg_nexus_waiting_writes(const struct istripe_nexus *nexus)
{
	struct list_head *entry;
	u32 count = 0;

	lockdep_assert_held(&nexus->leg->lock);
	list_for_each(entry, &nexus->awaiting_fence)
		count++;
	return count;
}

/*
 * Takes the tasks that wait for a fence, to fail. Tasks that TCP may have pages of follow with
 * istripe_leg_nexus_released().
 */
static void leg_take_awaiting_fence(struct istripe_leg *leg, struct list_head *list)
{
	struct istripe_leg_task *leg_task;
	struct istripe_nexus *nexus;
	bool ghosts;

	lockdep_assert_held(&leg->lock);
	/* The next start has no ghosts. */
	ghosts = !leg->stopping && READ_ONCE(leg->fence) != ISTRIPE_FENCE_PATH;
	istripe_leg_for_each_nexus(leg, nexus) {
		if (nexus->tcp_has_pages)
			continue;
		list_for_each_entry(leg_task, &nexus->awaiting_fence, entry) {
			/* One that was not sent does no harm. */
			if (leg_task->behind ||
			    (ghosts && istripe_ghosts_add(nexus, leg_task, true)))
				continue;
			leg->failed_writes.unfenced++;
			__set_bit(nexus->path->index, &leg->failed_writes.paths);
			nexus_set_unfenced(nexus);
		}
		list_splice_tail_init(&nexus->awaiting_fence, list);
	}
	leg_announce(leg);
}

static void leg_arm_recovery(struct istripe_leg *leg)
{
	s32 recovery_ms = READ_ONCE(leg->volume->recovery_timeout_ms);
	unsigned long end;

	lockdep_assert_held(&leg->lock);
	if (recovery_ms < 0 || istripe_leg_serving(leg) || leg->failed || leg->stopping) {
		cancel_delayed_work(&leg->recovery_work);
		return;
	}
	end = istripe_leg_outage_end(leg, recovery_ms);
	mod_delayed_work(istripe_recovery_wq, &leg->recovery_work,
			 time_before(jiffies, end) ? end - jiffies : 0);
}

/* Its ports are said to take I/O, and refuse it all the same: the leg has not come back. */
static bool leg_refuses_again(const struct istripe_leg *leg)
{
	lockdep_assert_held(&leg->lock);
	return leg->port_refused &&
	       time_before(jiffies, leg->serving_since + msecs_to_jiffies(REFUSES_AGAIN_MS));
}

/*
 * @served: istripe_leg_serving() before the change that has just been made. @lost: whose session is
 * lost; it is not woken: sessions that are lost at once would not make its back-off grow.
 */
static void leg_check_recovery(const struct istripe_nexus *lost, bool served)
{
	struct istripe_leg *leg = lost->leg;

	if (served && !istripe_leg_serving(leg)) {
		if (!leg_refuses_again(leg))
			WRITE_ONCE(leg->down_since, jiffies);
		leg_wake(leg, lost);
	}
	leg_arm_recovery(leg);
}

static void leg_recovery_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(work, struct istripe_leg, recovery_work.work);
	LIST_HEAD(list);
	u32 down_ms;
	bool over;

	spin_lock_bh(&leg->lock);
	down_ms = jiffies_to_msecs(jiffies - leg->down_since);
	/* Since this work was queued a nexus may have come back, and even been lost again. */
	over = !istripe_leg_serving(leg) && !leg->failed && leg_recovery_is_over(leg);
	if (over) {
		leg->failed = true;
		leg_announce(leg);
		list_splice_init(&leg->parked, &list);
		leg_take_awaiting_fence(leg, &list);
	}
	leg_arm_recovery(leg);
	spin_unlock_bh(&leg->lock);
	leg_say_failed(leg, false);
	if (over)
		pr_err("%s/%u: no path for %u ms: I/O fails until one is back\n",
		       leg->volume->name, leg->index, down_ms);
	istripe_leg_task_fail_all(&list);
}

static void leg_choose(struct istripe_leg *leg)
{
	istripe_policy_choose(leg);
	leg_announce(leg);
}

/* @connections: of the nexus's session; 0: it is lost. */
static void nexus_set_live(struct istripe_nexus *nexus, u32 connections)
{
	lockdep_assert_held(&nexus->leg->lock);
	nexus->connections = connections;
	WRITE_ONCE(nexus->live, connections);
	leg_choose(nexus->leg);
}

/* No more tasks for it, live or not. */
static void nexus_off(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool served = istripe_leg_serving(leg);

	if (!nexus->live)
		return;
	nexus_set_live(nexus, 0);
	nexus->generation = istripe_leg_next_generation(leg);
	/* A nexus that is being taken out does not count as lost. */
	leg->losses += nexus->wanted;
	/* Another outage than that of ports that refuse. */
	WRITE_ONCE(leg->port_refused, false);
	leg_check_recovery(nexus, served);
}

void istripe_leg_nexus_lost(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	nexus_off(nexus);
	nexus->tcp_has_pages = true;
	spin_unlock_bh(&leg->lock);
}

void istripe_leg_nexus_want(struct istripe_nexus *nexus, bool wanted)
{
	lockdep_assert_held(&nexus->leg->lock);
	WRITE_ONCE(nexus->wanted, wanted && nexus->index < nexus->path->kept);
	leg_announce(nexus->leg);
	if (!nexus->wanted)
		nexus_off(nexus);
}

/*
 * Whether fence_timeout_ms counts for a nexus, and when it is over. Not while no nexus could take
 * its tasks: then a fence costs nothing. Not for a loss of an earlier start of the volume.
 */
static bool nexus_fence_deadline(const struct istripe_nexus *nexus, unsigned long *end)
{
	const struct istripe_leg *leg = nexus->leg;
	s32 timeout_ms = READ_ONCE(leg->fence_timeout_ms);

	lockdep_assert_held(&leg->lock);
	*end = READ_ONCE(nexus->lost_at) + msecs_to_jiffies(timeout_ms);
	return timeout_ms >= 0 && (leg->usable_nexuses || READ_ONCE(nexus->barred)) &&
	       !leg->stopping && !nexus->live && !nexus->tcp_has_pages && nexus->generation &&
	       (nexus->unfenced || nexus->ghosts.count || !list_empty(&nexus->awaiting_fence));
}

static void leg_arm_fence(struct istripe_leg *leg)
{
	const struct istripe_leg_task *leg_task;
	struct istripe_nexus *nexus;
	long first = leg->overlays.noted ? 0 : LONG_MAX;
	unsigned long end;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (nexus_fence_deadline(nexus, &end))
			first = min(first, (long)(end - jiffies));
		list_for_each_entry(leg_task, &nexus->awaiting_fence, entry)
			if (istripe_leg_serving(leg))
				first = min3(first, istripe_ghosts_left(nexus, leg_task),
					     istripe_ghosts_overlay_left(nexus, leg_task));
	}
	if (first < LONG_MAX)
		mod_delayed_work(istripe_recovery_wq, &leg->fence_work, max(first, 0L));
	else
		cancel_delayed_work(&leg->fence_work);
}

void istripe_leg_set_recovery_timeout(struct istripe_leg *leg)
{
	spin_lock_bh(&leg->lock);
	if (leg->failed && !leg_recovery_is_over(leg)) {
		leg->failed = false;
		pr_info("%s/%u: recovery_timeout_ms has changed: I/O waits again\n",
			leg->volume->name, leg->index);
		leg_announce(leg);
	}
	leg_wake(leg, NULL);
	leg_arm_recovery(leg);
	leg_arm_fence(leg);
	spin_unlock_bh(&leg->lock);
}

void istripe_leg_set_fence_timeout(struct istripe_leg *leg)
{
	spin_lock_bh(&leg->lock);
	leg_arm_fence(leg);
	spin_unlock_bh(&leg->lock);
}

/* Nothing waits for a fence when the leg has failed or stops. */
static void leg_fail_if_over(struct istripe_leg *leg)
{
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	if (leg->stopping || leg->failed)
		leg_take_awaiting_fence(leg, &list);
	spin_unlock_bh(&leg->lock);
	leg_say_failed(leg, false);
	istripe_leg_task_fail_all(&list);
}

/* A task waits, and is with no target: bios that were kept because of it need not. */
static void leg_note_waiting(struct istripe_leg *leg)
{
	istripe_requeue_kick(leg);
	leg_fail_if_over(leg);
}

/*
 * Read without leg->lock: a ghost is noted before its write is answered, so whoever follows the
 * answer sees it. The data that are sent again are those of the ghost.
 */
static bool leg_may_wait_behind(const struct istripe_leg_task *leg_task)
{
	const struct istripe_leg *leg = leg_task->leg;

	if ((leg_task->resent && !leg_task->unlike) || leg_task->flushes)
		return false;
	if (!leg_task->task.write)
		return READ_ONCE(leg->ghosts_failed) || istripe_overlays_may_meet(leg_task);
	return READ_ONCE(leg->ghost_nexuses) || READ_ONCE(leg->overlays.count);
}

static bool leg_waits_behind(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	enum istripe_overlay_admits admits;
	struct istripe_nexus *nexus;

	spin_lock_bh(&leg->lock);
	nexus = istripe_ghosts_in_the_way(leg_task);
	if (nexus) {
		WRITE_ONCE(leg_task->since, jiffies);
		leg_task->behind = true;
		istripe_leg_task_stop_clocks(leg_task);
		/* From now on its login is urgent. */
		if (list_empty(&nexus->awaiting_fence))
			istripe_nexus_wake(nexus);
		list_add_tail(&leg_task->entry, &nexus->awaiting_fence);
		leg_arm_fence(leg);
		leg_announce(leg);
		spin_unlock_bh(&leg->lock);
		return true;
	}
	admits = istripe_overlays_admit(leg_task);
	if (admits == ISTRIPE_OVERLAY_NOTED && leg->ghosts_failed) {
		leg->overlays.noted = true;
		leg_arm_fence(leg);
	}
	spin_unlock_bh(&leg->lock);
	return admits == ISTRIPE_OVERLAY_WAITS;
}

void istripe_leg_submit(struct istripe_leg_task *leg_task, enum istripe_submit when)
{
	struct istripe_leg *leg = leg_task->leg;

	if (unlikely(READ_ONCE(leg->abandoned)))
		istripe_leg_task_fail(leg_task, BLK_STS_TRANSPORT);
	else if (unlikely(leg_may_wait_behind(leg_task)) && leg_waits_behind(leg_task))
		leg_note_waiting(leg);
	else if (istripe_allowance_take(leg_task))
		istripe_leg_send(leg_task, when);
}

static void nexus_resend(struct istripe_nexus *nexus, struct list_head *list)
{
	if (istripe_leg_serving(nexus->leg))
		istripe_ghosts_resend(nexus, list);
}

void istripe_leg_nexus_released(struct istripe_nexus *nexus, bool released)
{
	struct istripe_leg *leg = nexus->leg;
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	nexus->tcp_has_pages = false;
	nexus->pages_astray = !released;
	nexus_resend(nexus, &list);
	leg_arm_fence(leg);
	spin_unlock_bh(&leg->lock);
	leg_redrive_lost(leg, &list);
	leg_fail_if_over(leg);
}

void istripe_leg_fence_mode_changed(struct istripe_leg *leg)
{
	enum istripe_fence fence = READ_ONCE(leg->fence);

	if (fence != ISTRIPE_FENCE_AUTO)
		istripe_ghosts_warn(leg, fence == ISTRIPE_FENCE_PATH ? "fence is set to path" :
				    "fence is set to session");
	istripe_leg_resend(leg);
}

void istripe_leg_resend(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		nexus_resend(nexus, &list);
	leg_arm_fence(leg);
	leg_announce(leg);
	spin_unlock_bh(&leg->lock);
	leg_redrive_lost(leg, &list);
}

void istripe_leg_await_fence(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;

	leg_task->behind = false;
	spin_lock_bh(&leg->lock);
	istripe_leg_task_stop_clocks(leg_task);
	/* It waits from now on, however long it was in flight. */
	WRITE_ONCE(leg_task->since, jiffies);
	list_add_tail(&leg_task->entry, &leg_task->nexus->awaiting_fence);
	leg_arm_fence(leg);
	leg_announce(leg);
	spin_unlock_bh(&leg->lock);
	leg_note_waiting(leg);
}

/* @served: istripe_leg_serving() before the change that has just been made. */
static void leg_take_parked(struct istripe_leg *leg, bool served, struct list_head *list)
{
	struct istripe_nexus *nexus;

	if (!istripe_leg_serving(leg))
		return;
	if (!served)
		leg->serving_since = jiffies;
	if (leg->failed)
		WRITE_ONCE(leg->back_after_ms, istripe_elapsed_ms(leg->down_since));
	leg->failed = false;
	list_splice_init(&leg->parked, list);
	istripe_leg_for_each_nexus(leg, nexus)
		istripe_ghosts_resend(nexus, list);
}

/* Nothing that waited for its fence does so any more: it is on @list. */
static void nexus_end_fence(struct istripe_nexus *nexus, struct list_head *list)
{
	struct istripe_leg *leg = nexus->leg;

	lockdep_assert_held(&leg->lock);
	list_splice_tail_init(&nexus->awaiting_fence, list);
	istripe_ghosts_end(nexus);
	if (!nexus->unfenced)
		return;
	nexus->unfenced = false;
	WRITE_ONCE(leg->unfenced_nexuses, leg->unfenced_nexuses - 1);
}

/* After nexus_end_fence(). @served: istripe_leg_serving() before that. */
static void leg_fence_ended(struct istripe_leg *leg, bool served, struct list_head *list)
{
	leg_take_parked(leg, served, list);
	leg_arm_recovery(leg);
	leg_arm_fence(leg);
	leg_announce(leg);
}

void istripe_leg_nexus_fenced(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	LIST_HEAD(list);
	bool served;

	spin_lock_bh(&leg->lock);
	served = istripe_leg_serving(leg);
	nexus->super_unfenced = false;
	if (istripe_nexus_ends_undrained(nexus))
		nexus->undrained = (struct istripe_undrained) {};
	nexus_end_fence(nexus, &list);
	leg_fence_ended(leg, served, &list);
	spin_unlock_bh(&leg->lock);
	leg_redrive_lost(leg, &list);
}

/* No fence has ended it: its next login still ends what the target may have. */
static void nexus_owe_drain(struct istripe_nexus *nexus)
{
	lockdep_assert_held(&nexus->leg->lock);
	/* A superblock that an earlier session has left keeps its portal group. */
	if (nexus->undrained.super)
		return;
	nexus->undrained = (struct istripe_undrained) {
		.any = true,
		.tpgt = nexus->tpgt,
	};
}

/* Without a fence. Adds to @writes that waited; true: I/O has waited or failed for that. */
static bool nexus_go_without_fence(struct istripe_nexus *nexus, u32 *writes, struct list_head *list)
{
	bool waits = nexus->unfenced || !list_empty(&nexus->awaiting_fence);

	*writes += istripe_leg_nexus_waiting_writes(nexus);
	if (waits || nexus->ghosts.count)
		nexus_owe_drain(nexus);
	nexus_end_fence(nexus, list);
	/* It was all that the end of a path that retires had to wait for. */
	if (!nexus->wanted)
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_RETIRE);
	return waits;
}

u32 istripe_leg_path_fenced(const struct istripe_path *path)
{
	struct istripe_leg *leg = path->leg;
	struct istripe_nexus *nexus;
	u32 writes = 0;
	LIST_HEAD(list);
	bool served;

	spin_lock_bh(&leg->lock);
	served = istripe_leg_serving(leg);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (nexus->path != path || nexus->live || nexus->tcp_has_pages)
			continue;
		nexus->undrained.super = false;
		/* A superblock that is written late does harm whatever waits. */
		if (nexus->super_unfenced)
			nexus_owe_drain(nexus);
		nexus->super_unfenced = false;
		nexus_go_without_fence(nexus, &writes, &list);
	}
	leg_fence_ended(leg, served, &list);
	spin_unlock_bh(&leg->lock);
	leg_redrive_lost(leg, &list);
	return writes;
}

/* As istripe_leg_path_fenced(), where fence_timeout_ms is over; @any: I/O has waited or failed. */
static u32 leg_end_timed_out_fences(struct istripe_leg *leg, bool *any)
{
	struct istripe_nexus *nexus;
	u32 writes = 0;
	unsigned long end;
	LIST_HEAD(list);
	bool served;

	spin_lock_bh(&leg->lock);
	served = istripe_leg_serving(leg);
	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus_fence_deadline(nexus, &end) && time_after_eq(jiffies, end))
			*any |= nexus_go_without_fence(nexus, &writes, &list);
	leg_fence_ended(leg, served, &list);
	spin_unlock_bh(&leg->lock);
	leg_redrive_lost(leg, &list);
	return writes;
}

/* Fails tasks that have waited for their fence for recovery_timeout_ms. */
static void leg_fail_timed_out(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		istripe_ghosts_take_timed_out(nexus, istripe_leg_serving(leg), &list);
	leg_arm_fence(leg);
	leg_announce(leg);
	spin_unlock_bh(&leg->lock);
	leg_say_failed(leg, false);
	if (!list_empty(&list))
		pr_err_ratelimited("%s/%u: I/O fails that has waited for recovery_timeout_ms until a lost session is known to be dead\n",
				   leg->volume->name, leg->index);
	istripe_leg_task_fail_all(&list);
}

static void leg_fence_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(work, struct istripe_leg, fence_work.work);
	bool any = false;
	u32 writes = leg_end_timed_out_fences(leg, &any);
	LIST_HEAD(list);

	istripe_ghosts_overlay(leg, &list);
	istripe_leg_redrive(leg, &list);
	leg_fail_timed_out(leg);
	if (any)
		pr_warn("%s/%u: fence_timeout_ms is over: %u write(s) are sent, and I/O goes on; the target may still carry out old writes\n",
			leg->volume->name, leg->index, writes);
}

bool istripe_leg_nexus_waits(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool waits;

	spin_lock_bh(&leg->lock);
	waits = nexus->unfenced || nexus->super_unfenced || nexus->ghosts.count ||
		!list_empty(&nexus->awaiting_fence);
	spin_unlock_bh(&leg->lock);
	return waits;
}

bool istripe_leg_nexus_is_urgent(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool urgent;

	spin_lock_bh(&leg->lock);
	urgent = !istripe_leg_serving(leg) || leg->unserved.tasks || nexus->unfenced ||
		 nexus->super_unfenced || !list_empty(&nexus->awaiting_fence);
	spin_unlock_bh(&leg->lock);
	return urgent;
}

void istripe_leg_nexus_live(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	LIST_HEAD(list);
	bool served;

	spin_lock_bh(&leg->lock);
	nexus->generation = istripe_leg_next_generation(leg);
	if (nexus->live || !nexus->wanted) {
		spin_unlock_bh(&leg->lock);
		return;
	}
	nexus->busy = false;
	served = istripe_leg_serving(leg);
	nexus_set_live(nexus, nexus->owned->conn_count);
	leg_take_parked(leg, served, &list);
	leg_arm_recovery(leg);
	leg_arm_fence(leg);
	spin_unlock_bh(&leg->lock);
	istripe_busy_answered(nexus->path);
	wake_up_all(&leg->usable);
	leg_redrive_lost(leg, &list);
}

static void nexus_set_access_state(struct istripe_nexus *nexus, u8 state)
{
	u32 transition_s = nexus->access.transition_s ?: TRANSITION_S;

	lockdep_assert_held(&nexus->leg->lock);
	if (state == SCSI_ACCESS_STATE_TRANSITIONING && nexus->access.state != state)
		nexus->transition_end = jiffies + transition_s * HZ;
	if (nexus->access.state != state)
		nexus->access_since = jiffies;
	WRITE_ONCE(nexus->access.state, state);
}

void istripe_leg_nexus_access(struct istripe_nexus *nexus, const struct istripe_access *access,
			      struct istripe_access *before)
{
	struct istripe_leg *leg = nexus->leg;
	LIST_HEAD(list);
	bool served;

	spin_lock_bh(&leg->lock);
	*before = nexus->access;
	served = istripe_leg_serving(leg);
	nexus->access.asked_at = access->asked_at;
	nexus->access.preferred = access->preferred;
	nexus->access.group = access->group;
	WRITE_ONCE(nexus->access.may_optimize, access->may_optimize);
	/* A target may not tell while it is at it. */
	if (access->transition_s)
		nexus->access.transition_s = access->transition_s;
	WRITE_ONCE(nexus->access.tpgs, access->tpgs);
	WRITE_ONCE(nexus->access.known, access->known);
	nexus_set_access_state(nexus, access->state);
	leg_choose(leg);
	/* It counts when the nexus is live, see istripe_leg_nexus_live(). */
	if (nexus->live) {
		leg_take_parked(leg, served, &list);
		leg_check_recovery(nexus, served);
		leg_arm_fence(leg);
	}
	spin_unlock_bh(&leg->lock);
	wake_up_all(&leg->usable);
	leg_redrive_lost(leg, &list);
}

void istripe_leg_nexus_refused(struct istripe_nexus *nexus, u8 state)
{
	struct istripe_leg *leg = nexus->leg;
	bool served;

	spin_lock_bh(&leg->lock);
	if (nexus->access.state != state) {
		served = istripe_leg_serving(leg);
		nexus_set_access_state(nexus, state);
		leg_choose(leg);
		leg_check_recovery(nexus, served);
		if (served && !istripe_leg_serving(leg))
			WRITE_ONCE(leg->port_refused, true);
	}
	spin_unlock_bh(&leg->lock);
}

bool istripe_leg_nexus_leads_here(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool same;

	mutex_lock(&leg->identify_lock);
	same = !leg->lun.designator[0] ||
	       istripe_lun_was(&nexus->found, leg->lun.designator, leg->designator_since);
	mutex_unlock(&leg->identify_lock);
	return same;
}

void istripe_leg_expire(struct istripe_leg *leg)
{
	LIST_HEAD(list);

	spin_lock_bh(&leg->lock);
	leg->stopping = true;
	list_splice_init(&leg->parked, &list);
	list_splice_init(&leg->delay.tasks, &list);
	istripe_allowance_expire(leg, &list);
	leg_take_awaiting_fence(leg, &list);
	spin_unlock_bh(&leg->lock);
	leg_say_failed(leg, true);
	istripe_leg_task_fail_all(&list);
}

void istripe_leg_init_works(struct istripe_leg *leg)
{
	INIT_DELAYED_WORK(&leg->recovery_work, leg_recovery_work);
	INIT_DELAYED_WORK(&leg->fence_work, leg_fence_work);
}
