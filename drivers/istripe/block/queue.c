// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/slab.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/queue.h"
#include "block/volume.h"

static_assert(sizeof(u64) * BITS_PER_BYTE >= ISTRIPE_LEGS_MAX);

void istripe_queue_hold(struct istripe_queue *queue, u64 legs)
{
	/*
	 * What is held is on its connection's list by now: whoever takes our bits away pushes
	 * after that, and finds it.
	 */
	smp_mb__before_atomic();
	atomic64_or(legs, &queue->held);
}

void istripe_queue_push(struct istripe_queue *queue)
{
	u64 legs;

	/* Our own bits we see, or somebody else has taken them. */
	if (!atomic64_read(&queue->held))
		return;
	legs = atomic64_xchg(&queue->held, 0);
	while (legs) {
		u32 leg = __ffs64(legs);

		legs &= legs - 1;
		istripe_leg_push(queue->volume->legs[leg]);
	}
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	blk_mq_start_request(bd->rq);
	istripe_io_start(hctx->driver_data, bd->rq, bd->last);
	return BLK_STS_OK;
}

static void queue_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	istripe_queue_push(hctx->driver_data);
}

static enum blk_eh_timer_return queue_timeout(struct request *rq)
{
	istripe_io_timeout(rq);
	/* The request is still ours: only its tasks' ends end it (P47). */
	return BLK_EH_RESET_TIMER;
}

static int queue_init_hctx(struct blk_mq_hw_ctx *hctx, void *driver_data, unsigned int index)
{
	struct istripe_volume *volume = driver_data;
	struct istripe_queue *queue = kzalloc_node(sizeof(*queue), GFP_KERNEL, hctx->numa_node);

	if (!queue)
		return -ENOMEM;
	queue->volume = volume;
	queue->lane = index;
	queue->turns = volume->queue_count;
	hctx->driver_data = queue;
	return 0;
}

/* The disk is gone and its requests with it: nobody asks for the queue any more. */
static void queue_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	kfree(hctx->driver_data);
}

const struct blk_mq_ops istripe_queue_ops = {
	.queue_rq = queue_rq,
	.commit_rqs = queue_commit_rqs,
	.complete = istripe_io_complete,
	.timeout = queue_timeout,
	.init_hctx = queue_init_hctx,
	.exit_hctx = queue_exit_hctx,
};
