// SPDX-License-Identifier: GPL-2.0
/* The clock; apart from its users, so that tests can have another one. */
#include <time.h>

#include "watch.h"

long long watch_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

void watch_sleep_ms(long long ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}
