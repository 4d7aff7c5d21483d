/* SPDX-License-Identifier: GPL-2.0 */
/* Trying again, for as long as --wait says. */
#ifndef ISTRIPECTL_RETRY_H
#define ISTRIPECTL_RETRY_H

#include <stdbool.h>

#include "fault.h"

struct retry {
	long long end_ms;	/* of the monotonic clock, or VALUE_FOREVER */
	long long pause_ms;	/* the last one, or 0 */
	struct fault said;	/* the last reason that was printed */
	bool marked;		/* an attempt may have written superblocks, which stay */
};

/**
 * retry_begin() - the time begins
 * @retry: set
 * @wait_ms: for how long to try again, VALUE_FOREVER, or 0
 */
void retry_begin(struct retry *retry, long long wait_ms);

/**
 * retry_may_help() - whether an error may pass by itself
 * @error: a negative errno
 *
 * Return: whether it is one of an array, a switch, a name server or this host's network that is
 * starting.
 */
bool retry_may_help(int error);

/**
 * retry_again() - wait a moment, unless the time is over
 * @retry: begun
 * @fault: why it failed; printed when it is another reason than before, and the caller shall try
 *	again
 *
 * The pauses double from 1 s to 8 s, and begin anew with another reason. The last one ends when the
 * time does. An interrupt ends it.
 *
 * Return: whether to try again.
 */
bool retry_again(struct retry *retry, const struct fault *fault);

#endif
