/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue: one hardware queue of a volume's disk, what the block layer calls a hctx. It
 * lives as long as that.
 *
 * What a submitter is told is followed by more is held back, for its connection to send
 * with what follows. @held remembers in which legs that happened; whoever brings the last
 * request of a batch, or commit_rqs, pushes there and nowhere else. Batches of several
 * submitters may mix: what one has held another one may push, sooner than it had to be.
 *
 * Those behind the ordinary ones are polled: their submitters do not sleep until an answer
 * comes, but look for it (io_uring's IOPOLL). They look where the NICs put what they
 * receive: see queue_poll(). An answer that comes by itself, by interrupt, and what recovery
 * does, completes a polled request as any other; so nothing ever depends on a look.
 */
#ifndef ISTRIPE_BLOCK_QUEUE_H
#define ISTRIPE_BLOCK_QUEUE_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>

struct istripe_volume;

struct istripe_queue {
	struct istripe_volume *volume;
	u32 lane;			/* of its requests; with @stride see io_lane() */
	u32 stride;
	atomic64_t held;		/* a bit for each leg */
};

/**
 * istripe_queue_of() - the queue that a request is on
 * @rq: of a volume's disk
 *
 * Context: any, while the request is in flight.
 * Return: the queue.
 */
static inline struct istripe_queue *istripe_queue_of(const struct request *rq)
{
	return rq->mq_hctx->driver_data;
}

/**
 * istripe_queue_hold() - remember that tasks have been held back
 * @queue: the queue
 * @legs: in which legs, a bit for each; they have been submitted with @more before
 *
 * Context: any.
 */
void istripe_queue_hold(struct istripe_queue *queue, u64 legs);

/**
 * istripe_queue_push() - let go of what has been held back
 * @queue: the queue
 *
 * Context: process, sleeps.
 */
void istripe_queue_push(struct istripe_queue *queue);

/* What the block layer calls; driver_data of the tag set is the volume, its queues counted. */
extern const struct blk_mq_ops istripe_queue_ops;

#endif
