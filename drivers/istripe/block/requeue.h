/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that would take the tags of other legs give theirs back.
 *
 * The legs of a volume share its tags. If a leg is away, slow or busy, requests that need it would
 * come to hold all of them, and the other legs would stand, too; in a stack of devices each LUN has
 * a queue of its own. So half of the tags are kept free in equal parts: for each leg, and for
 * requests of several legs. A request that finds only such tags ends for the block layer before
 * anything of it is sent, and its bios are kept. They are submitted again in order, as others
 * end. While some are kept, later ones are, too. Flushes are not kept: they are the block layer's.
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

/* The requests that count for a leg, or those of a volume that need several and count for none. */
struct istripe_requeue {
	struct istripe_volume *volume;
	atomic_t begun;			/* requests that have not ended */
	spinlock_t lock;		/* a leaf, bh disabled; for @bios */
	struct bio_list bios;		/* those that are kept */
	struct work_struct work;	/* submits them */
};

/* Of a volume, unless it has one leg. */
struct istripe_requeue_volume {
	struct istripe_requeue several;
	atomic_t begun;			/* requests of any legs that have not ended */
	atomic_t kept;			/* bios */
	struct workqueue_struct *wq;	/* its works wait for tags of the volume */
	struct bio_set clones;
};

/* The legs are there. Returns 0 or -ENOMEM; then, too, istripe_requeue_free() is called. */
int istripe_requeue_init(struct istripe_volume *volume);
void istripe_requeue_free(struct istripe_volume *volume);

/* The disk is gone, no request is left. Sleeps. */
void istripe_requeue_stop(struct istripe_volume *volume);

/*
 * A request of a volume of several legs is prepared, and nothing of it is sent. True: its bios are
 * kept, and it has ended. False: istripe_requeue_end() follows. Context: queue_rq().
 */
bool istripe_requeue_begin(struct istripe_io *io);

/* The request ends, or is begun anew. Any context. */
void istripe_requeue_end(const struct istripe_io *io);

#endif
