/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Overlays: the newest data of blocks over which a ghost (ghost.h) may still come, in memory.
 *
 * A write of other data to the blocks of a ghost waits for the fence of the ghost's session, for
 * ghost_timeout_ms of the leg. A path that is lost for good has no fence, and some blocks, such as
 * the last one of a database's log, are written again and again. So afterwards such writes are
 * carried out, and the leg keeps a copy of their data. When the ghost is carried out after them,
 * the LUN has the older data, but no reader gets them: a read of the blocks gets the copy. When the
 * lost session is dead, the copy is written once more, and forgotten. Until then it is written
 * from time to time, and when the volume goes down.
 *
 * If the host loses its memory meanwhile, and the ghost is carried out after the copy was last
 * written, the LUN is left with the older data. dm-multipath risks them at any time.
 *
 * A read that was sent before blocks were forgotten is sent again. A write that fails after it was
 * noted stays in the copy: its blocks have newer data, as far as anybody can tell.
 */
#ifndef ISTRIPE_BLOCK_OVERLAY_H
#define ISTRIPE_BLOCK_OVERLAY_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "scsi/range.h"

struct bio_vec;
struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;

#define ISTRIPE_OVERLAY_DELAY_MIN_MS	5000	/* until copies are written for the first time */

/* The blocks of a ghost, under leg->lock. Freed by the work, or with the leg. */
struct istripe_overlay {
	struct list_head entry;
	struct istripe_range range;
	bool fenced;			/* the ghost is over: written once more, and forgotten */
	bool over;			/* work: it was @fenced before it was last written */
	unsigned long *valid;		/* blocks that have been written since */
	u8 *data;
};

/* Of a leg, under leg->lock but for @work and @delay_ms. */
struct istripe_overlays {
	struct list_head list;		/* of struct istripe_overlay */
	u32 count;			/* of them; it and the next two: read without lock, too */
	u32 bytes;			/* of their data */
	struct istripe_range all;	/* they are in these blocks */
	u32 epoch;			/* changes when blocks are forgotten; never 0 */
	bool stopped;			/* @work is not queued any more */
	bool noted;			/* a write, and reads wait that it may be the data of */
	const struct bio_vec *copy;	/* segments of the copy being written, or NULL */
	struct istripe_range copy_range;	/* its blocks; empty: it has not been sent yet */
	bool copy_through;		/* it is on the medium when its write ends */
	struct list_head waiting;	/* other writes to these blocks */
	struct delayed_work work;
	u32 delay_ms;			/* work: until the copies are written again */
};

enum istripe_overlay_admits {
	ISTRIPE_OVERLAY_GO,		/* it may be sent */
	ISTRIPE_OVERLAY_NOTED,		/* so may this write, and its data are kept */
	ISTRIPE_OVERLAY_WAITS,		/* it is on overlays->waiting */
};

void istripe_overlays_init(struct istripe_leg *leg);

/*
 * The nexuses have stopped, nothing queues the work any more. When the LUN may have older data, it
 * says so, and a write-back has failed (writeback.h). Sleeps.
 */
void istripe_overlays_stop(struct istripe_leg *leg);

/* The leg is stopped. */
void istripe_overlays_free(struct istripe_leg *leg);

/* The most blocks of one. */
u32 istripe_overlay_blocks_max(const struct istripe_leg *leg);

/* For which the leg has room. Under leg->lock. */
u32 istripe_overlay_blocks_left(const struct istripe_leg *leg);

/* Of no blocks yet; NULL when there is no memory. Sleeps. */
struct istripe_overlay *istripe_overlay_alloc(const struct istripe_leg *leg,
					      const struct istripe_range *range);

/* It is a ghost's from now on, and is written after a while. Under leg->lock. */
void istripe_overlay_add(struct istripe_leg *leg, struct istripe_overlay *overlay);

/* The fence of the nexus is complete. Under leg->lock. */
void istripe_overlays_fenced(struct istripe_nexus *nexus);

/*
 * Have overlays, of whatever ghosts, newer data for all of these blocks, and will these be written
 * again? Under leg->lock.
 */
bool istripe_overlays_cover(const struct istripe_leg *leg, const struct istripe_range *range);

/* May a read get data of an overlay? Without a lock: what is acknowledged is seen. */
bool istripe_overlays_may_meet(const struct istripe_leg_task *leg_task);

/*
 * A task is about to be sent: the data of a write are noted, and of a read that it must be patched.
 * Under leg->lock.
 */
enum istripe_overlay_admits istripe_overlays_admit(struct istripe_leg_task *leg_task);

/*
 * A read whose overlay_epoch is not 0 is done: its data become the newest ones. False: it must be
 * sent again. Takes leg->lock.
 */
bool istripe_overlays_patch(struct istripe_leg_task *leg_task);

u32 istripe_overlay_block_bytes(const struct istripe_leg *leg);

/* Of its data. */
u32 istripe_overlay_bytes(const struct istripe_leg *leg, const struct istripe_overlay *overlay);

/* It is on no list any more. */
void istripe_overlay_free(struct istripe_overlay *overlay);

#endif
