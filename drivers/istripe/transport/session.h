/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: one I_T nexus of RFC 7143, one generation. It is created by a login,
 * serves tasks until its first fault, and is never reset in place.
 *
 * Life: istripe_session_open() makes it, istripe_session_close() ends it. Between
 * the two the owner publishes it to submitters; before close the owner makes it
 * unfindable and waits until no submitter is inside istripe_session_submit().
 * Then close stops the connections and collects the tasks that send no data, waits until
 * TCP has let go of the pages, and collects the others: each gets done() exactly once.
 *
 * Writers (nothing else writes these):
 *   cmd_sn				transmit sides, by cmpxchg
 *   exp_cmd_sn, max_cmd_sn		receive sides, forward only
 *   conn->exp_stat_sn			that connection's receive side
 */
#ifndef ISTRIPE_TRANSPORT_SESSION_H
#define ISTRIPE_TRANSPORT_SESSION_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/if.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include "iscsi/state.h"
#include "transport/control_req.h"
#include "transport/login.h"
#include "transport/task.h"

struct istripe_conn;
struct istripe_session;
struct net;

#define ISTRIPE_WHY_BYTES		192
#define ISTRIPE_INTERNAL_BYTES		4096

/* ITTs above the task table: PDUs that are not SCSI commands. */
#define ISTRIPE_SLOT_PING		0xffe0	/* and the CID */
#define ISTRIPE_SLOT_TASK_MANAGEMENT	0xfff1
#define ISTRIPE_SLOT_LOGOUT		0xfff2
#define ISTRIPE_SLOT_LOGIN		0xfff3	/* of a connection that joins */
#define ISTRIPE_SLOT_BARRIER		0xfff4

/**
 * struct istripe_session_ops - what a session tells its owner
 * @fault:	the first fault of the session; nothing is done about it until the
 *		owner closes the session. Called once, from any context that may not
 *		sleep; must not call back into the session.
 * @logout_requested: the target wants the session to end soon (async event 1 or 4)
 * @attention:	the target says by itself that something about the LUN is new (async
 *		event 0); after istripe_session_invalidate() when it may not be what it was.
 *		From the receive side
 */
struct istripe_session_ops {
	void (*fault)(struct istripe_session *session, int error, const char *why);
	void (*logout_requested)(struct istripe_session *session, const char *why);
	void (*attention)(struct istripe_session *session, const char *what);
};

/* From where to where a connection goes. */
struct istripe_way {
	struct sockaddr_storage portal;
	struct sockaddr_storage source_address;	/* AF_UNSPEC: any */
	char nic[IFNAMSIZ];			/* empty: any */
};

/**
 * struct istripe_session_params - what a session is opened with
 * @label:		"volume/leg/path", for every log line
 * @path:		the path's settings; read while opening, timers and those of sockets live
 * @initiator_name:	iSCSI name
 * @isid:		ISID; the same one again reinstates (RFC 7143 6.3.5)
 * @way:		the path's own one, or that of another path to the same target
 * @net:		network namespace for the sockets
 * @tpgt:		portal group tag of an earlier session of the path, when @tpgt_known
 * @tpgt_known:		refuse a portal of another group: reinstatement would not reach
 *			the old session there
 * @task_slots:		size of the task table of the owner, without the internal one
 * @buffers:		login buffers, used while opening
 * @fence:		no redirects: what the login shall end is behind this very portal
 */
struct istripe_session_params {
	const char *label;
	const struct istripe_path_params *path;
	const char *initiator_name;
	u8 isid[6];
	struct istripe_way way;
	struct net *net;
	u16 tpgt;
	bool tpgt_known;
	u16 task_slots;
	struct istripe_login_buffers *buffers;
	bool fence;
};

/* One entry of the task table. The generation makes an old ITT miss (P13). */
struct istripe_slot {
	struct istripe_task *task;
	u16 generation;
};

enum istripe_session_flag {
	ISTRIPE_SESSION_FAULTED,	/* the fault has been reported */
	ISTRIPE_SESSION_INTERRUPTED,	/* the owner gave up while opening */
};

