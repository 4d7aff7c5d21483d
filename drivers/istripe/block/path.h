/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path: NIC, portal and settings as configured, and the sessions over it. Each session has a
 * struct istripe_nexus with an ISID, a worker and a recovery of its own. Policies choose between
 * paths, which lead over different ways; within a path the lane chooses the nexus, so that a
 * hardware queue of the disk keeps to one socket.
 *
 *   sessions	as many nexuses as connections, each with a session of one connection
 *   mcs		nexus 0's session asks for all connections. Nexus k is a reserve: it is
 *		wanted as long as the target grants no more than k, or while only its own login
 *		ends a superblock that it has left.
 *   auto		sessions, see Documentation/design.rst
 *
 * A nexus that is not wanted is idle, or is about to be.
 *
 * @lanes, @preferred and @kept are written under leg->lock; submitters read them without.
 * @nexuses, @nexus_count and what is gone are changed under leg->paths_lock and leg->lock; readers
 * hold either of them or are in a section of leg->srcu (leg.h). All else is constant but @params:
 * the settings of all nexuses and their sessions, which end before the path. Those that may change
 * while the volume is up are written with istripe_params_write(); words are read with READ_ONCE(),
 * others with istripe_params_read(). Those of logins change with @login_changes, under @login_lock,
 * while no session is published: none is that has logged in with others. The number of connections
 * may change, too: @nexus_count has it.
 */
#ifndef ISTRIPE_BLOCK_PATH_H
#define ISTRIPE_BLOCK_PATH_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

#include <istripe/params.h>
#include "iscsi/state.h"
#include "transport/login.h"

/* From here on a task is large: it has many times as much to move as a small one. */
#define ISTRIPE_PATH_LARGE_BYTES	SZ_128K

struct istripe_path;
struct istripe_latencies;
struct istripe_leg;
struct istripe_nexus;
struct istripe_reason;
struct istripe_task;
struct socket;

/* For a connection's directory in sysfs. */
struct istripe_conn_place {
	struct istripe_path *path;
	u32 index;
};

struct istripe_path {
	struct istripe_leg *leg;
	u32 index;			/* as configured */
	struct istripe_path_params params;	/* multi is never auto */
	struct istripe_chap_hashes hashes;
	spinlock_t login_lock;		/* see above */
	u32 login_changes;
	struct socket *congestion_holder;	/* keeps the module loaded, never connected */
	u32 nexus_count;		/* as many as configured connections */
	struct istripe_nexus *nexuses[ISTRIPE_CONNECTIONS_MAX];
	u32 lanes;			/* connections of its nexuses that get tasks */
	bool preferred;			/* one of these has a port that the target prefers */
	u32 kept;			/* nexuses from this one on are to be taken out */
	u32 granted;			/* connections, by the last login of nexus 0 */
	u32 resets_unanswered;		/* since one was answered; under leg->reset_lock */
	u64 gone_reconnects;		/* of nexuses that were taken out */
	u64 gone_faults;		/* the same */

	/* Tasks submitted to a session and not done yet; counted when the leg has several paths. */
	atomic_t in_flight;
	atomic_long_t in_flight_bytes;
	u32 busy_answers;		/* in a row: busy.h */
	unsigned long busy_since;	/* jiffies: the first of them */
	unsigned long busy_last;	/* jiffies: the last of them */
	unsigned long small_at;		/* jiffies of the last small task over several lanes */
	struct istripe_latencies __percpu *latencies;
	atomic64_t retries;		/* answers that ask for another attempt, and lost tasks */

	struct istripe_conn_place places[ISTRIPE_CONNECTIONS_MAX];
	struct list_head sysfs_dirs;	/* the control layer's sysfs directory */
	struct list_head sysfs_session_dirs;	/* and those below it */
};

/* The caller keeps the nexuses valid, see above; so it does for the next functions. */
struct istripe_nexus *istripe_path_next_nexus(const struct istripe_path *path, u32 *at);

#define istripe_path_for_each_nexus(_path, _nexus)				\
	for (u32 _at = 0; ((_nexus) = istripe_path_next_nexus(_path, &_at)); )

/* @params are copied. Returns ERR_PTR(-ENOMEM) on failure. */
struct istripe_path *istripe_path_create(struct istripe_leg *leg,
					 const struct istripe_path_params *params);

