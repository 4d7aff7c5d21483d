/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A leg: one LUN of the stripe, known by its VPD 83h designator.
 *
 * While no nexus is usable (live, and its port takes I/O), tasks wait on @parked. They are sent
 * when a nexus is usable again, and fail when the leg has been down for recovery_timeout_ms. @delay
 * has the tasks that are sent again after a while, @allowance those that the LUN has no room for.
 *
 * A task that was lost with its session goes over another nexus at once when doing it twice does no
 * harm, as with a read. A lost write may still be carried out by the target, after newer data were
 * written over another nexus. It waits on the nexus's @awaiting_fence until nobody refers to its
 * pages. Then it is sent again over another nexus and becomes a ghost (ghost.h): writes of other
 * data to its blocks wait on the same list until the old session, and all that the target had of
 * it, is over (fence.h). If fence is not auto, or without another nexus, it waits for that itself.
 * While another nexus is live such waits last as long as the fence takes, or fence_timeout_ms or
 * recovery_timeout_ms.
 *
 * When a lost write has to fail, because no nexus came back in time, it is a ghost, too, and reads
 * of its blocks wait as well. Without ghosts, and when the volume goes down, the leg serves nothing
 * until the fence is complete: otherwise the failed write could be carried out over newer data.
 *
 * @lock covers @losses, @generations, @usable_nexuses, @live_paths, @chosen_paths, @port_refused,
 * @unfenced_nexuses, @ghost_nexuses, @ghosts_failed, @overlays, @failed_writes, @failed, @stopping,
 * @parked, @delay, @allowance, @unserved, @handover, @down_since, @serving_since, @quiescing,
 * @resetting, key, changes to listings of @pr_key, lanes, preferred and kept of the paths, and
 * what nexus.h names of nexuses. It is a leaf, taken with bh disabled, interrupts on, and never
 * held over a submission.
 * @identify_lock serializes the workers of nexuses that find the LUN at the same time; it covers
 * nexus->blocks, too.
 *
 * Paths come and go while the leg is up (hotplug.h). @paths and the nexuses in them are changed
 * under @paths_lock and @lock both. A reader holds either of them or is within a section of @srcu:
 * submitters, timeouts, and the workers of nexuses. The workers must not take @paths_lock, because
 * its holder waits for them. A path or nexus that was found is valid until the section ends: it is
 * taken out first, then a grace period passes, then it is freed.
 *
 * Lock order:
 *   volume->resize.rescan_lock
 *   paths_lock
 *     reset_lock
 *       srcu (a grace period is waited for under paths_lock only)
 *         nexus->session_lock
 *         nexus->srcu
 *           session->control_req.lock (to ping a sibling, or by the worker)
 *           nexus->ask_lock (by a worker that polls keys above reset_lock and what follows it)
 *             metadata.growth.lock (a leaf)
 *             pr_key.lock (a leaf)
 *             identify_lock
 *               srcu again: of this leg and, to ask their nexuses, of other legs (resize.h)
 *                 lock
 */
#ifndef ISTRIPE_BLOCK_LEG_H
#define ISTRIPE_BLOCK_LEG_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include "block/allowance.h"
#include "block/delay.h"
#include "block/handover.h"
#include "block/latency.h"
#include "block/leg_task.h"
#include "block/lun.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/proof.h"
#include "block/requeue.h"
#include "block/unserved.h"

struct istripe_path;
struct istripe_volume;

enum istripe_leg_state {		/* from good to bad */
	ISTRIPE_LEG_LIVE,
	ISTRIPE_LEG_DEGRADED,		/* some of its paths are not live */
	ISTRIPE_LEG_WAITING,		/* no path is live, or none serves: I/O waits */
	ISTRIPE_LEG_FAILED,		/* ... and has waited long enough: I/O fails */
};

/* Writes that fail although the target may still carry them out, and that the log has not told. */
struct istripe_failed_writes {
	u32 ghosts;			/* I/O to the same blocks waits */
	u32 unfenced;			/* nothing is served */
	unsigned long paths;		/* a bit for each that has some of them */
};

