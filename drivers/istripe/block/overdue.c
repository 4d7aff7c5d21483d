// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include "block/lun_reset.h"
#include "block/overdue.h"
#include "block/path.h"
#include "proto/error.h"

#define TASK_MANAGEMENT_TIMEOUT_MS	10000

/* Put a tag on the list; false: it is there already. A full list means give up. */
static bool overdue_add(struct istripe_path *path, u32 itt)
{
	u32 i;

	lockdep_assert_held(&path->event_lock);
	for (i = 0; i < path->overdue_count; i++)
		if (path->overdue[i] == itt)
			return false;
	if (path->overdue_count == ISTRIPE_OVERDUE_MAX)
		set_bit(ISTRIPE_PATH_GIVE_UP, &path->events);
	else
		path->overdue[path->overdue_count++] = itt;
	return true;
}

bool istripe_overdue_report(struct istripe_path *path, u32 itt, bool give_up)
{
	unsigned long flags;
	bool added;

	if (READ_ONCE(path->state) != ISTRIPE_PATH_LIVE)
		return false;
	spin_lock_irqsave(&path->event_lock, flags);
	added = overdue_add(path, itt);
	spin_unlock_irqrestore(&path->event_lock, flags);
	if (!added)
		return false;
	if (give_up)
		set_bit(ISTRIPE_PATH_GIVE_UP, &path->events);
	istripe_path_event(path, ISTRIPE_PATH_OVERDUE);
	return true;
}

/* The first tag on the list; it stays there until overdue_end(). */
static bool overdue_next(struct istripe_path *path, u32 *itt)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&path->event_lock, flags);
	any = path->overdue_count;
	*itt = path->overdue[0];
	spin_unlock_irqrestore(&path->event_lock, flags);
	return any;
}

static void overdue_end(struct istripe_path *path, u32 count)
{
	unsigned long flags;

	spin_lock_irqsave(&path->event_lock, flags);
	count = min(count, path->overdue_count);
	path->overdue_count -= count;
	memmove(path->overdue, path->overdue + count,
		path->overdue_count * sizeof(path->overdue[0]));
	spin_unlock_irqrestore(&path->event_lock, flags);
}

/* A command that never left, or that the target does not let us finish: no way but out. */
static bool overdue_is_hopeless(struct istripe_session *session,
				enum istripe_task_progress progress)
{
	/* A hold lasts for seconds at most; then the command has its time again. */
	if (progress == ISTRIPE_TASK_UNSENT && istripe_session_is_held(session))
		return true;
	if (progress == ISTRIPE_TASK_UNSENT)
		istripe_session_fault(session, -ETIMEDOUT,
				      "a command cannot be sent: the target keeps its command window or TCP closed");
	else if (progress == ISTRIPE_TASK_UNFINISHED)
		istripe_session_fault(session, -ETIMEDOUT,
				      "the target has answered a command, but does not take its data");
	return progress != ISTRIPE_TASK_IN_FLIGHT;
}

static int overdue_abort_task(struct istripe_path *path, u32 itt)
{
	struct istripe_session *session = path->owned;

	if (overdue_is_hopeless(session, istripe_session_task_progress(session, itt)))
		return 0;
	pr_warn_ratelimited("%s: command 0x%08x is overdue: aborting it\n", path->label, itt);
	return istripe_session_task_management(session, ISCSI_TM_FUNC_ABORT_TASK, itt,
					       TASK_MANAGEMENT_TIMEOUT_MS);
}

/*
 * Commands are older than their timeout. Keepalive has made sure by then that the
 * connection itself is alive. First the one task, then the LUN, then the session.
 */
void istripe_overdue_recover(struct istripe_path *path)
{
	struct istripe_session *session = path->owned;
	u32 itt;
	int ret = 0;

	/* Who stops ends them all. */
	while (!ret && !test_bit(ISTRIPE_PATH_STOP, &path->events) && overdue_next(path, &itt)) {
		if (test_and_clear_bit(ISTRIPE_PATH_GIVE_UP, &path->events))
			ret = -ETIMEDOUT;
		else
			ret = overdue_abort_task(path, itt);
		overdue_end(path, 1);
	}
	if (ret && ret != -ENOTCONN) {
		pr_warn_ratelimited("%s: commands stay overdue, abort: %s (%pe): resetting the LUN\n",
				    path->label, istripe_error_words(ret), ERR_PTR(ret));
		ret = istripe_lun_reset(path);
		istripe_overdue_clear(path);
	}
	if (ret)
		istripe_session_fault(session, -ETIMEDOUT,
				      "commands time out, and so do abort and LUN reset");
}

/* Only what is with the target, or has come from it. */
static bool overdue_stays(struct istripe_session *session, u32 itt)
{
	enum istripe_task_progress progress = istripe_session_task_progress(session, itt);

	return progress == ISTRIPE_TASK_IN_FLIGHT || progress == ISTRIPE_TASK_UNFINISHED;
}

static bool overdue_keep_sent(struct istripe_path *path)
{
	unsigned long flags;
	u32 kept = 0;
	u32 i;

	spin_lock_irqsave(&path->event_lock, flags);
	for (i = 0; i < path->overdue_count; i++)
		if (overdue_stays(path->owned, path->overdue[i]))
			path->overdue[kept++] = path->overdue[i];
	path->overdue_count = kept;
	/* Who reports another one puts it on the list first. */
	if (!kept)
		clear_bit(ISTRIPE_PATH_GIVE_UP, &path->events);
	spin_unlock_irqrestore(&path->event_lock, flags);
	return kept;
}

void istripe_overdue_forget_unsent(struct istripe_path *path)
{
	/* First: what is reported from now on sets it again. */
	clear_bit(ISTRIPE_PATH_OVERDUE, &path->events);
	if (overdue_keep_sent(path))
		istripe_path_event(path, ISTRIPE_PATH_OVERDUE);
}

void istripe_overdue_clear(struct istripe_path *path)
{
	clear_bit(ISTRIPE_PATH_GIVE_UP, &path->events);
	overdue_end(path, ISTRIPE_OVERDUE_MAX);
}
