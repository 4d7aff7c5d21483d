/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A leg task: the part of a request that goes to one leg. The I/O (io.c) makes it, the leg sends it
 * over its nexuses, and its end goes back to the I/O.
 */
#ifndef ISTRIPE_BLOCK_LEG_TASK_H
#define ISTRIPE_BLOCK_LEG_TASK_H

#include <linux/blk_types.h>
#include <linux/list.h>

#include "transport/task.h"

struct istripe_io;
struct istripe_leg;
struct istripe_nexus;

/**
 * struct istripe_leg_task - a request's part on one leg
 * @task:	the SCSI command
 * @io:		the request's I/O
 * @failed:	ends the task with a status of the block layer
 * @leg:	its leg
 * @nexus:	the nexus it was last sent over
 * @entry:	on a list under leg->lock: leg->parked, leg->delay, leg->allowance or
 *		nexus->awaiting_fence
 * @since:	jiffies when it was last handed to a nexus
 * @due:	jiffies when it leaves leg->delay
 * @busy_at:	jiffies since when, the last time, the LUN has been too busy for it
 * @busy_for:	jiffies that the LUN was too busy for it before @busy_at
 * @number:	given by the allowance when it let the task in
 * @ticket:	given by the allowance when the LUN first refused the task
 * @refusals:	by the LUN
 * @busy:	@busy_at counts; not after the task has been parked
 * @counted:	in path->in_flight of @nexus's path
 * @given_up:	fails as soon as its fence is complete
 * @nth:	see istripe_policy_pick()
 * @losses:	how often it was lost with a session
 * @retries:	how often the target's answer caused another attempt
 * @overdue:	how often its timeout has expired since it was last sent
 * @parameter:	data out of UNMAP
 * @bvec:	describes @parameter, or a block of zeroes
 */
struct istripe_leg_task {
	struct istripe_task task;
	struct istripe_io *io;
	void (*failed)(struct istripe_leg_task *leg_task, blk_status_t status);
	struct istripe_leg *leg;
	struct istripe_nexus *nexus;
	struct list_head entry;
	unsigned long since;
	unsigned long due;
	unsigned long busy_at;
	unsigned long busy_for;
	u32 number;
	u32 ticket;
	u8 refusals;
	bool busy;
	bool counted;
	bool given_up;
	u8 nth;
	u8 losses;
	u8 retries;
	u8 overdue;
	u8 parameter[ISTRIPE_UNMAP_PARAMETER_BYTES];
	struct bio_vec bvec;
};

/* Ends a task that its leg cannot serve; it is not in flight and on no list. Any context. */
static inline void istripe_leg_task_fail(struct istripe_leg_task *leg_task, blk_status_t status)
{
	leg_task->failed(leg_task, status);
}

#endif
