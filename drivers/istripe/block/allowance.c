// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/printk.h>

#include "block/allowance.h"
#include "block/elapsed.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/per_cpu_sum.h"
#include "block/volume.h"
#include "block/workqueue.h"

/* While tasks wait: a few are sent when nothing is in flight, one when nothing completes. */
#define SEND_MIN_MS	4
#define SEND_MAX_MS	100
#define SEND_FEW	8
#define STALL_MS	1000
/* The least allowance while other hosts fill the LUN's queue, and for how long they do. */
#define SHARED_MIN	16
#define SHARED_MS	1000
/* Tasks let in per completion. */
#define RELEASE_MAX	2
/* A LUN may be too busy for a command for this many timeouts of it, and at least this time. */
#define PATIENCE_TIMEOUTS	6
#define PATIENCE_MIN_MS	120000
/* While the LUN serves other commands, one fails only after this many refusals. */
#define REFUSALS_MIN	10
/* So much of that patience is over when the log tells. */
#define SAY_MS		10000

static u32 allowance_in_flight(const struct istripe_allowance *allowance)
{
	return max(istripe_per_cpu_sum(allowance->in_flight), 0);
}

static bool allowance_waits(const struct istripe_allowance *allowance)
{
	return !list_empty(&allowance->refused) || !list_empty(&allowance->waiting);
}

static unsigned long allowance_patience(const struct istripe_leg *leg)
{
	u32 timeout_ms = READ_ONCE(leg->volume->command_timeout_ms);

	return msecs_to_jiffies(max_t(u32, PATIENCE_TIMEOUTS * timeout_ms, PATIENCE_MIN_MS));
}

/* Starts the clock of the LUN being too busy for the task; it stops when @busy is cleared. */
static void allowance_charge(struct istripe_leg_task *leg_task)
{
	if (leg_task->busy)
		leg_task->busy_for += jiffies - leg_task->busy_at;
	leg_task->busy = true;
	leg_task->busy_at = jiffies;
}

static bool allowance_is_dead(const struct istripe_leg *leg)
{
	return time_after(jiffies, leg->allowance.answered_at + allowance_patience(leg));
}

static void allowance_count(struct istripe_allowance *allowance, struct istripe_leg_task *leg_task)
{
	this_cpu_inc(*allowance->in_flight);
	/* 0: let in while the allowance was off. */
	leg_task->number = allowance->on ? ++allowance->number ?: ++allowance->number : 0;
}

static void allowance_forget_refusals(struct istripe_allowance *allowance)
{
	allowance->refusing = false;
	allowance->said = false;
}

/* Of what comes when nothing waits, and nothing is in flight, it has refused nothing yet. */
static void allowance_begin(struct istripe_allowance *allowance,
			    const struct istripe_leg_task *leg_task, u32 in_flight)
{
	if (!leg_task->busy && !in_flight && !allowance_waits(allowance))
		allowance_forget_refusals(allowance);
}

static void allowance_release(struct istripe_leg *leg, u32 room, struct list_head *list)
{
	struct istripe_allowance *allowance = &leg->allowance;
	struct istripe_leg_task *leg_task;
	struct list_head *from;

	lockdep_assert_held(&leg->lock);
	for (; room && allowance_waits(allowance); room--) {
		from = list_empty(&allowance->refused) ? &allowance->waiting : &allowance->refused;
		leg_task = list_first_entry(from, struct istripe_leg_task, entry);
		list_move_tail(&leg_task->entry, list);
		allowance_count(allowance, leg_task);
	}
}

static void allowance_send(struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	list_for_each_entry_safe(leg_task, next, list, entry) {
		list_del(&leg_task->entry);
		istripe_leg_send(leg_task, ISTRIPE_SUBMIT_LATER);
	}
}

/* How many to let in after a completion; without a nexus all of them, to be parked. */
static u32 allowance_room(const struct istripe_leg *leg, u32 in_flight)
{
	const struct istripe_allowance *allowance = &leg->allowance;

	if (!istripe_leg_serving(leg))
		return U32_MAX;
	if (in_flight >= allowance->limit)
		return 0;
	return min_t(u32, allowance->limit - in_flight, allowance->shared ? U32_MAX : RELEASE_MAX);
}

