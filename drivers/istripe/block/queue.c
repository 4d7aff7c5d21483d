// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/processor.h>
#include <linux/slab.h>

#include "block/io.h"
#include "block/io_timeout.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/queue.h"
#include "block/volume.h"
#include "transport/session.h"

static_assert(sizeof(u64) * BITS_PER_BYTE >= ISTRIPE_LEGS_MAX);

struct istripe_queue {
	struct istripe_queue *next;	/* of the volume */
	struct istripe_volume *volume;
	u32 lane;			/* with @stride: see queue_lane() */
	u32 stride;
	atomic64_t unpushed;		/* a bit for each leg */
};

/* @legs: a bit for each leg that tasks of ISTRIPE_SUBMIT_MORE have gone to. */
static void queue_note_unpushed(struct istripe_queue *queue, u64 legs)
{
	/*
	 * The commands are on their connections' lists before the bits are set; pairs with the xchg
	 * in queue_push(): a submitter that takes the bits finds the commands.
	 */
	smp_mb__before_atomic();
	atomic64_or(legs, &queue->unpushed);
}

static void queue_push(struct istripe_queue *queue)
{
	u64 legs;

	/* Without a bit another submitter has taken ours, and pushes. */
	if (!atomic64_read(&queue->unpushed))
		return;
	legs = atomic64_xchg(&queue->unpushed, 0);
	while (legs) {
		u32 leg = __ffs64(legs);

		legs &= legs - 1;
		istripe_leg_push(queue->volume->legs[leg]);
	}
}

/*
 * Hardware queue i uses connection i of a path, modulo their number, in one session or in several.
 * With more connections than processors, and so than queues, each queue has several connections,
 * and its requests take turns. Requests of a polled queue use one: the poller polls one.
 */
static u32 queue_lane(const struct istripe_queue *queue, const struct request *rq)
{
	return queue->lane + queue->stride * rq->tag;
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct istripe_queue *queue = hctx->driver_data;
	u64 legs;

	bd->rq->timeout = istripe_io_timeout_first(bd->rq);
	blk_mq_start_request(bd->rq);
	legs = istripe_io_start(queue->volume, bd->rq, queue_lane(queue, bd->rq), !bd->last);
	/* Earlier requests of the batch may have gone over other connections. */
	if (bd->last)
		queue_push(queue);
	else
		queue_note_unpushed(queue, legs);
	return BLK_STS_OK;
}

static void queue_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	queue_push(hctx->driver_data);
}

static enum blk_eh_timer_return queue_timeout(struct request *rq)
{
	istripe_io_timeout(rq);
	/* The request goes on: only the end of its tasks ends it (P47). */
	return BLK_EH_RESET_TIMER;
}

static void queue_poll_nexus(struct istripe_nexus *nexus, u32 lane)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);

	if (session)
		istripe_session_poll(session, lane);
	srcu_read_unlock(&nexus->srcu, section);
}

static void queue_poll_leg(struct istripe_leg *leg, u32 lane)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	struct istripe_nexus *nexus;

	istripe_leg_for_each_path(leg, path) {
		nexus = istripe_path_pick(path, lane);
		if (nexus)
			queue_poll_nexus(nexus, lane);
	}
	srcu_read_unlock(&leg->srcu, section);
}

/*
 * Polls all connections of the queue once, and always says that there may be completions. After "no
 * completion" the block layer would poll on, without checking the request, which another processor
 * or recovery may have completed. Nor would it relax the processor, which is shared with another
 * hardware thread.
 *
 * Context: an RCU section (bio_poll()), so nothing may sleep. A nexus without a session is not
 * polled.
 */
static int queue_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *batch)
{
	struct istripe_queue *queue = hctx->driver_data;
	struct istripe_volume *volume = queue->volume;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		queue_poll_leg(volume->legs[i], queue->lane);
	cpu_relax();
	return 1;
}

static void queue_map(struct blk_mq_tag_set *set)
{
	struct blk_mq_queue_map *map = set->map;

	if (set->nr_maps > HCTX_TYPE_POLL) {
		const struct istripe_volume *volume = set->driver_data;

		map[HCTX_TYPE_DEFAULT].nr_queues = volume->queue_count;
		map[HCTX_TYPE_READ].nr_queues = 0;
		map[HCTX_TYPE_POLL].nr_queues = volume->poll_queue_count;
		map[HCTX_TYPE_POLL].queue_offset = volume->queue_count;
		blk_mq_map_queues(&map[HCTX_TYPE_POLL]);
	}
	blk_mq_map_queues(&map[HCTX_TYPE_DEFAULT]);
}

static int queue_init_hctx(struct blk_mq_hw_ctx *hctx, void *driver_data, unsigned int index)
{
	struct istripe_volume *volume = driver_data;
	struct istripe_queue *queue = kzalloc_node(sizeof(*queue), GFP_KERNEL, hctx->numa_node);

	if (!queue)
		return -ENOMEM;
	queue->volume = volume;
	queue->next = volume->queues;
	volume->queues = queue;
	if (index < volume->queue_count) {
		queue->lane = index;
		queue->stride = volume->queue_count;
	} else {
		/* @stride is 0: one connection of each path is polled. */
		queue->lane = index - volume->queue_count;
	}
	hctx->driver_data = queue;
	return 0;
}

void istripe_queues_free(struct istripe_volume *volume)
{
	struct istripe_queue *queue;

	while ((queue = volume->queues)) {
		volume->queues = queue->next;
		kfree(queue);
	}
}

const struct blk_mq_ops istripe_queue_ops = {
	.queue_rq = queue_rq,
	.commit_rqs = queue_commit_rqs,
	.complete = istripe_io_complete,
	.timeout = queue_timeout,
	.poll = queue_poll,
	.map_queues = queue_map,
	.init_hctx = queue_init_hctx,
};
