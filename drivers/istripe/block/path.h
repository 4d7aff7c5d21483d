/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path: a durable way to a leg, with one session at a time; a path as it is configured
 * has several of them when it has several sessions (bundle.h). Its worker is the only one
 * that changes its state, opens and closes its sessions, and does recovery; everybody else
 * reports events.
 *
 * Who may hold the session:
 *   submitters		through @session, within an SRCU section of @srcu
 *   sysfs		through @owned, under @session_lock
 *   the worker		through @owned
 * When writes wait for the end of a session that is lost, the worker logs in with the
 * path's ISID through a sibling, if need be, and out again: @owned for that time, too.
 * The worker withdraws @session, waits for @srcu, clears @owned under @session_lock,
 * and only then closes the session.
 *
 * Once the session is published, whoever sends a command of our own over it
 * (istripe_session_execute()) holds @ask_lock: the worker, when it looks whether the LUN
 * is still what it was, reservations and rounds over all legs (visit.h), within their
 * section of @srcu. Proofs and fences ping over it, within theirs.
 *
 * Lock order: session_lock, then session->socket_lock; @ask_lock, then leg->identify_lock.
 * @event_lock is a leaf.
 */
#ifndef ISTRIPE_BLOCK_PATH_H
#define ISTRIPE_BLOCK_PATH_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include "block/lun.h"
#include "block/protection.h"
#include "proto/state.h"
#include "transport/session.h"

struct istripe_bundle;
struct istripe_leg;
struct istripe_leg_task;

#define ISTRIPE_OVERDUE_MAX	128	/* more at once: the LUN is reset */
#define ISTRIPE_LOGOUT_TIMEOUT_MS	2000
#define ISTRIPE_LOOKS_MAX	3	/* for one command of our own, at a LUN that changes */
#define ISTRIPE_PING_TIMEOUT_MS		5000	/* of a ping that somebody waits for */
#define ISTRIPE_LABEL_BYTES	(ISTRIPE_NAME_BYTES + 16)

/* Until a target has put away what there was of a session of several connections. */
#define ISTRIPE_SEVERAL_WAIT_MS	2000

enum istripe_path_event {
	ISTRIPE_PATH_START,		/* first attempt */
	ISTRIPE_PATH_STOP,		/* go to idle for good */
	ISTRIPE_PATH_FAULT,		/* the session cannot go on */
	ISTRIPE_PATH_LOGOUT,		/* the target wants the session to end */
	ISTRIPE_PATH_OVERDUE,		/* a command is older than its timeout */
	ISTRIPE_PATH_GIVE_UP,		/* and has been before: no more patience */
	ISTRIPE_PATH_DOUBT,		/* the LUN may have changed: look, but not too often */
	ISTRIPE_PATH_RESCAN,		/* look now: somebody waits for it */
	ISTRIPE_PATH_LEAVE,		/* it is not wanted any more: is it idle yet */
	ISTRIPE_PATH_CARRIER,		/* a NIC, maybe not its own, has lost its link */
};

struct istripe_path {
	struct istripe_leg *leg;
	struct istripe_bundle *bundle;
	u32 member;			/* of the bundle */
	char label[ISTRIPE_LABEL_BYTES];
	struct istripe_path_params params;	/* the connections are this session's */
	u8 isid[6];
	struct istripe_login_buffers *buffers;

	enum istripe_path_state state;	/* written by the worker */
	struct workqueue_struct *queue;	/* the worker's, see path_create_queue() */
	struct delayed_work work;
	unsigned long events;
	struct srcu_struct srcu;
	struct istripe_session __rcu *session;
	struct mutex session_lock;	/* @owned, for those who only look */
	struct istripe_session *owned;

