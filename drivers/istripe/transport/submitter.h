/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Submitters: the threads that submit commands to a connection. One sends its command itself, or
 * defers it, for others are about to follow: the sender thread of its processor sends it. The hints
 * about the thread that submitted last need no lock: a wrong guess costs time only.
 *
 * There is one sender thread for each processor, for all connections. They are SCHED_BATCH, so
 * waking one does not preempt the submitter, which goes on and submits more. The sender runs as
 * soon as the submitter pauses, at the latest at the scheduler's next tick. Commands that follow
 * closely are thus sent together. A worker of a workqueue would preempt the submitter after the
 * first command, a thread on an idle processor would not wait for more.
 */
#ifndef ISTRIPE_TRANSPORT_SUBMITTER_H
#define ISTRIPE_TRANSPORT_SUBMITTER_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/types.h>

#include "transport/task.h"

struct istripe_conn;

/* Of one processor. */
struct istripe_submitter {
	struct istripe_conn *conn;
	unsigned int cpu;
	const void *last;		/* task_struct of the last one, not to be followed */
	unsigned long sleeps;		/* of the last one, when it submitted */
	u64 at;				/* ns, when it submitted last */
	u64 least_ns;			/* from one command of any to its next */
	u32 burst;			/* commands of the last one since it has paused */
	u32 deferred;			/* commands since one was sent from here */
	struct kthread_work work;	/* sends when the submitter pauses */
	struct hrtimer timer;		/* or does not pause */
	u32 timed;			/* a flag; not every xchg() takes a byte */
	u64 timed_sent;			/* commands that had been sent when it was started */
} ____cacheline_aligned_in_smp;

/* For a new connection; 0 or -ENOMEM. */
int istripe_submitters_alloc(struct istripe_conn *conn);

/* @conn is halted, or has no submitters yet. */
void istripe_submitters_free(struct istripe_conn *conn);

/* @conn is cut: ends the sending of what was deferred. Sleeps. */
void istripe_submitters_stop(struct istripe_conn *conn);

/* @task has its ITT, references and transfer. Otherwise as istripe_session_submit(). */
void istripe_conn_submit(struct istripe_conn *conn, struct istripe_task *task,
			 enum istripe_submit when);

/* Sends what is queued, or leaves it to the thread that is sending. Sleeps; without socket lock. */
void istripe_conn_flush(struct istripe_conn *conn);

/* Starts and ends the sender threads; no connections are left by then. */
int istripe_sender_init(void);
void istripe_sender_exit(void);

#endif
