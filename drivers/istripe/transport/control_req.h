/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control requests are not SCSI commands and have one answer: task management (RFC 7143 11.5,
 * 11.6), logout (11.14, 11.15), and a ping that is waited for (11.18, 11.19), called a barrier.
 * A session has one at a time.
 */
#ifndef ISTRIPE_TRANSPORT_CONTROL_REQ_H
#define ISTRIPE_TRANSPORT_CONTROL_REQ_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct istripe_conn;
struct istripe_session;

/* The tasks that end when a barrier is answered. */
enum istripe_collect {
	ISTRIPE_COLLECT_NONE,
	ISTRIPE_COLLECT_TASK,		/* @referenced_itt, which the target does not know */
	ISTRIPE_COLLECT_ALL,		/* those before @cmd_sn: the LUN has been reset */
};

/*
 * The request in flight. The receive side and a waiter whose time is up race for its tag: the one
 * that takes it away by cmpxchg has the request.
 */
struct istripe_control_req {
	struct mutex lock;		/* of the caller; a logout has no rivals and takes none */
	struct completion done;		/* answered, a fault, or no time is left */
	struct completion finished;	/* answered, and the answer has been acted on */
	struct istripe_conn *conn;	/* that the answer has to come on */
	u16 generation;
	u32 itt;			/* ISTRIPE_TAG_RESERVED: none */
	bool sent;			/* transmit side: its PDU is on the way */
	u8 function;
	u8 response;
	u32 referenced_itt;		/* the last ABORT TASK: the task that ends on success */
	u32 held_itt;			/* the task of which no Data-Out is sent (P118) */
	u32 cmd_sn;			/* of the request: a LUN reset covers lower ones */
	enum istripe_collect collect;	/* tasks that end when a barrier is answered */
	int abort_error;		/* of @referenced_itt when it is aborted */
};

/**
 * istripe_session_ping() - is the session alive at the target?
 * @session: logged in, kept open by the caller
 * @timeout_ms: how long to wait for the answer
 * Context: process, sleeps, also until another control request of the session is over.
 * Return: 0; -ETIMEDOUT; -ENOTCONN after a fault; -ENOMEM or -ENOBUFS not sent.
 */
int istripe_session_ping(struct istripe_session *session, u32 timeout_ms);

/**
 * istripe_session_ping_large() - do large packets reach the target?
 * @session: logged in, kept open by the caller; its first connection is asked
 * @timeout_ms: how long to wait for the answer
 *
 * A ping with data that fill TCP's largest packets, as far as the target takes so many.
 *
 * Context: process, sleeps.
 * Return: 0; -EBADE only TCP has answered; -ETIMEDOUT; -ENOTCONN after a fault; -ENOMEM not sent.
 */
int istripe_session_ping_large(struct istripe_session *session, u32 timeout_ms);

/**
 * istripe_session_task_management() - ABORT TASK or LOGICAL UNIT RESET, and wait
 * @session: published or not; the caller is the nexus's worker
 * @function: ISCSI_TM_FUNC_ABORT_TASK or ISCSI_TM_FUNC_LOGICAL_UNIT_RESET
 * @itt: the task to abort; it may finish by itself meanwhile
 * @timeout_ms: how long to wait for the answer
 *
 * On success the tasks that it covers finish with -ECANCELED (RFC 7143 11.5, 11.6).
 *
 * Context: process, sleeps.
 * Return: 0; -ETIMEDOUT; -EOPNOTSUPP or -EIO as the target answered; -ENOTCONN.
 */
int istripe_session_task_management(struct istripe_session *session, u8 function,
				    u32 itt, u32 timeout_ms);

/**
 * istripe_session_hurry() - end the wait of istripe_session_task_management()
 * @session: kept by the caller; without an answer by now it is -ETIMEDOUT
 * Context: any.
 */
void istripe_session_hurry(struct istripe_session *session);

/**
 * istripe_session_reset_begin() - the LUN is about to be reset over another session
 * @session: published, kept open by the caller (SRCU of its nexus)
 * @cmd_sn: gets the CmdSN of the next command
 * @deadline: jiffies, for other control requests of the session and the answers of its connections
 *
 * Quiesces the session and waits until the target has all commands that were sent: the reset
 * ends these, and none after istripe_session_unquiesce() that comes after its answer.
 *
 * Context: process, sleeps.
 * Return: 0; -EBUSY another control request of the session is still under way, -ETIMEDOUT,
 * -ENOTCONN or -ENOMEM: it is not quiesced.
 */
int istripe_session_reset_begin(struct istripe_session *session, u32 *cmd_sn,
				unsigned long deadline);

/**
 * istripe_session_reset_collect() - the LUN has been reset over another session
 * @session: as for istripe_session_reset_begin(), quiesced or not by now
 * @cmd_sn: of the first command that was not sent before the reset
 * @deadline: as for istripe_session_reset_begin()
 *
 * The tasks sent before it are dead, which a target with TAS=0 does not say (SAM-5 5.3.1). A ping
 * on each connection lets answers pass that are on their way; then ABORT TASK is sent for each of
 * them without an answer. A task that it ends, or that the target does not know, and has not
 * answered before another ping, finishes with -EAGAIN. The others are left to their time-out.
 *
 * Context: process, sleeps.
 */
void istripe_session_reset_collect(struct istripe_session *session, u32 cmd_sn,
				   unsigned long deadline);

/**
 * istripe_session_logout() - end a session politely (RFC 7143 11.14)
 * @session: logged in, no submitters, no pings; the caller closes it afterwards in any case
 *
 * Waits for the answer, two seconds at most.
 *
 * Context: process, sleeps.
 */
void istripe_session_logout(struct istripe_session *session);

/*
 * The receive side calls these with the PDU in conn->rx.
 */

/* A task management response. Returns 0; one that nobody waits for any more is ignored. */
int istripe_control_req_tm_response(struct istripe_conn *conn);

/* Is the LUN being reset, or has an abort of the task @itt begun? */
bool istripe_control_req_ends(const struct istripe_session *session, u32 itt);

/*
 * A Reject of the task management request @itt says as much as the response "function rejected":
 * the session can go on. One of a ping shows that the target lives. Returns true when that request
 * is waited for.
 */
bool istripe_control_req_rejected(struct istripe_conn *conn, u32 itt);

/* A NOP-In with a tag of ours. Returns true when a barrier ping waits for it. */
bool istripe_control_req_nop_in(struct istripe_conn *conn);

/* A logout response. Returns -EPROTO when nobody waits for it. */
int istripe_control_req_logout_response(struct istripe_conn *conn);

#endif
