/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a leg that holds too many tags give theirs back.
 *
 * The legs of a volume share its tags. If a leg is away, slow or busy, requests that need it would
 * come to hold all of them, and the other legs would stand, too; in a stack of devices each LUN has
 * a queue of its own. So a request that finds its leg over its share (requeue.c) ends for the block
 * layer before anything of it is sent, and its bios are kept. They are submitted again, in their
 * order, as requests of the leg end. While some are kept, later ones of the leg are, too.
 */
#ifndef ISTRIPE_BLOCK_REQUEUE_H
#define ISTRIPE_BLOCK_REQUEUE_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct istripe_io;
struct istripe_leg;
struct istripe_volume;

/* Of a leg. */
struct istripe_requeue {
	atomic_t held;			/* requests that have begun on the leg, and not ended */
	spinlock_t lock;		/* a leaf, bh disabled; for @bios */
	struct bio_list bios;		/* those that are kept */
	struct work_struct work;	/* submits them */
};

/* Of a volume, unless it has one leg. */
struct istripe_requeue_volume {
	struct workqueue_struct *wq;	/* its works wait for tags of the volume */
	struct bio_set clones;
};

/* Returns 0 or -ENOMEM; then, too, istripe_requeue_volume_free() is called. */
int istripe_requeue_volume_init(struct istripe_volume *volume);
void istripe_requeue_volume_free(struct istripe_volume *volume);

void istripe_requeue_init(struct istripe_leg *leg);

/* The disk is gone, no request is left. Sleeps. */
void istripe_requeue_stop(struct istripe_leg *leg);

/* The leg for whose sake a request, of which nothing has been sent, is to give up its tag; NULL. */
struct istripe_leg *istripe_requeue_leg(const struct istripe_io *io);

/* Keeps the bios of a request, which ends by this. Context: queue_rq(). */
void istripe_requeue_keep(struct istripe_leg *leg, struct istripe_io *io);

/* It needs the leg no more. Any context. */
void istripe_requeue_release(struct istripe_leg *leg);

#endif
