// SPDX-License-Identifier: GPL-2.0
/* Trying again, for as long as --wait says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interrupt.h"
#include "notify.h"
#include "retry.h"
#include "value.h"
#include "watch.h"

#define PAUSE_MS	1000

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
		EADDRNOTAVAIL, EAGAIN, EBUSY, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN,
		EHOSTUNREACH, EIO, ENETDOWN, ENETUNREACH, ENODEV, ENOTCONN, ENXIO, EPIPE, ETIMEDOUT,
	};
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (error == -errors[i])
			return true;
	return false;
}

bool retry_again(struct retry *retry, const struct fault *fault)
{
	if (interrupt_seen() ||
	    (retry->end_ms != VALUE_FOREVER && watch_now_ms() + PAUSE_MS > retry->end_ms))
		return false;
	watch_sleep_ms(PAUSE_MS);
	if (interrupt_seen())
		return false;
	/* Without patience nothing is said that the caller would say again. */
	if (strcmp(retry->said.text, fault->text)) {
		retry->said = *fault;
		fault_print(fault);
		notify_status(fault);
		fprintf(stderr, "            trying again\n");
	}
	return true;
}
