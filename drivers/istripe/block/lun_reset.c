// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/srcu.h>
#include <scsi/iscsi_proto.h>

#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/path.h"

/* Until another path's session has answered: all of them at a time, for each of them. */
#define PING_MS		1000
/* The other paths wait no longer than this. */
#define HELD_MS		1000
/* Commands that are in the storage have to end first. */
#define ANSWER_MS	10000
/*
 * A target that refuses (RFC 7143 11.6.1: 255 and its like, or a Reject) may have a reason that
 * passes. One that goes on, so often in a row and for so long, does it for good.
 */
#define REFUSALS_MAX	3
#define REFUSED_MS	5000

static const char * const result_names[ISTRIPE_LUN_RESET_RESULTS] = {
	[ISTRIPE_LUN_RESET_UNTRIED] = "untried",
	[ISTRIPE_LUN_RESET_COMPLETE] = "complete",
	[ISTRIPE_LUN_RESET_UNANSWERED] = "unanswered",
	[ISTRIPE_LUN_RESET_REJECTED] = "rejected",
	[ISTRIPE_LUN_RESET_UNSUPPORTED] = "unsupported",
};

const char *istripe_lun_reset_result_name(enum istripe_lun_reset_result result)
{
	return result_names[result];
}

static void reset_hold(struct istripe_path *path, unsigned long deadline)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);

	path->held_session = 0;
	if (session && !istripe_session_reset_begin(session, deadline))
		path->held_session = session->id;
	srcu_read_unlock(&path->srcu, section);
}

static void reset_release(struct istripe_path *path, bool reset, unsigned long deadline)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);

	/* A session that has gone meanwhile took its hold with it. */
	if (session && session->id == path->held_session)
		istripe_session_reset_end(session, reset, deadline);
	path->held_session = 0;
	srcu_read_unlock(&path->srcu, section);
}

/* Before the reset, or after it when the path has been held. */
static void reset_path_work(struct work_struct *work)
{
	struct istripe_path *path = container_of(work, struct istripe_path, reset_work);
	unsigned int noio = memalloc_noio_save();

	if (path->held_session)
		reset_release(path, true, path->reset_until);
	else
		reset_hold(path, path->reset_until);
	memalloc_noio_restore(noio);
}

/*
 * The time runs from here on: without memory for threads these works run one after the other, in
 * the time of one. A path that has been taken out of the leg meanwhile ends its work itself.
 */
static void reset_queue(struct istripe_path *path)
{
	path->reset_until = jiffies + msecs_to_jiffies(PING_MS);
	queue_work(istripe_reset_wq, &path->reset_work);
}

/* A session that is silent takes its own time, and not that of the others. Is any path held? */
static bool reset_hold_all(struct istripe_leg *leg, const struct istripe_path *but)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	bool held = false;
	u32 at;

	istripe_leg_for_each_path(leg, path, at)
		if (path != but)
			reset_queue(path);
	istripe_leg_for_each_path(leg, path, at) {
		flush_work(&path->reset_work);
		held |= path->held_session;
	}
	srcu_read_unlock(&leg->srcu, section);
	return held;
}

/* The LUN has been reset: what has that ended? */
static void reset_collect_all(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	u32 at;

	istripe_leg_for_each_path(leg, path, at)
		if (path->held_session)
			reset_queue(path);
	istripe_leg_for_each_path(leg, path, at)
		flush_work(&path->reset_work);
	srcu_read_unlock(&leg->srcu, section);
}

static void reset_release_all(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	u32 at;

	istripe_leg_for_each_path(leg, path, at)
		if (path->held_session)
			reset_release(path, false, 0);
	srcu_read_unlock(&leg->srcu, section);
}

/* The target needs long: the other paths go on, and the answer is still waited for. */
static void reset_held_long(struct work_struct *work)
{
	reset_release_all(container_of(to_delayed_work(work), struct istripe_leg, held_work));
}

/*
 * What the other paths have in flight is ended, too. As long as they send nothing more, it is
 * known of each of these commands whether the reset has ended it.
 *
 * One request, and one answer that is waited for: there are targets (Linux 5.12 to 6.2) that
 * answer a second request at once while the first one still waits for commands.
 */
static int reset_ask(struct istripe_path *path)
{
	struct istripe_leg *leg = path->leg;
	int ret;

	mutex_lock(&leg->reset_lock);
	if (reset_hold_all(leg, path))
		queue_delayed_work(istripe_recovery_wq, &leg->held_work, msecs_to_jiffies(HELD_MS));
	ret = istripe_session_task_management(path->owned, ISCSI_TM_FUNC_LOGICAL_UNIT_RESET, 0,
					      ANSWER_MS);
	cancel_delayed_work_sync(&leg->held_work);
	if (ret)
		reset_release_all(leg);
	else
		reset_collect_all(leg);
	mutex_unlock(&leg->reset_lock);
	return ret;
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

/* Each of them over another session. Silence is no refusal, and ends the row. */
static bool reset_is_refused_for_good(struct istripe_path *path)
{
	if (!path->resets_refused++)
		path->refused_since = jiffies;
	if (path->resets_refused >= REFUSALS_MAX &&
	    time_after_eq(jiffies, path->refused_since + msecs_to_jiffies(REFUSED_MS)))
		path->resets_given_up = true;
	return path->resets_given_up;
}

/* What a refusal counts as. */
static int reset_judge(struct istripe_path *path, int error)
{
	if (error == -EIO)
		return reset_is_refused_for_good(path) ? -EOPNOTSUPP : -EIO;
	path->resets_refused = 0;
	path->resets_given_up = false;
	return error;
}

void istripe_lun_reset_live(struct istripe_path *path)
{
	if (!path->resets_given_up)
		path->resets_refused = 0;
}

/* Once, and again when it is another one. */
static void reset_say(const struct istripe_path *path, enum istripe_lun_reset_result result)
{
	if (result == ISTRIPE_LUN_RESET_UNSUPPORTED)
		pr_warn("%s: the target %s: writes of a lost session are believed to end with the next login\n",
			path->label, path->resets_refused ?
			"refuses LOGICAL UNIT RESET again and again" :
			"does not know LOGICAL UNIT RESET");
	else if (result != ISTRIPE_LUN_RESET_COMPLETE)
		pr_warn("%s: LOGICAL UNIT RESET is %s: writes of a lost session wait for it, it is asked again\n",
			path->label, result_names[result]);
}

void istripe_lun_reset_init_path(struct istripe_path *path)
{
	INIT_WORK(&path->reset_work, reset_path_work);
}

void istripe_lun_reset_init(struct istripe_leg *leg)
{
	mutex_init(&leg->reset_lock);
	INIT_DELAYED_WORK(&leg->held_work, reset_held_long);
}

int istripe_lun_reset(struct istripe_path *path)
{
	enum istripe_lun_reset_result result;
	int ret = reset_judge(path, reset_ask(path));

	result = reset_result(ret);
	if (xchg(&path->leg->lun_reset, result) != result)
		reset_say(path, result);
	return ret;
}
