// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/string.h>

#include <istripe/reason.h>

void istripe_reason_set(struct istripe_reason *reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(reason->text, sizeof(reason->text), fmt, args);
	va_end(args);
}

void istripe_reason_add(struct istripe_reason *reason, const char *fmt, ...)
{
	size_t used = strlen(reason->text);
	va_list args;

	va_start(args, fmt);
	vscnprintf(reason->text + used, sizeof(reason->text) - used, fmt, args);
	va_end(args);
}

int istripe_reason_fail(struct istripe_reason *reason, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(reason->text, sizeof(reason->text), fmt, args);
	va_end(args);
	return error;
}
