// SPDX-License-Identifier: GPL-2.0
/* The lines for a shell that do what the tool would do. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "script.h"
#include "text.h"
#include "tree.h"

static void target_print(const char *dir, const char *name)
{
	char *path = alloc_printf("%s/%s", dir, name);

	fputs(" > ", stdout);
	text_quote(stdout, path);
	putchar('\n');
	free(path);
}

static int script_make(const char *dir, struct fault *fault)
{
	(void)fault;
	fputs("mkdir ", stdout);
	text_quote(stdout, dir);
	putchar('\n');
	return 0;
}

static int script_set(const char *dir, const char *name, const char *value, struct fault *fault)
{
	(void)fault;
	if (setting_is_secret(name) && !strcmp(value, "@-")) {
		fputs("read -rs secret && printf '%s\\n' \"$secret\"", stdout);
	} else if (setting_is_secret(name) && *value) {
		fputs("cat -- ", stdout);
		text_quote(stdout, value + 1);
	} else {
		fputs("printf '%s\\n' ", stdout);
		text_quote(stdout, value);
	}
	target_print(dir, name);
	return 0;
}

/* Nothing is made, so nobody can be asked: the model has put each setting where it belongs. */
static bool script_has(const char *dir, const char *name)
{
	(void)dir;
	(void)name;
	return true;
}

int script_create(const struct volume *volume, bool up, struct fault *fault)
{
	static const struct tree_writer writer = {
		.make = script_make,
		.set = script_set,
		.has = script_has,
	};
	int ret = tree_walk(volume, &writer, fault);

	if (!ret && up) {
		char *dir = tree_path(volume->name, NULL);

		script_set(dir, "enable", "1", fault);
		free(dir);
	}
	return ret;
}
