/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session of RFC 7143: one generation of a nexus (block/nexus.h). It is created by a login,
 * serves tasks until its first fault, and is never reset in place.
 *
 * Life: istripe_session_open() makes it, istripe_session_close() ends it. In between the owner
 * publishes it to submitters. Before close the owner makes it unfindable and waits until no
 * submitter is inside istripe_session_submit(). istripe_session_halt(), which close includes, stops
 * the connections and collects the tasks, but not answered writes; close waits until TCP has let go
 * of the pages and collects these. Each task gets done() exactly once.
 *
 * The only writers:
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

#include <istripe/params.h>
#include "iscsi/state.h"
#include "transport/control_req.h"
#include "transport/login.h"
#include "transport/quirks.h"
#include "transport/task.h"

struct istripe_conn;
struct istripe_reason;
struct istripe_session;
struct net;

#define ISTRIPE_INTERNAL_BYTES		4096

/* ITTs above the task table: PDUs that are not SCSI commands. */
#define ISTRIPE_SLOT_PING		0xffe0	/* and the CID */
#define ISTRIPE_SLOT_TASK_MANAGEMENT	0xfff1
#define ISTRIPE_SLOT_LOGOUT		0xfff2
#define ISTRIPE_SLOT_LOGIN		0xfff3	/* of a connection that joins */
#define ISTRIPE_SLOT_BARRIER		0xfff4

/**
 * struct istripe_session_ops - what a session tells its owner
 * @fault:	the first fault of the session, which nothing follows until the owner closes
 *		it. Called once, from any context; must not sleep or call into the session.
 * @logout_requested: the target wants the session to end soon (async event 1 or 4)
 * @async_sense: the target reports a change of the LUN, or of all, by itself (async event 0); the
 *		sense data may be none, with response_code 0. Called by the receive side
 * @rejected:	the target rejects the command of the owner's @itt, which may live on there: true if
 *		the owner aborts it, false if the session is to end. Called by the receive side
 * @own_sense:	a command of the owner was answered with sense data, internal.task.sense; @known:
 *		of ISTRIPE_LUN_KNOWN, see istripe_lun_ask(). Called on the owner's thread
 * @changed:	the session's state, or that of one of its connections, is another one. Called
 *		within a call of the owner, on its thread
 *
 * All but @fault may be NULL: @rejected and @own_sense of an owner without commands, who gets no
 * such calls, and the others of one that does not want to know.
 */
struct istripe_session_ops {
	void (*fault)(struct istripe_session *session, int error, const char *why);
	void (*logout_requested)(struct istripe_session *session, const char *why);
	void (*async_sense)(struct istripe_session *session, const struct scsi_sense_hdr *sense);
	bool (*rejected)(struct istripe_session *session, u32 itt);
	void (*own_sense)(struct istripe_session *session, bool known);
	void (*changed)(struct istripe_session *session);
};

/* The two ends of a connection. */
struct istripe_way {
	struct sockaddr_storage portal;
	struct sockaddr_storage source_address;	/* AF_UNSPEC: any */
	char nic[IFNAMSIZ];			/* empty: any */
};

struct istripe_session_params {
	const char *label;		/* "volume/leg/path", for every log line */
	const struct istripe_path_params *path;	/* some may change later: block/path.h */
	u32 connections;		/* that it asks for (MaxConnections), and is to have */
	const char *initiator_name;
	u8 isid[6];			/* the same one again reinstates (RFC 7143 6.3.5) */
	struct istripe_way way;		/* of the path, or of another path to the same target */
	struct net *net;
	struct istripe_tpgt tpgt;	/* of an earlier session: to reinstate it needs the same */
	u16 task_slots;			/* of the owner, without the internal one */
	struct istripe_login_buffers *buffers;	/* used while opening */
	bool no_redirects;		/* the session must be behind this portal */
};

/* One entry of the task table. The generation makes an old ITT miss (P13). */
struct istripe_slot {
	struct istripe_task *task;
	u16 generation;
};

