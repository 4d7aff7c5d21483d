/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resize: a volume grows when all of its legs have grown, while it is in use.
 *
 * The worker of a nexus reports when it finds more blocks than the leg has. Then all nexuses of all
 * legs are asked: one that carries no I/O gets no unit attention. A leg has grown when every nexus
 * that is logged in finds more; the smallest leg counts. From then on no nexus may find less
 * (istripe_identify()). One that does, but finds as much as there was at first, logs in again and
 * again. Before that a LUN may go back to its old size.
 *
 * No sector of the volume moves, and requests go on meanwhile.
 *
 * With metadata the superblocks must say first that more of each leg is the array's. The resize
 * work writes them, on a rescan only, with all nexuses live (metadata.h).
 *
 * Once the volume is up, nothing but the resize work changes the size of the stripe and the disk.
 */
#ifndef ISTRIPE_BLOCK_RESIZE_H
#define ISTRIPE_BLOCK_RESIZE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct istripe_nexus;
struct istripe_volume;

struct istripe_resize {
	struct work_struct work;	/* surveys all legs, grows the disk */
	bool running;			/* there is a disk that may grow */
	/* One rescan at a time; nexuses' workers and @work are waited for under it. */
	struct mutex rescan_lock;
	bool asking;			/* a rescan is under way, and will say what it found */
	bool asked;			/* a rescan is done: @work may write superblocks, once */
	int error;			/* of that run of @work */
	bool ending;			/* the volume is about to go down: @work gives up */
	u64 told_least_sectors;		/* @work: sizes of the legs when it was last logged */
	u64 told_most_sectors;		/* why the disk does not grow */
};

void istripe_resize_init(struct istripe_resize *resize);

/* The disk may grow from now on, also by what nexuses have found before. */
void istripe_resize_start(struct istripe_volume *volume);

/**
 * istripe_resize_end() - the volume is about to go down: a rescan is to give up
 * @volume: running; a process may be waiting in istripe_resize_rescan()
 * Context: any.
 */
void istripe_resize_end(struct istripe_volume *volume);

bool istripe_resize_is_ending(const struct istripe_volume *volume);

/* The disk keeps its size from now on. Sleeps; may be called again. */
void istripe_resize_stop(struct istripe_volume *volume);

/* A nexus has found more than its leg has. Its worker. */
void istripe_resize_found(struct istripe_nexus *nexus);

/* A nexus does not count any more: can the disk grow without it? Any context. */
void istripe_resize_check(struct istripe_volume *volume);

/**
 * istripe_resize_rescan() - ask all LUNs whether they have grown, and wait
 * @volume: running
 *
 * It is an error when a leg cannot be asked over any nexus, or when a nexus is down because of
 * what it found when it was asked. A nexus that is down for another reason is none.
 *
 * Context: process, sleeps until the workers of all live nexuses have asked, and until
 * superblocks have been written.
 * Return: 0, the disk has grown if it may; -ENOTCONN a leg cannot be asked; an error of
 * istripe_lun_probe(), istripe_identify(), istripe_metadata_check(); an error of writing the
 * superblocks; -EINTR killed while another rescan was under way.
 */
int istripe_resize_rescan(struct istripe_volume *volume);

#endif