/* A command of our own (LUN bring-up): one at a time; it goes ahead of the others. */
struct istripe_internal {
	struct istripe_task task;
	struct completion done;
	struct page *page;
	struct bio_vec bvec;
};

struct istripe_session {
	const struct istripe_session_ops *ops;
	void *owner;
	const char *label;
	const struct istripe_path_params *path;
	struct istripe_way way;		/* to where it was found, redirects included */

	enum istripe_session_state state;
	unsigned long flags;
	u64 id;				/* no other session has or had it */
	atomic_t quiesced;		/* while there are any no command gets a CmdSN */

	struct scsi_lun lun;
	u8 isid[6];
	u16 tsih;
	u16 target_portal_group_tag;
	u16 time2wait_s;		/* before the next login, as the target asked */
	char target_alias[ISTRIPE_LOGIN_ALIAS_BYTES];
	bool login_unanswered;		/* requests were sent, and the target gave no verdict */
	struct istripe_negotiation negotiation;
	struct istripe_keys keys;	/* what holds: negotiation.result of the first login */

	u32 cmd_sn;
	u32 exp_cmd_sn;
	u32 max_cmd_sn;
	atomic_t invalidations;		/* see istripe_session_validate() */
	int validated;			/* the owner: how many of them */
	unsigned long tolerant_until;	/* jiffies, see istripe_session_tolerate() */

	u16 slot_count;
	struct istripe_slot *slots;
	struct istripe_internal internal;
	struct istripe_control_req control_req;

	struct mutex socket_lock;	/* interrupt against making and releasing sockets, @conns */
	u32 conn_count;			/* that have logged in; constant once submitters find it */
	struct istripe_conn *conns[ISTRIPE_CONNECTIONS_MAX];
};

/**
 * istripe_session_open() - connect and log in, with one connection
 * @params: see there
 * @ops: the owner's ears
 * @owner: for the owner
 * @session: set before the first socket is made, for istripe_session_interrupt();
 *	the caller clears it under its own lock
 * @why: filled with a readable reason on failure
 * @why_bytes: size of @why
 *
 * That connection makes the session (RFC 7143 6.3.1); istripe_session_join() adds others.
 *
 * Follows redirects (status 0101, 0102) by itself up to a hop limit (RFC 7143 11.13.5).
 *
 * Context: process, sleeps for at most login_timeout_ms per hop for TCP and as long for
 * the login.
 * Return: 0 and a logged-in session; -ECONNREFUSED, -ENETUNREACH and their like from
 * TCP; -ETIMEDOUT; -EACCES the target or we failed authentication; -EPROTO; -ENOMEM;
 * -EINTR after istripe_session_interrupt(). After a failure the caller still closes
 * *@session when that was set.
 */
int istripe_session_open(const struct istripe_session_params *params,
			 const struct istripe_session_ops *ops, void *owner,
			 struct istripe_session **session, char *why, size_t why_bytes);

/**
 * istripe_session_join() - let the session's other connections join it
 * @session: open, with one connection; no submitters yet
 * @params: those that it was opened with
 *
 * They join where the first one has found its place, redirects included; that one serves
 * the target's pings meanwhile. As many as the path's setting says and the target grants
 * (RFC 7143 6.3.1, 13.2). What does not come off is done without: the session works with
 * one connection, too, and the next login tries again. Later the loss of any of them is
 * the end of the session (ErrorRecoveryLevel 0).
 *
 * Context: process, sleeps for at most login_timeout_ms per connection.
 */
void istripe_session_join(struct istripe_session *session,
			  const struct istripe_session_params *params);

/**
 * istripe_session_tune() - let the sockets follow the path's socket settings
 * @session: kept alive by the caller's lock; in any state
 *
 * Context: process, sleeps; nothing may be allocated with I/O.
 */
void istripe_session_tune(struct istripe_session *session);

/**
 * istripe_session_interrupt() - make a session fail soon that somebody else opens
 * @session: a session that is being opened, kept alive by the caller's lock
 *
 * Context: process, sleeps.
 */
void istripe_session_interrupt(struct istripe_session *session);

/**
 * istripe_session_close() - stop, collect, free
 * @session: not findable by submitters any more; freed
 * @error: what unfinished tasks get as their error
 *
 * Context: process, sleeps. Only the opener.
 */
