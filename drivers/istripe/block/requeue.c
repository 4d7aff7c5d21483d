// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-cgroup.h>
#include <linux/blk-mq.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/overlay.h"
#include "block/requeue.h"
#include "block/volume.h"

/* As many requests as there are tags; fewer when the user has lowered nr_requests. */
static u32 requeue_depth(const struct istripe_volume *volume)
{
	return min_t(u32, READ_ONCE(volume->queue_depth),
		     READ_ONCE(volume->disk->queue->nr_requests));
}

static u32 requeue_share(const struct istripe_volume *volume)
{
	return max(requeue_depth(volume) / (2 * (volume->leg_count + 1)), 1u);
}

/* Of what is kept free for @requeue, which it may always have. */
static u32 requeue_left(const struct istripe_requeue *requeue, u32 share)
{
	u32 begun = atomic_read(&requeue->begun);

	return begun < share ? share - begun : 0;
}

/* Are all tags taken but those that are kept free for others? */
static bool requeue_is_over(const struct istripe_requeue *requeue)
{
	const struct istripe_volume *volume = requeue->volume;
	u32 depth = requeue_depth(volume);
	u32 share = requeue_share(volume);
	u32 begun = atomic_read(&volume->requeue.begun);
	u32 i;

	if (likely(begun < depth / 2) || requeue_left(requeue, share))
		return false;
	for (i = 0; i < volume->leg_count; i++)
		begun += requeue_left(&volume->legs[i]->requeue, share);
	return begun + requeue_left(&volume->requeue.several, share) >= depth;
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
static void requeue_submit(struct istripe_volume *volume, struct bio *bio)
{
	struct bio *clone;

	/* Without a reference to the queue its end must not look for what goes with the disk. */
	if (test_bit(GD_DEAD, &volume->disk->state)) {
		bio_clear_flag(bio, BIO_QOS_THROTTLED);
		bio_clear_flag(bio, BIO_QOS_MERGED);
		bio_io_error(bio);
		return;
	}
	clone = bio_alloc_clone(volume->disk->part0, bio, GFP_NOIO, &volume->requeue.clones);
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
	spin_unlock_bh(&requeue->lock);
	if (bio)
		atomic_dec(&requeue->volume->requeue.kept);
	return bio;
}

static void requeue_work(struct work_struct *work)
{
	struct istripe_requeue *requeue = container_of(work, struct istripe_requeue, work);
	struct bio *bio;

	while (!requeue_is_over(requeue) && (bio = requeue_take(requeue)))
		requeue_submit(requeue->volume, bio);
}

static void requeue_kick(struct istripe_requeue *requeue)
{
	if (!bio_list_empty(&requeue->bios) && !requeue_is_over(requeue))
		queue_work(requeue->volume->requeue.wq, &requeue->work);
}

/* One that needs several legs counts for that which has the most, if that is a share or more. */
static struct istripe_requeue *requeue_of(const struct istripe_io *io)
{
	struct istripe_leg *leg = io->tasks[0].leg;
	struct istripe_requeue *requeue = &leg->volume->requeue.several;
	u32 i, begun, most = requeue_share(leg->volume);

	if (leg == io->tasks[io->task_count - 1].leg)
		return &leg->requeue;
	for (i = 0; i < io->task_count; i++) {
		begun = atomic_read(&io->tasks[i].leg->requeue.begun);
		if (begun >= most) {
			most = begun;
			requeue = &io->tasks[i].leg->requeue;
		}
	}
	return requeue;
}

void istripe_requeue_end(const struct istripe_io *io)
{
	struct istripe_requeue *requeue = io->requeue;
	struct istripe_volume *volume;
	u32 i;

	if (!requeue)
		return;
	volume = requeue->volume;
	atomic_dec(&requeue->begun);
	atomic_dec(&volume->requeue.begun);
	/* Pairs with that in requeue_keep(): one of the two sees what the other one has done. */
	smp_mb__after_atomic();
	if (likely(!atomic_read(&volume->requeue.kept)))
		return;
	for (i = 0; i < volume->leg_count; i++)
		requeue_kick(&volume->legs[i]->requeue);
	requeue_kick(&volume->requeue.several);
}

/* Writes that hold tags may wait for a copy of an overlay. */
static bool requeue_may(const struct istripe_io *io, const struct request *rq)
{
	const struct bio_vec *copy = READ_ONCE(io->tasks[0].leg->overlays.copy);

	return rq->bio && !(rq->rq_flags & (RQF_FLUSH_SEQ | RQF_DONTPREP)) &&
	       (!copy || rq->bio->bi_io_vec != copy);
}

static bool requeue_wants(const struct istripe_requeue *requeue, const struct request *rq)
{
	bool in_turn = bio_list_empty(&requeue->bios) || (rq->bio && bio_is_clone(rq->bio));

	return unlikely(!in_turn || requeue_is_over(requeue));
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

static void requeue_keep(struct istripe_requeue *requeue, struct request *rq)
{
	bool again = bio_is_clone(rq->bio);
	struct bio_list taken, bios = BIO_EMPTY_LIST;
	struct bio *bio;

	requeue_take_bios(rq, &taken);
	while ((bio = bio_list_pop(&taken))) {
		bio_clear_polled(bio);
		bio_list_add(&bios, requeue_origin(bio));
		atomic_inc(&requeue->volume->requeue.kept);
	}
	spin_lock_bh(&requeue->lock);
	if (again)
		bio_list_merge_head(&requeue->bios, &bios);
	else
		bio_list_merge(&requeue->bios, &bios);
	spin_unlock_bh(&requeue->lock);
	/* See istripe_requeue_end(). While the request is there the disk is, and so the queue. */
	smp_mb();
	requeue_kick(requeue);
	blk_mq_end_request(rq, BLK_STS_OK);
}

bool istripe_requeue_begin(struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu(io);
	struct istripe_requeue *requeue;

	io->requeue = NULL;
	if (!io->task_count)
		return false;
	requeue = requeue_of(io);
	if (requeue_wants(requeue, rq) && requeue_may(io, rq)) {
		requeue_keep(requeue, rq);
		return true;
	}
	io->requeue = requeue;
	atomic_inc(&requeue->begun);
	atomic_inc(&requeue->volume->requeue.begun);
	return false;
}

static void requeue_init(struct istripe_requeue *requeue, struct istripe_volume *volume)
{
	requeue->volume = volume;
	spin_lock_init(&requeue->lock);
	bio_list_init(&requeue->bios);
	INIT_WORK(&requeue->work, requeue_work);
}

int istripe_requeue_init(struct istripe_volume *volume)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		requeue_init(&volume->legs[i]->requeue, volume);
	requeue_init(&volume->requeue.several, volume);
	if (volume->leg_count == 1)
		return 0;
	volume->requeue.wq = alloc_workqueue("istripe_requeue", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!volume->requeue.wq)
		return -ENOMEM;
	return bioset_init(&volume->requeue.clones, BIO_POOL_SIZE, 0, 0);
}

static void requeue_stop(struct istripe_requeue *requeue)
{
	flush_work(&requeue->work);
	WARN_ON_ONCE(!bio_list_empty(&requeue->bios) || atomic_read(&requeue->begun));
}

void istripe_requeue_stop(struct istripe_volume *volume)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		requeue_stop(&volume->legs[i]->requeue);
	requeue_stop(&volume->requeue.several);
}

void istripe_requeue_free(struct istripe_volume *volume)
{
	if (volume->requeue.wq)
		destroy_workqueue(volume->requeue.wq);
	bioset_exit(&volume->requeue.clones);
}
