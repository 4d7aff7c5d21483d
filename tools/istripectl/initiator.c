// SPDX-License-Identifier: GPL-2.0
/* The name that this host has as an iSCSI initiator. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "file.h"
#include "initiator.h"
#include "place.h"

#define KEY	"InitiatorName="

static char *line_name(char *line)
{
	line += strspn(line, " \t");
	if (strncmp(line, KEY, strlen(KEY)))
		return NULL;
	line += strlen(KEY);
	line[strcspn(line, " \t\r?")] = '\0';
	return *line ? alloc_text(line) : NULL;
}

char *initiator_name(void)
{
	char *path = place_path(INITIATOR_FILE), *text = NULL, *rest, *line, *name = NULL;

	file_read(path, &text);
	rest = text;
	while (!name && rest && (line = strsep(&rest, "\n")))
		name = line_name(line);
	free(text);
	free(path);
	return name;
}
