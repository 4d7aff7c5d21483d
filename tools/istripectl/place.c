// SPDX-License-Identifier: GPL-2.0
/* Where the kernel's files are. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "place.h"

char *place_path(const char *fmt, ...)
{
	const char *root = secure_getenv("ISTRIPECTL_ROOT");
	char *path, *full;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&path, fmt, args) < 0)
		abort();
	va_end(args);
	full = alloc_printf("%s%s", root ? root : "", path);
	free(path);
	return full;
}
