/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A nexus: keeps one session of a path through its generations, one session at a time. A path has
 * several nexuses when it has several sessions (path.h). The nexus's worker alone changes its
 * state, opens and closes its sessions, and does recovery; all others report events.
 *
 * Access to the session:
 *   submitters		through @session, within an SRCU section of @srcu
 *   resets of the LUN	through @resettable, within a section of @srcu
 *   sysfs			through @owned, under @session_lock
 *   the worker		through @owned
 * The worker withdraws @session and @resettable, waits for @srcu, clears @owned under
 * @session_lock, and only then closes the session. When writes wait for the end of a lost session,
 * the worker may log in with the nexus's ISID through a sibling, and out again: then @owned is that
 * session.
 *
 * @ask_lock serializes our own commands over a published session (istripe_session_execute()): of
 * the worker, which revalidates the LUN, and, within a section of @srcu, of reservations and
 * superblock I/O over all legs (lun_io.h). Proofs and fences ping over it, within a section of
 * @srcu.
 *
 * Lock order: session_lock, then session->socket_lock; @ask_lock, then leg->identify_lock.
 * @event_lock is a leaf.
 */
#ifndef ISTRIPE_BLOCK_NEXUS_H
#define ISTRIPE_BLOCK_NEXUS_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/ratelimit_types.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include <istripe/reason.h>
#include "block/ghost.h"
#include "block/lun.h"
#include "iscsi/state.h"
#include "transport/session.h"

struct istripe_path;
struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;

#define ISTRIPE_EH_MAX	256		/* more wait for their next timeout */
/* Revalidations before a storm of them is tolerated; tries of a bring-up or command of ours. */
#define ISTRIPE_REVALIDATIONS_MAX	3
#define ISTRIPE_PING_TIMEOUT_MS		5000	/* of a ping that a caller waits for */
#define ISTRIPE_LABEL_BYTES	(ISTRIPE_NAME_BYTES + 16)

/* Until a target has cleaned up after a lost session of several connections. */
#define ISTRIPE_SEVERAL_WAIT_MS	2000

enum istripe_nexus_event {
	ISTRIPE_NEXUS_START,		/* connect an idle one; first_result completes after it */
	ISTRIPE_NEXUS_WAKE,		/* log in now, not at the end of the back-off */
	ISTRIPE_NEXUS_STOP,		/* go to idle for good */
	ISTRIPE_NEXUS_FAULT,		/* the session cannot go on */
	ISTRIPE_NEXUS_LOGOUT,		/* the target wants the session to end */
	ISTRIPE_NEXUS_EH,		/* a command is older than its timeout */
	ISTRIPE_NEXUS_GIVE_UP,		/* and has been aborted before: reset the LUN */
	ISTRIPE_NEXUS_REVALIDATE,	/* the LUN may have changed: ask it, but not too often */
	ISTRIPE_NEXUS_ACCESS,		/* as above, for the access state of its port only */
	ISTRIPE_NEXUS_KEYS,		/* other hosts' keys may be gone: ask for these only */
	ISTRIPE_NEXUS_REVALIDATE_NOW,	/* ask it now: a caller waits for it */
	ISTRIPE_NEXUS_RETIRE,		/* not wanted any more: go idle when it has no tasks */
};

