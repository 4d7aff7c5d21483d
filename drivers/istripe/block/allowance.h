/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allowance of a leg: how many commands its LUN gets at a time after it has refused one (TASK
 * SET FULL, BUSY, NOT READY). Until then it is off, and costs each command a test of @on and a
 * per-CPU count.
 *
 * A refusal halves the allowance, once for all commands sent before it was known; completions let
 * it grow, and end it. Refused tasks are sent first, in the order of their first refusals. Each
 * completion lets in two tasks at most: a limit is exceeded by one command and not by many. When
 * nothing is in flight a work sends a few. While other hosts fill the queue there is a least
 * allowance, and a completion lets in all that it has room for.
 *
 * SAM-5 5.3.1: TASK SET FULL is about the task set of one I_T nexus, BUSY about the LUN or its
 * port. The cause of both is mostly a shortage in the LUN, so its nexuses share one allowance.
 */
#ifndef ISTRIPE_BLOCK_ALLOWANCE_H
#define ISTRIPE_BLOCK_ALLOWANCE_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

struct istripe_leg;
struct istripe_leg_task;

struct istripe_allowance_probe {
	u32 number;			/* of the last task that it counts */
	u32 left;			/* of them, not ended */
	u32 taken;			/* of them, not refused */
};

struct istripe_allowance {
	u32 __percpu *in_flight;	/* tasks let in minus those given back: their sum */
	bool on;			/* written under leg->lock, as all below */
	u32 limit;
	u32 threshold;			/* while @limit is below, each completion adds one */
	u32 completions;		/* since @limit last grew, when it is above */
	u32 number;			/* of the task that was let in last */
	u32 cut_number;			/* @number when it was last halved */
	u32 first;			/* number of the first one sent with nothing in flight */
	u32 send_ms;			/* until a few are sent again when nothing is in flight */
	struct istripe_allowance_probe probe;
	u32 taken;			/* most commands at a time, lately */
	unsigned long probed_at;	/* jiffies when @taken was last halved */
	bool shared;			/* other hosts fill the queue */
	unsigned long shared_at;	/* jiffies when that was last seen */
	u32 ticket;			/* of the task that was refused last */
	unsigned long answered_at;	/* jiffies of the last answer that was no refusal */
	unsigned long quiet_since;	/* the same, or jiffies when the work last sent some */
	unsigned long refusing_since;	/* jiffies, if @refusing */
	bool refusing;			/* it refuses each command of those that wait */
	bool said;			/* the log has told so */
	struct list_head refused;	/* sorted by ticket */
	struct list_head waiting;
	struct delayed_work work;	/* periodic while a task waits */
};

/* Returns 0 or -ENOMEM. */
int istripe_allowance_init(struct istripe_leg *leg);

/* The leg is stopped or was never started. */
void istripe_allowance_free(struct istripe_leg *leg);

/*
 * May a task, not in flight, be sent now? True: it counts until istripe_allowance_give(), _drop()
 * or _refused(). False: it waits, or has failed because the leg is stopping. Any context.
 */
bool istripe_allowance_take(struct istripe_leg_task *leg_task);

/* A task let in found no nexus: in 100 ms waiting ones are let in, to be parked. leg->lock. */
void istripe_allowance_drop(struct istripe_leg *leg);

/* A task has ended (@answered: by the LUN) or will never be answered. Called from its done(). */
void istripe_allowance_give(struct istripe_leg_task *leg_task, bool answered);

/*
 * The LUN has refused a task that was let in. True: it waits; false: for too long. In its done().
 */
bool istripe_allowance_refused(struct istripe_leg_task *leg_task);

/**
 * istripe_allowance_busy_ms() - for how long has the LUN taken none of the commands that wait?
 * @leg: that runs
 * Context: any.
 * Return: milliseconds since its last answer that was no refusal; 0: none waits for that.
 */
u32 istripe_allowance_busy_ms(struct istripe_leg *leg);

/* Moves the waiting tasks to @list: a silent LUN would let them in too slowly. Under leg->lock. */
void istripe_allowance_expire(struct istripe_leg *leg, struct list_head *list);

/* The leg is stopping and has no requests. Sleeps. */
void istripe_allowance_stop(struct istripe_leg *leg);

#endif
