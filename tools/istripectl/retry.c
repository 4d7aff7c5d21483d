// SPDX-License-Identifier: GPL-2.0
/* Trying again, for as long as --wait says. */
#include <errno.h>
#include <string.h>

#include "interrupt.h"
#include "notify.h"
#include "retry.h"
#include "value.h"
#include "watch.h"

/* The longest pause is what a boot loses at most when the array is back. */
#define PAUSE_MIN_MS	1000
#define PAUSE_MAX_MS	8000

void retry_begin(struct retry *retry, long long wait_ms)
{
	memset(retry, 0, sizeof(*retry));
	if (wait_ms == VALUE_FOREVER ||
	    __builtin_add_overflow(watch_now_ms(), wait_ms, &retry->end_ms))
		retry->end_ms = VALUE_FOREVER;
}

bool retry_may_help(int error)
{
	static const int errors[] = {
		EADDRNOTAVAIL, EAGAIN, EBUSY, ECANCELED, ECONNABORTED, ECONNREFUSED, ECONNRESET,
		EHOSTDOWN, EHOSTUNREACH, EIO, ENETDOWN, ENETUNREACH, ENODEV, ENOLINK, ENOTCONN,
		ENXIO, EPIPE, ETIMEDOUT,
	};
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (error == -errors[i])
			return true;
	return false;
}

/* Another reason means that something has changed: the next attempt comes soon. */
static long long next_pause_ms(long long pause_ms, bool same_reason)
{
	if (!same_reason || !pause_ms)
		return PAUSE_MIN_MS;
	return pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
}

bool retry_again(struct retry *retry, const struct fault *fault)
{
	bool same_reason = !strcmp(retry->said.text, fault->text);
	long long left_ms = PAUSE_MAX_MS;

	if (retry->end_ms != VALUE_FOREVER)
		left_ms = retry->end_ms - watch_now_ms();
	/* The last attempt is not right behind the one before it. */
	if (interrupt_seen() || left_ms < (retry->pause_ms ? PAUSE_MIN_MS : 1))
		return false;
	retry->pause_ms = next_pause_ms(retry->pause_ms, same_reason);
	if (retry->pause_ms > left_ms)
		retry->pause_ms = left_ms;
	watch_sleep_ms(retry->pause_ms);
	if (interrupt_seen())
		return false;
	/* Without patience nothing is said that the caller would say again. */
	if (!same_reason) {
		struct fault said = *fault;

		retry->said = *fault;
		notify_status(fault);
		fault_add(&said, "trying again");
		fault_print(&said);
	}
	return true;
}
