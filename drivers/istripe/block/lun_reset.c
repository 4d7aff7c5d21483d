// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <scsi/iscsi_proto.h>

#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/workqueue.h"

/* For the pings of all other nexuses, which run at the same time. */
#define PING_MS		1000
/* The other nexuses are quiesced no longer than this. */
#define QUIESCE_MS		1000
/* Long, because commands that are in the storage have to end first. */
#define ANSWER_MS	10000
/* Twice as long for a drain after each that had no answer: up to 80 s. */
#define DOUBLINGS_MAX	3
/* While another reset is under way a worker looks so often whether it still needs its own. */
#define TURN_MS		100
/* A refusal (RFC 7143 11.6.1: 255 and others, or a Reject) may be transient; this many are not. */
#define REFUSALS_MAX	3
#define REFUSED_MS	5000

const char *const istripe_lun_reset_results[ISTRIPE_LUN_RESET_RESULTS] = {
	[ISTRIPE_LUN_RESET_UNTRIED] = "untried",
	[ISTRIPE_LUN_RESET_UNNEEDED] = "unneeded",
	[ISTRIPE_LUN_RESET_COMPLETE] = "complete",
	[ISTRIPE_LUN_RESET_UNANSWERED] = "unanswered",
	[ISTRIPE_LUN_RESET_REJECTED] = "rejected",
	[ISTRIPE_LUN_RESET_UNSUPPORTED] = "unsupported",
};

static void reset_quiesce(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->resettable, &nexus->srcu);

	if (session && !istripe_session_reset_begin(session, &nexus->reset.cmd_sn,
						    nexus->reset.until)) {
		nexus->reset.session = session->id;
		nexus->reset.quiesced = true;
	}
	srcu_read_unlock(&nexus->srcu, section);
}

/* @reset: also its commands that the reset has ended, however long ago it was quiesced. */
static void reset_release(struct istripe_nexus *nexus, bool reset)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->resettable, &nexus->srcu);

	/* When the session has ended, its quiesce and its commands have ended with it. */
	if (session && session->id == nexus->reset.session) {
		if (reset)
			istripe_session_reset_collect(session, nexus->reset.cmd_sn,
						      nexus->reset.until);
		if (nexus->reset.quiesced)
			istripe_session_unquiesce(session);
	}
	nexus->reset.quiesced = false;
	srcu_read_unlock(&nexus->srcu, section);
}

/* Before the reset it quiesces the nexus; after it, it releases the nexus. */
static void reset_nexus_work(struct work_struct *work)
{
	struct istripe_nexus *nexus = container_of(work, struct istripe_nexus, reset.work);
	unsigned int noio = memalloc_noio_save();

	/* Others, whose sessions were dead, had the threads. */
	if (time_before(jiffies, nexus->reset.until + msecs_to_jiffies(PING_MS)))
		nexus->reset.until = jiffies + msecs_to_jiffies(PING_MS);
	if (nexus->reset.session)
		reset_release(nexus, true);
	else
		reset_quiesce(nexus);
	memalloc_noio_restore(noio);
}

/*
 * Without memory for threads these works run one after the other, within thrice the time of one:
 * later ones have none. istripe_nexus_destroy() cancels that of a nexus that is taken out.
 */
static void reset_queue(struct istripe_nexus *nexus)
{
	nexus->reset.until = jiffies + msecs_to_jiffies(PING_MS);
	queue_work(istripe_reset_wq, &nexus->reset.work);
}

/* All at the same time: a silent one must not use up the time of others. */
static void reset_quiesce_all(struct istripe_leg *leg, const struct istripe_nexus *but)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus) {
		nexus->reset.session = 0;
		if (nexus != but)
			reset_queue(nexus);
	}
	istripe_leg_for_each_nexus(leg, nexus)
		flush_work(&nexus->reset.work);
	srcu_read_unlock(&leg->srcu, section);
}

static void reset_collect_all(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus->reset.session)
			reset_queue(nexus);
	istripe_leg_for_each_nexus(leg, nexus)
		flush_work(&nexus->reset.work);
	srcu_read_unlock(&leg->srcu, section);
}

static void reset_release_all(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (nexus->reset.quiesced)
			reset_release(nexus, false);
	srcu_read_unlock(&leg->srcu, section);
}

static void reset_set_quiescing(struct istripe_leg *leg, bool quiescing)
{
	spin_lock_bh(&leg->lock);
	leg->quiescing = quiescing;
	spin_unlock_bh(&leg->lock);
	if (!quiescing)
		wake_up_all(&leg->quiesce_end);
}

/* The target needs long: the other nexuses go on, while the answer is still waited for. */
static void reset_quiesced_too_long(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(to_delayed_work(work), struct istripe_leg,
					       quiesce_work);

	reset_release_all(leg);
	reset_set_quiescing(leg, false);
}

static enum istripe_lun_reset_result reset_result(int error)
{
	switch (error) {
	case 0:
		return ISTRIPE_LUN_RESET_COMPLETE;
	case -EOPNOTSUPP:
		return ISTRIPE_LUN_RESET_UNSUPPORTED;
	case -EIO:
		return ISTRIPE_LUN_RESET_REJECTED;
	default:
		return ISTRIPE_LUN_RESET_UNANSWERED;
	}
}

