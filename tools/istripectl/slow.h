/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether commands take much longer over one path than over the others of its leg, or on one leg
 * than on the others. This is the only place that judges so: doctor, status, metrics and monitor
 * say the same.
 */
#ifndef ISTRIPECTL_SLOW_H
#define ISTRIPECTL_SLOW_H

#include "latency.h"

/* Reads and writes; how long a flush or a discard takes says nothing of a path. */
#define SLOW_KINDS	(LATENCY_WRITE + 1)

/* Of a kind, to judge by. */
#define SLOW_COMMANDS	1000

enum slow {
	SLOW_UNKNOWN,		/* too few commands of it, or nothing to compare it with */
	SLOW_NO,
	SLOW_NEARLY,		/* no, but for monitor one that was slow still is */
	SLOW_YES,
};

/* The limits of the paths of a leg, or of the legs of a volume. */
struct slow_group {
	struct slow_limit {
		const struct live *fastest;	/* NULL: no two can be compared */
		double fastest_ms, most_ms;
	} limits[SLOW_KINDS];
};

/**
 * slow_compare() - find the fastest one for each kind of commands
 * @all: the directory of the paths, or of the legs; stays as it is while @group is in use; NULL:
 *	there is none
 * @group: set
 */
void slow_compare(const struct live *all, struct slow_group *group);

/**
 * slow_of_kind() - judge one path or leg by its commands of one kind
 * @group: from slow_compare()
 * @kind: less than SLOW_KINDS
 * @place: the path or the leg
 * @ms: set to the mean time, -1 when it cannot be judged
 *
 * Return: the judgement.
 */
enum slow slow_of_kind(const struct slow_group *group, enum latency_kind kind,
		       const struct live *place, double *ms);

/**
 * slow_of() - judge one path or leg
 * @group: from slow_compare()
 * @place: the path or the leg
 *
 * Return: the worse judgement of its reads and its writes.
 */
enum slow slow_of(const struct slow_group *group, const struct live *place);

/**
 * slow_why() - say how slow it is
 * @group: from slow_compare()
 * @place: a path or leg that slow_of() has found slow
 * @what: "path" or "leg"
 *
 * Return: a text for free(), empty when it is not slow.
 */
char *slow_why(const struct slow_group *group, const struct live *place, const char *what);

#endif
