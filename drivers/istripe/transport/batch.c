// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>
#include <compat/kthread.h>

#include "transport/batch.h"

static struct kthread_worker **workers;
static u32 worker_count;
static atomic_t worker_turn;

struct kthread_worker *istripe_batch_worker_pick(void)
{
	return workers[(u32)atomic_inc_return(&worker_turn) % worker_count];
}

static int worker_start(u32 index)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_BATCH,
		.sched_nice = MIN_NICE,
	};
	struct kthread_worker *worker;

	worker = istripe_compat_kthread_run_worker("istripe_batch/%u", index);
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	workers[worker_count++] = worker;
	return sched_setattr_nocheck(worker->task, &attr);
}

int istripe_batch_init(void)
{
	int ret = 0;
	u32 i;

	workers = kcalloc(num_possible_cpus(), sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (i = 0; i < num_possible_cpus() && !ret; i++)
		ret = worker_start(i);
	if (ret)
		istripe_batch_exit();
	return ret;
}

void istripe_batch_exit(void)
{
	while (worker_count)
		kthread_destroy_worker(workers[--worker_count]);
	kfree(workers);
}
