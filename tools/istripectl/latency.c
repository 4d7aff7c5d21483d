// SPDX-License-Identifier: GPL-2.0
/* How long commands took: a line of numbers, and what follows from it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "latency.h"

#define NS_PER_MS	1e6
#define BUCKETS_SHORT	21	/* less than 1.07 s */

const char *const latency_kinds[LATENCY_KINDS] = { "read", "write", "other" };

/* A number with @end behind it; *@text is what follows. */
static bool number_take(const char **text, char end, unsigned long long *number)
{
	char *rest;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*number = strtoull(*text, &rest, 10);
	*text = rest + 1;
	return !errno && *rest == end;
}

static bool line_read(const char *text, struct latency *latency)
{
	unsigned int i;

	if (!number_take(&text, ' ', &latency->sum_ns))
		return false;
	for (i = 0; i < LATENCY_BUCKETS; i++)
		if (!number_take(&text, i < LATENCY_BUCKETS - 1 ? ' ' : '\0', &latency->counts[i]))
			return false;
	return true;
}

bool latency_of(const struct live *live, enum latency_kind kind, struct latency *latency)
{
	char *file = alloc_printf("latency_%s", latency_kinds[kind]);
	bool done = line_read(settings_value(&live->values, file), latency);

	free(file);
	return done;
}

bool latency_add_grown(const struct latency *before, const struct latency *after,
		       struct latency *sum)
{
	unsigned int i;

	if (after->sum_ns < before->sum_ns)
		return false;
	sum->sum_ns += after->sum_ns - before->sum_ns;
	for (i = 0; i < LATENCY_BUCKETS; i++) {
		if (after->counts[i] < before->counts[i])
			return false;
		sum->counts[i] += after->counts[i] - before->counts[i];
	}
	return true;
}

unsigned long long latency_bound_ns(unsigned int bucket)
{
	return 1024ULL << bucket;
}

unsigned long long latency_count(const struct latency *latency)
{
	unsigned long long count = 0;
	unsigned int i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		count += latency->counts[i];
	return count;
}

double latency_mean_ms(const struct latency *latency)
{
	unsigned long long count = latency_count(latency);

	return count ? latency->sum_ns / NS_PER_MS / count : 0;
}

double latency_short_mean_ms(const struct latency *latency)
{
	unsigned long long count = latency_count(latency), few = 0;
	double sum_ns = 0;
	unsigned int i;

	/* A bucket is from half of its bound on: three quarters are its middle. */
	for (i = 0; i < BUCKETS_SHORT; i++) {
		few += latency->counts[i];
		sum_ns += latency->counts[i] * (latency_bound_ns(i) * 0.75);
	}
	if (few == count || few <= count / 2)
		return latency_mean_ms(latency);
	return sum_ns / NS_PER_MS / few;
}