/* The key of persistent reservations that is registered, see pr_key.h. */
struct istripe_pr_key {
	u64 key;			/* 0: none */
	u32 changes;			/* odd: registrations are being changed through the disk */
	bool listed;			/* the LUN had keys, of any host, over some nexus */
	u32 listings;			/* counts the times that it has listed some */
	struct mutex lock;		/* one nexus at a time is added by its worker */
	/* Of reservation.c: the last to reserve, NULL: not known; and before the call under way. */
	const struct istripe_nexus *holder;
	const struct istripe_nexus *former_holder;
	u64 former_key;			/* @key, and listings, before the call under way */
	u32 former_listings;
};

struct istripe_leg {
	struct istripe_volume *volume;
	u32 index;
	const struct istripe_nexus_ops *nexus_ops;
	struct istripe_lun lun;		/* as first found; the designator never changes */
	bool designator_given;		/* by the user, when the leg was made */
	/* @identified, @lun_final, @designator_since, @lun until the volume is up, its size */
	struct mutex identify_lock;
	/* Of VPD 83h, which the LUN has got since it is known by its serial number, or empty. */
	char designator_since[ISTRIPE_DESIGNATOR_BYTES];
	bool identified;
	bool lun_final;			/* @lun is what all paths have that came up at first */
	bool write_through;		/* the LUN got a cache when the volume was up */
	bool no_fua;			/* and it does not know FUA: write_through.h */
	u32 caches;			/* counts the times that it has told of a cache */
	u32 uncached;			/* @caches, when its cache had gone; 0: flushed since */
	enum istripe_protected protected;	/* written by the work of write_protect.c */
	bool flush10;			/* SYNCHRONIZE CACHE(16) is not known to the LUN */
	bool no_flush;			/* nor is (10), and it does not say that it has a cache */
	u64 first_blocks;		/* the least with which the volume can have come up */
	u64 needed_blocks;		/* of the volume, from the first one on; 0: not known yet */
	u64 former_blocks;		/* work of resize.c: before it grew */
	u64 former_needed_blocks;
	bool busy;			/* a path may be, see busy.h */
	enum istripe_policy policy;	/* live */
	atomic_t policy_counter;	/* round robin */
	enum istripe_fence fence;	/* live */
	s32 fence_timeout_ms;		/* live; -1: none */
	s32 ghost_timeout_ms;		/* live; -1: none */
	enum istripe_alua alua;		/* live */
	struct srcu_struct srcu;	/* this and the next five: see above */
	struct mutex paths_lock;
	u32 path_count;			/* paths that there are */
	u32 path_end;			/* behind the highest index ever used */
	u32 nexus_count;		/* of all paths */
	struct istripe_path *paths[ISTRIPE_PATHS_MAX];		/* by path->index */
	struct istripe_proof proof;	/* of nexuses that lead to the same portal group */
	struct istripe_pr_key pr_key;
	struct mutex reset_lock;	/* one reset of the LUN at a time */
	u32 drains_unanswered;		/* @reset_lock: since a reset was answered */
	struct delayed_work quiesce_work;	/* ends the quiesce of the other nexuses */
	struct delayed_work hurry_work;	/* ends the wait of @resetting: fence_timeout_ms is over */
	struct istripe_nexus *resetting;	/* it waits for the answer */
	unsigned long resetting_since;	/* jiffies */
	bool quiescing;			/* a nexus that logs in sends no command yet */
	wait_queue_head_t quiesce_end;	/* for the end of @quiescing, or @reset_lock */
	enum istripe_lun_reset_result lun_reset;	/* of the last one */

	spinlock_t lock;		/* see above */
	u32 losses;			/* sessions lost, retired nexuses not counted */
	u32 generations;		/* of sessions, and write_through.h: the last one given */
	u32 cache_lost;			/* ... when the target last told of lost data */
	u32 usable_nexuses;		/* whose ports take I/O */
	u32 live_paths;			/* with a live nexus, whether its port takes I/O or not */
	u32 chosen_paths;		/* with lanes: the policy chooses one of these */
	bool port_refused;		/* its last one; a good command clears it without @lock */
	u32 unfenced_nexuses;		/* whose writes failed without a fence */
	u32 ghost_nexuses;		/* that have ghosts: ghost.h */
	bool ghosts_failed;		/* some of these writes have, so reads may have to wait */
	bool abandoned;			/* nothing is sent any more: writeback.c, without @lock */
	struct istripe_overlays overlays;	/* newer data of blocks of ghosts */
	struct istripe_failed_writes failed_writes;
	bool failed;			/* recovery_timeout_ms has passed */
	bool stopping;
	unsigned long down_since;	/* jiffies: no path takes I/O; see outage_report.h */
	unsigned long serving_since;	/* jiffies */
	u32 back_after_ms;		/* it had failed: the log has not told that it is back */
	wait_queue_head_t usable;	/* for @usable_nexuses */
	struct list_head parked;
	struct istripe_delay delay;
	struct istripe_allowance allowance;
	struct istripe_unserved unserved;
	struct istripe_handover handover;
	struct istripe_requeue requeue;
	struct delayed_work recovery_work;	/* recovery_timeout_ms is over */
	struct delayed_work fence_work;		/* fence_timeout_ms is over */

