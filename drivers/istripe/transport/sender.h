/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Batch workers: threads that send what submitters have left for later, one for each
 * processor, each for as many connections as it takes.
 *
 * When one is woken, whoever runs there goes on and submits more: a batch thread does not
 * push others aside. It comes first as soon as the submitter pauses, at the latest with
 * the scheduler's next tick; where there is an idle processor it runs at once. So what
 * follows closely is sent together. A workqueue cannot do that: its thread stops the
 * submitter after the first command.
 */
#ifndef ISTRIPE_TRANSPORT_SENDER_H
#define ISTRIPE_TRANSPORT_SENDER_H

#include <linux/kthread.h>

/**
 * istripe_sender_pick() - the batch worker of a new connection
 *
 * Context: any.
 * Return: each in turn.
 */
struct kthread_worker *istripe_sender_pick(void);

/**
 * istripe_sender_init() - start the threads
 *
 * Context: module init.
 * Return: 0 or -errno of making a thread.
 */
int istripe_sender_init(void);

/**
 * istripe_sender_exit() - end the threads
 *
 * Context: module exit, no connections left.
 */
void istripe_sender_exit(void);

#endif
