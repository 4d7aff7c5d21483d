// SPDX-License-Identifier: GPL-2.0
/* Paths of a leg that are one and the same way. */
#include <stdbool.h>
#include <stdio.h>

#include "same.h"
#include "twin.h"

static bool values_equal(const struct path *a, const struct path *b, const char *name)
{
	return same_value(KNOWN_PATH, name, settings_value(&a->settings, name),
			  settings_value(&b->settings, name));
}

static bool paths_equal(const struct path *a, const struct path *b)
{
	return *settings_value(&a->settings, "portal") && values_equal(a, b, "portal") &&
	       values_equal(a, b, "nic") && values_equal(a, b, "source_address");
}

void twin_warn(const struct leg *leg, const struct path *path)
{
	const struct path *other;

	for (other = leg->paths; other < leg->paths + leg->path_count && other != path; other++) {
		if (other->index == path->index || !paths_equal(other, path))
			continue;
		fprintf(stderr,
			"istripectl: warning: leg %u: paths %u and %u have the same portal and nic, so they fail together\n"
			"            for more connections of one path: connections=2\n",
			leg->index, other->index, path->index);
		return;
	}
}

void twins_warn(const struct volume *volume)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 1; j < volume->legs[i].path_count; j++)
			twin_warn(&volume->legs[i], &volume->legs[i].paths[j]);
}
