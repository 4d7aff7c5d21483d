/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times of commands that were answered with GOOD: a histogram for each path and kind of request, in
 * counters of each processor. The time begins with the block layer's request, so pauses and losses
 * count as the user sees them, but not the time that its bios were kept before (requeue.h). It is
 * the path that has answered that counts it.
 */
#ifndef ISTRIPE_BLOCK_LATENCY_H
#define ISTRIPE_BLOCK_LATENCY_H

#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct request;

enum istripe_latency_kind {
	ISTRIPE_LATENCY_READ,
	ISTRIPE_LATENCY_WRITE,
	ISTRIPE_LATENCY_OTHER,		/* flush, discard, zeroes */
	ISTRIPE_LATENCY_KINDS
};

/* Bucket n is for less than 1024 << n nanoseconds, the last one for all longer times. */
#define ISTRIPE_LATENCY_BUCKETS		26

struct istripe_latency {
	u64 sum_ns;
	u64 counts[ISTRIPE_LATENCY_BUCKETS];
};

struct istripe_latencies {
	struct istripe_latency kinds[ISTRIPE_LATENCY_KINDS];
	/* When the last command that was answered, and with GOOD, was sent; jiffies, 0: none. */
	unsigned long answered;
	unsigned long good;
};

static inline void istripe_latency_stamp(unsigned long __percpu *stamp, unsigned long since)
{
	if (time_after(since, this_cpu_read(*stamp)))
		this_cpu_write(*stamp, since);
}

/* Is a command answered, if @good with GOOD, that was sent at @since (jiffies) or later? */
bool istripe_latency_answered(const struct istripe_latencies __percpu *latencies,
			      unsigned long since, bool good);

/* A command of @rq is done. Counts nothing that the block layer has not stamped. Any context. */
void istripe_latency_count(struct istripe_latencies __percpu *latencies, const struct request *rq);

/**
 * istripe_latency_add() - add what all processors have counted
 * @latencies: of a path
 * @kind: of request
 * @sum: added to
 * Context: any. Commands that end meanwhile may be in the counts and not yet in the sum.
 */
void istripe_latency_add(const struct istripe_latencies __percpu *latencies,
			 enum istripe_latency_kind kind, struct istripe_latency *sum);

#endif
