/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An I/O: one block layer request on its way over the legs. It fans out into one
 * leg task per leg that the request touches, and completes with the last of them.
 * It lives in the request's private data; so do its leg tasks.
 */
#ifndef ISTRIPE_BLOCK_IO_H
#define ISTRIPE_BLOCK_IO_H

#include <linux/blk-mq.h>

#include "block/leg_task.h"

struct istripe_volume;

/**
 * struct istripe_io - one request
 * @pending:	leg tasks that are not done, and one for whoever starts them
 * @status:	BLK_STS_OK, or the first error of a leg task
 * @started:	jiffies
 * @lane:	of its tasks
 * @task_count:	leg tasks in use
 * @tasks:	one per leg touched, or per part of what it does there
 */
struct istripe_io {
	atomic_t pending;
	blk_status_t status;
	unsigned long started;
	u32 lane;
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
 * @volume: its volume
 * @rq: started by blk_mq_start_request()
 * @lane: of its tasks
 * @more: further requests follow at once
 *
 * Context: process (BLK_MQ_F_BLOCKING).
 * Return: a bit for each leg it goes to; the request may be done by then.
 */
u64 istripe_io_start(struct istripe_volume *volume, struct request *rq, u32 lane, bool more);

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