static void allowance_arm(struct istripe_leg *leg)
{
	if (allowance_waits(&leg->allowance))
		queue_delayed_work(istripe_recovery_wq, &leg->allowance.work,
				   msecs_to_jiffies(SEND_MAX_MS));
}

bool istripe_allowance_take(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_allowance *allowance = &leg->allowance;
	bool may = true;
	bool failed;
	u32 in_flight;

	if (likely(!READ_ONCE(allowance->on))) {
		this_cpu_inc(*allowance->in_flight);
		leg_task->number = 0;
		return true;
	}
	spin_lock_bh(&leg->lock);
	in_flight = allowance_in_flight(allowance);
	allowance_begin(allowance, leg_task, in_flight);
	if (allowance->on && istripe_leg_serving(leg))
		may = !allowance_waits(allowance) && in_flight < allowance->limit;
	failed = !may && leg->stopping;
	if (may) {
		allowance_count(allowance, leg_task);
	} else if (!failed) {
		allowance_charge(leg_task);
		list_add_tail(&leg_task->entry, &allowance->waiting);
		allowance_arm(leg);
	}
	spin_unlock_bh(&leg->lock);
	if (failed)
		istripe_leg_task_fail(leg_task, BLK_STS_IOERR);
	return may;
}

void istripe_allowance_drop(struct istripe_leg *leg)
{
	this_cpu_dec(*leg->allowance.in_flight);
}

static u32 allowance_max(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->volume->queue_depth) * leg->volume->parts;
}

static void allowance_grow(struct istripe_leg *leg)
{
	struct istripe_allowance *allowance = &leg->allowance;

	allowance->refusing = false;
	allowance->send_ms = SEND_MIN_MS;
	allowance->answered_at = jiffies;
	allowance->quiet_since = jiffies;
	if (allowance->limit >= allowance->threshold &&
	    ++allowance->completions < allowance->limit)
		return;
	allowance->completions = 0;
	if (allowance->limit < allowance_max(leg))
		allowance->limit++;
	else if (!allowance_waits(allowance))
		WRITE_ONCE(allowance->on, false);
}

/* Returns for how long it has taken none, when the log has told that it does not; else 0. */
static u32 allowance_take_said(struct istripe_allowance *allowance)
{
	if (likely(!allowance->said))
		return 0;
	allowance->said = false;
	return istripe_elapsed_ms(allowance->refusing_since);
}

/* A task has ended. How many of those that were in flight at one time does the LUN take? */
static void allowance_probe(struct istripe_allowance *allowance, u32 number, u32 in_flight,
			    bool taken)
{
	struct istripe_allowance_probe *probe = &allowance->probe;

	if (time_after(jiffies, allowance->probed_at + msecs_to_jiffies(SHARED_MS))) {
		allowance->probed_at = jiffies;
		allowance->taken /= 2;
		probe->left = 0;
	}
	if (probe->left && (!number || (s32)(number - probe->number) <= 0)) {
		probe->taken -= !taken;
		if (!--probe->left)
			allowance->taken = max(allowance->taken, probe->taken);
	}
	if (!probe->left) {
		probe->number = allowance->number;
		probe->left = in_flight;
		probe->taken = in_flight;
	}
	if (time_after(jiffies, allowance->shared_at + msecs_to_jiffies(SHARED_MS)))
		allowance->shared = false;
}

void istripe_allowance_give(struct istripe_leg_task *leg_task, bool answered)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_allowance *allowance = &leg->allowance;
	u32 in_flight, busy_ms = 0;
	LIST_HEAD(list);

	this_cpu_dec(*allowance->in_flight);
	if (likely(!READ_ONCE(allowance->on)))
		return;
	spin_lock_bh(&leg->lock);
	in_flight = allowance_in_flight(allowance);
	allowance_probe(allowance, leg_task->number, in_flight, answered);
	if (allowance->on && answered) {
		busy_ms = allowance_take_said(allowance);
		allowance_grow(leg);
	}
	if (allowance_waits(allowance))
		allowance_release(leg, allowance_room(leg, in_flight), &list);
	spin_unlock_bh(&leg->lock);
	if (busy_ms)
		pr_info("%s/%u: the LUN takes commands again after %u ms\n", leg->volume->name,
			leg->index, busy_ms);
	allowance_send(&list);
}

