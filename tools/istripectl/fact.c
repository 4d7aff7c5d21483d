// SPDX-License-Identifier: GPL-2.0
/* Facts about this host that are in files. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fact.h"
#include "file.h"
#include "place.h"

#define BLANKS	" \t\n"

char *fact_text(char *path)
{
	char *text = NULL;

	file_read(path, &text);
	free(path);
	return text;
}

bool fact_number(char *path, long long *number)
{
	char *text = fact_text(path), *end = text;

	bool found;

	if (text)
		*number = strtoll(text, &end, 10);
	found = end != text;
	free(text);
	return found;
}

bool fact_is_dir(char *path)
{
	bool there = file_is_dir(path);

	free(path);
	return there;
}

bool fact_program(const char *name)
{
	char *path = place_path("/usr/bin/%s", name);
	bool there = file_mode(path) >= 0;

	free(path);
	return there;
}

bool fact_rpm(void)
{
	return fact_program("rpm") && !fact_program("dpkg");
}

char *fact_link(char *path)
{
	char *real = realpath(path, NULL);
	char *name = real ? alloc_text(strrchr(real, '/') + 1) : NULL;

	free(real);
	free(path);
	return name;
}

bool fact_process(const char *name)
{
	char *dir = place_path("/proc"), *comm;
	struct file_names names = { 0 };
	bool found = false;
	size_t i;

	file_list(dir, &names);
	for (i = 0; !found && i < names.count; i++) {
		if (!isdigit((unsigned char)names.items[i][0]))
			continue;
		comm = fact_text(place_path("/proc/%s/comm", names.items[i]));
		found = comm && !strcmp(comm, name);
		free(comm);
	}
	file_names_free(&names);
	free(dir);
	return found;
}

char *fact_word(const char *text, unsigned int index)
{
	size_t length;
	char *word;

	text += strspn(text, BLANKS);
	for (; index && *text; index--) {
		text += strcspn(text, BLANKS);
		text += strspn(text, BLANKS);
	}
	length = strcspn(text, BLANKS);
	if (!length)
		return NULL;
	word = alloc_array(NULL, length + 1, 1);
	memcpy(word, text, length);
	word[length] = '\0';
	return word;
}

char *fact_line(const char *text, const char *key)
{
	size_t bytes = strlen(key);

	while (text && strncmp(text, key, bytes)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? alloc_printf("%.*s", (int)strcspn(text + bytes, "\n"), text + bytes) : NULL;
}