/* Calls to the layers above, by the worker; @init, @waits and @stop by any process. */
struct istripe_nexus_ops {
	/* The nexus has been made. */
	void (*init)(struct istripe_nexus *nexus);
	/* Sets @resettable, for which it may wait, and what is known of the LUN. */
	void (*probe_begin)(struct istripe_nexus *nexus, struct istripe_lun_before *before);
	/* End what the old session has left, if @waits. 0, or the login has failed. */
	int (*drain)(struct istripe_nexus *nexus, struct istripe_reason *why);
	/* The LUN has been asked: 1, ask it again; 0; or an error. */
	int (*join)(struct istripe_nexus *nexus, struct istripe_reason *why);
	/* Undo it: the nexus is taken out, or its first login has failed. @owned may be NULL. */
	void (*leave)(struct istripe_nexus *nexus);
	/* Is it the leg's LUN and superblock? Sets @mismatch. 0, or why not. */
	int (*check)(struct istripe_nexus *nexus, struct istripe_reason *why);
	/* Session published: may the nexus go live? */
	bool (*admit)(const struct istripe_nexus *nexus);
	/* As @own_sense of istripe_session_ops. */
	void (*own_sense)(struct istripe_nexus *nexus, struct istripe_session *session, bool known);
	/* As @async_sense of istripe_session_ops. */
	void (*async_sense)(struct istripe_nexus *nexus, struct istripe_session *session,
			    const struct scsi_sense_hdr *sense);
	void (*live)(struct istripe_nexus *nexus);	/* live, or not retiring any more */
	void (*lost)(struct istripe_nexus *nexus);	/* its session is about to be withdrawn */
	void (*closed)(struct istripe_nexus *nexus);	/* no session any more, or never one */
	/* The lost session is closed. @released: nobody refers to pages of its tasks any more. */
	void (*released)(struct istripe_nexus *nexus, bool released);
	bool (*waits)(const struct istripe_nexus *nexus);	/* for the end of the old session */
	bool (*urgent)(const struct istripe_nexus *nexus);	/* I/O or writes wait for it */
	bool (*alone)(const struct istripe_session *session);	/* no other path gets I/O */
	void (*fence)(struct istripe_nexus *nexus);	/* end it another way, if @waits */
	bool (*fence_wanted)(const struct istripe_nexus *nexus);	/* would it try? */
	int (*reset_lun)(struct istripe_nexus *nexus);	/* after failed aborts */
	/* A command that was sent at @since has timed out: is it the path alone? */
	bool (*carries_nothing)(struct istripe_nexus *nexus, unsigned long since);
	u32 (*access_poll_ms)(const struct istripe_nexus *nexus);	/* 0: not */
	u32 (*keys_poll_ms)(const struct istripe_nexus *nexus);	/* the same, if that is 0 */
	void (*ask_keys)(struct istripe_nexus *nexus);
	void (*stop)(struct istripe_nexus *nexus);	/* STOP is set: do not use it any more */
};

struct istripe_eh_tag {
	u32 itt;
	bool again;			/* it has timed out over another path, too */
	bool rejected;			/* by the target, and has not timed out */
	enum istripe_task_progress stuck;	/* or not, by eh_note_stuck() */
	unsigned long since;		/* jiffies: sent */
};

struct istripe_nexus {
	struct istripe_leg *leg;
	const struct istripe_nexus_ops *ops;
	struct istripe_path *path;
	u32 index;			/* of the path */
	char label[ISTRIPE_LABEL_BYTES];
	u8 isid[6];
	struct istripe_login_buffers *buffers;

	enum istripe_nexus_state state;	/* written by the worker */
	struct workqueue_struct *queue;	/* the worker's, see nexus_create_queue() */
	struct delayed_work work;
	unsigned long events;
	struct srcu_struct srcu;
	struct istripe_session __rcu *session;
	struct istripe_session __rcu *resettable;	/* @owned, from its first command on */
	struct mutex session_lock;	/* @owned against readers that are not the worker */
	struct istripe_session *owned;
	struct istripe_session *ending;	/* worker: halted, its pages may still be with TCP */

