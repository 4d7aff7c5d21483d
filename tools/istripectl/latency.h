/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long commands took, as the module's files latency_read, latency_write and latency_other of
 * paths and legs say.
 */
#ifndef ISTRIPECTL_LATENCY_H
#define ISTRIPECTL_LATENCY_H

#include <stdbool.h>

#include "live.h"

enum latency_kind {
	LATENCY_READ,
	LATENCY_WRITE,
	LATENCY_OTHER,		/* flush, discard, zeroes */
	LATENCY_KINDS
};

/* As the names of the files end. */
extern const char *const latency_kinds[LATENCY_KINDS];

/* Bucket n has what took less than latency_bound_ns(n), the last one all that took longer. */
#define LATENCY_BUCKETS	26

struct latency {
	unsigned long long sum_ns;
	unsigned long long counts[LATENCY_BUCKETS];
};

/**
 * latency_of() - read the file of one kind of commands
 * @live: the path or the leg
 * @kind: of commands
 * @latency: set on success
 *
 * Return: whether there is such a file, and it is as it should be.
 */
bool latency_of(const struct live *live, enum latency_kind kind, struct latency *latency);

/**
 * latency_add_grown() - add what has come between two readings
 * @before: the first
 * @after: the second
 * @sum: added to
 *
 * Return: false when a number has become smaller, as that of a leg that has lost a path.
 */
bool latency_add_grown(const struct latency *before, const struct latency *after,
		       struct latency *sum);

/**
 * latency_bound_ns() - where a bucket ends
 * @bucket: which one, not the last
 *
 * Return: the bound in nanoseconds.
 */
unsigned long long latency_bound_ns(unsigned int bucket);

/**
 * latency_count() - how many commands
 * @latency: of which
 *
 * Return: their number.
 */
unsigned long long latency_count(const struct latency *latency);

/**
 * latency_mean_ms() - mean time
 * @latency: of which
 *
 * Return: the mean in ms, 0 without commands.
 */
double latency_mean_ms(const struct latency *latency);

/**
 * latency_short_mean_ms() - mean time without the commands that took a second or longer
 * @latency: of which
 *
 * Such commands have waited for a lost path: a few of them say nothing of the path that has
 * answered in the end. They count when they are half of all, or more. Where some are left out the
 * mean is an estimate from the buckets.
 *
 * Return: the mean in ms, 0 without commands.
 */
double latency_short_mean_ms(const struct latency *latency);

#endif