static void reset_unlock(struct istripe_leg *leg)
{
	mutex_unlock(&leg->reset_lock);
	wake_up_all(&leg->quiesce_end);
}

/* @nexus waits for one whose path has had more resets without an answer: only so long. */
static void reset_hurry(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	if (leg->resetting &&
	    nexus->path->resets_unanswered < leg->resetting->path->resets_unanswered &&
	    time_after(jiffies, leg->resetting_since + msecs_to_jiffies(ANSWER_MS)))
		istripe_session_hurry(leg->resetting->owned);
	spin_unlock_bh(&leg->lock);
}

/* It sees the end of its session meanwhile. A path without unanswered resets goes first. */
static int reset_lock(struct istripe_nexus *nexus)
{
	bool yields = READ_ONCE(nexus->path->resets_unanswered);
	struct istripe_leg *leg = nexus->leg;
	bool locked;

	do {
		reset_hurry(nexus);
		locked = wait_event_timeout(leg->quiesce_end,
					    !yields && mutex_trylock(&leg->reset_lock),
					    msecs_to_jiffies(TURN_MS)) ||
			 mutex_trylock(&leg->reset_lock);
	} while (!locked && !istripe_nexus_is_ending(nexus));
	if (!istripe_nexus_is_ending(nexus))
		return 0;
	if (locked)
		reset_unlock(leg);
	return -ENOTCONN;
}

/* Not beyond fence_timeout_ms: with one path its end is seen between two attempts only. */
static u32 reset_drain_ms(const struct istripe_nexus *nexus)
{
	const struct istripe_leg *leg = nexus->leg;
	u32 ms = ANSWER_MS << min_t(u32, leg->drains_unanswered, DOUBLINGS_MAX);
	s32 timeout_ms = READ_ONCE(leg->fence_timeout_ms);
	s64 left_ms;

	if (!nexus->ops->waits(nexus))
		return ANSWER_MS;
	if (timeout_ms < 0 || !nexus->generation || READ_ONCE(nexus->super_unfenced))
		return ms;
	left_ms = (s64)timeout_ms - jiffies_to_msecs(jiffies - READ_ONCE(nexus->lost_at));
	return clamp_t(s64, left_ms, ANSWER_MS, ms);
}

static long reset_left(unsigned long since, s32 ms)
{
	return since + msecs_to_jiffies(ms) - jiffies;
}

/* Error handling of a live nexus is not hurried: its writes would be lost. */
void istripe_lun_reset_hurry(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	s32 timeout_ms;
	long left;

	spin_lock_bh(&leg->lock);
	nexus = leg->resetting;
	timeout_ms = READ_ONCE(leg->fence_timeout_ms);
	if (nexus && !nexus->live && timeout_ms >= 0) {
		left = max(reset_left(READ_ONCE(nexus->lost_at), timeout_ms),
			   reset_left(leg->resetting_since, ANSWER_MS));
		if (left < 0)
			istripe_session_hurry(nexus->owned);
		else
			mod_delayed_work(istripe_recovery_wq, &leg->hurry_work, left + 1);
	}
	spin_unlock_bh(&leg->lock);
}

static void reset_hurry_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(to_delayed_work(work), struct istripe_leg,
					       hurry_work);

	istripe_lun_reset_hurry(leg);
}

/* Under leg->reset_lock. */
static void reset_note(struct istripe_nexus *nexus, int error, bool drains)
{
	if (error == -ETIMEDOUT) {
		nexus->path->resets_unanswered++;
		nexus->leg->drains_unanswered += drains;
	} else if (reset_result(error) != ISTRIPE_LUN_RESET_UNANSWERED) {
		nexus->path->resets_unanswered = 0;
		nexus->leg->drains_unanswered = 0;
	}
}

static void reset_set_resetting(struct istripe_leg *leg, struct istripe_nexus *nexus)
{
	spin_lock_bh(&leg->lock);
	leg->resetting = nexus;
	leg->resetting_since = jiffies;
	spin_unlock_bh(&leg->lock);
}

/*
 * The reset also ends commands of the other nexuses. They are quiesced: while they send nothing, it
 * is known for each command whether the reset has ended it. Without an answer nothing is known.
 *
 * Only one request at a time, and its answer is waited for: some targets (Linux 5.12 to 6.2) answer
 * a second request at once while the first one still waits for commands.
 */
static int reset_ask(struct istripe_nexus *nexus, bool drains)
{
	struct istripe_leg *leg = nexus->leg;
	int ret;

	lockdep_assert_held(&leg->reset_lock);
	reset_set_quiescing(leg, true);
	reset_quiesce_all(leg, nexus);
	queue_delayed_work(istripe_recovery_wq, &leg->quiesce_work, msecs_to_jiffies(QUIESCE_MS));
	/* From here on istripe_lun_reset_hurry() tells of another fence_timeout_ms. */
	reset_set_resetting(leg, nexus);
	ret = istripe_session_task_management(nexus->owned, ISCSI_TM_FUNC_LOGICAL_UNIT_RESET, 0,
					      drains ? reset_drain_ms(nexus) : ANSWER_MS);
	reset_set_resetting(leg, NULL);
	cancel_delayed_work_sync(&leg->hurry_work);
	cancel_delayed_work_sync(&leg->quiesce_work);
	reset_set_quiescing(leg, false);
	if (ret)
		reset_release_all(leg);
	else
		reset_collect_all(leg);
	return ret;
}