	struct istripe_lun found;	/* worker: what the last login found */
	u64 blocks;			/* of the LUN by @owned; 0: not known. leg->identify_lock */
	enum istripe_protected protected;	/* of the LUN over this path */
	u64 announced_blocks;		/* worker: the last growth that others heard of */
	unsigned long looked_at;	/* worker: jiffies, when the LUN was last looked at */
	u32 looks_in_a_row;		/* worker: see path_count_look() */
	int look_error;			/* written by the worker: what came of that */
	struct mutex ask_lock;		/* commands of our own over @session, see below */
	u64 held_session;		/* its id; leg->reset_lock, see lun_reset.c */
	struct work_struct reset_work;	/* until it is held, or not any more; leg->reset_lock */
	unsigned long reset_until;	/* jiffies, when this work gives up; leg->reset_lock */
	int refused;			/* worker: why that was not the LUN we know */
	bool checked;			/* worker: its superblock has been compared */
	u32 resets_refused;		/* worker: in a row, see lun_reset.c */
	unsigned long refused_since;	/* worker: jiffies, when the first of them was */
	bool resets_given_up;		/* worker: the row counts as "not supported" */
	unsigned long retry_at;		/* worker: jiffies, end of the back-off */
	u32 wait_ms;			/* worker: what the target asked for */
	unsigned long lost_at;		/* worker: jiffies, from when on it counts */
	bool several;			/* worker: the last session had several connections */
	bool fence_first;		/* worker: end the old session before the back-off */
	bool tpgt_known;		/* worker: of the first session */
	u16 tpgt;
	u32 failures;			/* worker: attempts that failed in a row */
	u32 tried;			/* worker: of these, since there was a session */
	unsigned long live_since;	/* worker: jiffies */
	bool started;			/* worker: has been live since start */
	bool persistent;		/* failed at first; goes on trying */
	struct completion first_result;
	int first_error;
	struct completion stopped;
	struct completion rested;	/* it was not wanted, and is idle now */

	spinlock_t event_lock;		/* the five below */
	int last_errno;
	ktime_t error_time;
	char last_error[ISTRIPE_WHY_BYTES];
	u32 overdue_count;
	u32 overdue[ISTRIPE_OVERDUE_MAX];	/* tags to be looked after */

	bool wanted;			/* these eleven: under leg->lock */
	bool live;
	u32 lanes;			/* connections while it is live, else 0 */
	bool unfenced;
	bool marked;			/* a superblock of ours may still be written */
	struct list_head fenced;
	struct istripe_way way;		/* of its session, or of the last one */
	u64 node;			/* proven to be there, see proof.h; 0: not known */
	u16 node_tpgt;
	u32 generation;			/* the leg's next, when a session comes or goes */
	char unproven[ISTRIPE_WHY_BYTES];	/* why no sibling is; empty: one is, or not known */

	u64 reconnects;			/* worker */
	u64 faults;			/* worker */
};

/**
 * istripe_path_create() - build a path from the blueprint
 * @bundle: its bundle
 * @member: its number there
 * @params: blueprint, copied
 * @connections: that its sessions ask for
 *
 * Context: process.
 * Return: the path or ERR_PTR(-ENOMEM).
 */
struct istripe_path *istripe_path_create(struct istripe_bundle *bundle, u32 member,
					 const struct istripe_path_params *params, u32 connections);

/**
 * istripe_path_destroy() - free a path, wiping its secrets
 * @path: stopped or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_path_destroy(struct istripe_path *path);

/**
 * istripe_path_start() - start connecting
 * @path: idle; path->first_result completes with the result of the first attempt
 *
 * Context: process.
 */
void istripe_path_start(struct istripe_path *path);

/**
 * istripe_path_persist() - start connecting, and go on trying when the first attempt fails
 * @path: idle, perhaps since an attempt that failed
 *
 * Context: process.
 */
void istripe_path_persist(struct istripe_path *path);

/**
 * istripe_path_leave() - log out when all tasks are done, then rest
 * @path: not wanted any more; path->rested completes when it rests
 *
 * What is lost with the session meanwhile is fenced first, as it would be of any path.
 *
 * Context: process, sleeps for a grace period of RCU.
 */
