/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_PROGRESS_H
#define ISTRIPE_TRANSPORT_PROGRESS_H

#include <linux/types.h>

struct istripe_conn;
struct istripe_session;

/* How much data have moved, and when that has last counted: see istripe_moved_note(). */
struct istripe_moved {
	u32 bytes;
	u32 noted_bytes;		/* of these, when it has */
	unsigned long at;		/* jiffies; at first when the task was submitted */
};

/**
 * istripe_moved_note() - some data have moved
 * @moved: what has moved until now
 * @bytes: how many
 * @all_bytes: how many there are to move at all
 *
 * It counts as progress when they are 4 KiB, or the rest, together with what has moved since
 * that was last so: else a target that moves a byte now and then would keep a command for ever.
 *
 * Context: whoever @moved belongs to.
 * Return: true or false.
 */
bool istripe_moved_note(struct istripe_moved *moved, u32 bytes, u32 all_bytes);

enum istripe_task_progress {
	ISTRIPE_TASK_GONE,		/* no task of that tag any more */
	ISTRIPE_TASK_UNSENT,		/* waiting for the window or for TCP */
	ISTRIPE_TASK_IN_FLIGHT,
	ISTRIPE_TASK_UNFINISHED,	/* answered, but its data are not all out */
};

/**
 * istripe_session_task_progress() - how far a task has come
 * @session: the session
 * @itt: the task's tag
 *
 * Context: the session's owner; the answer may be old at once.
 * Return: see there.
 */
enum istripe_task_progress istripe_session_task_progress(struct istripe_session *session,
							 u32 itt);

/**
 * istripe_session_task_moves() - do data move, a task's or those it may have to wait for
 * @session: the session
 * @itt: the task's tag
 * @within: jiffies
 *
 * A slow link takes its time for one command after the other, and a target may serve them
 * in any order. What counts are the commands of the task's connection that were submitted
 * before it or not longer than @within after it; data of any of them must have moved, or
 * its status have come, within the last @within. There is an end to these: a task that the
 * target has forgotten does not hide behind others for ever.
 *
 * Context: the session's owner, or whoever keeps it; the answer may be old at once.
 * Return: true or false.
 */
bool istripe_session_task_moves(struct istripe_session *session, u32 itt, unsigned long within);

/**
 * istripe_session_open_writes() - writes in flight whose data have not all been given to TCP
 * @session: the session
 * @conn: one of its connections
 *
 * Context: transmit side of @conn; looks at every task.
 * Return: their number.
 */
u32 istripe_session_open_writes(struct istripe_session *session, const struct istripe_conn *conn);

/**
 * istripe_session_task_conn() - where to abort a task: on its connection (RFC 7143 11.5.1)
 * @session: the session
 * @itt: the task's tag
 * @cmd_sn: set to its CmdSN, for RefCmdSN; 0 when there is no such task any more
 *
 * Context: the session's owner.
 * Return: the task's connection, or the first one when there is no such task any more.
 */
struct istripe_conn *istripe_session_task_conn(struct istripe_session *session, u32 itt,
					       u32 *cmd_sn);

#endif