enum istripe_session_flag {
	ISTRIPE_SESSION_FAULTED,	/* the fault has been reported */
	ISTRIPE_SESSION_INTERRUPTED,	/* the owner gave up while opening */
	ISTRIPE_SESSION_REFUSED,	/* its login; the same login would be refused again */
};

/* A command of the owner's own, ahead of the others; one at a time. */
struct istripe_internal {
	struct istripe_task task;
	struct completion done;
	struct page *page;
	struct bio_vec bvec;
	bool changed;			/* the owner's: the LUN has reported a change */
	u32 answer_ms;			/* the owner's: for one question, see istripe_lun_ask() */
};

struct istripe_session {
	const struct istripe_session_ops *ops;
	void *owner;
	const char *label;
	const struct istripe_path_params *path;
	struct istripe_way way;		/* where it was opened, redirects included */
	struct sockaddr_storage next_portal;	/* of the next login: permanent ones included */

	enum istripe_session_state state;
	unsigned long flags;
	u64 id;				/* no other session has or had it */
	atomic_t quiesced;		/* count; no command gets a CmdSN while it is not 0 */

	bool admitted;			/* the owner: it may get tasks */
	struct scsi_lun lun;
	u8 isid[6];
	u16 tsih;
	struct istripe_tpgt tpgt;
	u16 time2wait_s;		/* before the next login, as the target asked */
	u16 logout_s;			/* it waits for the logout that it has asked for */
	struct istripe_quirks quirks;	/* of the target; none before the login */
	struct istripe_negotiation negotiation;	/* of the first login */

	u32 cmd_sn;
	u32 exp_cmd_sn;
	u32 max_cmd_sn;
	atomic_t invalidations;		/* see istripe_session_validate() */
	int validated;			/* the owner: how many of them it has handled */
	atomic64_t tolerant_until;	/* jiffies in 64 bits, see istripe_session_tolerate() */

	u16 slot_count;
	struct istripe_slot *slots;
	struct istripe_internal internal;
	struct istripe_control_req control_req;

	struct mutex socket_lock;	/* @conns; interrupt, making and releasing of sockets */
	u64 drain_until;		/* jiffies in 64 bits: the close's; 0 before that */
	u32 conn_count;			/* logged in; constant once submitters find it */
	struct istripe_conn *conns[ISTRIPE_CONNECTIONS_MAX];
};

/**
 * istripe_session_open() - connect and log in, with one connection
 * @params: see there
 * @ops: called by the session
 * @owner: for the owner
 * @session: set before the first socket is made, for istripe_session_interrupt();
 *	the caller clears it under its own lock
 * @why: filled with a readable reason on failure
 *
 * That connection makes the session (RFC 7143 6.3.1); istripe_session_join() adds others.
 * Follows redirects (status 0101, 0102) up to a hop limit (RFC 7143 11.13.5). The session's
 * @next_portal is where only permanent ones (0102) have led: at first @params' own.
 * Context: process, sleeps for at most login_timeout_ms per hop for TCP, as long for the login, and
 * as long for the name that a redirect leads to.
 * Return: 0 and a logged-in session; an error of TCP such as -ECONNREFUSED or -ENETUNREACH;
 * -ETIMEDOUT; -EACCES the target or we failed authentication; -EPROTO; -EXDEV another portal group
 * than @params' or none; -ENOMEM;
 * -EINTR after istripe_session_interrupt(). After a failure the caller still closes
 * *@session when that was set.
 */
int istripe_session_open(const struct istripe_session_params *params,
			 const struct istripe_session_ops *ops, void *owner,
			 struct istripe_session **session, struct istripe_reason *why);

/**
 * istripe_session_connections_may() - how many connections may the session have?
 * @session: logged in
 * Context: any.
 * Return: as many as the target grants (MaxConnections), but one
 * with a target that has this quirk (P101).
 */
u32 istripe_session_connections_may(const struct istripe_session *session);

