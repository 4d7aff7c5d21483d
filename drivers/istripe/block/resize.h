/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capacity: a volume grows when all of its legs have grown, while it is in use.
 *
 * A nexus's worker that finds more blocks than the leg had so far says so. When a LUN has
 * grown over one nexus, all nexuses of all legs are asked: those that carry no I/O would not
 * hear of it. When every nexus that is logged in finds more, the smallest leg counts, and
 * the disk grows. From then on no nexus may find less: see istripe_identify(); one that
 * does, but finds as much as there was at first, is asked again. Until then a LUN may well
 * go back to what it was.
 *
 * No sector of the volume is anywhere else afterwards, and requests go on meanwhile.
 *
 * Superblocks say how much of each leg is the array's. They are to say more first, and are
 * written on a rescan only.
 *
 * The work is the only one that changes the size of the stripe and of the disk once the
 * volume is up.
 */
#ifndef ISTRIPE_BLOCK_RESIZE_H
#define ISTRIPE_BLOCK_RESIZE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct istripe_nexus;
struct istripe_volume;

/**
 * struct istripe_resize - of one volume
 * @work:	looks at all legs, grows the disk
 * @running:	there is a disk that may grow
 * @rescan_lock: one rescan at a time; the nexuses' workers and @work are waited for under it
 * @asking:	a rescan is under way, and will say what has come of it
 * @asked:	the next run of @work may write superblocks: a rescan has found all there is
 * @error:	why that run could not
 * @ending:	the volume is about to go down: what takes long is to be given up
 * @told_least_sectors: the work: why the disk does not grow has been said for legs of
 * @told_most_sectors: these sizes
 */
struct istripe_resize {
	struct work_struct work;
	bool running;
	struct mutex rescan_lock;	/* see above */
	bool asking;
	bool asked;
	int error;
	bool ending;
	u64 told_least_sectors;
	u64 told_most_sectors;
};

/**
 * istripe_resize_init() - before there are legs
 * @capacity: zeroed
 *
 * Context: process.
 */
void istripe_resize_init(struct istripe_resize *capacity);

/**
 * istripe_resize_start() - from now on the disk may grow
 * @volume: has a disk
 *
 * Also by what nexuses have found before.
 *
 * Context: process.
 */
void istripe_resize_start(struct istripe_volume *volume);

/**
 * istripe_resize_end() - the volume is about to go down: a rescan is to give up
 * @volume: running; somebody may be waiting in istripe_resize_rescan()
 *
 * Context: any.
 */
void istripe_resize_end(struct istripe_volume *volume);

/**
 * istripe_resize_is_ending() - has istripe_resize_end() been called
 * @volume: running
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_resize_is_ending(const struct istripe_volume *volume);

/**
 * istripe_resize_stop() - the disk keeps its size from now on
 * @volume: may have been stopped before
 *
 * Context: process, sleeps.
 */
void istripe_resize_stop(struct istripe_volume *volume);

/**
 * istripe_resize_found() - a nexus has found more than its leg had so far
 * @nexus: which
 *
 * Context: the nexus's worker.
 */
void istripe_resize_found(struct istripe_nexus *nexus);

/**
 * istripe_resize_check() - what a nexus has found does not count any more: may the disk grow?
 * @volume: running
 *
 * Context: any.
 */
void istripe_resize_check(struct istripe_volume *volume);

/**
 * istripe_resize_rescan() - ask all LUNs whether they have grown, and wait
 * @volume: running
 *
 * A leg that nothing can be asked over any nexus is an error; so is a nexus that is down
 * because of what was found when it was asked, but no other one.
 *
 * Context: process, sleeps until the workers of all live nexuses have looked, and until
 * superblocks have been written.
 * Return: 0, the disk has grown when it may; -ENOTCONN a leg cannot be asked; else why a
 * nexus does not let us, or does not lead to what it led to: see istripe_lun_probe(),
 * istripe_identify(), istripe_metadata_check(); or why superblocks could not be
 * written; -EINTR killed while another rescan was under way.
 */
int istripe_resize_rescan(struct istripe_volume *volume);

#endif
