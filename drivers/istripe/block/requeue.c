// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-cgroup.h>
#include <linux/blk-mq.h>
#include <linux/part_stat.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/overlay.h"
#include "block/per_cpu_sum.h"
#include "block/requeue.h"
#include "block/volume.h"

/* A leg that has answered nothing for so long is stuck. */
#define STUCK_MS	20

/* As many requests as there are tags; fewer when the user has lowered nr_requests. */
static u32 requeue_depth(const struct istripe_volume *volume)
{
	return min_t(u32, READ_ONCE(volume->queue_depth),
		     READ_ONCE(volume->disk->queue->nr_requests));
}

/* Does the leg answer nothing, and has its part of half of the tags? */
static bool requeue_is_quiet(const struct istripe_requeue *requeue)
{
	const struct istripe_volume *volume = requeue->volume;
	u32 tasks = atomic_read(&requeue->tasks);

	if (likely(tasks * volume->leg_count * 2 < requeue_depth(volume)))
		return false;
	return time_after(jiffies, READ_ONCE(requeue->answered) + msecs_to_jiffies(STUCK_MS));
}

/*
 * Tasks may not be with a target, but wait for the fence of a lost path, while another one serves.
 * So a leg that serves, and has less than its part in flight, gets its part of the other half as
 * well, until it answers: these may come to wait, too.
 */
static bool requeue_may_pass(const struct istripe_requeue *requeue)
{
	const struct istripe_volume *volume = requeue->volume;
	const struct istripe_leg *leg = container_of(requeue, struct istripe_leg, requeue);
	int depth = requeue_depth(volume), parts = volume->leg_count * 2;

	return READ_ONCE(leg->usable_nexuses) && !READ_ONCE(leg->unfenced_nexuses) &&
	       atomic_read(&requeue->passed) * parts < depth &&
	       istripe_per_cpu_sum(leg->allowance.in_flight) * parts < depth;
}

/* Does what is with no target have the leg's part, but for the task that ends now? */
static bool requeue_part_waits(const struct istripe_requeue *requeue)
{
	const struct istripe_volume *volume = requeue->volume;
	const struct istripe_leg *leg = container_of(requeue, struct istripe_leg, requeue);
	int waiting = atomic_read(&requeue->tasks) - 1 -
		      (int)istripe_per_cpu_sum(leg->allowance.in_flight);

	return waiting * (int)volume->leg_count * 2 >= (int)requeue_depth(volume);
}

static bool requeue_is_stuck(const struct istripe_requeue *requeue)
{
	return unlikely(requeue_is_quiet(requeue)) && !requeue_may_pass(requeue);
}

static void requeue_kick(struct istripe_requeue *requeue)
{
	if (READ_ONCE(requeue->bios.head) && !requeue_is_stuck(requeue))
		queue_work(requeue->volume->requeue_wq, &requeue->work);
}

void istripe_requeue_kick(struct istripe_leg *leg)
{
	/* As in istripe_requeue_task_end(). */
	smp_mb();
	requeue_kick(&leg->requeue);
}

/* Without a reference to the queue the end must not look for what goes with the disk. */
static void requeue_endio(struct bio *bio)
{
	struct request_queue *queue = bdev_get_queue(bio->bi_bdev);
	bool alive = percpu_ref_tryget(&queue->q_usage_counter);

	if (!alive) {
		bio_clear_flag(bio, BIO_QOS_THROTTLED);
		bio_clear_flag(bio, BIO_QOS_MERGED);
	}
	bio_endio(bio);
	if (alive)
		percpu_ref_put(&queue->q_usage_counter);
}

/* Its request has a reference to the queue, but a clone that a dying queue refuses has none. */
static void requeue_end(struct bio *clone)
{
	struct bio *bio = clone->bi_private;

	/* A bio that others are chained to may have an error of theirs. */
	if (clone->bi_status)
		bio->bi_status = clone->bi_status;
	bio_put(clone);
	requeue_endio(bio);
}

static bool bio_is_clone(const struct bio *bio)
{
	return bio->bi_end_io == requeue_end;
}

/*
 * A clone: io.latency of cgroups counts a bio whenever it is submitted, and once when it ends. It
 * is not of the cgroup, which has let the bio pass already. Without memory it waits for clones of
 * the same leg.
 */
static void requeue_submit(struct istripe_requeue *requeue, struct bio *bio)
{
	struct bio *clone;

	if (test_bit(GD_DEAD, &requeue->volume->disk->state)) {
		bio->bi_status = BLK_STS_IOERR;
		requeue_endio(bio);
		return;
	}
	clone = bio_alloc_clone(bio->bi_bdev, bio, GFP_NOIO, &requeue->clones);
	bio_associate_blkg_from_css(clone, blkcg_root_css);
	clone->bi_private = bio;
	clone->bi_end_io = requeue_end;
	clone->bi_opf &= ~REQ_NOWAIT;
	submit_bio_noacct(clone);
}

static struct bio *requeue_take(struct istripe_requeue *requeue)
{
	struct bio *bio;

	spin_lock_bh(&requeue->lock);
	bio = bio_list_pop(&requeue->bios);
	WRITE_ONCE(requeue->kept, requeue->kept - !!bio);
	spin_unlock_bh(&requeue->lock);
	return bio;
}

static void requeue_work(struct work_struct *work)
{
	struct istripe_requeue *requeue = container_of(work, struct istripe_requeue, work);
	struct blk_plug plug;
	struct bio *bio;

	/* They may have been merged before. */
	blk_start_plug(&plug);
	while (!requeue_is_stuck(requeue) && (bio = requeue_take(requeue)))
		requeue_submit(requeue, bio);
	blk_finish_plug(&plug);
}