	struct istripe_lun found;	/* worker: found by the last login */
	u64 blocks;			/* of the LUN by @owned; 0: not known. leg->identify_lock */
	enum istripe_protected protected;	/* of the LUN over this nexus */
	bool reserved;			/* by another host: @found.reserved, for all to read */
	bool flushed;			/* worker: since leg->write_through, over this port */
	bool fua;			/* written by the worker: the LUN knows or needs it */
	u32 asked_caches;		/* worker: leg->caches, when it began to ask */
	u32 cacheless;			/* the same, if the LUN has said then that it has none */
	u64 announced_blocks;		/* worker: the last growth that was reported */
	u64 revalidated_at;		/* worker: jiffies of the last revalidation */
	u32 revalidations;		/* worker: see nexus_count_revalidation() */
	int revalidate_error;		/* written by the worker: its result */
	struct mutex ask_lock;		/* see above */
	bool asking;			/* @ask_lock to write: the worker revalidates */
	u32 told_changes;		/* @ask_lock: CHANGED in answer to its questions */
	int mismatch;			/* worker: @found is not the leg's LUN: why */
	bool checked;			/* worker: its superblock has been compared */
	bool compared;			/* it was right, the last time it was read */
	bool super_unread;		/* worker: the last time it could not be read */
	bool access_only;		/* worker: only the access state may have changed */
	struct {			/* of lun_reset.c, down to @until: under leg->reset_lock */
		u64 session;		/* its id: a reset ends commands of it ... */
		u32 cmd_sn;		/* ... before this one */
		bool quiesced;
		struct work_struct work;	/* quiesces or releases */
		unsigned long until;	/* jiffies, deadline of this work */
		u32 refusals;		/* worker: of resets, in a row */
		unsigned long refused_since;	/* worker: jiffies of the first of them */
		bool given_up;		/* worker: they count as "not supported" */
	} reset;
	struct {			/* of backoff.c, written by the worker; times in jiffies */
		unsigned long retry_at;	/* its end */
		unsigned long wake_at;	/* the same, if the nexus is woken */
		unsigned long attempt_at;	/* begin of the last attempt */
		u32 asked_ms;		/* no login for so long from @asked_at on */
		unsigned long asked_at;
		u32 failures;		/* short sessions, too, in a row; 0 at a wake */
		u32 refusals;		/* attempts that were refused, in a row */
	} backoff;
	struct {			/* of trial.c; written by the worker, but for @elsewhere */
		bool due;		/* the last session has had a fault */
		bool timed_out;		/* a command of this session has ... */
		unsigned long silent_since;	/* ... jiffies: no answer to any since then */
		u32 elsewhere;		/* time-outs that a path without I/O has served */
		u8 pings_lost;		/* sessions that ended with a large one, in a row */
	} trial;
	struct {			/* of pr_key.c and reservation.c */
		bool left;		/* leg->lock: lost when registrations ended; pr_key.h */
		bool done;		/* reservation->lock: by the call under way, or tried */
		u32 changes;		/* worker: of leg->pr_key, when it last looked there */
		u32 listings;		/* the same, when it began to ask */
		bool listed;		/* leg->lock: its LUN had keys, the last time it told */
		bool ask;		/* leg->lock: another nexus has found a change */
		bool told;		/* worker writes: its LUN, over its present session */
		unsigned long asked_at;	/* leg->lock: jiffies */
		bool due;		/* worker, ask_lock: to be registered, or @left */
		bool joined;		/* worker: a login has registered it */
		bool adding;		/* worker, ask_lock: ... but not seen to count yet */
		bool ended;		/* worker: or the log has told that it stays */
	} key;
	unsigned long lost_at;		/* worker: jiffies */
	bool several;			/* worker: the last session had several connections */
	bool fence_first;		/* by the worker: end the old session before the back-off */
	bool barred;			/* by the worker: it could log in, but for the fence */
	u32 login_seen;			/* worker: path->login_changes, as its login began */
	u32 failed_logins;		/* by the worker: since it was last live */
	unsigned long live_since;	/* worker writes: jiffies */
	bool started;			/* worker: has been live since start */
	bool persistent;		/* goes on trying after a first failure */
	struct completion first_result;
	int first_error;
	struct completion stopped;
	struct completion idled;	/* not wanted, and idle now */

	atomic_t large_tasks;		/* reads, not done yet; see istripe_path_lane() */

	struct ratelimit_state log_limit;

	spinlock_t event_lock;		/* the four below */
	int last_errno;
	ktime_t error_time;
	char last_error[ISTRIPE_REASON_BYTES];
	struct {			/* commands that are reported to eh.c */
		u32 count;
		struct istripe_eh_tag tags[ISTRIPE_EH_MAX];
	} eh;

	bool wanted;			/* down to @unproven: under leg->lock */
	bool leaves;			/* not wanted, and about to be taken out */
	bool live;
	u32 connections;		/* of its session, while it is live */
	struct istripe_access access;	/* of its port */
	unsigned long access_since;	/* jiffies: it has been in this state */
	unsigned long transition_end;	/* jiffies: a transition of its port is over by then */
	bool busy;			/* the last login was good, but the LUN too busy ... */
	unsigned long busy_end;		/* ... jiffies: for the next one, too, by then */
	u32 lanes;			/* connections that get tasks; 0: see policy.h */
	bool unfenced;			/* writes failed without a fence: nothing is served */
	bool super_unfenced;		/* a superblock of ours may still be written */
	struct istripe_undrained undrained;	/* also after sessions in other portal groups */
	bool tcp_has_pages;		/* TCP may have pages of @awaiting_fence */
	bool pages_astray;		/* others may, when TCP has none: no ghosts */
	struct list_head awaiting_fence;
	struct istripe_ghosts ghosts;	/* writes of its lost session that were sent again */
	bool wait_failed;		/* I/O has failed that waited for its fence */
	struct istripe_way way;		/* of its session, or of the last one */
	struct sockaddr_storage moved_to;	/* by the worker; AF_UNSPEC: none. backoff.h */
	u64 portal_group;		/* proven number, see proof.h; 0: not known */
	struct istripe_tpgt tpgt;	/* by the worker: of the last session */
	u32 generation;			/* from leg->generations; changes with the session */
	u32 cache_lost;			/* ... at the last unit attention of a reset */
	char unproven[ISTRIPE_REASON_BYTES];	/* why no sibling is proven, if known */

	u64 reconnects;			/* worker */
	u64 faults;			/* worker */
	u64 digest_errors[ISTRIPE_CONNECTIONS_MAX];	/* of former sessions; session_lock */
	u32 changes;			/* worker: of the states of nexus, session, connections */
};

