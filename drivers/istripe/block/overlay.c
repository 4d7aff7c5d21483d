// SPDX-License-Identifier: GPL-2.0
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/blk-mq.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <scsi/scsi_proto.h>

#include "block/leg.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/volume.h"
#include "block/workqueue.h"

/* Of all overlays of a leg, and of one. */
#define OVERLAYS_BYTES_MAX	(16 * OVERLAY_BYTES_MAX)
#define OVERLAY_BYTES_MAX	(1024u * 1024)
#define OVERLAY_GFP		(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)

u32 istripe_overlay_block_bytes(const struct istripe_leg *leg)
{
	return leg->lun.capacity.block_bytes;
}

u32 istripe_overlay_bytes(const struct istripe_leg *leg, const struct istripe_overlay *overlay)
{
	return istripe_range_blocks(&overlay->range) * istripe_overlay_block_bytes(leg);
}

/* The first block from @lba on that is none of the overlay's newer data. */
static u64 overlay_end(const struct istripe_overlay *overlay, u64 lba)
{
	u64 first = overlay->range.lba;

	if (lba < first || lba >= overlay->range.end)
		return lba;
	return first + find_next_zero_bit(overlay->valid, istripe_range_blocks(&overlay->range),
					  lba - first);
}

bool istripe_overlays_cover(const struct istripe_leg *leg, const struct istripe_range *range)
{
	const struct istripe_overlay *overlay;
	u64 from, to = range->lba;

	lockdep_assert_held(&leg->lock);
	do {
		from = to;
		/* The last copy of one that is fenced may have been sent before the ghost was. */
		list_for_each_entry(overlay, &leg->overlays.list, entry)
			if (!overlay->fenced)
				to = overlay_end(overlay, to);
	} while (to > from && to < range->end);
	return to >= range->end;
}

/* Creation */

void istripe_overlay_free(struct istripe_overlay *overlay)
{
	if (!overlay)
		return;
	bitmap_free(overlay->valid);
	kvfree(overlay->data);
	kfree(overlay);
}

struct istripe_overlay *istripe_overlay_alloc(const struct istripe_leg *leg,
					      const struct istripe_range *range)
{
	struct istripe_overlay *overlay = kzalloc(sizeof(*overlay), OVERLAY_GFP);
	u32 blocks = istripe_range_blocks(range);

	if (!overlay)
		return NULL;
	overlay->range = *range;
	overlay->valid = bitmap_zalloc(blocks, OVERLAY_GFP);
	overlay->data = kvmalloc_array(blocks, istripe_overlay_block_bytes(leg), OVERLAY_GFP);
	if (overlay->valid && overlay->data)
		return overlay;
	istripe_overlay_free(overlay);
	return NULL;
}

u32 istripe_overlay_blocks_max(const struct istripe_leg *leg)
{
	return OVERLAY_BYTES_MAX / istripe_overlay_block_bytes(leg);
}

u32 istripe_overlay_blocks_left(const struct istripe_leg *leg)
{
	lockdep_assert_held(&leg->lock);
	return (OVERLAYS_BYTES_MAX - leg->overlays.bytes) / istripe_overlay_block_bytes(leg);
}

/* Earlier than those of other overlays; what is fenced is being written. */
static void overlay_queue(struct istripe_overlays *overlays)
{
	const struct istripe_overlay *overlay;

	list_for_each_entry(overlay, &overlays->list, entry)
		if (overlay->fenced)
			return;
	if (!overlays->stopped)
		mod_delayed_work(istripe_overlay_wq, &overlays->work,
				 msecs_to_jiffies(ISTRIPE_OVERLAY_DELAY_MIN_MS));
}

