// SPDX-License-Identifier: GPL-2.0
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>

#include "block/leg.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/overlay_write.h"
#include "block/volume.h"
#include "block/workqueue.h"

/* Copies are written again, later each time. */
#define OVERLAY_DELAY_MAX_MS	60000
/* A write of a copy has failed. */
#define OVERLAY_RETRY_MS	1000
/* Until a cache was not lost between the copies and their flush. */
#define OVERLAY_ROUNDS_MAX	5

struct overlay_run {
	struct istripe_range range;
	u64 sector;			/* of the volume's disk */
};

/*
 * The next blocks to be written, within an aligned page of the volume's disk and a chunk: the block
 * layer never splits them. A second request would need a tag, and waiting tasks may have them all.
 */
static bool overlay_next_run(struct istripe_leg *leg, const struct istripe_overlay *overlay,
			     u32 at, struct overlay_run *run)
{
	const struct istripe_stripe *stripe = &leg->volume->stripe;
	u32 shift = ilog2(istripe_overlay_block_bytes(leg)) - SECTOR_SHIFT;
	u32 piece_sectors = min_t(u32, PAGE_SECTORS, stripe->chunk_sectors);
	u32 blocks = istripe_range_blocks(&overlay->range);
	u32 first, most;

	spin_lock_bh(&leg->lock);
	first = find_next_bit(overlay->valid, blocks, at);
	run->range.lba = overlay->range.lba + first;
	run->sector = istripe_stripe_sector(stripe, leg->index, run->range.lba << shift);
	most = (piece_sectors - (run->sector & (piece_sectors - 1))) >> shift;
	run->range.end = overlay->range.lba +
			 find_next_zero_bit(overlay->valid, min(first + most, blocks), first);
	spin_unlock_bh(&leg->lock);
	return first < blocks;
}

/* Returns the writes that waited for the copy before, if any. */
static void overlay_set_copy(struct istripe_leg *leg, const struct bio_vec *copy, bool through,
			     struct list_head *list)
{
	spin_lock_bh(&leg->lock);
	leg->overlays.copy = copy;
	leg->overlays.copy_through = through;
	leg->overlays.copy_range = (struct istripe_range) {};
	list_splice_init(&leg->overlays.waiting, list);
	spin_unlock_bh(&leg->lock);
}

/*
 * A page of its own: when the write fails, the target may still get it. @through: it ends with a
 * flush of the LUN. Not FUA: the block layer flushes all legs, and may keep that flush until other
 * writes are done, which wait for it.
 */
static int overlay_write_run(struct istripe_leg *leg, const struct overlay_run *run, bool through)
{
	struct page *page = alloc_page(GFP_NOIO | __GFP_ZERO);
	struct bio_vec bvec;
	LIST_HEAD(list);
	struct bio bio;
	int ret;

	if (!page)
		return -ENOMEM;
	bio_init(&bio, leg->volume->disk->part0, &bvec, 1, REQ_OP_WRITE | REQ_SYNC | REQ_NOMERGE);
	/* Its content comes when it is sent: see istripe_overlays_admit(). */
	__bio_add_page(&bio, page, istripe_range_blocks(&run->range) *
		       istripe_overlay_block_bytes(leg), 0);
	bio.bi_iter.bi_sector = run->sector;
	overlay_set_copy(leg, &bvec, through, &list);
	ret = submit_bio_wait(&bio);
	overlay_set_copy(leg, NULL, false, &list);
	istripe_leg_redrive(leg, &list);
	bio_uninit(&bio);
	put_page(page);
	return ret;
}

/* With one flush. 0, or the first error: one block that fails keeps no other from being written. */
static int overlay_write(struct istripe_leg *leg, struct istripe_overlay *overlay)
{
	struct overlay_run run, next;
	bool more = overlay_next_run(leg, overlay, 0, &next);
	int error, ret = 0;

	while (more) {
		run = next;
		more = overlay_next_run(leg, overlay, run.range.end - overlay->range.lba, &next);
		error = overlay_write_run(leg, &run, !more);
		ret = ret ?: error;
	}
	return ret;
}

static bool overlay_is_fenced(struct istripe_leg *leg, const struct istripe_overlay *overlay)
{
	bool fenced;

	spin_lock_bh(&leg->lock);
	fenced = overlay->fenced;
	spin_unlock_bh(&leg->lock);
	return fenced;
}

/* Its ghost was over before it was written, and it is on the medium. */
static void overlay_forget(struct istripe_leg *leg, struct istripe_overlay *overlay)
{
	struct istripe_overlays *overlays = &leg->overlays;

	spin_lock_bh(&leg->lock);
	overlays->epoch = overlays->epoch + 1 ?: 1;
	list_del(&overlay->entry);
	WRITE_ONCE(overlays->bytes, overlays->bytes - istripe_overlay_bytes(leg, overlay));
	WRITE_ONCE(overlays->count, overlays->count - 1);
	spin_unlock_bh(&leg->lock);
	istripe_overlay_free(overlay);
}

