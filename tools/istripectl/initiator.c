// SPDX-License-Identifier: GPL-2.0
/* The name that this host has as an iSCSI initiator. */
#define _GNU_SOURCE
#include <errno.h>
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

int initiator_take(struct volume *volume, struct fault *fault)
{
	char *name;

	if (settings_find(&volume->settings, "initiator_name"))
		return 0;
	name = initiator_name();
	if (!name)
		return fault_set(fault, -EINVAL,
				 "no initiator name: " INITIATOR_FILE " has none\n"
				 "next: give --initiator iqn.YYYY-MM.DOMAIN:THIS-HOST, or initiator_name in the file");
	settings_put(&volume->settings, "initiator_name", name);
	free(name);
	return 0;
}