void istripe_overlay_add(struct istripe_leg *leg, struct istripe_overlay *overlay)
{
	struct istripe_overlays *overlays = &leg->overlays;
	struct istripe_range all = overlays->count ? overlays->all : overlay->range;

	istripe_range_add(&all, &overlay->range);
	list_add_tail(&overlay->entry, &overlays->list);
	WRITE_ONCE(overlays->all.lba, all.lba);
	WRITE_ONCE(overlays->all.end, all.end);
	WRITE_ONCE(overlays->bytes, overlays->bytes + istripe_overlay_bytes(leg, overlay));
	WRITE_ONCE(overlays->count, overlays->count + 1);
	overlay_queue(overlays);
}

void istripe_overlays_fenced(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	struct istripe_overlay *overlay;
	bool any = false;
	u32 i;

	lockdep_assert_held(&leg->lock);
	for (i = 0; i < nexus->ghosts.count; i++) {
		overlay = nexus->ghosts.ghosts[i].overlay;
		if (overlay)
			overlay->fenced = true;
		any = any || overlay;
	}
	if (any && !leg->overlays.stopped)
		mod_delayed_work(istripe_overlay_wq, &leg->overlays.work, 0);
}

/* Tasks */

static void overlay_note(struct istripe_overlay *overlay, const struct istripe_leg_task *leg_task,
			 u64 lba, const struct istripe_range *shared)
{
	const struct istripe_task *task = &leg_task->task;
	u32 block_bytes = istripe_overlay_block_bytes(leg_task->leg);
	u32 at = shared->lba - overlay->range.lba, blocks = istripe_range_blocks(shared);
	u8 *to = overlay->data + (size_t)at * block_bytes;
	struct istripe_cursor cursor = {};

	switch (task->cdb[0]) {
	case UNMAP:
	case WRITE_SAME_16:
		memset(to, 0, (size_t)blocks * block_bytes);
		break;
	default:
		istripe_cursor_seek(&cursor, &task->data, (shared->lba - lba) * block_bytes);
		istripe_cursor_copy_out(&cursor, &task->data, to, blocks * block_bytes);
	}
	/* Of a ghost that is over, what is to be written gets less, not more. */
	if (!overlay->fenced)
		bitmap_set(overlay->valid, at, blocks);
}

/* To a task that reads, or writes a copy. */
static void overlay_fill(const struct istripe_overlay *overlay,
			 const struct istripe_leg_task *leg_task, u64 lba,
			 const struct istripe_range *shared)
{
	const struct istripe_task *task = &leg_task->task;
	u64 first = overlay->range.lba;
	u32 from = shared->lba - first, to = shared->end - first, end;
	u32 bytes = istripe_overlay_block_bytes(leg_task->leg);
	struct istripe_cursor cursor = {};

	for (from = find_next_bit(overlay->valid, to, from); from < to;
	     from = find_next_bit(overlay->valid, to, end)) {
		end = find_next_zero_bit(overlay->valid, to, from);
		istripe_cursor_seek(&cursor, &task->data, (first + from - lba) * bytes);
		istripe_cursor_copy_in(&cursor, &task->data, overlay->data + (size_t)from * bytes,
				       (end - from) * bytes);
	}
}

/* The newest data of a task's blocks, as far as there are any. */
static void overlays_fill(const struct istripe_leg_task *leg_task,
			  const struct istripe_range *range)
{
	const struct istripe_overlay *overlay;
	struct istripe_range shared;

	list_for_each_entry(overlay, &leg_task->leg->overlays.list, entry)
		if (istripe_range_share(&overlay->range, range, &shared))
			overlay_fill(overlay, leg_task, range->lba, &shared);
}

/* By its segments, which are those of a part of it, too. */
static bool task_writes_copy(const struct istripe_overlays *overlays,
			     const struct istripe_leg_task *leg_task)
{
	const struct request *rq = blk_mq_rq_from_pdu(leg_task->io);

	return overlays->copy && rq->bio && rq->bio->bi_io_vec == overlays->copy;
}

