/* SPDX-License-Identifier: GPL-2.0 */
/* The delay of a leg: tasks that are sent again after a while (target busy, transient failure). */
#ifndef ISTRIPE_BLOCK_DELAY_H
#define ISTRIPE_BLOCK_DELAY_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct istripe_leg;
struct istripe_leg_task;

struct istripe_delay {
	struct list_head tasks;		/* under leg->lock, sorted by leg_task->due */
	struct delayed_work work;	/* runs when the first task is due */
};

void istripe_delay_init(struct istripe_leg *leg);

/* Sends a task again after @delay_ms; fails it when the leg is stopping. Any context. */
void istripe_delay_task(struct istripe_leg_task *leg_task, u32 delay_ms);

/* The leg is stopping and istripe_leg_expire() has taken the tasks. Sleeps. */
void istripe_delay_stop(struct istripe_leg *leg);

#endif
