/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that no path of a leg serves: paths are live, and each answers with an error which the next
 * try may not meet, or the time of a target that is busy is over. dm-multipath queues them until a
 * path works; here they are tried again until recovery_timeout_ms is over, and the leg is waiting.
 */
#ifndef ISTRIPE_BLOCK_UNSERVED_H
#define ISTRIPE_BLOCK_UNSERVED_H

#include <istripe/reason.h>

struct istripe_leg;
struct istripe_leg_task;

struct istripe_unserved {		/* under leg->lock */
	u32 tasks;			/* have waited, and have not ended */
	unsigned long since;		/* jiffies: there have been some */
	unsigned long gave_up_at;	/* jiffies: a session was given up for one of them */
	struct istripe_reason why;	/* of the last one that was to wait */
};

/* Is recovery_timeout_ms not over for a task that no path serves, or not begun? Any context. */
bool istripe_unserved_may_wait(struct istripe_leg_task *leg_task);

/*
 * May one more session be given up for this task, so that a path which gets no I/O gets some? Once
 * in a while, as that path may have failed the last time, and serve now. Any context.
 */
bool istripe_unserved_may_give_up_session(struct istripe_leg_task *leg_task);

/* For istripe_leg_task_stop_clocks(): an outage has its own time (P63). Under leg->lock. */
void istripe_unserved_stop(struct istripe_leg_task *leg_task);

/*
 * A task is to be tried again later. @why: what the last path said. True: it is the only one, so
 * the other paths are urgent from now on. Any context.
 */
bool istripe_unserved_begin(struct istripe_leg_task *leg_task, const struct istripe_reason *why);

/* A task with leg_task->unserved, which is in no hand but the caller's, ends. Any context. */
void istripe_unserved_end(struct istripe_leg_task *leg_task);

/**
 * istripe_unserved_ms() - for how long has a leg had tasks that no path serves?
 * @leg: that runs
 * @why: filled with what the target said to the last of them; empty when there are none
 * Context: any.
 * Return: milliseconds; 0 when there are none.
 */
u32 istripe_unserved_ms(struct istripe_leg *leg, struct istripe_reason *why);

#endif
