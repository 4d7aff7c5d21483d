// SPDX-License-Identifier: GPL-2.0
/* The limit of open files. */
#include <sys/resource.h>

#include "descriptors.h"

#define SPARE	64

static struct rlimit before;
static bool raised;

void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &before))
		return;
	limit = (struct rlimit) { .rlim_cur = before.rlim_max, .rlim_max = before.rlim_max };
	raised = !setrlimit(RLIMIT_NOFILE, &limit);
}

void descriptors_restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}

bool descriptors_are_few(int fd)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)fd + SPARE;
}