	void *control;			/* the control layer's sysfs directory */

	struct istripe_latency gone[ISTRIPE_LATENCY_KINDS];	/* of paths; under @lock */
	atomic64_t commands;		/* SCSI commands sent for requests */
	atomic64_t redriven;		/* sent again after a connection was lost */
	atomic64_t retried;		/* sent again because the target said so */
};

/* Recovery and the leg's own fence, for istripe_leg_create(). */
void istripe_leg_init_works(struct istripe_leg *leg);

/* In a section of leg->srcu, or under leg->lock or leg->paths_lock. */
struct istripe_nexus *istripe_leg_next_nexus(const struct istripe_leg *leg, u32 *at);

/* All nexuses of all paths, idle ones, too; of each path in their order. */
#define istripe_leg_for_each_nexus(_leg, _nexus)					\
	for (u32 _at = 0; ((_nexus) = istripe_leg_next_nexus(_leg, &_at)); )

/* As istripe_leg_next_nexus(), or of a leg that does not run. */
static inline struct istripe_path *istripe_leg_next_path(const struct istripe_leg *leg, u32 *at)
{
	struct istripe_path *path = NULL;

	while (!path && *at < READ_ONCE(leg->path_end))
		path = READ_ONCE(leg->paths[(*at)++]);
	return path;
}

/* All paths, by their indexes. */
#define istripe_leg_for_each_path(_leg, _path)					\
	for (u32 _at = 0; ((_path) = istripe_leg_next_path(_leg, &_at)); )

/**
 * istripe_leg_tell() - report an event to the nexuses of a leg that are live or log in
 * @leg: that runs
 * @except: a nexus that is not told, or NULL
 * @event: what has happened; of ISTRIPE_NEXUS_ACCESS a live one is told that has access states
 * Context: any.
 */
void istripe_leg_tell(struct istripe_leg *leg, const struct istripe_nexus *except,
		      enum istripe_nexus_event event);

/* Lets nexuses that wait to log in do so now. Any context. */
void istripe_leg_wake(struct istripe_leg *leg);

/* Does I/O wait or fail until the nexus, or any one of the leg, comes back? Any context. */
bool istripe_leg_nexus_is_urgent(const struct istripe_nexus *nexus);

/**
 * istripe_leg_state() - state of a leg
 * @leg: that runs
 * Context: any.
 * Return: its state, which may be old at once.
 */
enum istripe_leg_state istripe_leg_state(struct istripe_leg *leg);

/* The state of a leg or a volume in a word. */
extern const char *const istripe_leg_state_names[];

/* From now on nothing waits for the leg: parked tasks fail, tasks of a live nexus finish. */
void istripe_leg_expire(struct istripe_leg *leg);

/*
 * Sends a task; it fails when the leg is abandoned. For @when and the context see
 * istripe_session_submit().
 */
void istripe_leg_submit(struct istripe_leg_task *leg_task, enum istripe_submit when);

/* For a task that the allowance has let in (istripe_allowance_take()): sent in any case. */
void istripe_leg_send(struct istripe_leg_task *leg_task, enum istripe_submit when);

/* Nothing is sent while failed writes without a fence may still be carried out. Under leg->lock. */
static inline bool istripe_leg_serving(const struct istripe_leg *leg)
{
	lockdep_assert_held(&leg->lock);
	return leg->usable_nexuses && !leg->unfenced_nexuses;
}

/*
 * Until when, in jiffies, I/O waits while the leg is not serving. A target that moves the LUN gets
 * the time that it says it needs, but not one such time after the other. Under leg->lock.
 */