void istripe_path_leave(struct istripe_path *path);

/**
 * istripe_path_stop() - log out, close, go idle
 * @path: in any state; returns when it is idle
 *
 * Context: process, sleeps; bounded by the timeouts of a logout, of a ping, and of what the
 * worker is asking the LUN just now.
 */
void istripe_path_stop(struct istripe_path *path);

/**
 * istripe_path_submit() - send a task over the path's session
 * @path: the path
 * @leg_task: its task: see istripe_session_submit()
 * @may_send: see there
 * @more: see there
 *
 * Context: see istripe_session_submit().
 * Return: true; false when the path is not live.
 */
bool istripe_path_submit(struct istripe_path *path, struct istripe_leg_task *leg_task,
			 bool may_send, bool more);

/**
 * istripe_path_done() - a task is not in flight on its path any more
 * @leg_task: was submitted
 *
 * Context: any.
 */
void istripe_path_done(struct istripe_leg_task *leg_task);

/**
 * istripe_path_push() - see istripe_leg_push()
 * @path: the path
 *
 * Context: process, sleeps.
 */
void istripe_path_push(struct istripe_path *path);

/**
 * istripe_path_tune() - change the settings of the path's sockets, of those that are there, too
 * @path: of a running volume
 * @wanted: what they are from now on
 *
 * Context: process, sleeps.
 */
void istripe_path_tune(struct istripe_path *path, const struct istripe_socket_params *wanted);

/**
 * istripe_path_event() - let the worker know
 * @path: the path
 * @event: what has happened
 *
 * Context: any.
 */
void istripe_path_event(struct istripe_path *path, enum istripe_path_event event);

/**
 * istripe_path_attention() - the LUN says that something about it is new: have a look at it
 * @path: live
 * @what: in words
 *
 * Context: any.
 */
void istripe_path_attention(struct istripe_path *path, const char *what);

/**
 * istripe_path_look_now() - have the LUN looked at, and wait until that is over
 * @path: its session is in doubt
 *
 * Context: process, sleeps; within a section of leg->srcu, but not of path->srcu.
 */
void istripe_path_look_now(struct istripe_path *path);

/**
 * istripe_path_last_error() - copy the last reason, in words
 * @path: the path
 * @why: filled, empty when there was none
 * @why_bytes: its size
 *
 * Context: process.
 */
void istripe_path_last_error(struct istripe_path *path, char *why, size_t why_bytes);

/**
 * istripe_path_log_in() - what a login of the path is made with
 * @path: the path
 * @params: filled
 *
 * Context: process.
 */
void istripe_path_log_in(struct istripe_path *path, struct istripe_session_params *params);

/**
 * istripe_path_open_session() - log in, with path->owned as the session
 * @path: the path, without a session
 * @params: from istripe_path_log_in()
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: the path's worker.
 * Return: see istripe_session_open(); istripe_path_close_session() in any case.
 */
int istripe_path_open_session(struct istripe_path *path,
			      const struct istripe_session_params *params, char *why,
			      size_t why_bytes);

/**
 * istripe_path_close_session() - end path->owned
 * @path: the path; nobody finds its session any more
 * @error: see istripe_session_close()
 *
 * Context: the path's worker.
 */
void istripe_path_close_session(struct istripe_path *path, int error);

/* For what recovery waits for and what ends it, beside the paths' workers; nothing sleeps there. */
extern struct workqueue_struct *istripe_recovery_wq;

/* For those that a reset of the LUN has to ask, all at a time: they wait for the target. */
extern struct workqueue_struct *istripe_reset_wq;

/**
 * istripe_path_init() - make what all paths share
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int istripe_path_init(void);

/**
 * istripe_path_exit() - undo istripe_path_init()
 *
 * Context: module exit, no paths left.
 */
void istripe_path_exit(void);

#endif