/* Each refusal came over another session. A missing answer is none and ends the series. */
static bool reset_is_refused_for_good(struct istripe_nexus *nexus)
{
	if (!nexus->reset.refusals++)
		nexus->reset.refused_since = jiffies;
	if (nexus->reset.refusals >= REFUSALS_MAX &&
	    time_after_eq(jiffies, nexus->reset.refused_since + msecs_to_jiffies(REFUSED_MS)))
		nexus->reset.given_up = true;
	return nexus->reset.given_up;
}

/* Turns refusals that have become permanent into -EOPNOTSUPP. */
static int reset_check(struct istripe_nexus *nexus, int error)
{
	if (error == -EOPNOTSUPP && !istripe_alua_usable(nexus->found.access.state))
		error = -EIO;
	/*
	 * A port that takes no I/O may refuse a reset that others do not refuse. But when no other
	 * is left, only a path that is live can be asked to take I/O.
	 */
	if (error == -EIO && !istripe_alua_usable(nexus->found.access.state) &&
	    READ_ONCE(nexus->leg->usable_nexuses))
		return -EIO;
	if (error == -EIO)
		return reset_is_refused_for_good(nexus) ? -EOPNOTSUPP : -EIO;
	nexus->reset.refusals = 0;
	nexus->reset.given_up = false;
	return error;
}

void istripe_lun_reset_live(struct istripe_nexus *nexus)
{
	/* A lost superblock waits for it, though the path does not. */
	if (!nexus->reset.given_up && !nexus->undrained.super)
		nexus->reset.refusals = 0;
}

static void reset_say(const struct istripe_nexus *nexus, enum istripe_lun_reset_result result)
{
	if (result == ISTRIPE_LUN_RESET_UNSUPPORTED)
		pr_warn("%s: the target %s: writes of a lost session are believed to end with the next login\n",
			nexus->label, nexus->reset.refusals ?
			"refuses LOGICAL UNIT RESET again and again" :
			"does not know LOGICAL UNIT RESET");
	else if (result != ISTRIPE_LUN_RESET_COMPLETE)
		pr_warn("%s: LOGICAL UNIT RESET is %s: %s for it, it is asked again\n",
			nexus->label, istripe_lun_reset_results[result],
			nexus->ops->waits(nexus) ? "writes of a lost session wait" :
						   "no write waits");
}

static bool reset_is_expected(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool quiescing;

	spin_lock_bh(&leg->lock);
	quiescing = leg->quiescing;
	if (!quiescing)
		rcu_assign_pointer(nexus->resettable, nexus->owned);
	spin_unlock_bh(&leg->lock);
	return !quiescing;
}

void istripe_lun_reset_expect(struct istripe_nexus *nexus)
{
	wait_event(nexus->leg->quiesce_end, reset_is_expected(nexus));
}

void istripe_lun_reset_init_nexus(struct istripe_nexus *nexus)
{
	INIT_WORK(&nexus->reset.work, reset_nexus_work);
}

void istripe_lun_reset_init(struct istripe_leg *leg)
{
	mutex_init(&leg->reset_lock);
	init_waitqueue_head(&leg->quiesce_end);
	INIT_DELAYED_WORK(&leg->quiesce_work, reset_quiesced_too_long);
	INIT_DELAYED_WORK(&leg->hurry_work, reset_hurry_work);
}

/* Unlocks leg->reset_lock. */
static int reset_run(struct istripe_nexus *nexus, bool drains)
{
	enum istripe_lun_reset_result result;
	int ret = reset_ask(nexus, drains);

	reset_note(nexus, ret, drains);
	reset_unlock(nexus->leg);
	ret = reset_check(nexus, ret);
	result = reset_result(ret);
	if (xchg(&nexus->leg->lun_reset, result) != result)
		reset_say(nexus, result);
	return ret;
}

int istripe_lun_reset_drain(struct istripe_nexus *nexus)
{
	return reset_lock(nexus) ?: reset_run(nexus, true);
}

int istripe_lun_reset_recover(struct istripe_nexus *nexus)
{
	u32 unanswered = READ_ONCE(nexus->path->resets_unanswered);
	int ret = reset_lock(nexus);

	if (ret)
		return ret;
	if (nexus->trial.timed_out &&
	    nexus->ops->carries_nothing(nexus, nexus->trial.silent_since))
		ret = -EHOSTDOWN;
	else if (nexus->path->resets_unanswered > unanswered)
		ret = -ETIMEDOUT;
	if (!ret)
		return reset_run(nexus, false);
	reset_unlock(nexus->leg);
	return ret;
}