void istripe_session_close(struct istripe_session *session, int error);

/**
 * istripe_session_submit() - send a task
 * @session: logged in, kept open by the caller (SRCU of its path)
 * @task: filled in by the caller, in flight from here on
 * @may_send: the caller may sleep and holds no socket: send from here, unless
 *	waiting for others is cheaper
 * @more: further tasks follow at once, or istripe_session_push()
 *
 * Context: process when @may_send, else any that may not sleep.
 */
void istripe_session_submit(struct istripe_session *session, struct istripe_task *task,
			    bool may_send, bool more);

/**
 * istripe_session_push() - no more tasks follow those submitted with @more
 * @session: logged in, kept open by the caller
 *
 * Context: process, sleeps; holds no socket.
 */
void istripe_session_push(struct istripe_session *session);

/**
 * istripe_session_poll() - look for answers
 * @session: logged in, kept open by the caller
 * @lane: of the tasks that are waited for
 *
 * See istripe_conn_poll().
 *
 * Context: process, must not hold a socket; does not sleep.
 */
void istripe_session_poll(struct istripe_session *session, u32 lane);

/**
 * istripe_session_is_idle() - has the session no task of its owner's
 * @session: logged in
 *
 * Context: the session's owner; the answer is old at once when there are submitters.
 * Return: true or false.
 */
bool istripe_session_is_idle(const struct istripe_session *session);

/**
 * istripe_session_has_link() - have the NICs of its connections a link?
 * @session: logged in
 *
 * Context: process. Only the opener, or who has it by path->srcu.
 * Return: false when the NIC of any of them is gone, down, or without a carrier.
 */
bool istripe_session_has_link(const struct istripe_session *session);

/**
 * istripe_session_execute() - send one SCSI command of our own and wait
 * @session: logged in, not published or no other caller of this function
 * @cdb: 16 bytes, zero padded
 * @lun: logical unit
 * @bytes: data, at most ISTRIPE_INTERNAL_BYTES; 0 for none
 * @write: they go out; the caller has put them into the page of session->internal,
 *	where they stay
 * @timeout_ms: how long to wait
 *
 * The result is in session->internal.task (status, sense, transferred_bytes), data that
 * came in are in the page of session->internal.
 *
 * Context: process, sleeps.
 * Return: 0 when the target answered; -ETIMEDOUT, then the session is good for
 * nothing but closing; -ENOTCONN and other errors of the connection.
 */
int istripe_session_execute(struct istripe_session *session, const u8 *cdb,
			    const struct scsi_lun *lun, u32 bytes, bool write, u32 timeout_ms);

/**
 * istripe_session_fault() - report that the session cannot go on
 * @session: the session
 * @error: negative errno
 * @fmt: the reason, in words
 *
 * The first report wins; it is traced and handed to the owner.
 *
 * Context: any.
 */
__printf(3, 4) void istripe_session_fault(struct istripe_session *session, int error,
					  const char *fmt, ...);

/**
 * istripe_itt_slot() - the slot in an Initiator Task Tag
 * @itt: the tag
 *
 * Context: any.
 * Return: the slot, of whatever session.
 */
static inline u16 istripe_itt_slot(u32 itt)
{
	return itt & 0xffff;
}

/**
 * istripe_session_find_task() - the task an ITT names (receive side)
 * @session: the session
 * @conn: the connection the PDU came on
 * @itt: initiator task tag
 *
 * Context: receive side of @conn.
 * Return: the task if it is in flight on this very connection, else NULL.
 */
struct istripe_task *istripe_session_find_task(struct istripe_session *session,
					       const struct istripe_conn *conn, u32 itt);

/**
 * istripe_session_is_own() - is a task the command of our own
 * @session: its session
 * @task: the task
 *
 * Context: any.
 * Return: true: it was sent by istripe_session_execute().
 */
static inline bool istripe_session_is_own(const struct istripe_session *session,
					  const struct istripe_task *task)
{
	return task == &session->internal.task;
}

