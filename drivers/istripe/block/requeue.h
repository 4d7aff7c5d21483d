/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests for a leg that answers nothing give their tags back.
 *
 * The legs of a volume share its tags. If a leg is away, busy or stuck, requests that need it would
 * come to hold all of them, and the other legs would stand, too; in a stack of devices each LUN has
 * a queue of its own. So such a leg gets no more than its part of half of the tags, but for what it
 * had before: a request beyond that ends for the block layer before anything of it is sent, and its
 * bios are kept. They are submitted again when the leg answers. Nothing is kept while all legs
 * answer: submitters wait for tags, as they should. Flushes are not kept: they are the block
 * layer's. Writes of a lost session that wait for their fence have tags, too, while the leg serves
 * over other paths: then it gets as many tags again until it answers.
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
	struct istripe_volume *volume;
	atomic_t tasks;			/* of requests, that have not ended */
	unsigned long answered;		/* jiffies: one ended, or began when there was no other */
	atomic_t passed;		/* tasks that began since, although it answered nothing */
	spinlock_t lock;		/* a leaf, bh disabled; for @bios and @kept */
	struct bio_list bios;		/* those that are kept */
	u32 kept;			/* their number */
	struct work_struct work;	/* submits them, in clones */
	struct bio_set clones;
};

/* The legs are there. Returns 0 or -ENOMEM; then, too, istripe_requeue_free() is called. */
int istripe_requeue_init(struct istripe_volume *volume);
void istripe_requeue_free(struct istripe_volume *volume);

/* The disk is gone, no request is left. Sleeps. */
void istripe_requeue_stop(struct istripe_volume *volume);

/*
 * A request of a volume of several legs is prepared, and nothing of it is sent. True: its bios are
 * kept, and it has ended. False: istripe_requeue_task_end() follows for each of its tasks. Context:
 * queue_rq().
 */
bool istripe_requeue_begin(struct istripe_io *io);

/* A task of a request ends. The request has not ended yet. Any context. */
void istripe_requeue_task_end(struct istripe_leg *leg);

/* The leg serves, or a task of its is not with a target any more, and waits. Any context. */
void istripe_requeue_kick(struct istripe_leg *leg);

#endif
