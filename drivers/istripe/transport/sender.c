// SPDX-License-Identifier: GPL-2.0
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <uapi/linux/sched/types.h>
#include <compat/kthread.h>

#include "transport/sender.h"

static DEFINE_PER_CPU(struct kthread_worker *, senders);
static int sender_hotplug_state;

void istripe_sender_queue(unsigned int cpu, struct kthread_work *work)
{
	kthread_queue_work(per_cpu(senders, cpu), work);
}

static int sender_start(unsigned int cpu)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_BATCH,
		.sched_nice = MIN_NICE,
	};
	struct kthread_worker *worker;

	worker = istripe_compat_kthread_run_worker_on_cpu(cpu, "istripe_batch/%u");
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	per_cpu(senders, cpu) = worker;
	return sched_setattr_nocheck(worker->task, &attr);
}

/* A thread that is woken while its processor is off-line, as at load, runs on another one. */
static int sender_online(unsigned int cpu)
{
	set_cpus_allowed_ptr(per_cpu(senders, cpu)->task, cpumask_of(cpu));
	return 0;
}

int istripe_sender_init(void)
{
	unsigned int cpu;
	int ret = 0;

	for_each_possible_cpu(cpu) {
		ret = sender_start(cpu);
		if (ret)
			goto stop;
	}
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "istripe:online", sender_online,
					NULL);
	if (ret < 0)
		goto stop;
	sender_hotplug_state = ret;
	return 0;
stop:
	istripe_sender_exit();
	return ret;
}

void istripe_sender_exit(void)
{
	unsigned int cpu;

	if (sender_hotplug_state)
		cpuhp_remove_state_nocalls(sender_hotplug_state);
	for_each_possible_cpu(cpu)
		if (per_cpu(senders, cpu))
			kthread_destroy_worker(per_cpu(senders, cpu));
}