/* The path has its settings. Returns ERR_PTR(-ENOMEM) on failure. */
struct istripe_nexus *istripe_nexus_create(struct istripe_path *path, u32 index);

/* The nexus is stopped or was never started, or is NULL. */
void istripe_nexus_destroy(struct istripe_nexus *nexus);

/* Starts the nexus; it goes on trying when the first attempt fails, or has failed before. */
void istripe_nexus_persist(struct istripe_nexus *nexus);

/**
 * istripe_nexus_wake() - something has changed
 * @nexus: one that waits to log in does so now, one that is logging in does so again at once if
 *	that fails, at most once a second
 * Context: any, within a section of leg->srcu.
 */
void istripe_nexus_wake(struct istripe_nexus *nexus);

/* The settings of its logins are others. In a section of leg->srcu; sleeps, wants no memory. */
void istripe_nexus_relogin(struct istripe_nexus *nexus);

/*
 * A nexus that is not wanted any more logs out when all of its tasks are done, then goes idle and
 * completes @idled. If the session is lost before, its writes are fenced first, as of any nexus.
 * Sleeps for a grace period of RCU.
 */
void istripe_nexus_retire(struct istripe_nexus *nexus);

/*
 * Logs out, closes, and returns when the nexus is idle, whatever its state was. Sleeps, bounded by
 * the timeouts of a logout, of a ping, and of the command of our own that the worker waits for.
 */
void istripe_nexus_stop(struct istripe_nexus *nexus);

/* See istripe_session_submit(). False: the nexus is not live. */
bool istripe_nexus_submit(struct istripe_nexus *nexus, struct istripe_leg_task *leg_task,
			  enum istripe_submit when);

/* A submitted task is not in flight on its nexus any more. Any context. */
void istripe_nexus_done(struct istripe_leg_task *leg_task);

/* See istripe_leg_push(). Sleeps. */
void istripe_nexus_push(struct istripe_nexus *nexus);

/* @owned is over, or about to be: the worker, which calls this, waits for no other nexus. */
static inline bool istripe_nexus_is_ending(const struct istripe_nexus *nexus)
{
	return test_bit(ISTRIPE_SESSION_FAULTED, &nexus->owned->flags) ||
	       test_bit(ISTRIPE_SESSION_INTERRUPTED, &nexus->owned->flags) ||
	       test_bit(ISTRIPE_NEXUS_STOP, &nexus->events);
}

/* Live, on a port that takes I/O; without leg->lock the answer may be old at once. */
static inline bool istripe_nexus_usable(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->live) && istripe_alua_usable(READ_ONCE(nexus->access.state));
}

/* Before the session is published, and while the port takes no I/O, none goes over it. */
static inline bool istripe_nexus_may_carry(const struct istripe_nexus *nexus)
{
	return rcu_access_pointer(nexus->session) &&
	       istripe_alua_usable(READ_ONCE(nexus->access.state));
}

/* Has the login of @owned ended the session of @undrained? Under leg->lock, or nothing waits. */
static inline bool istripe_nexus_ends_undrained(const struct istripe_nexus *nexus)
{
	const struct istripe_undrained *undrained = &nexus->undrained;
	const struct istripe_session *session = nexus->owned;

	return undrained->any &&
	       (!undrained->tpgt.known ||
		(session->tpgt.known && session->tpgt.tag == undrained->tpgt.tag));
}

/* Reports an event to the worker. Any context. */
void istripe_nexus_event(struct istripe_nexus *nexus, enum istripe_nexus_event event);

/* Revalidates the LUN and waits for that. Sleeps, in a section of leg->srcu, not of nexus->srcu. */
void istripe_nexus_revalidate(struct istripe_nexus *nexus);

/* Fills in the parameters of a login of the nexus, but for its way. */
void istripe_nexus_login_params(struct istripe_nexus *nexus, struct istripe_session_params *params);

/*
 * Logs in, with nexus->owned as the session; the nexus has none. Also after an error, as of
 * istripe_session_open(), istripe_nexus_close_session() must follow. The nexus's worker.
 */
int istripe_nexus_open_session(struct istripe_nexus *nexus,
			       const struct istripe_session_params *params,
			       struct istripe_reason *why);

/* Logs nexus->owned out, which gets no more commands. The nexus's worker. */
void istripe_nexus_logout(struct istripe_nexus *nexus);

/* Closes nexus->owned, which is withdrawn from @session. The nexus's worker. */
void istripe_nexus_close_session(struct istripe_nexus *nexus);

#endif