/**
 * istripe_session_take_cmd_sn() - get the next CmdSN if the window is open
 * @session: the session
 * @own: for the command of our own
 * @cmd_sn: set on success
 *
 * Context: transmit side.
 * Return: true; false when the window is closed (RFC 7143 4.2.2.1), the session held, or
 * in doubt and the command not our own.
 */
bool istripe_session_take_cmd_sn(struct istripe_session *session, bool own, u32 *cmd_sn);

/**
 * istripe_session_invalidate() - something about the LUN has changed
 * @session: logged in
 *
 * No command of the session gets a CmdSN any more, but those of the owner's own, until
 * istripe_session_validate(). The owner must be told.
 *
 * Context: any.
 */
void istripe_session_invalidate(struct istripe_session *session);

/**
 * istripe_session_tolerate() - do not stop for asynchronous messages for a while
 * @session: its target says all the time that the LUN has changed
 * @ms: how long
 *
 * The owner is told of them, and has a look, while commands go on. What the target answers to a
 * command puts the session in doubt all the same.
 *
 * Context: the session's owner.
 */
static inline void istripe_session_tolerate(struct istripe_session *session, u32 ms)
{
	WRITE_ONCE(session->tolerant_until, jiffies + msecs_to_jiffies(ms));
}

/**
 * istripe_session_is_tolerant() - see istripe_session_tolerate()
 * @session: the session
 *
 * Context: any.
 * Return: true or false.
 */
static inline bool istripe_session_is_tolerant(const struct istripe_session *session)
{
	return time_before(jiffies, READ_ONCE(session->tolerant_until));
}

/**
 * istripe_session_invalidations() - how often the session has been put in doubt
 * @session: the session
 *
 * Context: the session's owner, before it looks.
 * Return: for istripe_session_validate().
 */
static inline int istripe_session_invalidations(const struct istripe_session *session)
{
	return atomic_read(&session->invalidations);
}

/**
 * istripe_session_is_invalid() - do commands wait for istripe_session_validate()
 * @session: the session
 *
 * Context: any.
 * Return: true or false.
 */
static inline bool istripe_session_is_invalid(const struct istripe_session *session)
{
	return atomic_read(&session->invalidations) != READ_ONCE(session->validated);
}

/**
 * istripe_session_validate() - it has been looked into: commands go on
 * @session: the session
 * @invalidations: istripe_session_invalidations() before the look; those of later are not settled
 *
 * Context: the session's owner.
 */
void istripe_session_validate(struct istripe_session *session, int invalidations);

/**
 * istripe_session_quiesce() - let no command have a CmdSN until istripe_session_unquiesce()
 * @session: logged in
 *
 * Data-Out and control PDUs are still sent. Whatever is queued on a connection after this
 * goes out behind all commands of that connection that have a CmdSN. Holds count: the last
 * release lets commands go.
 *
 * Context: any that keeps the session open.
 */
void istripe_session_quiesce(struct istripe_session *session);

/**
 * istripe_session_unquiesce() - undo istripe_session_quiesce()
 * @session: held
 *
 * Context: any that keeps the session open.
 */
void istripe_session_unquiesce(struct istripe_session *session);

/**
 * istripe_session_is_quiesced() - has somebody a hold on the session
 * @session: logged in
 *
 * Context: any; the answer may be old at once.
 * Return: true or false.
 */
static inline bool istripe_session_is_quiesced(const struct istripe_session *session)
{
	return atomic_read(&session->quiesced);
}

/**
 * istripe_session_window() - note ExpCmdSN and MaxCmdSN of a PDU
 * @session: the session
 * @exp_cmd_sn: from the PDU
 * @max_cmd_sn: from the PDU
 *
 * Both only move forward; a pair with MaxCmdSN < ExpCmdSN - 1 is ignored whole.
 *
 * Context: receive side.
 */
void istripe_session_window(struct istripe_session *session, u32 exp_cmd_sn, u32 max_cmd_sn);

/**
 * istripe_session_set_state() - move to another state and trace it
 * @session: the session
 * @state: a state that may follow the present one
 *
 * Context: the session's owner.
 */
void istripe_session_set_state(struct istripe_session *session,
			       enum istripe_session_state state);

#endif
