// SPDX-License-Identifier: GPL-2.0
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/prio.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>
#include <compat/hrtimer.h>
#include <compat/kthread.h>

#include "transport/conn.h"
#include "transport/submitter.h"

/* Commands left to the sender thread before a submitter sends again. */
#define DEFERRED_MAX	16
/* A submitter that takes so many times the least from one command to the next computes. */
#define PAUSE_FACTOR	16
#define LEAST_NS	(2 * NSEC_PER_USEC)
/* Deferred commands wait so long while the submitter computes; twice that at worst. */
#define DEFERRED_TIME	ns_to_ktime(NSEC_PER_MSEC)

static DEFINE_PER_CPU(struct kthread_worker *, senders);
static int sender_hotplug_state;

/*
 * How long a command takes to submit depends on the machine: hence the least that was seen on this
 * processor. A first one that is too long is corrected by the next burst.
 */
static bool submitter_computed(struct istripe_submitter *submitter, u64 now)
{
	u64 gap_ns = now - READ_ONCE(submitter->at);
	u64 least_ns = READ_ONCE(submitter->least_ns);

	if (!least_ns || gap_ns < least_ns)
		WRITE_ONCE(submitter->least_ns, max_t(u64, gap_ns, LEAST_NS));
	return least_ns && gap_ns > PAUSE_FACTOR * least_ns;
}

/*
 * Will the caller submit more at once? It has submitted here last, and not slept or computed since,
 * or it submitted several commands the last time.
 */
static bool submitter_goes_on(struct istripe_submitter *submitter, bool idle)
{
	unsigned long sleeps = current->nvcsw;
	u32 burst = READ_ONCE(submitter->burst);
	bool same = READ_ONCE(submitter->last) == current;
	bool slept = READ_ONCE(submitter->sleeps) != sleeps;
	u64 now = local_clock();
	bool goes_on = same && !slept && !submitter_computed(submitter, now);

	WRITE_ONCE(submitter->at, now);
	if (goes_on) {
		WRITE_ONCE(submitter->burst, burst + 1);
		return !idle || READ_ONCE(submitter->deferred);
	}
	WRITE_ONCE(submitter->last, current);
	WRITE_ONCE(submitter->sleeps, sleeps);
	WRITE_ONCE(submitter->burst, 1);
	WRITE_ONCE(submitter->deferred, 0);
	return same && slept && burst > 1;
}

/*
 * Is it worth while to wait for more? Not for a submitter that waits for each answer or polls. One
 * that submits one after the other is about to submit the next: together they cost one packet. The
 * sender thread sends when it pauses, a worker after DEFERRED_TIME when it computes.
 */
static bool submitter_defers(struct istripe_conn *conn, struct istripe_submitter *submitter,
			     bool polled)
{
	bool batch_ends = READ_ONCE(conn->batching);
	bool goes_on = !polled && submitter_goes_on(submitter, istripe_conn_is_idle(conn));
	u32 deferred = READ_ONCE(submitter->deferred);
	bool defers = goes_on && !batch_ends && deferred < DEFERRED_MAX;

	if (batch_ends)
		WRITE_ONCE(conn->batching, false);
	WRITE_ONCE(submitter->deferred, defers ? deferred + 1 : 0);
	return defers;
}

/*
 * If anything has been sent since the timer was started, so was all that waited then. In hard
 * interrupts with PREEMPT_RT, too: a softirq would wait there for the submitter that computes.
 */
static enum hrtimer_restart submitter_timer_fires(struct hrtimer *timer)
{
	struct istripe_submitter *submitter = container_of(timer, struct istripe_submitter, timer);
	struct istripe_conn *conn = submitter->conn;
	u64 sent = READ_ONCE(conn->commands_sent);

	if (!llist_empty(&conn->submitted) && sent != submitter->timed_sent) {
		submitter->timed_sent = sent;
		hrtimer_forward_now(timer, DEFERRED_TIME);
		return HRTIMER_RESTART;
	}
	WRITE_ONCE(submitter->timed, false);
	/* Flag before list: pairs with submitter_defer(). */
	smp_mb();
	if (!llist_empty(&conn->submitted))
		istripe_conn_kick(conn);
	return HRTIMER_NORESTART;
}

static void submitter_defer(struct istripe_submitter *submitter)
{
	kthread_queue_work(per_cpu(senders, submitter->cpu), &submitter->work);
	/* A full barrier, list before flag: pairs with submitter_timer_fires(). */
	if (xchg(&submitter->timed, true))
		return;
	submitter->timed_sent = READ_ONCE(submitter->conn->commands_sent);
	hrtimer_start(&submitter->timer, DEFERRED_TIME, HRTIMER_MODE_REL_PINNED_HARD);
}

void istripe_conn_submit(struct istripe_conn *conn, struct istripe_task *task,
			 enum istripe_submit when)
{
	struct istripe_submitter *submitter = &conn->submitters[raw_smp_processor_id()];
	/* Once on the list it may be done at any time. */
	bool polled = task->polled;

	llist_add(&task->submit_node, &conn->submitted);
	if (when == ISTRIPE_SUBMIT_LATER)
		istripe_conn_kick(conn);
	else if (when == ISTRIPE_SUBMIT_MORE)
		WRITE_ONCE(conn->batching, true);
	else if (!submitter_defers(conn, submitter, polled))
		istripe_conn_flush(conn);
	else if (!test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		submitter_defer(submitter);
}

void istripe_conn_flush(struct istripe_conn *conn)
{
	unsigned int noreclaim;

	/* After the end nothing is sent any more. */
	if (test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		return;
	noreclaim = memalloc_noreclaim_save();
	if (istripe_conn_send(conn) > 0 && test_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags))
		istripe_conn_kick(conn);
	memalloc_noreclaim_restore(noreclaim);
}

/* Only sends: receiving is left to one worker. */
static void submitter_sender_work(struct kthread_work *work)
{
	istripe_conn_flush(container_of(work, struct istripe_submitter, work)->conn);
}

int istripe_submitters_alloc(struct istripe_conn *conn)
{
	struct istripe_submitter *submitter;
	int cpu;

	/* Not percpu memory: its mutex may be held by a caller that waits for this volume. */
	conn->submitters = kvcalloc(nr_cpu_ids, sizeof(*conn->submitters), GFP_KERNEL);
	if (!conn->submitters)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		submitter = &conn->submitters[cpu];
		submitter->conn = conn;
		submitter->cpu = cpu;
		kthread_init_work(&submitter->work, submitter_sender_work);
		istripe_compat_hrtimer_setup(&submitter->timer, submitter_timer_fires,
					     HRTIMER_MODE_REL_PINNED_HARD);
	}
	return 0;
}

void istripe_submitters_free(struct istripe_conn *conn)
{
	kvfree(conn->submitters);
}

void istripe_submitters_stop(struct istripe_conn *conn)
{
	struct istripe_submitter *submitter;
	int cpu;

	for_each_possible_cpu(cpu) {
		submitter = &conn->submitters[cpu];
		hrtimer_cancel(&submitter->timer);
		kthread_cancel_work_sync(&submitter->work);
	}
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