unsigned long istripe_leg_outage_end(const struct istripe_leg *leg, s32 recovery_ms);

static inline u32 istripe_leg_next_generation(struct istripe_leg *leg)
{
	lockdep_assert_held(&leg->lock);
	WRITE_ONCE(leg->generations, leg->generations + 1);
	return leg->generations;
}

/* A command has ended well. Any context. */
static inline void istripe_leg_note_good(struct istripe_leg *leg)
{
	if (unlikely(READ_ONCE(leg->port_refused)))
		WRITE_ONCE(leg->port_refused, false);
}

/* Tasks of ISTRIPE_SUBMIT_MORE are sent now: no more follow. Sleeps. */
void istripe_leg_push(struct istripe_leg *leg);

/* Is @found of the nexus known as its leg's LUN? True while the leg has none, too. Sleeps. */
bool istripe_leg_nexus_leads_here(struct istripe_nexus *nexus);

/*
 * Keeps a lost task that may still be carried out until it may be sent again: it is a ghost then,
 * or its nexus's old session is dead at the target. It fails when no nexus of the leg comes back
 * within recovery_timeout_ms. On a leg with one path the leg serves nothing while a task that is
 * given up waits, even if other sessions of the path are live: it fails then, too. Any context.
 */
void istripe_leg_await_fence(struct istripe_leg_task *leg_task);

/* The keys of reservations are gone: sends writes again that had to wait for them. Any context. */
void istripe_leg_resend(struct istripe_leg *leg);

/**
 * istripe_leg_fence_mode_changed() - the setting has changed
 * @leg: that runs
 * Context: any.
 */
void istripe_leg_fence_mode_changed(struct istripe_leg *leg);

/* Nothing of the nexus's old session is carried out any more. Its worker. */
void istripe_leg_nexus_fenced(struct istripe_nexus *nexus);

/*
 * The same for all sessions of @path, without a fence: somebody knows it. Not for those that are
 * live, or of which TCP may have pages. Returns how many writes waited. Any context.
 */
u32 istripe_leg_path_fenced(const struct istripe_path *path);

/**
 * istripe_leg_set_fence_timeout() - make a change of leg->fence_timeout_ms take effect
 * @leg: that runs
 * Context: any.
 */
void istripe_leg_set_fence_timeout(struct istripe_leg *leg);

/*
 * Submits tasks that waited, on the caller's list. Given-up tasks fail: their fence is complete, or
 * they are ghosts.
 */
void istripe_leg_redrive(struct istripe_leg *leg, struct list_head *list);

/**
 * istripe_leg_nexus_waiting_writes() - how many writes wait for istripe_leg_nexus_fenced()?
 * @nexus: any
 * Context: leg->lock held.
 * Return: their number.
 */
u32 istripe_leg_nexus_waiting_writes(const struct istripe_nexus *nexus);

/* Does anything wait for istripe_leg_nexus_fenced()? */
bool istripe_leg_nexus_waits(const struct istripe_nexus *nexus);

/* The nexus's session is published: parked tasks are sent. Its worker. */
void istripe_leg_nexus_live(struct istripe_nexus *nexus);

/* The LUN tells the state of the nexus's port. Parked tasks are sent. Its worker. */
void istripe_leg_nexus_access(struct istripe_nexus *nexus, const struct istripe_access *access,
			      struct istripe_access *before);

/* The port has refused a command: it takes no I/O in this @state. Any context. */
void istripe_leg_nexus_refused(struct istripe_nexus *nexus, u8 state);

/* The nexus's session is about to be withdrawn. Its worker, as below. */
void istripe_leg_nexus_lost(struct istripe_nexus *nexus);

/* TCP has no pages any more of the lost session's tasks. @released: nor has anybody else here. */
void istripe_leg_nexus_released(struct istripe_nexus *nexus, bool released);

/*
 * @wanted: the nexus is to have a session (ignored when it is about to be taken out); else it gets
 * no tasks from now on, live or not. Under leg->lock.
 */
void istripe_leg_nexus_want(struct istripe_nexus *nexus, bool wanted);

/**
 * istripe_leg_set_recovery_timeout() - recovery_timeout_ms has been changed
 * @leg: of a running volume
 * Context: process.
 */
void istripe_leg_set_recovery_timeout(struct istripe_leg *leg);

#endif
