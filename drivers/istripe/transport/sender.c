// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>
#include <compat/kthread.h>

#include "transport/sender.h"

static struct kthread_worker **senders;
static u32 sender_count;
static atomic_t next_sender;

struct kthread_worker *istripe_sender_pick(void)
{
	return senders[(u32)atomic_inc_return(&next_sender) % sender_count];
}

static int sender_start(u32 index)
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
	senders[sender_count++] = worker;
	return sched_setattr_nocheck(worker->task, &attr);
}

int istripe_sender_init(void)
{
	int ret = 0;
	u32 i;

	senders = kcalloc(num_possible_cpus(), sizeof(*senders), GFP_KERNEL);
	if (!senders)
		return -ENOMEM;
	for (i = 0; i < num_possible_cpus() && !ret; i++)
		ret = sender_start(i);
	if (ret)
		istripe_sender_exit();
	return ret;
}

void istripe_sender_exit(void)
{
	while (sender_count)
		kthread_destroy_worker(senders[--sender_count]);
	kfree(senders);
}