/**
 * istripe_session_join() - let the session's other connections join it
 * @session: open, with one connection; no submitters yet
 * @params: those that it was opened with
 *
 * They join at the portal of the first one, redirects included, which answers the target's pings
 * meanwhile. There are as many as the path's setting says and the target grants (RFC 7143
 * 6.3.1, 13.2). The session works without those that fail; the next login tries again. Later
 * the loss of any connection is the end of the session (ErrorRecoveryLevel 0).
 *
 * Context: process, sleeps for at most login_timeout_ms per connection.
 */
void istripe_session_join(struct istripe_session *session,
			  const struct istripe_session_params *params);

/**
 * istripe_session_tune() - let the sockets follow the path's socket settings
 * @session: kept alive by the caller's lock; in any state
 * Context: process, sleeps; nothing may be allocated with I/O.
 */
void istripe_session_tune(struct istripe_session *session);

/**
 * istripe_session_keepalive_anew() - let connections go by the times that the path has now
 * @session: kept alive by the caller's lock; in any state
 * Context: process, sleeps; nothing may be allocated with I/O.
 */
void istripe_session_keepalive_anew(struct istripe_session *session);

/**
 * istripe_session_interrupt() - make a session fail soon that somebody else opens
 * @session: a session that is being opened, kept alive by the caller's lock
 * Context: process, sleeps.
 */
void istripe_session_interrupt(struct istripe_session *session);

/**
 * istripe_session_halt() - stop and collect
 * @session: not findable by submitters any more
 *
 * Unfinished tasks end with -ECONNRESET. Pages of writes among them may still be on their way to
 * the wire. The owner keeps these writes until istripe_session_close() has returned, or until the
 * target has ended the session and takes nothing more from its connections (P22).
 *
 * Context: process, sleeps, but not for the network. Only the opener; idempotent.
 */
void istripe_session_halt(struct istripe_session *session);

/**
 * istripe_session_holds_pages() - are pages of its writes still on their way to the wire
 * @session: halted
 * Context: process. Only the opener.
 * Return: false when istripe_session_close() need not wait for anything.
 */
bool istripe_session_holds_pages(const struct istripe_session *session);

/**
 * istripe_session_close() - stop, collect, free
 * @session: not findable by submitters any more
 * Context: process, sleeps. Only the opener.
 * Return: false when something may still refer to pages of its writes: a receiver on this host, or
 * a device that has not sent a segment for ten seconds.
 */
bool istripe_session_close(struct istripe_session *session);

/**
 * istripe_session_submit() - send a task
 * @session: logged in, kept open by the caller (SRCU of its nexus)
 * @task: filled in by the caller, in flight from here on
 * @when: to send it; all but ISTRIPE_SUBMIT_LATER: the caller may sleep and holds no socket lock
 * Context: any that may not sleep with ISTRIPE_SUBMIT_LATER, else process.
 */
void istripe_session_submit(struct istripe_session *session, struct istripe_task *task,
			    enum istripe_submit when);

/**
 * istripe_session_push() - no more tasks follow those of ISTRIPE_SUBMIT_MORE
 * @session: logged in, kept open by the caller
 * Context: process, sleeps; holds no socket lock.
 */
void istripe_session_push(struct istripe_session *session);

/**
 * istripe_session_poll() - poll for answers, see istripe_conn_poll()
 * @session: logged in, kept open by the caller
 * @lane: of the tasks that are waited for
 * Context: process, holds no socket lock; does not sleep.
 */
void istripe_session_poll(struct istripe_session *session, u32 lane);

/**
 * istripe_session_digest_errors() - how many PDUs had a wrong digest
 * @session: any
 * @cid: of a connection, which need not be there
 * Context: any.
 * Return: their number.
 */
u64 istripe_session_digest_errors(const struct istripe_session *session, u32 cid);

/**
 * istripe_session_is_idle() - has the session no task of its owner's
 * @session: logged in
 * Context: the session's owner; the answer may be old at once when there are submitters.
 * Return: true or false.
 */
bool istripe_session_is_idle(const struct istripe_session *session);

/**
 * istripe_session_is_asking() - is a command of our own still under way?
 * @session: session
 * Context: the session's owner.
 * Return: true: neither the command nor its page may be used again.
 */
