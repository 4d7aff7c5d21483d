/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_PROGRESS_H
#define ISTRIPE_TRANSPORT_PROGRESS_H

#include <linux/types.h>

struct istripe_conn;
struct istripe_session;

/* Data that have moved, and when that last was progress: see istripe_moved_note(). */
struct istripe_moved {
	u32 bytes;
	u32 noted_bytes;		/* of these, at the last progress */
	unsigned long at;		/* jiffies; at first of the submission */
};

/*
 * Notes data that have moved. They are progress when they are 4 KiB, or the rest of @all_bytes,
 * together with what has moved since the last progress. Otherwise a target that moves a byte now
 * and then would keep a command for ever. For the owner of @moved.
 */
void istripe_moved_note(struct istripe_moved *moved, u32 bytes, u32 all_bytes);

enum istripe_task_progress {
	ISTRIPE_TASK_GONE,		/* no task of that tag any more */
	ISTRIPE_TASK_UNSENT,		/* waiting for the window or for TCP */
	ISTRIPE_TASK_IN_FLIGHT,
	ISTRIPE_TASK_UNFINISHED,	/* answered, but its data are not all out */
};

/**
 * istripe_session_task_progress() - how far a task has come
 * @session: any
 * @itt: the task's tag
 * Context: the session's owner; the answer may be old at once.
 * Return: see enum istripe_task_progress.
 */
enum istripe_task_progress istripe_session_task_progress(struct istripe_session *session,
							 u32 itt);

/**
 * istripe_session_task_moves() - do data move, a task's or those it may have to wait for
 * @session: any
 * @itt: the task's tag
 * @within: jiffies
 *
 * A slow link takes its time for one command after the other, and a target may serve them
 * in any order. The commands that count are those of the task's connection that were submitted
 * before it or not longer than @within after it; data of one of them must have moved, or
 * its status have come, within the last @within. These come to an end: a task that the
 * target has forgotten does not hide behind others for ever.
 *
 * Context: any that keeps the session; the answer may be old at once.
 * Return: true or false.
 */
bool istripe_session_task_moves(struct istripe_session *session, u32 itt, unsigned long within);

/* Is any command sent and unanswered? For the session's owner; the answer may be old at once. */
bool istripe_session_awaits_answers(const struct istripe_session *session);

/*
 * Writes in flight over @conn whose data have not all been given to TCP. For the transmit side of
 * @conn; reads the whole table.
 */
u32 istripe_session_open_writes(struct istripe_session *session, const struct istripe_conn *conn);

/*
 * The connection to abort a task on: its own one (RFC 7143 11.5.1). @cmd_sn becomes RefCmdSN. When
 * there is no such task any more, that is the first connection and 0. For the session's owner.
 */
struct istripe_conn *istripe_session_task_conn(struct istripe_session *session, u32 itt,
					       u32 *cmd_sn);

#endif
