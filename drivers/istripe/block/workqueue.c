// SPDX-License-Identifier: GPL-2.0
#include "block/workqueue.h"

/* WQ_MEM_RECLAIM: recovery must not wait for memory, which may wait for recovery. */
struct workqueue_struct *istripe_recovery_wq;
struct workqueue_struct *istripe_reset_wq;
struct workqueue_struct *istripe_overlay_wq;
/* Without it: a proof makes sockets. */
struct workqueue_struct *istripe_proof_wq;

#define PROOFS_MAX	16

int istripe_workqueues_init(void)
{
	istripe_recovery_wq = alloc_workqueue("istripe_recovery", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	/* As many as can be: the works of one leg may get no more than one NUMA node's share. */
	istripe_reset_wq = alloc_workqueue("istripe_reset", WQ_MEM_RECLAIM | WQ_UNBOUND,
					   WQ_UNBOUND_MAX_ACTIVE);
	istripe_overlay_wq = alloc_workqueue("istripe_overlay", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	istripe_proof_wq = alloc_workqueue("istripe_proof", WQ_UNBOUND, PROOFS_MAX);
	if (istripe_recovery_wq && istripe_reset_wq && istripe_overlay_wq && istripe_proof_wq)
		return 0;
	istripe_workqueues_exit();
	return -ENOMEM;
}

void istripe_workqueues_exit(void)
{
	if (istripe_proof_wq)
		destroy_workqueue(istripe_proof_wq);
	if (istripe_overlay_wq)
		destroy_workqueue(istripe_overlay_wq);
	if (istripe_reset_wq)
		destroy_workqueue(istripe_reset_wq);
	if (istripe_recovery_wq)
		destroy_workqueue(istripe_recovery_wq);
}