/* The one behind @overlay, or the first one. */
static struct istripe_overlay *overlay_next(struct istripe_leg *leg,
					    const struct istripe_overlay *overlay)
{
	struct list_head *list = &leg->overlays.list, *next;

	spin_lock_bh(&leg->lock);
	next = overlay ? overlay->entry.next : list->next;
	spin_unlock_bh(&leg->lock);
	return next == list ? NULL : list_entry(next, struct istripe_overlay, entry);
}

/* Until the LUN cannot have lost its cache between the first block and the flush. */
static int overlay_write_safely(struct istripe_leg *leg, struct istripe_overlay *overlay)
{
	u32 generations, rounds = 0;
	int ret;

	do {
		/* It changes with all that may have cost the LUN its cache: write_through.h. */
		generations = READ_ONCE(leg->generations);
		overlay->over = overlay_is_fenced(leg, overlay);
		ret = overlay_write(leg, overlay);
		if (!ret && overlay->over && generations != READ_ONCE(leg->generations))
			ret = -EAGAIN;
	} while (ret == -EAGAIN && ++rounds < OVERLAY_ROUNDS_MAX);
	return ret;
}

/* Returns 0, or the first error. One caller at a time: nobody else takes overlays from the list. */
static int overlays_write(struct istripe_leg *leg)
{
	struct istripe_overlay *overlay, *next;
	int error, ret = 0;

	for (overlay = overlay_next(leg, NULL); overlay; overlay = next) {
		error = overlay_write_safely(leg, overlay);
		ret = ret ?: error;
		next = overlay_next(leg, overlay);
		if (!error && overlay->over)
			overlay_forget(leg, overlay);
	}
	return ret;
}

static void overlays_work(struct work_struct *work)
{
	struct istripe_overlays *overlays = container_of(to_delayed_work(work),
							 struct istripe_overlays, work);
	struct istripe_leg *leg = container_of(overlays, struct istripe_leg, overlays);
	u32 before = READ_ONCE(overlays->count), delay_ms = overlays->delay_ms;
	unsigned int noio = memalloc_noio_save();
	int ret = overlays_write(leg);

	memalloc_noio_restore(noio);
	delay_ms = clamp_t(u32, 2 * delay_ms,
			   ret ? OVERLAY_RETRY_MS : ISTRIPE_OVERLAY_DELAY_MIN_MS,
			   OVERLAY_DELAY_MAX_MS);
	spin_lock_bh(&leg->lock);
	overlays->delay_ms = overlays->count ? delay_ms : 0;
	/* It does not put off what has been queued meanwhile. */
	if (overlays->count && !overlays->stopped)
		queue_delayed_work(istripe_overlay_wq, &overlays->work,
				   msecs_to_jiffies(delay_ms));
	spin_unlock_bh(&leg->lock);
	if (!before || READ_ONCE(overlays->count))
		return;
	pr_info("%s/%u: the data that were kept in memory have been written\n",
		leg->volume->name, leg->index);
	istripe_announce(&leg->volume->announce);
}

/* Nobody queues the work any more. Returns whether copies may be written. */
static bool overlays_stop_queueing(struct istripe_leg *leg)
{
	bool may;

	spin_lock_bh(&leg->lock);
	leg->overlays.stopped = true;
	may = !leg->stopping;
	spin_unlock_bh(&leg->lock);
	cancel_delayed_work_sync(&leg->overlays.work);
	return may;
}

static bool overlays_any_fenced(struct istripe_leg *leg)
{
	const struct istripe_overlay *overlay;
	bool any = false;

	spin_lock_bh(&leg->lock);
	list_for_each_entry(overlay, &leg->overlays.list, entry)
		any |= overlay->fenced;
	spin_unlock_bh(&leg->lock);
	return any;
}

/* Again, when a ghost was over only after its copy was written. */
static int overlays_write_last(struct istripe_leg *leg)
{
	int ret;

	do {
		ret = overlays_write(leg);
	} while (!ret && overlays_any_fenced(leg));
	return ret;
}

static void leg_stop_overlays(struct istripe_leg *leg)
{
	bool may = overlays_stop_queueing(leg);
	u32 bytes = READ_ONCE(leg->overlays.bytes);

	if (!bytes || (may && !overlays_write_last(leg)))
		return;
	pr_err("%s/%u: %u bytes of overlays cannot be written: the LUN may have older data of these blocks\n",
	       leg->volume->name, leg->index, bytes);
	atomic_inc(&leg->volume->writeback.failed);
}

void istripe_overlay_write_stop(struct istripe_volume *volume)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		leg_stop_overlays(volume->legs[i]);
}

void istripe_overlay_write_init(struct istripe_leg *leg)
{
	INIT_DELAYED_WORK(&leg->overlays.work, overlays_work);
}
