// SPDX-License-Identifier: GPL-2.0
/* doctor: how long commands take over the paths of a leg, and over the legs of a volume. */
#include <stdlib.h>

#include "alloc.h"
#include "doctor.h"
#include "slow.h"

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
static bool kind_check(struct doctor *doctor, const struct live *all,
		       const struct slow_group *group, enum latency_kind kind,
		       const struct comparison *comparison)
{
	const struct slow_limit *limit = &group->limits[kind];
	size_t i;

	if (!limit->fastest)
		return false;
	doctor_pass(doctor);
	for (i = 0; i < all->child_count; i++) {
		double ms;

		if (slow_of_kind(group, kind, &all->children[i], &ms) == SLOW_YES)
			slow_warn(doctor, comparison, all->children[i].name,
				  alloc_printf("%ss take %.2f ms", latency_kinds[kind], ms),
				  alloc_printf("%.2f ms or less, since %s %s takes %.2f ms",
					       limit->most_ms, comparison->what,
					       limit->fastest->name, limit->fastest_ms));
	}
	return true;
}

static bool is_counted(const struct live *all)
{
	struct latency latency;
	size_t i;

	for (i = 0; i < all->child_count; i++)
		if (latency_of(&all->children[i], LATENCY_READ, &latency))
			return true;
	return false;
}

static void group_check(struct doctor *doctor, const struct live *all,
			const struct comparison *comparison)
{
	struct slow_group group;
	bool found = false;
	int kind;

	if (!is_counted(all)) {
		doctor_unread(doctor, "the time of commands", 0);
		return;
	}
	slow_compare(all, &group);
	for (kind = 0; kind < SLOW_KINDS; kind++)
		found |= kind_check(doctor, all, &group, kind, comparison);
	if (!found)
		doctor_skip(doctor, "no two %ss have %d reads or writes each", comparison->what,
			    SLOW_COMMANDS);
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
