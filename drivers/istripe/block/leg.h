/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A leg: one LUN of the stripe, known by its VPD 83h designator.
 *
 * While no nexus is live, tasks wait on @parked; they go on when a nexus is live
 * again and fail when the leg has been down for recovery_timeout_ms. @delay holds tasks
 * that are to be sent again after a while, @allowance those that the LUN has no room for.
 *
 * A task that was lost with its nexus's session goes on over another nexus at once when
 * doing it twice does no harm, as with a read. A write may still be carried out by the
 * target, after newer data were written over another nexus. It waits on the nexus's
 * @awaiting_fence until the old session and all that the target had of it is over (see fence.h).
 * Then it goes on over any nexus.
 * While another nexus is live it waits as long as that takes. When it has to fail first,
 * because no nexus came back in time or the volume goes down, the leg serves nothing any
 * more until then: else what fails now could still be carried out over what is written
 * next.
 *
 * Lock: @lock covers @live_nexuses, @live_paths, @unfenced_nexuses, @failed, @stopping,
 * @parked, @delay, @allowance,
 * @down_since, lanes and staying of the paths, and wanted, live, lanes,
 * fenced, unfenced, marked, way, node and generation of the nexuses. It is a leaf, taken with
 * interrupts on (bh disabled), never held over a submission. @identify_lock is for
 * several nexuses' workers, which may find the LUN at a time; see also nexus->blocks.
 *
 * Paths come and go while the leg is up (hotplug.h). @paths and the nexuses in them are
 * changed under @paths_lock and @lock both; whoever looks holds either of them, or is
 * within a section of @srcu: submitters, timeouts, and workers of nexuses, who must not take
 * @paths_lock, for its holder waits for them. What was found is there until the end of
 * the section: it is taken out first, then a grace period passes, then it is freed.
 *
 * Lock order:
 *   volume->capacity.rescan_lock
 *   paths_lock
 *     path->settings_lock
 *       reset_lock
 *       srcu (a grace period is waited for under paths_lock only)
 *         nexus->session_lock
 *         nexus->srcu
 *           session->exchange.lock (to ping a sibling, or the worker's)
 *           nexus->ask_lock
 *             metadata.growth.lock (a leaf)
 *             identify_lock
 *               srcu again: of this leg and, to ask them, of others (resize.h)
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
#include "block/leg_task.h"
#include "block/lun.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/proof.h"

struct istripe_path;
struct istripe_volume;

struct istripe_leg {
	struct istripe_volume *volume;
	u32 index;
	const struct istripe_nexus_ops *nexus_ops;
	struct istripe_lun lun;		/* as first found; identity never changes */
	struct mutex identify_lock;	/* @identified, @lun until the volume is up, its size */
	bool identified;
	enum istripe_protected protected;	/* written by the protection's work */
	bool flush10;			/* SYNCHRONIZE CACHE(16) is not known to the LUN */
	u64 first_blocks;		/* when it was; set once */
	u64 former_blocks;		/* the capacity's work: before it had more */
	enum istripe_policy policy;	/* live */
	atomic_t policy_counter;	/* of the policy */
	enum istripe_fence fence;	/* live */
	struct srcu_struct srcu;	/* these five: see above */
	struct mutex paths_lock;
	u32 path_count;			/* nexuses as configured */
	u32 path_end;			/* behind the last that there has been */
	u32 nexus_count;		/* nexuses of all of them */
	struct istripe_path *paths[ISTRIPE_PATHS_MAX];		/* by their numbers */
	struct istripe_proof proof;	/* which of them lead to the same portal group */
	struct mutex reset_lock;	/* a reset of the LUN that other nexuses wait for ... */
	struct delayed_work quiesce_work;	/* ... until this */
	enum istripe_lun_reset_result lun_reset;	/* what the last one came to */

	spinlock_t lock;		/* see above */
	u32 losses;			/* of its nexuses, those taken out not counted */
	u32 generations;		/* the last one that a nexus was given */
	u32 live_nexuses;
	u32 live_paths;			/* with a live nexus */
	u32 unfenced_nexuses;		/* whose writes failed without a fence */
	bool failed;			/* recovery_timeout_ms has passed */
	bool stopping;
	unsigned long down_since;	/* jiffies */
	struct list_head parked;
	struct istripe_delay delay;
	struct istripe_allowance allowance;
	struct delayed_work recovery_work;	/* recovery_timeout_ms is over */

	void *control;			/* the control layer's: directory of its nexuses */

	atomic64_t commands;		/* SCSI commands sent for requests */
	atomic64_t redriven;		/* sent again after a connection was lost */
	atomic64_t retried;		/* sent again because the target said so */
};

/**
 * istripe_leg_create() - build a leg and its paths
 * @volume: its volume
 * @index: position in the stripe
 * @params: as configured; copied
 * @nexus_ops: of its nexuses, also of those that come later
 *
 * Context: process.
 * Return: the leg or ERR_PTR(-ENOMEM).
 */
struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params,
				       const struct istripe_nexus_ops *nexus_ops);

