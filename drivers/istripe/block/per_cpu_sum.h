/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_BLOCK_PER_CPU_SUM_H
#define ISTRIPE_BLOCK_PER_CPU_SUM_H

#include <linux/cpumask.h>
#include <linux/percpu.h>

/**
 * istripe_per_cpu_sum() - how many of those that were counted are there?
 * @count: one up on some processor, one down on another: only the sum means anything
 * Context: any.
 * Return: the sum. One that comes and goes meanwhile may make it negative.
 */
static inline int istripe_per_cpu_sum(u32 __percpu *count)
{
	u32 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(count, cpu));
	return sum;
}

#endif
