/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capacity: a volume grows when all of its legs have grown, while it is in use.
 *
 * A path's worker that finds more blocks than the leg had so far says so. When a LUN has
 * grown over one path, all paths of all legs are asked: those that carry no I/O would not
 * hear of it. When every path that is logged in finds more, the smallest leg counts, and
 * the disk grows. From then on no path may find less: see istripe_leg_identify(); one that
 * does, but finds as much as there was at first, is asked again. Until then a LUN may well
 * go back to what it was.
 *
 * No sector of the volume is anywhere else afterwards, and requests go on meanwhile.
 *
 * Superblocks say how much of each leg is the array's. They are to say more first, and are
 * written on a rescan only (growth.h).
 *
 * The work is the only one that changes the size of the stripe and of the disk once the
 * volume is up.
 */
#ifndef ISTRIPE_BLOCK_CAPACITY_H
#define ISTRIPE_BLOCK_CAPACITY_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct istripe_path;
struct istripe_volume;

/**
 * struct istripe_capacity - of one volume
 * @work:	looks at all legs, grows the disk
 * @running:	there is a disk that may grow
 * @rescan_lock: one rescan at a time; the paths' workers and @work are waited for under it
 * @asking:	a rescan is under way, and will say what has come of it
 * @asked:	the next run of @work may write superblocks: a rescan has found all there is
 * @error:	why that run could not
 * @ending:	the volume is about to go down: what takes long is to be given up
 * @told_least_sectors: the work: why the disk does not grow has been said for legs of
 * @told_most_sectors: these sizes
 */
struct istripe_capacity {
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
 * istripe_capacity_init() - before there are legs
 * @capacity: zeroed
 *
 * Context: process.
 */
void istripe_capacity_init(struct istripe_capacity *capacity);

/**
 * istripe_capacity_start() - from now on the disk may grow
 * @volume: has a disk
 *
 * Also by what paths have found before.
 *
 * Context: process.
 */
void istripe_capacity_start(struct istripe_volume *volume);

/**
 * istripe_capacity_end() - the volume is about to go down: a rescan is to give up
 * @volume: running; somebody may be waiting in istripe_capacity_rescan()
 *
 * Context: any.
 */
void istripe_capacity_end(struct istripe_volume *volume);

/**
 * istripe_capacity_is_ending() - has istripe_capacity_end() been called
 * @volume: running
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_capacity_is_ending(const struct istripe_volume *volume);

/**
 * istripe_capacity_stop() - the disk keeps its size from now on
 * @volume: may have been stopped before
 *
 * Context: process, sleeps.
 */
void istripe_capacity_stop(struct istripe_volume *volume);

/**
 * istripe_capacity_found() - a path has found more than its leg had so far
 * @path: which
 *
 * Context: the path's worker.
 */
void istripe_capacity_found(struct istripe_path *path);

/**
 * istripe_capacity_look() - what a path has found does not count any more: may the disk grow?
 * @volume: running
 *
 * Context: any.
 */
void istripe_capacity_look(struct istripe_volume *volume);

/**
 * istripe_capacity_rescan() - ask all LUNs whether they have grown, and wait
 * @volume: running
 *
 * A leg that nothing can be asked over any path is an error; so is a path that is down
 * because of what was found when it was asked, but no other one.
 *
 * Context: process, sleeps until the workers of all live paths have looked, and until
 * superblocks have been written.
 * Return: 0, the disk has grown when it may; -ENOTCONN a leg cannot be asked; else why a
 * path does not let us, or does not lead to what it led to: see istripe_lun_probe(),
 * istripe_leg_identify(), istripe_metadata_check(); or why superblocks could not be
 * written: see istripe_growth_write(); -EINTR killed while another rescan was under way.
 */
int istripe_capacity_rescan(struct istripe_volume *volume);

#endif