/* Let others find a path, whose number is free. Context: process, leg->paths_lock. */
void istripe_leg_add_path(struct istripe_leg *leg, struct istripe_path *path);

/**
 * istripe_leg_destroy() - free a leg
 * @leg: stopped or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_leg_destroy(struct istripe_leg *leg);

/**
 * istripe_leg_next_nexus() - for istripe_leg_for_each_nexus()
 * @leg: the leg
 * @at: where to look, moved behind what was found
 *
 * Context: any; a section of leg->srcu, leg->lock or leg->paths_lock held.
 * Return: a nexus, or NULL when there are no more.
 */
struct istripe_nexus *istripe_leg_next_nexus(const struct istripe_leg *leg, u32 *at);

/* All nexuses of all paths, those that rest, too; first of a path first. */
#define istripe_leg_for_each_nexus(_leg, _nexus, _at)				\
	for ((_at) = 0; ((_nexus) = istripe_leg_next_nexus(_leg, &(_at))); )

/**
 * istripe_leg_tell() - tell all live nexuses of a leg
 * @leg: the leg
 * @except: which is not told; may be NULL
 * @event: what
 *
 * Context: any.
 */
void istripe_leg_tell(struct istripe_leg *leg, const struct istripe_nexus *except,
		      enum istripe_nexus_event event);

/**
 * istripe_leg_start() - begin to bring the nexuses up
 * @leg: fresh
 *
 * Context: process.
 */
void istripe_leg_start(struct istripe_leg *leg);

/**
 * istripe_leg_wait() - wait for the first result of istripe_leg_start()
 * @leg: started
 * @why: reason on failure
 * @why_bytes: its size
 *
 * One nexus is enough; those that failed go on trying, unless what they found is not the
 * LUN: that is an error.
 *
 * Context: process, sleeps, killable.
 * Return: 0; the error of a nexus; -EINTR killed.
 */
int istripe_leg_wait(struct istripe_leg *leg, char *why, size_t why_bytes);

/**
 * istripe_leg_check() - is any nexus live
 * @leg: started
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process.
 * Return: 0 or -ENOTCONN.
 */
int istripe_leg_check(struct istripe_leg *leg, char *why, size_t why_bytes);

/**
 * istripe_leg_expire() - from now on nothing waits for the leg any more
 * @leg: the leg
 *
 * Parked tasks fail; tasks of a live nexus finish.
 *
 * Context: process.
 */
void istripe_leg_expire(struct istripe_leg *leg);

/**
 * istripe_leg_stop_begin() - begin to log out; istripe_leg_stop() waits for the end
 * @leg: no requests any more
 *
 * Context: process.
 */
void istripe_leg_stop_begin(struct istripe_leg *leg);

/**
 * istripe_leg_stop() - log out and close everything
 * @leg: no requests any more
 *
 * Context: process, sleeps.
 */
void istripe_leg_stop(struct istripe_leg *leg);

/**
 * istripe_leg_submit() - send a task over the leg
 * @leg: the leg
 * @leg_task: filled in
 * @may_send: see istripe_session_submit()
 * @more: see istripe_session_submit()
 *
 * Context: see istripe_session_submit().
 */
void istripe_leg_submit(struct istripe_leg *leg, struct istripe_leg_task *leg_task, bool may_send,
			bool more);

/**
 * istripe_leg_send() - the same for a task that the allowance has let in
 * @leg: the leg
 * @leg_task: see istripe_allowance_take()
 * @may_send: see istripe_session_submit()
 * @more: see istripe_session_submit()
 *
 * Context: see istripe_session_submit().
 */
void istripe_leg_send(struct istripe_leg *leg, struct istripe_leg_task *leg_task, bool may_send,
		      bool more);

/**
 * istripe_leg_serving() - are tasks sent at all
 * @leg: the leg
 *
 * Nothing is sent while writes may still be carried out that have failed without a fence.
 *
 * Context: leg->lock.
 * Return: true or false.
 */
