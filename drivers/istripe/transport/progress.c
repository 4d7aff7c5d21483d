// SPDX-License-Identifier: GPL-2.0
/*
 * How far tasks have come. The session's table is read without references to its tasks: an answer
 * that is old at once will do, and their memory outlives the session. But for tags of an I/O
 * scheduler, which are freed when it is switched: a task that ends just then may be read (it is
 * never written) after that, and the answer be wrong this once.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

#include "transport/conn.h"
#include "transport/progress.h"
#include "transport/session.h"

/* Small enough for the slowest link, and more than a target that sends a byte at a time. */
#define PROGRESS_BYTES	SZ_4K

void istripe_moved_note(struct istripe_moved *moved, u32 bytes, u32 all_bytes)
{
	moved->bytes += bytes;
	if (moved->bytes - moved->noted_bytes <
	    min_t(u32, PROGRESS_BYTES, all_bytes - moved->noted_bytes))
		return;
	moved->noted_bytes = moved->bytes;
	WRITE_ONCE(moved->at, jiffies);
}

static struct istripe_task *session_peek_task(struct istripe_session *session, u32 itt)
{
	struct istripe_task *task = NULL;

	if (istripe_itt_slot(itt) < session->slot_count)
		task = READ_ONCE(session->slots[istripe_itt_slot(itt)].task);
	return task && READ_ONCE(task->itt) == itt ? task : NULL;
}

struct istripe_conn *istripe_session_task_conn(struct istripe_session *session, u32 itt,
					       u32 *cmd_sn)
{
	struct istripe_task *task = session_peek_task(session, itt);
	struct istripe_conn *conn = task ? READ_ONCE(task->conn) : NULL;
	u32 i;

	*cmd_sn = task ? READ_ONCE(task->cmd_sn) : 0;
	/* It may be in flight again by now, over another session. */
	for (i = 0; i < session->conn_count; i++)
		if (session->conns[i] == conn)
			return conn;
	return session->conns[0];
}

enum istripe_task_progress istripe_session_task_progress(struct istripe_session *session,
							 u32 itt)
{
	struct istripe_task *task = session_peek_task(session, itt);

	if (!task)
		return ISTRIPE_TASK_GONE;
	if (test_bit(ISTRIPE_TASK_ANSWERED, &task->flags))
		return ISTRIPE_TASK_UNFINISHED;
	return test_bit(ISTRIPE_TASK_SENT, &task->flags) ? ISTRIPE_TASK_IN_FLIGHT :
							   ISTRIPE_TASK_UNSENT;
}

static bool session_is_in_flight(const struct istripe_task *task, const struct istripe_conn *conn)
{
	unsigned long flags;

	if (!task || READ_ONCE(task->conn) != conn)
		return false;
	flags = READ_ONCE(task->flags);
	return flags & BIT(ISTRIPE_TASK_SENT) && !(flags & BIT(ISTRIPE_TASK_ANSWERED));
}

bool istripe_session_awaits_answers(const struct istripe_session *session)
{
	const struct istripe_task *task;
	u32 i;

	for (i = 0; i < session->slot_count; i++) {
		task = READ_ONCE(session->slots[i].task);
		if (task && session_is_in_flight(task, READ_ONCE(task->conn)))
			return true;
	}
	return false;
}

u32 istripe_session_open_writes(struct istripe_session *session, const struct istripe_conn *conn)
{
	const struct istripe_task *task;
	u32 count = 0;
	u32 i;

	for (i = 0; i < session->slot_count; i++) {
		task = READ_ONCE(session->slots[i].task);
		if (session_is_in_flight(task, conn) && READ_ONCE(task->write) &&
		    READ_ONCE(task->offered_bytes) < READ_ONCE(task->data.length_bytes))
			count++;
	}
	return count;
}

static bool task_moves(const struct istripe_task *task, unsigned long since)
{
	return time_after(READ_ONCE(task->sent.at), since) ||
	       time_after(READ_ONCE(task->received.at), since);
}

bool istripe_session_task_moves(struct istripe_session *session, u32 itt, unsigned long within)
{
	struct istripe_task *task = session_peek_task(session, itt);
	unsigned long since = jiffies - within;
	const struct istripe_task *other;
	struct istripe_conn *conn;
	unsigned long last;
	u32 cmd_sn, i;

	if (!task)
		return false;
	conn = istripe_session_task_conn(session, itt, &cmd_sn);
	last = READ_ONCE(task->submitted_at) + within;
	if (time_after(READ_ONCE(conn->rx.moved.at), since) &&
	    time_before_eq(READ_ONCE(conn->rx.moved_of), last))
		return true;
	for (i = 0; i < session->slot_count; i++) {
		other = READ_ONCE(session->slots[i].task);
		if (session_is_in_flight(other, conn) &&
		    time_before_eq(READ_ONCE(other->submitted_at), last) &&
		    task_moves(other, since))
			return true;
	}
	return false;
}
