/* SPDX-License-Identifier: GPL-2.0 */
/* The workqueues of all volumes. */
#ifndef ISTRIPE_BLOCK_WORKQUEUE_H
#define ISTRIPE_BLOCK_WORKQUEUE_H

#include <linux/workqueue.h>

/* Short works of recovery, beside the nexuses' workers; none of them waits for a target. */
extern struct workqueue_struct *istripe_recovery_wq;

/* Works of a LUN reset, one per nexus at the same time, which wait for the target. */
extern struct workqueue_struct *istripe_reset_wq;

/* Waits for I/O of the volume: on istripe_recovery_wq that could keep it from going on. */
extern struct workqueue_struct *istripe_overlay_wq;

/* Proofs sleep for minutes; as many at a time as a host may have in test logins. */
extern struct workqueue_struct *istripe_proof_wq;

/* Makes the workqueues. Returns 0 or -ENOMEM. */
int istripe_workqueues_init(void);

void istripe_workqueues_exit(void);

#endif