void istripe_requeue_task_end(struct istripe_leg *leg)
{
	struct istripe_requeue *requeue = &leg->requeue;
	bool passed = atomic_read(&requeue->passed);

	/* Else each answer would let in as many that come to wait as there are tags. */
	if (unlikely(passed) && requeue_part_waits(requeue)) {
		atomic_dec_if_positive(&requeue->passed);
	} else {
		WRITE_ONCE(requeue->answered, jiffies);
		if (unlikely(passed))
			atomic_set(&requeue->passed, 0);
	}
	atomic_dec(&requeue->tasks);
	/* Pairs with that in requeue_keep(): one of the two sees what the other one has done. */
	smp_mb__after_atomic();
	requeue_kick(requeue);
}

/* Writes that hold tags may wait for a copy of an overlay. */
static bool requeue_may(const struct istripe_io *io, const struct request *rq)
{
	const struct bio_vec *copy = READ_ONCE(io->tasks[0].leg->overlays.copy);

	return rq->bio && !(rq->rq_flags & (RQF_FLUSH_SEQ | RQF_DONTPREP)) &&
	       (!copy || rq->bio->bi_io_vec != copy);
}

/* The bio that was submitted again, unless its clone has been split. */
static struct bio *requeue_origin(struct bio *bio)
{
	struct bio *origin = bio->bi_private;

	if (!bio_is_clone(bio) || bio_flagged(bio, BIO_CHAIN))
		return bio;
	bio_put(bio);
	return origin;
}

/* blk_steal_bios() of newer kernels clears flags, too, that io.latency looks at when they end. */
static void requeue_take_bios(struct request *rq, struct bio_list *bios)
{
	bios->head = rq->bio;
	bios->tail = rq->biotail;
	rq->bio = NULL;
	rq->biotail = NULL;
	rq->__data_len = 0;
}

/* The block layer counts a request that ends as done, and will count the one that comes again. */
static void requeue_uncount(const struct request *rq)
{
	if (!(rq->rq_flags & RQF_IO_STAT))
		return;
	part_stat_lock();
	part_stat_dec(rq->part, ios[op_stat_group(req_op(rq))]);
	part_stat_unlock();
}

static void requeue_keep(struct istripe_requeue *requeue, struct request *rq)
{
	struct bio_list taken, bios = BIO_EMPTY_LIST;
	struct bio *bio;

	requeue_uncount(rq);
	requeue_take_bios(rq, &taken);
	while ((bio = bio_list_pop(&taken))) {
		bio_clear_polled(bio);
		bio_list_add(&bios, requeue_origin(bio));
	}
	spin_lock_bh(&requeue->lock);
	WRITE_ONCE(requeue->kept, requeue->kept + bio_list_size(&bios));
	bio_list_merge(&requeue->bios, &bios);
	spin_unlock_bh(&requeue->lock);
	/* See istripe_requeue_task_end(). While the request is there, so is the queue. */
	smp_mb();
	requeue_kick(requeue);
	blk_mq_end_request(rq, BLK_STS_OK);
}

bool istripe_requeue_begin(struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu(io);
	struct istripe_requeue *requeue;
	bool quiet = false;
	u32 i;

	for (i = 0; i < io->task_count; i++) {
		requeue = &io->tasks[i].leg->requeue;
		if (likely(!requeue_is_quiet(requeue)))
			continue;
		quiet = true;
		if (!requeue_may_pass(requeue) && requeue_may(io, rq)) {
			requeue_keep(requeue, rq);
			return true;
		}
	}
	for (i = 0; i < io->task_count; i++) {
		requeue = &io->tasks[i].leg->requeue;
		if (unlikely(quiet) && requeue_is_quiet(requeue))
			atomic_inc(&requeue->passed);
		if (atomic_inc_return(&requeue->tasks) == 1)
			WRITE_ONCE(requeue->answered, jiffies);
	}
	return false;
}

static int requeue_init(struct istripe_requeue *requeue, struct istripe_volume *volume)
{
	requeue->volume = volume;
	spin_lock_init(&requeue->lock);
	bio_list_init(&requeue->bios);
	INIT_WORK(&requeue->work, requeue_work);
	return bioset_init(&requeue->clones, BIO_POOL_SIZE, 0, 0);
}

int istripe_requeue_init(struct istripe_volume *volume)
{
	int ret;
	u32 i;

	if (volume->leg_count == 1)
		return 0;
	volume->requeue_wq = alloc_workqueue("istripe_requeue", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!volume->requeue_wq)
		return -ENOMEM;
	for (i = 0; i < volume->leg_count; i++) {
		ret = requeue_init(&volume->legs[i]->requeue, volume);
		if (ret)
			return ret;
	}
	return 0;
}

static void requeue_stop(struct istripe_requeue *requeue)
{
	flush_work(&requeue->work);
	WARN_ON_ONCE(!bio_list_empty(&requeue->bios) || atomic_read(&requeue->tasks));
}

void istripe_requeue_stop(struct istripe_volume *volume)
{
	u32 i;

	for (i = 0; volume->requeue_wq && i < volume->leg_count; i++)
		requeue_stop(&volume->legs[i]->requeue);
}

void istripe_requeue_free(struct istripe_volume *volume)
{
	u32 i;

	if (!volume->requeue_wq)
		return;
	for (i = 0; i < volume->leg_count; i++)
		bioset_exit(&volume->legs[i]->requeue.clones);
	destroy_workqueue(volume->requeue_wq);
}