static void allowance_start(struct istripe_leg *leg)
{
	struct istripe_allowance *allowance = &leg->allowance;

	WRITE_ONCE(allowance->on, true);
	allowance->limit = allowance_max(leg);
	allowance->answered_at = jiffies;
	allowance->quiet_since = jiffies;
	allowance->probed_at = jiffies;
	allowance->send_ms = SEND_MIN_MS;
	allowance->taken = 0;
	allowance->probe.left = 0;
	allowance->first = 0;
	allowance->shared = false;
}

static void allowance_halve(struct istripe_allowance *allowance, u32 in_flight, u32 least)
{
	u32 level = max(min(allowance->limit, in_flight), least);

	allowance->limit = max(level / 2, least);
	allowance->threshold = level - level / 4;
	allowance->completions = 0;
	allowance->cut_number = allowance->number;
}

/* Refused with nothing else in flight, or much less than it has lately taken: others fill it. */
static bool allowance_is_shared(const struct istripe_allowance *allowance, u32 number,
				u32 in_flight)
{
	return (number && number == allowance->first) || 2 * in_flight + 2 < allowance->taken;
}

/* @in_flight: commands that the LUN has taken, the refused one not counted. */
static void allowance_shrink(const struct istripe_leg_task *leg_task, u32 in_flight)
{
	struct istripe_allowance *allowance = &leg_task->leg->allowance;
	u32 least, number = leg_task->number;
	bool first = !allowance->on;
	bool shared;

	if (first)
		allowance_start(leg_task->leg);
	allowance_probe(allowance, number, in_flight, false);
	shared = !first && allowance_is_shared(allowance, number, in_flight);
	if (shared) {
		allowance->shared = true;
		allowance->shared_at = jiffies;
	}
	least = allowance->shared ? min_t(u32, SHARED_MIN, allowance_max(leg_task->leg)) : 1;
	if (shared) {
		allowance->limit = max(allowance->limit, least);
		return;
	}
	if (first || (number && (s32)(number - allowance->cut_number) > 0))
		allowance_halve(allowance, in_flight, least);
	allowance->limit = max(min(allowance->limit, in_flight), least);
}

/* A search is short: a task is refused for the first time, or was let in first. */
static void allowance_add_refused(struct istripe_allowance *allowance,
				  struct istripe_leg_task *leg_task)
{
	struct istripe_leg_task *behind;

	if (!leg_task->refusals) {
		leg_task->ticket = ++allowance->ticket;
		list_add_tail(&leg_task->entry, &allowance->refused);
		return;
	}
	list_for_each_entry(behind, &allowance->refused, entry)
		if ((s32)(behind->ticket - leg_task->ticket) > 0)
			break;
	list_add_tail(&leg_task->entry, &behind->entry);
}

/* Refusals are flow control and have a limit of their own. Nothing waits in a stopping leg. */
static bool allowance_gives_up(const struct istripe_leg_task *leg_task)
{
	const struct istripe_leg *leg = leg_task->leg;

	/* For one that no path serves patience is over already. */
	if (leg->stopping || leg_task->unserved)
		return true;
	return leg_task->busy_for > allowance_patience(leg) &&
	       (leg_task->refusals >= REFUSALS_MIN || allowance_is_dead(leg));
}

bool istripe_allowance_refused(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_allowance *allowance = &leg->allowance;
	bool failed;
	u32 in_flight;

	this_cpu_dec(*allowance->in_flight);
	spin_lock_bh(&leg->lock);
	in_flight = allowance_in_flight(allowance);
	allowance_shrink(leg_task, in_flight);
	allowance_begin(allowance, leg_task, in_flight);
	if (!allowance->refusing)
		allowance->refusing_since = jiffies;
	allowance_charge(leg_task);
	failed = allowance_gives_up(leg_task);
	if (!failed)
		allowance_add_refused(allowance, leg_task);
	allowance->refusing = allowance_waits(allowance) || in_flight;
	allowance->said &= allowance->refusing;
	leg_task->refusals = min(leg_task->refusals + 1, U8_MAX);
	allowance_arm(leg);
	if (!in_flight && allowance_waits(allowance))
		mod_delayed_work(istripe_recovery_wq, &allowance->work,
				 msecs_to_jiffies(allowance->send_ms));
	spin_unlock_bh(&leg->lock);
	return !failed;
}

