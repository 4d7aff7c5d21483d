// SPDX-License-Identifier: GPL-2.0
/* Memory that is there. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static void *checked(void *memory)
{
	if (memory)
		return memory;
	fputs("istripectl: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

void *alloc_array(void *old, size_t count, size_t size)
{
	return checked(reallocarray(old, count ? count : 1, size));
}

void *alloc_longer(void *old, size_t count, size_t size)
{
	char *array = alloc_array(old, count + 1, size);

	memset(array + count * size, 0, size);
	return array;
}

char *alloc_text(const char *text)
{
	return checked(strdup(text));
}

char *alloc_printf(const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return checked(text);
}

void alloc_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}