static inline bool istripe_leg_serving(const struct istripe_leg *leg)
{
	lockdep_assert_held(&leg->lock);
	return leg->live_nexuses && !leg->unfenced_nexuses;
}

/**
 * istripe_leg_push() - no more tasks follow those submitted with @more
 * @leg: the leg
 *
 * Context: process, sleeps.
 */
void istripe_leg_push(struct istripe_leg *leg);

/**
 * istripe_leg_park() - keep a task until a nexus is live
 * @leg: the leg
 * @leg_task: not in flight
 *
 * Context: any.
 * Return: true: parked, or failed because nothing waits any more; false: a nexus is live,
 * submit the task.
 */
bool istripe_leg_park(struct istripe_leg *leg, struct istripe_leg_task *leg_task);

/**
 * istripe_leg_is() - has a LUN the designator of this leg
 * @leg: the leg
 * @lun: as istripe_lun_probe() has found it
 *
 * Context: process, sleeps.
 * Return: true, also when the leg has none yet; false.
 */
bool istripe_leg_is(struct istripe_leg *leg, const struct istripe_lun *lun);

/**
 * istripe_leg_fence() - keep a task until its nexus's old session is dead at the target
 * @leg: the leg
 * @leg_task: lost with a session of its nexus, perhaps still being carried out
 *
 * It fails when no nexus of the leg comes back within recovery_timeout_ms. With one nexus, a
 * task that is given up fails then also while other sessions of that nexus are live: until
 * its own session is known to be dead, nothing is sent.
 *
 * Context: any.
 */
void istripe_leg_fence(struct istripe_leg *leg, struct istripe_leg_task *leg_task);

/**
 * istripe_leg_super_unfenced() - a superblock may still be written over a nexus's old session
 * @leg: the leg; it is served meanwhile
 * @nexus: its session is lost, or about to be
 *
 * Context: any; within a section of nexus->srcu.
 */
void istripe_leg_super_unfenced(struct istripe_leg *leg, struct istripe_nexus *nexus);

/**
 * istripe_leg_super_is_unfenced() - has a nexus been marked, and not been fenced since
 * @leg: the leg
 * @nexus: any of it
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_leg_super_is_unfenced(struct istripe_leg *leg, const struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_fenced() - nothing of the nexus's old session is carried out any more
 * @leg: the leg
 * @nexus: see istripe_fence_drain()
 *
 * Context: the nexus's worker.
 */
void istripe_leg_nexus_fenced(struct istripe_leg *leg, struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_waits() - does anything wait for istripe_leg_nexus_fenced()
 * @leg: the leg
 * @nexus: not live
 *
 * Context: the nexus's worker.
 * Return: true or false.
 */
bool istripe_leg_nexus_waits(struct istripe_leg *leg, const struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_live() - a nexus's session is published: go on
 * @leg: the leg
 * @nexus: which
 *
 * Context: the nexus's worker.
 */
void istripe_leg_nexus_live(struct istripe_leg *leg, struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_lost() - a nexus's session is about to be withdrawn
 * @leg: the leg
 * @nexus: which
 *
 * Context: the nexus's worker.
 */
void istripe_leg_nexus_lost(struct istripe_leg *leg, struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_want() - say whether a nexus is to have a session
 * @leg: the leg
 * @nexus: which; when it is not wanted any more it gets no tasks from now on
 * @wanted: whether; a nexus that is about to be taken out is not wanted again
 *
 * Context: any that may take leg->lock.
 */
void istripe_leg_nexus_want(struct istripe_leg *leg, struct istripe_nexus *nexus, bool wanted);

/**
 * istripe_leg_nexus_off() - no more tasks for a nexus
 * @leg: the leg
 * @nexus: live or not
 *
 * Context: leg->lock.
 */
void istripe_leg_nexus_off(struct istripe_leg *leg, struct istripe_nexus *nexus);

/**
 * istripe_leg_nexus_error() - what a nexus's first attempt has come to, in words
 * @nexus: its first_error is set
 * @why: filled
 * @why_bytes: its size
 *
 * Context: process.
 * Return: the error.
 */
int istripe_leg_nexus_error(struct istripe_nexus *nexus, char *why, size_t why_bytes);

/**
 * istripe_leg_set_recovery_timeout() - note that recovery_timeout_ms has changed
 * @leg: the leg
 *
 * Context: process.
 */
void istripe_leg_set_recovery_timeout(struct istripe_leg *leg);

#endif