/* Each is sent once more, all at once: the refusal ends its wait (allowance_gives_up()). */
static void allowance_take_expired(struct istripe_leg *leg, struct list_head *from,
				   struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	list_for_each_entry_safe(leg_task, next, from, entry) {
		if (leg_task->busy_for + (jiffies - leg_task->busy_at) <= allowance_patience(leg))
			continue;
		list_move_tail(&leg_task->entry, list);
		allowance_count(&leg->allowance, leg_task);
	}
}

/* How many to let in although nothing has ended. */
static u32 allowance_send_few(struct istripe_leg *leg, u32 in_flight)
{
	struct istripe_allowance *allowance = &leg->allowance;
	u32 few;

	if (!istripe_leg_serving(leg))
		return U32_MAX;
	if (in_flight && time_before(jiffies, allowance->quiet_since + msecs_to_jiffies(STALL_MS)))
		return 0;
	allowance->quiet_since = jiffies;
	if (in_flight)
		return 1;
	allowance->first = allowance->number + 1;
	few = allowance->send_ms < SEND_MAX_MS ? SEND_FEW : 1;
	allowance->send_ms = min_t(u32, 2 * allowance->send_ms, SEND_MAX_MS);
	return few;
}

static u32 allowance_busy_ms(const struct istripe_leg *leg)
{
	const struct istripe_allowance *allowance = &leg->allowance;

	lockdep_assert_held(&leg->lock);
	if (!allowance->refusing || !istripe_leg_serving(leg) ||
	    (!allowance_waits(allowance) && !allowance_in_flight(allowance)))
		return 0;
	return istripe_elapsed_ms(allowance->refusing_since);
}

u32 istripe_allowance_busy_ms(struct istripe_leg *leg)
{
	u32 ms;

	spin_lock_bh(&leg->lock);
	ms = allowance_busy_ms(leg);
	spin_unlock_bh(&leg->lock);
	return ms;
}

static void allowance_say(struct istripe_leg *leg)
{
	struct istripe_allowance *allowance = &leg->allowance;
	bool say;
	u32 ms;

	spin_lock_bh(&leg->lock);
	ms = allowance_busy_ms(leg);
	/* Tasks that are sent again after an outage have not been refused. */
	if (!ms)
		allowance_forget_refusals(allowance);
	say = ms >= SAY_MS && !allowance->said;
	allowance->said |= say;
	spin_unlock_bh(&leg->lock);
	if (say)
		pr_info("%s/%u: the LUN is busy: it has taken no command for %u ms: they are sent again and again\n",
			leg->volume->name, leg->index, ms);
}

static void allowance_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(to_delayed_work(work), struct istripe_leg,
					       allowance.work);
	struct istripe_allowance *allowance = &leg->allowance;
	LIST_HEAD(list);
	u32 in_flight;

	allowance_say(leg);
	spin_lock_bh(&leg->lock);
	in_flight = allowance_in_flight(allowance);
	if (!in_flight && allowance_is_dead(leg)) {
		allowance_take_expired(leg, &allowance->refused, &list);
		allowance_take_expired(leg, &allowance->waiting, &list);
	}
	allowance_release(leg, allowance_send_few(leg, in_flight), &list);
	allowance_arm(leg);
	spin_unlock_bh(&leg->lock);
	allowance_send(&list);
}

void istripe_allowance_expire(struct istripe_leg *leg, struct list_head *list)
{
	lockdep_assert_held(&leg->lock);
	list_splice_tail_init(&leg->allowance.refused, list);
	list_splice_tail_init(&leg->allowance.waiting, list);
}

void istripe_allowance_stop(struct istripe_leg *leg)
{
	cancel_delayed_work_sync(&leg->allowance.work);
}

int istripe_allowance_init(struct istripe_leg *leg)
{
	INIT_LIST_HEAD(&leg->allowance.refused);
	INIT_LIST_HEAD(&leg->allowance.waiting);
	INIT_DELAYED_WORK(&leg->allowance.work, allowance_work);
	leg->allowance.in_flight = alloc_percpu(u32);
	return leg->allowance.in_flight ? 0 : -ENOMEM;
}

void istripe_allowance_free(struct istripe_leg *leg)
{
	if (leg->allowance.in_flight)
		WARN_ON_ONCE(istripe_per_cpu_sum(leg->allowance.in_flight));
	free_percpu(leg->allowance.in_flight);
}
