// SPDX-License-Identifier: GPL-2.0
/* doctor: how long commands take over the paths of a leg, and over the legs of a volume. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "latency.h"

#define COMMANDS_ENOUGH	1000	/* of a kind, to judge by */
#define TIMES_LONGER	3
#define MS_LONGER	1

/* The words of a check. */
struct comparison {
	const char *what;	/* is compared */
	const char *look_at;
	const char *why;
};

static const struct comparison of_paths = {
	"path", "its NIC, switch port and target port",
	"requests that are spread over the paths wait for the slowest one",
};

static const struct comparison of_legs = {
	"leg", "its target: write cache, disks, other hosts",
	"requests that are spread over the legs wait for the slowest one",
};

/* -1: it cannot be judged, as a path that is not optimized: the array says that it is slow. */
static double place_ms(const struct live *place, enum latency_kind kind)
{
	struct latency latency;

	if (!strcmp(settings_value(&place->values, "access_state"), "active/non-optimized") ||
	    !latency_of(place, kind, &latency) || latency_count(&latency) < COMMANDS_ENOUGH)
		return -1;
	return latency_short_mean_ms(&latency);
}

/* The number of those that can be judged; the fastest of them. */
static size_t fastest_find(const struct live *group, enum latency_kind kind,
			   const struct live **fastest, double *fastest_ms)
{
	size_t i, count = 0;

	for (i = 0; i < group->child_count; i++) {
		double ms = place_ms(&group->children[i], kind);

		if (ms < 0)
			continue;
		if (!count++ || ms < *fastest_ms) {
			*fastest = &group->children[i];
			*fastest_ms = ms;
		}
	}
	return count;
}

/* Takes @measured and @wanted. */
static void slow_warn(struct doctor *doctor, const struct comparison *comparison,
		      const char *place, char *measured, char *wanted)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_printf("%s%s%s %s", doctor->subject ? doctor->subject : "",
					doctor->subject ? " " : "", comparison->what, place),
		.measured = measured, .wanted = wanted,
		.next = alloc_printf("istripectl top %s; then look at %s", doctor->volume,
				     comparison->look_at),
	},
	"%s", comparison->why);
}

/* Whether there are two to compare. The fastest one passes. */
static bool kind_check(struct doctor *doctor, const struct live *group, enum latency_kind kind,
		       const struct comparison *comparison)
{
	const struct live *fastest = NULL;
	double fastest_ms = 0, most_ms;
	size_t i;

	if (fastest_find(group, kind, &fastest, &fastest_ms) < 2)
		return false;
	most_ms = TIMES_LONGER * fastest_ms;
	if (most_ms < fastest_ms + MS_LONGER)
		most_ms = fastest_ms + MS_LONGER;
	doctor_pass(doctor);
	for (i = 0; i < group->child_count; i++) {
		double ms = place_ms(&group->children[i], kind);

		if (ms > most_ms)
			slow_warn(doctor, comparison, group->children[i].name,
				  alloc_printf("%ss take %.2f ms", latency_kinds[kind], ms),
				  alloc_printf("%.2f ms or less, since %s %s takes %.2f ms",
					       most_ms, comparison->what, fastest->name,
					       fastest_ms));
	}
	return true;
}

static bool is_counted(const struct live *group)
{
	struct latency latency;
	size_t i;

	for (i = 0; i < group->child_count; i++)
		if (latency_of(&group->children[i], LATENCY_READ, &latency))
			return true;
	return false;
}

static void group_check(struct doctor *doctor, const struct live *group,
			const struct comparison *comparison)
{
	bool reads, writes;

	if (!is_counted(group)) {
		doctor_unread(doctor, "the time of commands", 0);
		return;
	}
	reads = kind_check(doctor, group, LATENCY_READ, comparison);
	writes = kind_check(doctor, group, LATENCY_WRITE, comparison);
	if (!reads && !writes)
		doctor_skip(doctor, "no two %ss have %d reads or writes each", comparison->what,
			    COMMANDS_ENOUGH);
}

/* The legs of a volume that is up; NULL, and said so, when it is not. */
static const struct live *legs_of(struct doctor *doctor, const struct doctor_volume *volume)
{
	const struct live *legs = volume->up ? live_child(&volume->live, "legs") : NULL;

	if (!legs)
		doctor_skip(doctor, "the volume is down");
	return legs;
}

void doctor_slow_path(struct doctor *doctor, const struct doctor_volume *volume)
{
	const struct live *legs = legs_of(doctor, volume);
	bool several = false;
	size_t i;

	for (i = 0; legs && i < legs->child_count; i++) {
		const struct live *paths = live_child(&legs->children[i], "paths");

		if (!paths || paths->child_count < 2)
			continue;
		several = true;
		doctor->subject = alloc_printf("leg %s", legs->children[i].name);
		group_check(doctor, paths, &of_paths);
		free(doctor->subject);
		doctor->subject = NULL;
	}
	if (legs && !several)
		doctor_skip(doctor, "each leg has one path");
}

void doctor_slow_leg(struct doctor *doctor, const struct doctor_volume *volume)
{
	const struct live *legs = legs_of(doctor, volume);

	if (!legs)
		return;
	if (legs->child_count < 2)
		doctor_skip(doctor, "there is one leg");
	else
		group_check(doctor, legs, &of_legs);
}
