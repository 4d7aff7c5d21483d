// SPDX-License-Identifier: GPL-2.0
/* path: one more path of a leg, or one less; of a volume that is up without a pause. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "interrupt.h"
#include "parse.h"
#include "power.h"
#include "secret.h"
#include "tree.h"

#define PATHS_MAX	16

static struct leg *leg_find(struct volume *volume, unsigned int index)
{
	size_t i;

	for (i = 0; i < volume->leg_count; i++)
		if (volume->legs[i].index == index)
			return &volume->legs[i];
	return NULL;
}

static const struct path *path_find(const struct leg *leg, unsigned int index)
{
	size_t i;

	for (i = 0; i < leg->path_count; i++)
		if (leg->paths[i].index == index)
			return &leg->paths[i];
	return NULL;
}

static unsigned int path_free_index(const struct leg *leg)
{
	unsigned int index = 0;

	while (path_find(leg, index))
		index++;
	return index;
}

/* The settings of one path, with its secrets, in a volume of its own. */
static int path_read(const char *text, const struct volume *volume, const struct leg *leg,
		     struct volume *one, struct fault *fault)
{
	struct path *path = leg_add_path(volume_add_leg(one, leg->index), path_free_index(leg));
	int ret = parse_path(text, leg, path, fault);

	if (ret)
		return ret;
	if (*settings_value(&path->settings, "chap_user") &&
	    !settings_find(&path->settings, "chap_secret"))
		return fault_set(fault, -EINVAL,
				 "chap_secret of %s cannot be read back: give chap_secret=@FILE",
				 volume->name);
	return secret_load(one, fault);
}

static int path_add(const struct volume *volume, struct leg *leg, const char *text,
		    struct fault *fault)
{
	struct volume one = { 0 };
	struct fault after = { 0 };
	struct path *path;
	int ret = path_read(text, volume, leg, &one, fault);

	path = &one.legs[0].paths[0];
	if (!ret && path->index >= PATHS_MAX)
		ret = fault_set(fault, -EINVAL, "leg %u has %u paths already", leg->index,
				PATHS_MAX);
	if (!ret)
		ret = tree_add_path(volume->name, leg->index, path, fault);
	if (!ret && volume->up) {
		ret = power_path(volume->name, leg->index, path->index, true, fault);
		if (ret && tree_remove_path(volume->name, leg->index, path->index, &after))
			fault_add(fault, "and its settings are left: %s", after.text);
	}
	if (!ret)
		printf("%s: leg %u path %u\n", volume->name, leg->index, path->index);
	volume_free(&one);
	return ret;
}

static int path_remove(const struct volume *volume, struct leg *leg, const char *text,
		       struct fault *fault)
{
	char *end;
	unsigned long index = strtoul(text, &end, 10);
	int ret = 0;

	if (!*text || *end || index >= PATHS_MAX || !path_find(leg, index))
		return fault_set(fault, -EINVAL, "leg %u has no path %s", leg->index, text);
	if (volume->up)
		ret = power_path(volume->name, leg->index, index, false, fault);
	return ret ? ret : tree_remove_path(volume->name, leg->index, index, fault);
}

static int path_act(char **words, bool add, struct fault *fault)
{
	struct volume volume = { 0 };
	struct leg *leg;
	char *end;
	unsigned long index = strtoul(words[1], &end, 10);
	int ret = tree_read(words[0], &volume, fault);

	if (!ret) {
		leg = *words[1] && !*end ? leg_find(&volume, index) : NULL;
		if (!leg)
			ret = fault_set(fault, -EINVAL, "volume %s has no leg %s", words[0],
					words[1]);
		else
			ret = (add ? path_add : path_remove)(&volume, leg, words[2], fault);
	}
	volume_free(&volume);
	return ret;
}

static int words_check(int argc, char **argv, struct fault *fault)
{
	bool add = argc > 1 && !strcmp(argv[1], "add");

	if (argc < 2 || (!add && strcmp(argv[1], "remove")))
		return fault_set(fault, -EINVAL, "add a path, or remove one?");
	if (argc != 5)
		return fault_set(fault, -EINVAL,
				 "a volume, the number of a leg, and %s are needed",
				 add ? "settings" : "the number of a path");
	if (!volume_name_valid(argv[2]))
		return fault_set(fault, -EINVAL, "\"%s\" cannot be the name of a volume",
				 argv[2]);
	return 0;
}

/* "path", "add" or "remove", NAME, LEG, LIST or PATH */
int command_path(const struct command *command, int argc, char **argv)
{
	struct fault fault = { 0 };

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return command_help(command);
	if (words_check(argc, argv, &fault))
		return command_usage(command, &fault);
	interrupt_catch();
	if (!path_act(argv + 2, !strcmp(argv[1], "add"), &fault))
		return EXIT_DONE;
	fault_print(&fault);
	return EXIT_FAILED;
}
