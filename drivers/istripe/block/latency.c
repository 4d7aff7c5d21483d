// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "block/latency.h"

#define UNIT_SHIFT	10	/* of the first bucket: 1024 ns */

static enum istripe_latency_kind latency_kind(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return ISTRIPE_LATENCY_READ;
	case REQ_OP_WRITE:
		return ISTRIPE_LATENCY_WRITE;
	default:
		return ISTRIPE_LATENCY_OTHER;
	}
}

void istripe_latency_count(struct istripe_latencies __percpu *latencies, const struct request *rq)
{
	struct istripe_latency __percpu *latency = &latencies->kinds[latency_kind(rq)];
	u64 ns;

	/* Newer kernels that set no time leave that of an earlier request; a flush has its own. */
	if (!rq->start_time_ns || (req_op(rq) != REQ_OP_FLUSH && !(rq->rq_flags & RQF_IO_STAT)))
		return;
	ns = ktime_get_ns() - rq->start_time_ns;
	this_cpu_inc(latency->counts[min(fls64(ns >> UNIT_SHIFT), ISTRIPE_LATENCY_BUCKETS - 1)]);
	this_cpu_add(latency->sum_ns, ns);
}

bool istripe_latency_answered(const struct istripe_latencies __percpu *latencies,
			      unsigned long since, bool good)
{
	const struct istripe_latencies *one;
	unsigned long stamp;
	int cpu;

	for_each_possible_cpu(cpu) {
		one = per_cpu_ptr(latencies, cpu);
		stamp = good ? READ_ONCE(one->good) : READ_ONCE(one->answered);
		if (stamp && time_after_eq(stamp, since))
			return true;
	}
	return false;
}

void istripe_latency_add(const struct istripe_latencies __percpu *latencies,
			 enum istripe_latency_kind kind, struct istripe_latency *sum)
{
	const struct istripe_latency *latency;
	u32 i;
	int cpu;

	for_each_possible_cpu(cpu) {
		latency = &per_cpu_ptr(latencies, cpu)->kinds[kind];
		sum->sum_ns += READ_ONCE(latency->sum_ns);
		for (i = 0; i < ISTRIPE_LATENCY_BUCKETS; i++)
			sum->counts[i] += READ_ONCE(latency->counts[i]);
	}
}