/* Returns whether the data of a write are noted. */
static bool overlays_note(struct istripe_leg_task *leg_task, const struct istripe_range *range)
{
	struct istripe_overlays *overlays = &leg_task->leg->overlays;
	struct istripe_overlay *overlay;
	struct istripe_range shared;
	bool noted = false;
	u32 from, to;

	list_for_each_entry(overlay, &overlays->list, entry) {
		if (!istripe_range_share(&overlay->range, range, &shared))
			continue;
		from = shared.lba - overlay->range.lba;
		to = shared.end - overlay->range.lba;
		if (leg_task->task.write) {
			overlay_note(overlay, leg_task, range->lba, &shared);
			noted = true;
		} else if (find_next_bit(overlay->valid, to, from) < to) {
			leg_task->overlay_epoch = overlays->epoch;
		}
	}
	return noted;
}

enum istripe_overlay_admits istripe_overlays_admit(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_overlays *overlays = &leg->overlays;
	struct istripe_range range;

	lockdep_assert_held(&leg->lock);
	istripe_leg_task_range(leg_task, &range);
	leg_task->overlay_epoch = 0;
	if (task_writes_copy(overlays, leg_task)) {
		/* It may be several tasks, over several paths. */
		istripe_range_add(&overlays->copy_range, &range);
		leg_task->through = overlays->copy_through;
		overlays_fill(leg_task, &range);
	} else if (leg_task->task.write && istripe_range_meets(&overlays->copy_range, &range)) {
		istripe_leg_task_stop_clocks(leg_task);
		list_add_tail(&leg_task->entry, &overlays->waiting);
		return ISTRIPE_OVERLAY_WAITS;
	}
	/* A copy, too: it may be newer than all that an overlay of another nexus has seen. */
	return overlays_note(leg_task, &range) ? ISTRIPE_OVERLAY_NOTED : ISTRIPE_OVERLAY_GO;
}

bool istripe_overlays_may_meet(const struct istripe_leg_task *leg_task)
{
	const struct istripe_overlays *overlays = &leg_task->leg->overlays;
	struct istripe_range range, all;

	if (!READ_ONCE(overlays->count))
		return false;
	all.lba = READ_ONCE(overlays->all.lba);
	all.end = READ_ONCE(overlays->all.end);
	istripe_leg_task_range(leg_task, &range);
	return istripe_range_meets(&all, &range);
}

bool istripe_overlays_patch(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_range range;
	bool same;

	istripe_leg_task_range(leg_task, &range);
	spin_lock_bh(&leg->lock);
	same = leg_task->overlay_epoch == leg->overlays.epoch;
	if (same)
		overlays_fill(leg_task, &range);
	leg_task->overlay_epoch = 0;
	spin_unlock_bh(&leg->lock);
	return same;
}

void istripe_overlays_init(struct istripe_leg *leg)
{
	struct istripe_overlays *overlays = &leg->overlays;

	INIT_LIST_HEAD(&overlays->list);
	INIT_LIST_HEAD(&overlays->waiting);
	overlays->epoch = 1;
}

void istripe_overlays_stop(struct istripe_leg *leg)
{
	const struct istripe_overlay *overlay;
	u32 bytes = 0;

	cancel_delayed_work_sync(&leg->overlays.work);
	list_for_each_entry(overlay, &leg->overlays.list, entry)
		if (overlay->fenced && !overlay->over)
			bytes += istripe_overlay_bytes(leg, overlay);
	if (!bytes)
		return;
	pr_err("%s/%u: a lost path has logged in after %u bytes of overlays were written for the last time: the LUN may have older data of these blocks\n",
	       leg->volume->name, leg->index, bytes);
	atomic_inc(&leg->volume->writeback.failed);
}

void istripe_overlays_free(struct istripe_leg *leg)
{
	struct istripe_overlay *overlay, *next;

	list_for_each_entry_safe(overlay, next, &leg->overlays.list, entry)
		istripe_overlay_free(overlay);
}
