/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A nexus: a durable way to a leg, with one session at a time; a nexus as it is configured
 * has several of them when it has several sessions (path.h). Its worker is the only one
 * that changes its state, opens and closes its sessions, and does recovery; everybody else
 * reports events.
 *
 * Who may hold the session:
 *   submitters		through @session, within an SRCU section of @srcu
 *   sysfs		through @owned, under @session_lock
 *   the worker		through @owned
 * When writes wait for the end of a session that is lost, the worker logs in with the
 * nexus's ISID through a sibling, if need be, and out again: @owned for that time, too.
 * The worker withdraws @session, waits for @srcu, clears @owned under @session_lock,
 * and only then closes the session.
 *
 * Once the session is published, whoever sends a command of our own over it
 * (istripe_session_execute()) holds @ask_lock: the worker, when it looks whether the LUN
 * is still what it was, reservations and rounds over all legs (super.h), within their
 * section of @srcu. Proofs and fences ping over it, within theirs.
 *
 * Lock order: session_lock, then session->socket_lock; @ask_lock, then leg->identify_lock.
 * @event_lock is a leaf.
 */
#ifndef ISTRIPE_BLOCK_NEXUS_H
#define ISTRIPE_BLOCK_NEXUS_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include "block/lun.h"
#include "iscsi/state.h"
#include "transport/session.h"

struct istripe_path;
struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;

#define ISTRIPE_EH_MAX	128		/* more at once: the LUN is reset */
#define ISTRIPE_LOGOUT_TIMEOUT_MS	2000
#define ISTRIPE_REVALIDATIONS_MAX	3	/* for one command of our own */
#define ISTRIPE_PING_TIMEOUT_MS		5000	/* of a ping that somebody waits for */
#define ISTRIPE_LABEL_BYTES	(ISTRIPE_NAME_BYTES + 16)

/* Until a target has put away what there was of a session of several connections. */
#define ISTRIPE_SEVERAL_WAIT_MS	2000

enum istripe_nexus_event {
	ISTRIPE_NEXUS_START,		/* first attempt */
	ISTRIPE_NEXUS_STOP,		/* go to idle for good */
	ISTRIPE_NEXUS_FAULT,		/* the session cannot go on */
	ISTRIPE_NEXUS_LOGOUT,		/* the target wants the session to end */
	ISTRIPE_NEXUS_EH,		/* a command is older than its timeout */
	ISTRIPE_NEXUS_GIVE_UP,		/* and has been before: no more patience */
	ISTRIPE_NEXUS_REVALIDATE,	/* the LUN may have changed: look, but not too often */
	ISTRIPE_NEXUS_REVALIDATE_NOW,	/* look now: somebody waits for it */
	ISTRIPE_NEXUS_RETIRE,		/* it is not wanted any more: is it idle yet */
	ISTRIPE_NEXUS_CARRIER,		/* a NIC, maybe not its own, has lost its link */
};

/**
 * struct istripe_nexus_ops - what a nexus tells, and asks, those above it
 * @init:	it has been made
 * @drain:	end what the target still has of the old session, if anything waits for that; 0, or
 *		the login has failed
 * @check:	is it the LUN of the leg, with its superblock; sets @refused; 0 or why not
 * @admit:	the session is published: may the nexus go live
 * @live:	it is live, or stays so although it was to retire
 * @lost:	its session is about to be withdrawn
 * @closed:	it has no session any more, or never had
 * @waits:	does anything wait for the end of the old session
 * @fence:	end the old session some other way, if anything waits for that
 * @fence_wanted: would @fence do something
 * @reset_lun:	commands stay over their time: reset the LUN; 0 or why not
 * @check_carrier: a NIC, maybe not its own, has lost its link
 * @stop:	ISTRIPE_NEXUS_STOP is set: let go of the nexus
 *
 * The worker calls all of them but @init, @waits and @stop, which may come from any process.
 */
