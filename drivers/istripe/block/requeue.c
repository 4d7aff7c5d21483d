// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-cgroup.h>
#include <linux/blk-mq.h>
#include <compat/disk.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/overlay.h"
#include "block/requeue.h"
#include "block/volume.h"

/* A leg has its share, and half of that more: with random requests legs differ by less. */
static u32 requeue_share(const struct istripe_volume *volume)
{
	return max(3 * READ_ONCE(volume->queue_depth) / (2 * volume->leg_count), 1u);
}

/* Legs that have more than that may together hold three quarters of the tags. */
static bool requeue_is_over(const struct istripe_leg *leg)
{
	const struct istripe_volume *volume = leg->volume;
	u32 share = requeue_share(volume);
	u32 held, i, sum = 0;

	if (likely(atomic_read(&leg->requeue.held) < share))
		return false;
	for (i = 0; i < volume->leg_count; i++) {
		held = atomic_read(&volume->legs[i]->requeue.held);
		if (held >= share)
			sum += held;
	}
	return sum >= 3 * READ_ONCE(volume->queue_depth) / 4;
}

static void requeue_end(struct bio *clone)
{
	struct bio *bio = clone->bi_private;

	/* A bio that others are chained to may have an error of theirs. */
	if (clone->bi_status)
		bio->bi_status = clone->bi_status;
	bio_put(clone);
	bio_endio(bio);
}

static bool bio_is_clone(const struct bio *bio)
{
	return bio->bi_end_io == requeue_end;
}

/*
 * A clone: io.latency of cgroups counts a bio whenever it is submitted, and once when it ends. It
 * is not of the cgroup, which has let the bio pass already.
 */
static void requeue_submit(struct istripe_leg *leg, struct bio *bio)
{
	struct istripe_volume *volume = leg->volume;
	struct bio *clone = bio_alloc_clone(volume->disk->part0, bio, GFP_NOIO,
					    &volume->requeue.clones);

	bio_associate_blkg_from_css(clone, blkcg_root_css);
	clone->bi_private = bio;
	clone->bi_end_io = requeue_end;
	clone->bi_opf &= ~REQ_NOWAIT;
	submit_bio_noacct(clone);
}

static struct bio *requeue_take(struct istripe_leg *leg)
{
	struct bio *bio;

	spin_lock_bh(&leg->requeue.lock);
	bio = bio_list_pop(&leg->requeue.bios);
	spin_unlock_bh(&leg->requeue.lock);
	return bio;
}

static void requeue_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(work, struct istripe_leg, requeue.work);
	struct bio *bio;

	while (!requeue_is_over(leg) && (bio = requeue_take(leg)))
		requeue_submit(leg, bio);
}

static void requeue_kick(struct istripe_leg *leg)
{
	/* Pairs with itself: of a request that ends and one that is kept, one sees the other. */
	smp_mb();
	if (!bio_list_empty(&leg->requeue.bios) && !requeue_is_over(leg))
		queue_work(leg->volume->requeue.wq, &leg->requeue.work);
}

void istripe_requeue_release(struct istripe_leg *leg)
{
	atomic_dec(&leg->requeue.held);
	requeue_kick(leg);
}

/* Writes that hold tags may wait for a copy of an overlay. */
static bool requeue_may(const struct istripe_leg *leg, const struct request *rq)
{
	return rq->bio && !(rq->rq_flags & (RQF_FLUSH_SEQ | RQF_DONTPREP)) &&
	       rq->bio->bi_io_vec != READ_ONCE(leg->overlays.copy);
}

static bool requeue_wants(const struct istripe_leg *leg, const struct request *rq)
{
	if (likely(bio_list_empty(&leg->requeue.bios) || bio_is_clone(rq->bio)) &&
	    likely(!requeue_is_over(leg)))
		return false;
	return requeue_may(leg, rq);
}

struct istripe_leg *istripe_requeue_leg(const struct istripe_io *io)
{
	const struct request *rq = blk_mq_rq_from_pdu((void *)io);
	u32 i;

	for (i = 0; rq->bio && i < io->task_count; i++)
		if (io->tasks[i].holds && requeue_wants(io->tasks[i].leg, rq))
			return io->tasks[i].leg;
	return NULL;
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

void istripe_requeue_keep(struct istripe_leg *leg, struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu(io);
	bool again = bio_is_clone(rq->bio);
	struct bio_list taken = BIO_EMPTY_LIST, bios = BIO_EMPTY_LIST;
	struct bio *bio;

	blk_steal_bios(&taken, rq);
	while ((bio = bio_list_pop(&taken))) {
		bio_clear_polled(bio);
		bio_list_add(&bios, requeue_origin(bio));
	}
	spin_lock_bh(&leg->requeue.lock);
	if (again)
		bio_list_merge_head(&leg->requeue.bios, &bios);
	else
		bio_list_merge(&leg->requeue.bios, &bios);
	spin_unlock_bh(&leg->requeue.lock);
	blk_mq_end_request(rq, BLK_STS_OK);
	requeue_kick(leg);
}

void istripe_requeue_init(struct istripe_leg *leg)
{
	spin_lock_init(&leg->requeue.lock);
	bio_list_init(&leg->requeue.bios);
	INIT_WORK(&leg->requeue.work, requeue_work);
}

void istripe_requeue_stop(struct istripe_leg *leg)
{
	flush_work(&leg->requeue.work);
	WARN_ON_ONCE(!bio_list_empty(&leg->requeue.bios) || atomic_read(&leg->requeue.held));
}

int istripe_requeue_volume_init(struct istripe_volume *volume)
{
	if (volume->leg_count == 1)
		return 0;
	volume->requeue.wq = alloc_workqueue("istripe_requeue", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!volume->requeue.wq)
		return -ENOMEM;
	return bioset_init(&volume->requeue.clones, BIO_POOL_SIZE, 0, 0);
}

void istripe_requeue_volume_free(struct istripe_volume *volume)
{
	if (volume->requeue.wq)
		destroy_workqueue(volume->requeue.wq);
	bioset_exit(&volume->requeue.clones);
}
