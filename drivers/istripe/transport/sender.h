/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sender threads send what submitters have deferred. There is one for each processor; it serves the
 * submitters of this processor, on all connections.
 *
 * They are SCHED_BATCH, so waking one does not preempt the submitter, which goes on and submits
 * more. The sender runs as soon as the submitter pauses, at the latest at the scheduler's next
 * tick. Commands that follow closely are thus sent together. A worker of a workqueue would preempt
 * the submitter after the first command, a thread on an idle processor would not wait for more.
 */
#ifndef ISTRIPE_TRANSPORT_SENDER_H
#define ISTRIPE_TRANSPORT_SENDER_H

#include <linux/kthread.h>

/* Has the sender thread of @cpu run @work, which always goes to the same one. Any context. */
void istripe_sender_queue(unsigned int cpu, struct kthread_work *work);

int istripe_sender_init(void);

/* No connections are left. */
void istripe_sender_exit(void);

#endif