struct istripe_nexus_ops {
	void (*init)(struct istripe_nexus *nexus);
	int (*drain)(struct istripe_nexus *nexus, char *why, size_t why_bytes);
	int (*check)(struct istripe_nexus *nexus, char *why, size_t why_bytes);
	bool (*admit)(const struct istripe_nexus *nexus);
	void (*live)(struct istripe_nexus *nexus);
	void (*lost)(struct istripe_nexus *nexus);
	void (*closed)(struct istripe_nexus *nexus);
	bool (*waits)(const struct istripe_nexus *nexus);
	void (*fence)(struct istripe_nexus *nexus);
	bool (*fence_wanted)(const struct istripe_nexus *nexus);
	int (*reset_lun)(struct istripe_nexus *nexus);
	void (*check_carrier)(struct istripe_nexus *nexus);
	void (*stop)(struct istripe_nexus *nexus);
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
	struct mutex session_lock;	/* @owned, for those who only look */
	struct istripe_session *owned;

	struct istripe_lun found;	/* worker: what the last login found */
	u64 blocks;			/* of the LUN by @owned; 0: not known. leg->identify_lock */
	enum istripe_protected protected;	/* of the LUN over this nexus */
	u64 announced_blocks;		/* worker: the last growth that others heard of */
	unsigned long revalidated_at;	/* worker: jiffies, when the LUN was last looked at */
	u32 revalidations;		/* worker: see nexus_count_revalidation() */
	int revalidate_error;		/* written by the worker: what came of that */
	struct mutex ask_lock;		/* commands of our own over @session, see below */
	u64 quiesced_session;		/* its id; leg->reset_lock, see lun_reset.c */
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
	bool login_unsure;		/* worker: a login may not have ended it, see fence.c */
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
	struct completion idled;	/* it was not wanted, and is idle now */

	spinlock_t event_lock;		/* the five below */
	int last_errno;
	ktime_t error_time;
	char last_error[ISTRIPE_WHY_BYTES];
	u32 eh_count;
	u32 eh_tags[ISTRIPE_EH_MAX];		/* tags to be looked after */

	bool wanted;			/* these eleven: under leg->lock */
	bool live;
	u32 lanes;			/* connections while it is live, else 0 */
	bool unfenced;
	bool super_unfenced;		/* a superblock of ours may still be written */
	struct list_head awaiting_fence;
	struct istripe_way way;		/* of its session, or of the last one */
	u64 portal_group;		/* proven to be there, see proof.h; 0: not known */
	u16 portal_group_tpgt;
	u32 generation;			/* the leg's next, when a session comes or goes */
	char unproven[ISTRIPE_WHY_BYTES];	/* why no sibling is; empty: one is, or not known */

	u64 reconnects;			/* worker */
	u64 faults;			/* worker */
};

/**
 * istripe_nexus_create() - build a nexus
 * @path: its path, with its settings
 * @index: its number there
 *
 * Context: process.
 * Return: the nexus or ERR_PTR(-ENOMEM).
 */
struct istripe_nexus *istripe_nexus_create(struct istripe_path *path, u32 index);

/**
 * istripe_nexus_destroy() - free a nexus
 * @nexus: stopped or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_nexus_destroy(struct istripe_nexus *nexus);

/**
 * istripe_nexus_start() - start connecting
 * @nexus: idle; nexus->first_result completes with the result of the first attempt
 *
 * Context: process.
 */
void istripe_nexus_start(struct istripe_nexus *nexus);

/**
 * istripe_nexus_persist() - start connecting, and go on trying when the first attempt fails
 * @nexus: idle, perhaps since an attempt that failed
 *
 * Context: process.
 */
void istripe_nexus_persist(struct istripe_nexus *nexus);

/**
 * istripe_nexus_retire() - log out when all tasks are done, then rest
 * @nexus: not wanted any more; nexus->rested completes when it rests
 *
 * What is lost with the session meanwhile is fenced first, as it would be of any nexus.
 *
 * Context: process, sleeps for a grace period of RCU.
 */
void istripe_nexus_retire(struct istripe_nexus *nexus);

/**
 * istripe_nexus_stop() - log out, close, go idle
 * @nexus: in any state; returns when it is idle
 *
 * Context: process, sleeps; bounded by the timeouts of a logout, of a ping, and of what the
 * worker is asking the LUN just now.
 */
