/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sender threads send what submitters have deferred. There is one for each processor; each serves
 * several connections.
 *
 * They are SCHED_BATCH, so waking one does not preempt the submitter, which goes on and submits
 * more. The sender runs as soon as the submitter pauses, at the latest at the scheduler's next
 * tick, and at once on an idle processor. Commands that follow closely are thus sent together. A
 * worker of a workqueue would preempt the submitter after the first command.
 */
#ifndef ISTRIPE_TRANSPORT_SENDER_H
#define ISTRIPE_TRANSPORT_SENDER_H

#include <linux/kthread.h>

/* The sender thread of a new connection: each in turn. */
struct kthread_worker *istripe_sender_pick(void);

int istripe_sender_init(void);

/* No connections are left. */
void istripe_sender_exit(void);

#endif
