// SPDX-License-Identifier: GPL-2.0
/* What went wrong, in words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
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

char *fault_next(const struct fault *fault)
{
	const char *text = fault->text, *end;
	char *step, *line;

	while (text && strncmp(text, "next: ", strlen("next: "))) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text)
		return NULL;
	text += strlen("next: ");
	end = strstr(text, "\nnext: ");
	step = alloc_printf("%.*s", (int)(end ? end - text : (long)strlen(text)), text);
	for (line = strchr(step, '\n'); line; line = strchr(line, '\n'))
		*line = ' ';
	return step;
}

/* In one piece: other processes may print theirs at the same time. */
void fault_print(const struct fault *fault)
{
	char copy[FAULT_BYTES], *rest = copy, *line, *text = NULL;
	const char *label = "istripectl:";
	size_t bytes;
	FILE *out;

	if (!*fault->text)
		return;
	out = open_memstream(&text, &bytes);
	if (!out)
		return;
	snprintf(copy, sizeof(copy), "%s", fault->text);
	while ((line = strsep(&rest, "\n"))) {
		text_clean(line);
		fprintf(out, "%s %s\n", label, line);
		label = "           ";
	}
	if (!fclose(out))
		fputs(text, stderr);
	free(text);
}