bool istripe_session_is_asking(const struct istripe_session *session);

/**
 * istripe_session_finish_tasks() - let the session's tasks end before the logout
 * @session: logged in, without submitters
 *
 * No command is sent any more; those that were not get -ECONNRESET at once. Others that the logout
 * would end may execute twice. So a target that has asked for it is waited for, half of the time
 * that it allows and three seconds at most; a fault or the loss of a link ends the wait.
 *
 * Context: process, sleeps. Only the opener, once.
 * Return: false when a link is lost: nobody would answer the logout.
 */
bool istripe_session_finish_tasks(struct istripe_session *session);

/**
 * istripe_session_has_link() - have the NICs of its connections a link?
 * @session: logged in
 * Context: process; the opener, or a caller that has the session by nexus->srcu.
 * Return: false when the NIC of any of them is gone, down, without a carrier, or has become a port
 * that hears nothing (nic.h), and there is no route over another NIC that the connection may use.
 */
bool istripe_session_has_link(const struct istripe_session *session);

/**
 * istripe_session_is_bound() - can its connections use one NIC only?
 * @session: as above
 * Context: as above.
 * Return: true or false; a VRF may have several.
 */
bool istripe_session_is_bound(const struct istripe_session *session);

/**
 * istripe_session_is_orphaned() - is the NIC gone that a connection of it is bound to?
 * @session: any that is not being freed
 * Context: process, takes the socket_lock, so not under the RTNL.
 * Return: true: it will never hear from the target again, whatever has the name of the NIC now.
 */
bool istripe_session_is_orphaned(struct istripe_session *session);

/**
 * istripe_session_execute() - send one SCSI command of our own and wait
 * @session: logged in, not published or no other caller of this function
 * @cdb: 16 bytes, zero padded
 * @lun: logical unit
 * @bytes: data, at most ISTRIPE_INTERNAL_BYTES; 0 for none
 * @write: they go out; the caller has put them into session->internal.page, where they stay
 * @timeout_ms: how long to wait
 *
 * The result is in session->internal.task (status, sense, transferred_bytes), data that
 * came in are in session->internal.page.
 *
 * Context: process, sleeps.
 * Return: 0 when the target answered; -ETIMEDOUT: close the session or await the answer; -ENOTCONN
 * and other errors of the connection.
 */
int istripe_session_execute(struct istripe_session *session, const u8 *cdb,
			    const struct scsi_lun *lun, u32 bytes, bool write, u32 timeout_ms);

/**
 * istripe_session_await() - wait on for a command
 * @session: istripe_session_execute() has returned -ETIMEDOUT
 * @timeout_ms: how long
 * Context: process, sleeps.
 * Return: as istripe_session_execute().
 */
int istripe_session_await(struct istripe_session *session, u32 timeout_ms);

/**
 * istripe_session_fault() - report that the session cannot go on
 * @session: any
 * @error: negative errno
 * @fmt: the reason, in words
 *
 * The first report wins; it is traced and handed to the owner.
 *
 * Context: any.
 */
__printf(3, 4) void istripe_session_fault(struct istripe_session *session, int error,
					  const char *fmt, ...);

/* 15 bits of generation: never the reserved tag 0xffffffff. */
static inline u32 istripe_itt_make(u16 generation, u16 slot)
{
	return (u32)(generation & 0x7fff) << 16 | slot;
}

static inline u16 istripe_itt_slot(u32 itt)
{
	return itt & 0xffff;
}

/* Has the task that @itt names been answered on @conn, and is not over yet? Its receive side. */
bool istripe_session_task_answered(struct istripe_session *session,
				   const struct istripe_conn *conn, u32 itt);

/* The task that @itt names if it is in flight on @conn, else NULL. For its receive side. */
struct istripe_task *istripe_session_find_task(struct istripe_session *session,
					       const struct istripe_conn *conn, u32 itt);

/* Was @task sent by istripe_session_execute()? */
static inline bool istripe_session_is_own(const struct istripe_session *session,
					  const struct istripe_task *task)
{
	return task == &session->internal.task;
}

