/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An I/O: one block layer request on its way over the legs. It fans out into one
 * leg task per leg that the request touches, and completes with the last of them.
 * It lives in the request's private data; so do its leg tasks.
 */
#ifndef ISTRIPE_BLOCK_IO_H
#define ISTRIPE_BLOCK_IO_H

#include <linux/blk-mq.h>
#include <linux/list.h>

#include "transport/task.h"

struct istripe_io;
struct istripe_leg;
struct istripe_nexus;
struct istripe_queue;

/**
 * struct istripe_leg_task - what an I/O does on one leg
 * @task:	the SCSI command
 * @io:		whose part it is
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

/**
 * struct istripe_io - one request
 * @pending:	leg tasks that are not done, and one for whoever starts them
 * @status:	BLK_STS_OK, or the first error of a leg task
 * @started:	jiffies
 * @task_count:	leg tasks in use
 * @tasks:	one per leg touched, or per part of what it does there
 */
struct istripe_io {
	atomic_t pending;
	blk_status_t status;
	unsigned long started;
	u32 task_count;
	struct istripe_leg_task tasks[];
};

/**
 * istripe_io_bytes() - private data that each request needs
 * @legs: of the volume
 * @parts: that the share of one leg may be cut into
 *
 * Context: any.
 * Return: bytes.
 */
u32 istripe_io_bytes(u32 legs, u32 parts);

/**
 * istripe_io_start() - fan a request out
 * @queue: that it is on
 * @rq: started by blk_mq_start_request()
 * @last: no further request follows at once, nor istripe_queue_push()
 *
 * Context: process (BLK_MQ_F_BLOCKING).
 */
void istripe_io_start(struct istripe_queue *queue, struct request *rq, bool last);

/**
 * istripe_io_task_failed() - end a leg task that its leg cannot serve
 * @leg_task: not in flight, on no list
 * @status: what its request gets
 *
 * Context: any.
 */
void istripe_io_task_failed(struct istripe_leg_task *leg_task, blk_status_t status);

/**
 * istripe_io_complete() - give a request back to the block layer
 * @rq: all leg tasks done
 *
 * Context: blk-mq completion.
 */
void istripe_io_complete(struct request *rq);

/**
 * istripe_io_timeout() - a request is older than command_timeout_ms
 * @rq: in flight
 *
 * Context: blk-mq timeout work.
 */
void istripe_io_timeout(struct request *rq);

#endif