void istripe_nexus_stop(struct istripe_nexus *nexus);

/**
 * istripe_nexus_submit() - send a task over the nexus's session
 * @nexus: the nexus
 * @leg_task: its task: see istripe_session_submit()
 * @may_send: see there
 * @more: see there
 *
 * Context: see istripe_session_submit().
 * Return: true; false when the nexus is not live.
 */
bool istripe_nexus_submit(struct istripe_nexus *nexus, struct istripe_leg_task *leg_task,
			  bool may_send, bool more);

/**
 * istripe_nexus_done() - a task is not in flight on its nexus any more
 * @leg_task: was submitted
 *
 * Context: any.
 */
void istripe_nexus_done(struct istripe_leg_task *leg_task);

/**
 * istripe_nexus_push() - see istripe_leg_push()
 * @nexus: the nexus
 *
 * Context: process, sleeps.
 */
void istripe_nexus_push(struct istripe_nexus *nexus);

/**
 * istripe_nexus_tune() - give the sockets of a nexus the settings that its path has now
 * @nexus: of a running volume
 *
 * A session that is not found yet makes its sockets later, and reads the settings then: the
 * caller has changed them before.
 *
 * Context: process, sleeps.
 */
void istripe_nexus_tune(struct istripe_nexus *nexus);

/**
 * istripe_nexus_event() - let the worker know
 * @nexus: the nexus
 * @event: what has happened
 *
 * Context: any.
 */
void istripe_nexus_event(struct istripe_nexus *nexus, enum istripe_nexus_event event);

/**
 * istripe_nexus_attention() - the LUN says that something about it is new: have a look at it
 * @nexus: live
 * @what: in words
 *
 * Context: any.
 */
void istripe_nexus_attention(struct istripe_nexus *nexus, const char *what);

/**
 * istripe_nexus_revalidate() - have the LUN looked at, and wait until that is over
 * @nexus: its session is in doubt
 *
 * Context: process, sleeps; within a section of leg->srcu, but not of nexus->srcu.
 */
void istripe_nexus_revalidate(struct istripe_nexus *nexus);

/**
 * istripe_nexus_last_error() - copy the last reason, in words
 * @nexus: the nexus
 * @why: filled, empty when there was none
 * @why_bytes: its size
 *
 * Context: process.
 */
void istripe_nexus_last_error(struct istripe_nexus *nexus, char *why, size_t why_bytes);

/**
 * istripe_nexus_log_in() - what a login of the nexus is made with
 * @nexus: the nexus
 * @params: filled
 *
 * Context: process.
 */
void istripe_nexus_log_in(struct istripe_nexus *nexus, struct istripe_session_params *params);

/**
 * istripe_nexus_open_session() - log in, with nexus->owned as the session
 * @nexus: the nexus, without a session
 * @params: from istripe_nexus_log_in()
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: the nexus's worker.
 * Return: see istripe_session_open(); istripe_nexus_close_session() in any case.
 */
int istripe_nexus_open_session(struct istripe_nexus *nexus,
			       const struct istripe_session_params *params, char *why,
			       size_t why_bytes);

/**
 * istripe_nexus_close_session() - end nexus->owned
 * @nexus: the nexus; nobody finds its session any more
 * @error: see istripe_session_close()
 *
 * Context: the nexus's worker.
 */
void istripe_nexus_close_session(struct istripe_nexus *nexus, int error);

/* Short works of recovery, beside the nexuses' workers; none of them waits for a target. */
extern struct workqueue_struct *istripe_recovery_wq;

/* For those that a reset of the LUN has to ask, all at a time: they wait for the target. */
extern struct workqueue_struct *istripe_reset_wq;

/**
 * istripe_nexus_init() - make what all nexuses share
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int istripe_nexus_init(void);

/**
 * istripe_nexus_exit() - undo istripe_nexus_init()
 *
 * Context: module exit, no nexuses left.
 */
void istripe_nexus_exit(void);

#endif
