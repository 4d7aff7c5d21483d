// SPDX-License-Identifier: GPL-2.0
/* Uevents of volumes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "text.h"
#include "uevent.h"

bool uevents_take(struct uevents *uevents, const char *text, size_t bytes)
{
	static const char action[] = "\0ISTRIPE_ACTION=";
	struct uevent *uevent;

	if (memmem(text, bytes, action, sizeof(action) - 1)) {
		uevent = alloc_append(uevents->items, uevents->count);
		uevent->text = alloc_array(NULL, bytes + 1, 1);
		uevent->bytes = bytes;
		memcpy(uevent->text, text, bytes);
		uevent->text[bytes] = '\0';
	}
	return memmem(text, bytes, "istripe", strlen("istripe"));
}

char *uevent_value(const struct uevent *uevent, const char *name)
{
	const char *end = uevent->text + uevent->bytes, *variable;
	size_t length = strlen(name);
	char *value = NULL;

	for (variable = uevent->text; !value && variable < end; variable += strlen(variable) + 1)
		if (!strncmp(variable, name, length) && variable[length] == '=')
			value = alloc_text(variable + length + 1);
	if (!value)
		value = alloc_text("");
	text_clean(value);
	return value;
}

void uevents_free(struct uevents *uevents)
{
	size_t i;

	for (i = 0; i < uevents->count; i++)
		free(uevents->items[i].text);
	free(uevents->items);
	*uevents = (struct uevents) { 0 };
}
