/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Announcements of changes: of the state of a path, a leg or the volume, of a target port's access
 * state, of the number of writes that wait for a fence, and of whether a leg has overlays.
 *
 * An announcement does not say what has changed. The listener, in the control layer, compares all
 * states with those that it knows: so a change of state may be announced from any context, and none
 * is lost, whatever number of them come at a time. The listener is called at once, and again no
 * sooner than ISTRIPE_ANNOUNCE_MS after that.
 */
#ifndef ISTRIPE_BLOCK_ANNOUNCE_H
#define ISTRIPE_BLOCK_ANNOUNCE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#define ISTRIPE_ANNOUNCE_MS	50

struct istripe_announce {
	struct delayed_work work;
	unsigned long called_at;	/* jiffies; of the listener */
	struct mutex lock;		/* the two below; held while the listener runs */
	void (*listener)(void *data);
	void *data;
};

void istripe_announce_init(struct istripe_announce *announce);

/**
 * istripe_announce() - have the listener called
 * @announce: of a volume; something has changed
 * Context: any.
 */
void istripe_announce(struct istripe_announce *announce);

/**
 * istripe_announce_listen() - call a function at once, and after each change
 * @announce: of a volume that runs
 * @listener: is called with @data, in process context; it may allocate memory, but without I/O.
 *	NULL: nobody is called from now on
 * @data: for @listener
 * Context: process; waits until the listener of before has returned.
 */
void istripe_announce_listen(struct istripe_announce *announce, void (*listener)(void *data),
			     void *data);

/* Nobody announces anything any more, and nobody listens. Sleeps. */
void istripe_announce_stop(struct istripe_announce *announce);

#endif
