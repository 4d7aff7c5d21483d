/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allowance of a leg: how many commands its LUN gets at a time once it has refused one
 * (TASK SET FULL, BUSY, NOT READY). Until then it is off, and a command costs a look at @on
 * and a count of its processor's.
 *
 * A refusal halves the allowance, but only once for all that was sent before it was known;
 * completions let it grow, until it is as large as the queue and is switched off. What was
 * refused goes again first, in the order of the first refusals; then comes what was held
 * back meanwhile. Completions of this leg let them go, two for one at most, so that a limit
 * is passed by one command and not by many. When nothing is in flight any more, or does not
 * come back, a work sends one.
 *
 * SAM-5 5.3.1: TASK SET FULL is said of the task set of one I_T nexus, BUSY of the LUN or its
 * port. Behind both are mostly the resources of the LUN, so its nexuses share one allowance.
 */
#ifndef ISTRIPE_BLOCK_ALLOWANCE_H
#define ISTRIPE_BLOCK_ALLOWANCE_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

struct istripe_leg;
struct istripe_leg_task;

struct istripe_allowance {
	u32 __percpu *in_flight;	/* tasks let in less those given back; their sum counts */
	bool on;			/* written under leg->lock, as all below */
	u32 limit;
	u32 threshold;			/* up to here it grows with each completion */
	u32 completions;		/* since it last grew, beyond that */
	u32 number;			/* of the task that was let in last */
	u32 cut_number;			/* @number when it was last halved */
	u32 ticket;			/* of the task that was refused last */
	unsigned long moved_at;		/* jiffies: the LUN has last done anything */
	unsigned long quiet_since;	/* jiffies: that, or one was sent although it had not */
	struct list_head refused;	/* by their tickets */
	struct list_head waiting;
	struct delayed_work work;	/* again and again while something waits */
};

/**
 * istripe_allowance_init() - no limit yet
 * @leg: being created
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int istripe_allowance_init(struct istripe_leg *leg);

/**
 * istripe_allowance_free() - free it
 * @leg: being destroyed, stopped or never started
 *
 * Context: process.
 */
void istripe_allowance_free(struct istripe_leg *leg);

/**
 * istripe_allowance_take() - may a task be sent now
 * @leg: the leg
 * @leg_task: not in flight
 *
 * Context: any.
 * Return: true: send it, it counts until istripe_allowance_give(), _drop() or _refused();
 * false: it waits for its turn, or has failed, because the leg is stopping.
 */
bool istripe_allowance_take(struct istripe_leg *leg, struct istripe_leg_task *leg_task);

/**
 * istripe_allowance_drop() - a task that was let in has not been sent
 * @leg: without a nexus: what else waits is let in within 100 ms, to be parked, too
 *
 * Context: leg->lock.
 */
void istripe_allowance_drop(struct istripe_leg *leg);

/**
 * istripe_allowance_give() - a task has ended, or will never be answered
 * @leg: the leg
 * @answered: by the LUN
 *
 * Others may be sent in its place.
 *
 * Context: done() of its task.
 */
void istripe_allowance_give(struct istripe_leg *leg, bool answered);

/**
 * istripe_allowance_refused() - the LUN had no room for a task, which is to be sent again
 * @leg: the leg
 * @leg_task: was let in
 *
 * Context: done() of its task.
 * Return: true: it waits for its turn; false: the LUN has been too busy for it for too long.
 */
bool istripe_allowance_refused(struct istripe_leg *leg, struct istripe_leg_task *leg_task);

/**
 * istripe_allowance_expire() - nothing waits any more
 * @leg: stopping
 * @list: gets what has waited
 *
 * Were it let in instead, a LUN that is silent would be given it bit by bit, and each bit
 * would take the timeout of a command.
 *
 * Context: leg->lock.
 */
void istripe_allowance_expire(struct istripe_leg *leg, struct list_head *list);

/**
 * istripe_allowance_stop() - nothing waits any more
 * @leg: stopping, without requests
 *
 * Context: process, sleeps.
 */
void istripe_allowance_stop(struct istripe_leg *leg);

#endif