/*
 * Takes the next CmdSN for a transmit side. Fails when the window is closed (RFC 7143 4.2.2.1), the
 * session is quiesced, or it waits for revalidation and the command is not our @own.
 */
bool istripe_session_take_cmd_sn(struct istripe_session *session, bool own, u32 *cmd_sn);

/**
 * istripe_session_invalidate() - something about the LUN has changed
 * @session: logged in
 *
 * No command but those of istripe_session_execute() gets a CmdSN until
 * istripe_session_validate(). The caller must tell the owner.
 *
 * Context: any.
 */
void istripe_session_invalidate(struct istripe_session *session);

/**
 * istripe_session_tolerate() - do not stop for asynchronous messages for a while
 * @session: its target says all the time that the LUN has changed
 * @ms: how long
 *
 * The owner is told of them and revalidates while commands go on. A change that the target
 * reports in the answer to a command still invalidates the session.
 *
 * Context: the session's owner.
 */
static inline void istripe_session_tolerate(struct istripe_session *session, u32 ms)
{
	atomic64_set(&session->tolerant_until, get_jiffies_64() + msecs_to_jiffies(ms));
}

/**
 * istripe_session_is_tolerant() - does I/O go on after asynchronous messages
 * @session: any
 * Context: any.
 * Return: true or false.
 */
static inline bool istripe_session_is_tolerant(const struct istripe_session *session)
{
	return time_before64(get_jiffies_64(), (u64)atomic64_read(&session->tolerant_until));
}

/**
 * istripe_session_invalidations() - how often the session has been invalidated
 * @session: any
 * Context: the session's owner, before it revalidates.
 * Return: for istripe_session_validate().
 */
static inline int istripe_session_invalidations(const struct istripe_session *session)
{
	return atomic_read(&session->invalidations);
}

/**
 * istripe_session_is_invalid() - do commands wait for istripe_session_validate()
 * @session: any
 * Context: any.
 * Return: true or false.
 */
static inline bool istripe_session_is_invalid(const struct istripe_session *session)
{
	return atomic_read(&session->invalidations) != READ_ONCE(session->validated);
}

/**
 * istripe_session_validate() - the LUN has been revalidated: commands go on
 * @session: any
 * @invalidations: istripe_session_invalidations() from before; later ones still count
 * Context: the session's owner.
 */
void istripe_session_validate(struct istripe_session *session, int invalidations);

/*
 * Lets no command have a CmdSN until istripe_session_unquiesce(); the calls count. Data-Out and
 * control PDUs are still sent. A PDU queued on a connection after this goes out behind all
 * commands of that connection that have a CmdSN. The caller keeps the session open.
 */
void istripe_session_quiesce(struct istripe_session *session);

/**
 * istripe_session_unquiesce() - commands go on, after the last one of these calls
 * @session: after istripe_session_reset_begin(), kept open by the caller
 * Context: any.
 */
void istripe_session_unquiesce(struct istripe_session *session);

/**
 * istripe_session_is_quiesced() - is the session quiesced
 * @session: logged in
 * Context: any; the answer may be old at once.
 * Return: true or false.
 */
static inline bool istripe_session_is_quiesced(const struct istripe_session *session)
{
	return atomic_read(&session->quiesced);
}

/**
 * istripe_session_holding() - what do commands of the session wait for before they are sent
 * @session: logged in, and not closed meanwhile
 * Context: any; the answer may be old at once.
 * Return: "reset", "revalidation", "window" or "pace", if a command waits; NULL for nothing.
 */
const char *istripe_session_holding(const struct istripe_session *session);

/*
 * Notes ExpCmdSN and MaxCmdSN of a PDU, which only move forward. A pair with MaxCmdSN <
 * ExpCmdSN - 1 is ignored. For receive sides.
 */
void istripe_session_window(struct istripe_session *session, u32 exp_cmd_sn, u32 max_cmd_sn);

/* For the session's owner; traces the change. */
void istripe_session_set_state(struct istripe_session *session,
			       enum istripe_session_state state);

#endif
