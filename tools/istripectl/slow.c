// SPDX-License-Identifier: GPL-2.0
/* Whether a path or a leg is slow beside the others. */
#include <string.h>

#include "alloc.h"
#include "slow.h"

#define TIMES_LONGER	3
#define MS_LONGER	1
#define NEARLY		0.9	/* of the limit */

/* -1: it cannot be judged, as a path that is not optimized: the array says that it is slow. */
static double place_ms(const struct live *place, enum latency_kind kind)
{
	struct latency latency;

	if (!strcmp(settings_value(&place->values, "access_state"), "active/non-optimized") ||
	    !latency_of(place, kind, &latency) || latency_count(&latency) < SLOW_COMMANDS)
		return -1;
	return latency_short_mean_ms(&latency);
}

static void limit_find(const struct live *all, enum latency_kind kind, struct slow_limit *limit)
{
	size_t i, count = 0;

	for (i = 0; i < all->child_count; i++) {
		double ms = place_ms(&all->children[i], kind);

		if (ms < 0)
			continue;
		if (!count++ || ms < limit->fastest_ms) {
			limit->fastest = &all->children[i];
			limit->fastest_ms = ms;
		}
	}
	if (count < 2)
		limit->fastest = NULL;
	limit->most_ms = TIMES_LONGER * limit->fastest_ms;
	if (limit->most_ms < limit->fastest_ms + MS_LONGER)
		limit->most_ms = limit->fastest_ms + MS_LONGER;
}

void slow_compare(const struct live *all, struct slow_group *group)
{
	int kind;

	memset(group, 0, sizeof(*group));
	for (kind = 0; all && all->child_count > 1 && kind < SLOW_KINDS; kind++)
		limit_find(all, kind, &group->limits[kind]);
}

enum slow slow_of_kind(const struct slow_group *group, enum latency_kind kind,
		       const struct live *place, double *ms)
{
	const struct slow_limit *limit = &group->limits[kind];

	*ms = limit->fastest ? place_ms(place, kind) : -1;
	if (*ms < 0)
		return SLOW_UNKNOWN;
	if (*ms > limit->most_ms)
		return SLOW_YES;
	return *ms > NEARLY * limit->most_ms ? SLOW_NEARLY : SLOW_NO;
}

enum slow slow_of(const struct slow_group *group, const struct live *place)
{
	enum slow worst = SLOW_UNKNOWN;
	double ms;
	int kind;

	for (kind = 0; kind < SLOW_KINDS; kind++) {
		enum slow slow = slow_of_kind(group, kind, place, &ms);

		if (slow > worst)
			worst = slow;
	}
	return worst;
}

char *slow_why(const struct slow_group *group, const struct live *place, const char *what)
{
	double ms;
	int kind;

	for (kind = 0; kind < SLOW_KINDS; kind++) {
		const struct slow_limit *limit = &group->limits[kind];

		if (slow_of_kind(group, kind, place, &ms) == SLOW_YES)
			return alloc_printf("%ss take %.2f ms, %s %s takes %.2f ms",
					    latency_kinds[kind], ms, what, limit->fastest->name,
					    limit->fastest_ms);
	}
	return alloc_text("");
}
