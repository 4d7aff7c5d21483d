/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A leg task: what one request does on one leg. The I/O makes it, the leg sends it over its
 * nexuses, and its end goes back to the I/O.
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
 * struct istripe_leg_task - what an I/O does on one leg
 * @task:	the SCSI command
 * @io:		whose part it is
 * @failed:	ends the task with a status of the block layer
 * @leg:	where it goes
 * @nexus:	the nexus it was last sent over
 * @entry:	on leg->parked, leg->delay, leg->allowance or nexus->fenced, under leg->lock
 * @since:	jiffies: handed to a nexus, the last time
 * @due:	jiffies: on leg->delay until then
 * @busy_at:	jiffies: since when, the last time, the LUN has no time for it
 * @busy_for:	jiffies: how long it had none before
 * @number:	given by the allowance when it let the task in
 * @ticket:	given by the allowance when the LUN first refused the task
 * @refusals:	how often that was
 * @busy:	@busy_at counts; not after the task has had to wait for a nexus
 * @counted:	by the path of @nexus, see there
 * @given_up:	fails as soon as it has a fence
 * @nth:	see istripe_policy_pick()
 * @losses:	how often it was lost with a session
 * @retries:	how often the target's answer made us send it again
 * @overdue:	how often it was found overdue, since it was last sent
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

/* End a leg task that its leg cannot serve; it is not in flight, and on no list. Any context. */
static inline void istripe_leg_task_fail(struct istripe_leg_task *leg_task, blk_status_t status)
{
	leg_task->failed(leg_task, status);
}

#endif
