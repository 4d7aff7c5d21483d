// SPDX-License-Identifier: GPL-2.0
/* What went wrong, in words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "text.h"

int fault_set(struct fault *fault, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(fault->text, sizeof(fault->text), fmt, args);
	va_end(args);
	return error;
}

int fault_either(struct fault *fault, const char *one, const char *other)
{
	return fault_set(fault, -EINVAL, "either %s or %s", one, other);
}

void fault_add(struct fault *fault, const char *fmt, ...)
{
	size_t used = strlen(fault->text);
	va_list args;

	if (used + 1 >= sizeof(fault->text))
		return;
	if (used)
		fault->text[used++] = '\n';
	va_start(args, fmt);
	vsnprintf(fault->text + used, sizeof(fault->text) - used, fmt, args);
	va_end(args);
}

void fault_append(struct fault *fault, const char *fmt, ...)
{
	size_t used = strlen(fault->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(fault->text + used, sizeof(fault->text) - used, fmt, args);
	va_end(args);
}

void fault_print(const struct fault *fault)
{
	char copy[FAULT_BYTES], *rest = copy, *line;
	const char *label = "istripectl:";

	snprintf(copy, sizeof(copy), "%s", fault->text);
	while (*fault->text && (line = strsep(&rest, "\n"))) {
		text_clean(line);
		fprintf(stderr, "%s %s\n", label, line);
		label = "           ";
	}
}
