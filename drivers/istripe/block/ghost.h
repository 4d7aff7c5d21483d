/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ghosts: writes of a lost session that the target may still carry out, and that have been sent
 * again over another path meanwhile, or have failed. To write the same data twice does no harm, in
 * whatever order. Other data would be overtaken: a write to the same blocks waits until the fence
 * (fence.h). So a lost path keeps back the writes to the blocks that were being written when it was
 * lost, and no others, however long its fence takes.
 *
 * A write is sent again when nothing refers to its pages any more: then all that the target gets is
 * a copy of the data that are sent again. Reads are served: they find these data before and after.
 * After a write that has failed they may find either, or what has become of its pages: reads of its
 * blocks wait, too.
 *
 * Nobody else may write to the LUN, for the data of others would be overtaken. Hence with the
 * setting fence = path, and while any host has keys of reservations registered, as cluster software
 * does, a lost write waits for its fence itself, and becomes a ghost when it fails while another
 * path serves.
 */
#ifndef ISTRIPE_BLOCK_GHOST_H
#define ISTRIPE_BLOCK_GHOST_H

#include <linux/types.h>

#include "scsi/range.h"

struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;
struct istripe_overlay;
struct list_head;

struct istripe_ghost {
	struct istripe_range range;
	bool failed;			/* it is not sent again */
	struct istripe_overlay *overlay;	/* or NULL */
};

/* Of one nexus, under leg->lock. */
struct istripe_ghosts {
	struct istripe_ghost *ghosts;
	struct istripe_range all;	/* they are in these blocks; empty when there are none */
	u32 count;			/* read without the lock, too */
	u32 cuts;			/* of @count: parts that were cut off others */
	u32 max;			/* without @cuts: as many as its session has tasks */
	bool overlaid;			/* ghost_timeout_ms was over for a write */
	bool told;			/* the log says that there are overlays */
	unsigned long overlays_due;	/* jiffies: not before that are overlays made again */
};

/* @ghosts are zeroed. 0 or -ENOMEM. */
int istripe_ghosts_init(struct istripe_ghosts *ghosts, u32 max);

void istripe_ghosts_free(struct istripe_ghosts *ghosts);

/* Lost writes may be sent again before their fence: nobody else may write to the LUN meanwhile. */
bool istripe_ghosts_allowed(const struct istripe_leg *leg);

/* Adds a lost write that is about to be sent again, or to fail. False: no room. Under leg->lock. */
bool istripe_ghosts_add(struct istripe_nexus *nexus, struct istripe_leg_task *leg_task,
			bool failed);

/**
 * istripe_ghosts_writes() - count the lost writes
 * @nexus: any
 * Context: under leg->lock.
 * Return: as many as there are ghosts, but for the parts of a large one.
 */
u32 istripe_ghosts_writes(const struct istripe_nexus *nexus);

/* A write that was sent again fails: reads of its blocks wait from now on. Takes leg->lock. */
void istripe_ghosts_fail(const struct istripe_leg_task *leg_task);

/* The fence of the nexus is complete. Under leg->lock. */
void istripe_ghosts_end(struct istripe_nexus *nexus);

/* Moves the writes that may be sent again by now to @list, as ghosts. Under leg->lock. */
void istripe_ghosts_resend(struct istripe_nexus *nexus, struct list_head *list);

/* The nexus whose fence a task that is about to be sent must wait for, or NULL. Under leg->lock. */
struct istripe_nexus *istripe_ghosts_in_the_way(const struct istripe_leg_task *leg_task);

/*
 * How long a task may still wait for the fence, in jiffies: recovery_timeout_ms, but not less
 * than thirty seconds, for another path is live. LONG_MAX: for ever. Under leg->lock.
 */
long istripe_ghosts_left(const struct istripe_nexus *nexus,
			 const struct istripe_leg_task *leg_task);

/*
 * The same until its blocks get an overlay (overlay.h), by ghost_timeout_ms. @nexus: of the ghost.
 * Under leg->lock.
 */
long istripe_ghosts_overlay_left(const struct istripe_nexus *nexus,
				 const struct istripe_leg_task *leg_task);

/**
 * istripe_ghosts_waiting_ms() - for how long has the first task waited for the nexus's fence
 * @nexus: any
 * Context: leg->lock held.
 * Return: milliseconds; 0 none waits.
 */
u32 istripe_ghosts_waiting_ms(const struct istripe_nexus *nexus);

/* Does all that waits for the fence go on when ghost_timeout_ms is over? Under leg->lock. */
bool istripe_ghosts_time_out(const struct istripe_nexus *nexus);

/* Makes overlays where a task has waited so long, and moves those that may go to @list. Sleeps. */
void istripe_ghosts_overlay(struct istripe_leg *leg, struct list_head *list);

/*
 * Moves the tasks that have waited for too long to @list, to fail; lost writes, only if the leg is
 * @serving, are ghosts from then on. Under leg->lock.
 */
void istripe_ghosts_take_timed_out(struct istripe_nexus *nexus, bool serving,
				   struct list_head *list);

/* If there are ghosts: says that no other host may write to the LUN. @what: begins the message. */
void istripe_ghosts_warn(const struct istripe_leg *leg, const char *what);

#endif