/* Wipes its secrets. The nexuses are stopped or were never started; NULL is fine. */
void istripe_path_destroy(struct istripe_path *path);

/* How many nexuses of a new path have saved unfenced writes. */
u32 istripe_path_unfenced(const struct istripe_path *path);

/**
 * istripe_path_tune() - give the sockets of a path the settings that it has now
 * @path: of a running volume
 * Context: process, sleeps.
 */
void istripe_path_tune(struct istripe_path *path);

/**
 * istripe_path_keepalive_anew() - let connections go by the times that a path has now
 * @path: of a running volume
 *
 * Each looks for silence at once.
 *
 * Context: process, sleeps.
 */
void istripe_path_keepalive_anew(struct istripe_path *path);

/**
 * istripe_path_wake() - end waits that are longer than login_retry_max_ms is now
 * @path: of a running volume
 *
 * A wait is up to an eighth longer than that, by chance.
 *
 * Context: any.
 */
void istripe_path_wake(const struct istripe_path *path);

/**
 * istripe_path_relogin() - give a path other settings for its logins, and let it log in at once
 * @path: of a running volume; one call at a time
 * @wanted: source_address and nic of these are taken
 * @chap: and chap
 * @why: filled with a readable reason on failure
 *
 * Its nexuses, and what they wait for, stay. A login that is under way is given up.
 * Context: process, sleeps, may load crypto modules.
 * Return: 0; -EBUSY: a session is live, or the path logs in no more; -ENOMEM.
 */
int istripe_path_relogin(struct istripe_path *path, const struct istripe_path_params *wanted,
			 bool chap, struct istripe_reason *why);

/*
 * The lane of a task here: its own, but while there are small tasks large reads leave the last lane
 * alone, which a small one takes when its own has large reads. Polled tasks stay. In leg->srcu.
 */
u32 istripe_path_lane(struct istripe_path *path, const struct istripe_task *task);

/* In a section of leg->srcu. NULL: none is live, or one comes or goes. It may be lost since. */
struct istripe_nexus *istripe_path_pick(const struct istripe_path *path, u32 lane);

/* Beside the states of a nexus: of several nexuses some are live. */
#define ISTRIPE_PATH_DEGRADED	ISTRIPE_NEXUS_STATE_COUNT

/**
 * istripe_path_state() - state of the path as a whole
 * @path: the path
 * Context: any that keeps its nexuses.
 * Return: the state of the only wanted nexus; of several ISTRIPE_NEXUS_LIVE when all are,
 * ISTRIPE_PATH_DEGRADED when some are, else the first one's state, or ISTRIPE_NEXUS_IDLE when that
 * is not live and not wanted any more. Those whose first attempt to log in has not ended do not
 * count.
 */
u32 istripe_path_state(const struct istripe_path *path);

/**
 * istripe_path_state_name() - the state of a path in a word
 * @state: from istripe_path_state()
 * Context: any.
 * Return: a constant string.
 */
const char *istripe_path_state_name(u32 state);

/**
 * istripe_path_reconnects() - how often sessions of a path have been made anew
 * @path: the path
 * Context: leg->lock held.
 * Return: the sum over its nexuses, those that have gone, too.
 */
u64 istripe_path_reconnects(const struct istripe_path *path);

/**
 * istripe_path_faults() - how often sessions of a path have been lost
 * @path: the path
 * Context: leg->lock held.
 * Return: as above.
 */
u64 istripe_path_faults(const struct istripe_path *path);

/**
 * istripe_path_holding() - what do commands of a live path wait for before they are sent?
 * @path: of a running volume
 *
 * The leg's fence (fence.h), or, of one of its sessions (istripe_session_holding()), a reset
 * (lun_reset.h; control_req.c on the path that asks), a revalidation (ask_lun.h), the command
 * window, or the pace (pace.h).
 * Context: process, in a section of leg->srcu; does not wait for recovery.
 * Return: a word of the ABI of sysfs, of the first session that holds some back; "none".
 */
const char *istripe_path_holding(const struct istripe_path *path);

/**
 * istripe_path_last_error() - copy the last reason of any nexus, in words
 * @path: the path
 * @why: filled, empty when there was none
 * Context: process, keeps its nexuses.
 */
void istripe_path_last_error(const struct istripe_path *path, struct istripe_reason *why);

#endif
