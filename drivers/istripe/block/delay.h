/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The delay of a leg: tasks that are to be sent again after a while, as the target was too
 * busy for them, or something went wrong there that may pass.
 */
#ifndef ISTRIPE_BLOCK_DELAY_H
#define ISTRIPE_BLOCK_DELAY_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct istripe_leg;
struct istripe_leg_task;

struct istripe_delay {
	struct list_head tasks;		/* leg->lock; the first one is due first */
	struct delayed_work work;	/* the first one is due */
};

/**
 * istripe_delay_init() - nothing is delayed
 * @leg: being created
 *
 * Context: process.
 */
void istripe_delay_init(struct istripe_leg *leg);

/**
 * istripe_delay_task() - send a task again after a while
 * @leg: the leg
 * @leg_task: not in flight
 * @delay_ms: how long that is
 *
 * It fails when the leg is stopping.
 *
 * Context: any.
 */
void istripe_delay_task(struct istripe_leg *leg, struct istripe_leg_task *leg_task, u32 delay_ms);

/**
 * istripe_delay_stop() - nothing is delayed any more
 * @leg: stopping, its tasks have been taken
 *
 * Context: process, sleeps.
 */
void istripe_delay_stop(struct istripe_leg *leg);

#endif
