/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exchanges: requests that are not SCSI commands and have one answer: task
 * management (RFC 7143 11.5, 11.6), logout (11.14, 11.15), and a ping that is waited
 * for (11.18, 11.19). One at a time per session.
 */
#ifndef ISTRIPE_TRANSPORT_CONTROL_REQ_H
#define ISTRIPE_TRANSPORT_CONTROL_REQ_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct istripe_conn;
struct istripe_session;

/* The tasks that the answer to a barrier shows to be dead. */
enum istripe_collect {
	ISTRIPE_COLLECT_NONE,
	ISTRIPE_COLLECT_TASK,		/* @referenced_itt: the target does not know it */
	ISTRIPE_COLLECT_ALL,		/* before @cmd_sn: the LUN has been reset */
};

/*
 * A task management request, barrier or logout in flight: one at a time, see @lock. Its
 * tag decides: whoever takes it away by cmpxchg, the receive side or the waiter whose time
 * is up, has the exchange.
 */
struct istripe_control_req {
	struct mutex lock;		/* who asks; by a logout nobody else is left */
	struct completion done;		/* answered, or a fault */
	struct completion finished;	/* answered, and all that this means is done */
	struct istripe_conn *conn;	/* that the answer has to come on */
	u16 generation;
	u32 itt;			/* ISTRIPE_TAG_RESERVED: none */
	bool sent;			/* transmit side: its PDU is on the way */
	u8 function;
	u8 response;
	u32 referenced_itt;		/* ABORT TASK: who goes when the target agrees */
	u32 cmd_sn;			/* of the request: a LUN reset covers what is before */
	enum istripe_collect collect;	/* tasks that end when a barrier is answered ... */
	int collect_error;		/* ... and with which error */
};

/**
 * istripe_session_ping() - is the session alive at the target?
 * @session: logged in
 * @timeout_ms: how long to wait for the answer
 *
 * Context: process, sleeps, also until the owner's exchange is over; the caller keeps the
 * session open.
 * Return: 0 the target has answered; -ETIMEDOUT; -ENOTCONN the session has had a fault;
 * -ENOMEM or -ENOBUFS it could not be asked.
 */
int istripe_session_ping(struct istripe_session *session, u32 timeout_ms);

/**
 * istripe_session_task_management() - ABORT TASK or LOGICAL UNIT RESET, and wait
 * @session: published or not; one caller at a time (the path's worker)
 * @function: ISCSI_TM_FUNC_ABORT_TASK or ISCSI_TM_FUNC_LOGICAL_UNIT_RESET
 * @itt: for ABORT TASK the task's tag; the task may finish by itself meanwhile
 * @timeout_ms: how long to wait for the answer
 *
 * When the target says that it is done, the tasks it covers finish with -ECANCELED
 * (RFC 7143 11.5, 11.6).
 *
 * Context: process, sleeps.
 * Return: 0; -ETIMEDOUT; -EOPNOTSUPP or -EIO as the target answered; -ENOTCONN.
 */
int istripe_session_task_management(struct istripe_session *session, u8 function,
				    u32 itt, u32 timeout_ms);

/**
 * istripe_session_reset_begin() - the LUN is about to be reset over another session
 * @session: published
 * @deadline: jiffies, for the answers of its connections
 *
 * Holds the session, and waits until the target has all commands that have been sent: the
 * reset ends these, and no others.
 *
 * Context: process, sleeps; the caller keeps the session open (SRCU of its path).
 * Return: 0: istripe_session_reset_end() must follow; -EBUSY the session's worker has a
 * request of its own under way; -ETIMEDOUT, -ENOTCONN or -ENOMEM: it is not held.
 */
int istripe_session_reset_begin(struct istripe_session *session, unsigned long deadline);

/**
 * istripe_session_reset_end() - the LUN has been reset over another session, or not
 * @session: that istripe_session_reset_begin() was successful for
 * @reset: the target has answered "function complete"
 * @deadline: jiffies, for the answers of its connections
 *
 * What was sent before is dead then, and a target with TAS=0 does not say so (SAM-5 5.3.1): a
 * ping on each connection lets answers pass that are on their way, ABORT TASK is sent for each
 * task without an answer, and one that the target does not know, and has not answered before
 * another ping, finishes with -EAGAIN. All others are left for their time-out.
 *
 * Context: process, sleeps; the caller keeps the session open.
 */
void istripe_session_reset_end(struct istripe_session *session, bool reset,
			       unsigned long deadline);

/**
 * istripe_session_logout() - end a session politely (RFC 7143 11.14)
 * @session: logged in, no submitters, and nobody pings
 * @timeout_ms: how long to wait for the answer
 *
 * Context: process, sleeps. The caller closes the session afterwards in any case.
 * Return: 0; -ETIMEDOUT; -ENOTCONN the session has had a fault; -EIO the target refused.
 */
int istripe_session_logout(struct istripe_session *session, u32 timeout_ms);

/**
 * istripe_control_req_task_management() - a task management response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_control_req_task_management(struct istripe_conn *conn);

/**
 * istripe_control_req_rejected() - a Reject of a task management request has come
 * @conn: that it has come on
 * @itt: of the request
 *
 * It says as much as the response "function rejected": the session can go on.
 *
 * Context: receive side.
 * Return: true when the request is the one that is waited for.
 */
bool istripe_control_req_rejected(struct istripe_conn *conn, u32 itt);

/**
 * istripe_control_req_barrier() - a NOP-In with a tag of ours has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: true when it is what a barrier waits for; else it is a keepalive's, or nobody's.
 */
bool istripe_control_req_barrier(struct istripe_conn *conn);

/**
 * istripe_control_req_logout() - a logout response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_control_req_logout(struct istripe_conn *conn);

#endif
