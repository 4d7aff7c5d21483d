/* SPDX-License-Identifier: GPL-2.0 */
/* A leg task: the part of a request that goes to one leg. Made in io_prepare.c, ends in io.c. */
#ifndef ISTRIPE_BLOCK_LEG_TASK_H
#define ISTRIPE_BLOCK_LEG_TASK_H

#include <linux/atomic.h>
#include <linux/blk_types.h>
#include <linux/list.h>

#include "block/unserved.h"
#include "transport/task.h"

struct istripe_io;
struct istripe_leg;
struct istripe_nexus;

struct istripe_leg_task {
	struct istripe_task task;
	struct istripe_io *io;
	void (*failed)(struct istripe_leg_task *leg_task, blk_status_t status);
	struct istripe_leg *leg;
	struct istripe_nexus *nexus;	/* that it was last sent over */
	/*
	 * On leg->parked, leg->delay, leg->allowance, leg->overlays.waiting or
	 * nexus->awaiting_fence, under leg->lock.
	 */
	struct list_head entry;
	unsigned long since;		/* jiffies: handed to a nexus, or began to await a fence */
	unsigned long due;		/* jiffies: leaves leg->delay */
	union {				/* jiffies, if @unserved: */
		unsigned long unserved_since;	/* no path serves it, since then */
		unsigned long unserved_for;	/* none did, if @unserved_stopped */
	};
	unsigned long not_served_at;	/* jiffies: the first of @not_served */
	unsigned long busy_at;		/* jiffies: since then the LUN is too busy for it ... */
	u32 number;			/* of the allowance, when it let the task in */
	u32 ticket;			/* of the allowance, at the first refusal */
	u32 generation;			/* leg->generations, when it was last sent with its data */
	u32 written_bytes;		/* of its data, while it @flushes */
	bool counted;			/* in @in_flight of the nexus's path */
	bool large;			/* in @large_tasks of the nexus */
	u8 written_cdb[ISTRIPE_CDB_BYTES];	/* while it @flushes */
	u8 parameter[ISTRIPE_UNMAP_PARAMETER_BYTES];	/* data out of UNMAP */
	struct bio_vec bvec;		/* @parameter, or a block of zeroes */

	/* From here to the end: cleared for each request. */
	unsigned long busy_for;	/* ... and was for so long before @busy_at */
	atomic64_t *again;	/* of the leg: counts it when it is sent again, or NULL */
	u32 overlay_epoch;	/* of a read that is patched (overlay.h); 0: it is not */
	u16 avoid;		/* bits of paths: over another one, if there is one */
	u16 failed_over;	/* those of them that failed it for now: an error, or late */
	u16 late_over;		/* bits of paths over which it was aborted */
	u8 refusals;		/* by the LUN */
	u8 losses;		/* with a session */
	u8 rejections;		/* by the target: of a PDU of it */
	u8 not_served;		/* refusals by ports that take no I/O */
	u8 given_up_sessions;	/* because of it */
	u8 retries;		/* that failures caused which may pass */
	u8 attentions;		/* retries that unit attentions caused */
	u8 timeouts;		/* since it was last sent */
	bool busy;		/* @busy_at counts; see istripe_leg_task_stop_clocks() */
	blk_status_t given_up;	/* an error: fails when its fence is complete, or as a ghost */
	bool resent;		/* before its fence: see ghost.h */
	bool fua;		/* with the FUA bit, where the LUN knows it */
	bool unlike;		/* it is not what its ghosts are any more: it waits for them */
	bool zeroes;		/* by UNMAP, which the LUN has to read as zeroes */
	bool through;		/* a flush follows it, if the LUN has a cache: write_through.h */
	bool flushes;		/* its data are on the LUN: SYNCHRONIZE CACHE now */
	bool behind;		/* not sent: it waits for the fence of another task */
	bool unserved;		/* counted in leg->unserved */
	bool unserved_stopped;	/* see istripe_leg_task_stop_clocks() */
};

/* The blocks that it reads or changes; empty for a flush. */
static inline void istripe_leg_task_range(const struct istripe_leg_task *leg_task,
					  struct istripe_range *range)
{
	istripe_cdb_range(leg_task->task.cdb, leg_task->parameter, range);
}

/*
 * It begins to wait for a path, a fence or a copy. That has a time of its own, so it counts neither
 * as one in which the LUN is too busy for it nor as one in which no path serves it. leg->lock.
 */
static inline void istripe_leg_task_stop_clocks(struct istripe_leg_task *leg_task)
{
	leg_task->busy = false;
	istripe_unserved_stop(leg_task);
}

/* It is about to be given to a session. */
static inline void istripe_leg_task_count(struct istripe_leg_task *leg_task)
{
	if (likely(!leg_task->again))
		return;
	atomic64_inc(leg_task->again);
	leg_task->again = NULL;
}

/* Ends a task that its leg cannot serve; it is not in flight and on no list. Any context. */
static inline void istripe_leg_task_fail(struct istripe_leg_task *leg_task, blk_status_t status)
{
	leg_task->failed(leg_task, status);
}

/* No path serves the tasks on a list, which is the caller's. */
static inline void istripe_leg_task_fail_all(struct list_head *list)
{
	struct istripe_leg_task *leg_task, *next;

	list_for_each_entry_safe(leg_task, next, list, entry) {
		list_del(&leg_task->entry);
		istripe_leg_task_fail(leg_task, BLK_STS_TRANSPORT);
	}
}

#endif
