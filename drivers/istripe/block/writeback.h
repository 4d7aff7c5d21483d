/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last write-back of a disk that is taken away although it may be open.
 *
 * del_gendisk() has dirty data written. A leg that has no live nexus then, or serves nothing, fails
 * them at once. A leg that serves goes on as ever: commands that the target is too busy for are
 * sent again, lost ones wait for their nexus, on a leg that serves nothing any more for
 * ISTRIPE_WRITEBACK_MS at most. When none has succeeded for ISTRIPE_WRITEBACK_MS, and requests have
 * waited all that time, nothing waits any more, and nothing is sent: only what the target has is
 * waited for, until it times out. Data that are not requests yet, as in a cgroup that io.max
 * throttles, are waited for.
 */
#ifndef ISTRIPE_BLOCK_WRITEBACK_H
#define ISTRIPE_BLOCK_WRITEBACK_H

#include <linux/atomic.h>
#include <linux/workqueue.h>

#include <istripe/settings.h>

#define ISTRIPE_WRITEBACK_MS	15000

struct istripe_volume;
struct request;

struct istripe_writeback_leg {
	unsigned long down_since;	/* of the leg, the last time */
	u32 away;			/* so many times in turn it did not serve, nor in between */
};

struct istripe_writeback {
	struct delayed_work work;	/* has anything moved? */
	bool under_way;			/* from istripe_writeback_begin() on */
	atomic_t good;			/* writes and flushes that have succeeded */
	u32 seen;			/* @work: @good the last time */
	u32 stuck;			/* @work: so many times in turn nothing had moved */
	struct istripe_writeback_leg legs[ISTRIPE_LEGS_MAX];	/* @work */
	atomic_t failed;		/* writes, flushes; overlays unwritten or overtaken */
};

void istripe_writeback_init(struct istripe_writeback *writeback);

/**
 * istripe_writeback_begin() - the disk is about to be taken away
 * @volume: running; may be called again
 * Context: process.
 */
void istripe_writeback_begin(struct istripe_volume *volume);

/* A request of the disk ends. Any context. */
void istripe_writeback_count(struct istripe_volume *volume, const struct request *rq,
			     blk_status_t status);

/* The disk and its requests are gone. Logs how many writes and flushes have failed. */
void istripe_writeback_end(struct istripe_volume *volume);

/*
 * After that, with the legs still up: flushes the write caches of their LUNs, as the SCSI disk
 * driver does, so that data that nobody has flushed survive the target's power, too; what fails at
 * one leg is logged. Sleeps for ISTRIPE_WRITEBACK_MS, unkillable; without memory, for each leg.
 */
void istripe_writeback_flush(struct istripe_volume *volume);

/*
 * The legs have stopped. -EIO: writes or flushes have failed, or what was written for a lost path
 * may have been overtaken since (overlay.h), which is logged.
 */
int istripe_writeback_error(const struct istripe_volume *volume);

#endif
