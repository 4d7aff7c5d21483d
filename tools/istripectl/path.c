// SPDX-License-Identifier: GPL-2.0
/*
 * path: one more path of a leg, or one less; of a volume that is up without a pause. And the word
 * of the administrator that the target behind a lost path is dead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "file.h"
#include "interrupt.h"
#include "klog.h"
#include "parse.h"
#include "place.h"
#include "portal.h"
#include "power.h"
#include "secret.h"
#include "tree.h"
#include "twin.h"

#define PATHS_MAX	16

static unsigned int path_free_index(const struct leg *leg)
{
	unsigned int index = 0;

	while (leg_find_path(leg, index))
		index++;
	return index;
}

/* The settings of one path, with its secrets, in a volume of its own. */
static int path_read(const char *text, const struct volume *volume, const struct leg *leg,
		     struct volume *one, struct fault *fault)
{
	struct path *path = leg_add_path(volume_add_leg(one, leg->index), path_free_index(leg));
	int ret = parse_path(text, leg, path, fault);

	if (!ret)
		ret = portal_resolve(&path->settings, fault);
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
		twin_warn(leg, path);
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

static int path_find(const struct leg *leg, const char *text, unsigned long *index,
		     struct fault *fault)
{
	char *end;

	*index = strtoul(text, &end, 10);
	if (!*text || *end || *index >= PATHS_MAX || !leg_find_path(leg, *index))
		return fault_set(fault, -EINVAL, "leg %u has no path %s", leg->index, text);
	return 0;
}

static int path_remove(const struct volume *volume, struct leg *leg, const char *text,
		       struct fault *fault)
{
	unsigned long index;
	int ret = path_find(leg, text, &index, fault);

	if (!ret && volume->up)
		ret = power_path(volume->name, leg->index, index, false, fault);
	return ret ? ret : tree_remove_path(volume->name, leg->index, index, fault);
}

static char *path_value(const char *files, const char *name)
{
	char *file = alloc_printf("%s/%s", files, name), *text = NULL;

	file_read(file, &text);
	free(file);
	return text ? text : alloc_text("unknown");
}

static int confirm_ask(const char *files, const char *name, unsigned int leg, unsigned long path,
		       struct fault *fault)
{
	char *writes = path_value(files, "waiting_writes"), *lost = path_value(files, "faults");
	char answer[16] = "", *now;
	int ret = 0;

	fprintf(stderr,
		"%s: leg %u path %lu: writes that wait: %s. They are sent again, also over other paths.\n"
		"If the target still carries out the old ones, these overwrite newer data.\n"
		"Has it been switched off or restarted since the path was lost? yes or no: ",
		name, leg, path, writes);
	if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n"))
		ret = fault_set(fault, -ECANCELED, "the answer was not yes: nothing was done");
	now = path_value(files, "faults");
	if (!ret && strcmp(now, lost))
		ret = fault_set(fault, -EAGAIN,
				"the path was lost again meanwhile: nothing was done\nnext: istripectl status %s",
				name);
	free(now);
	free(lost);
	free(writes);
	return ret;
}

static int confirm_write(const char *files, const char *name, struct fault *fault)
{
	char *file = alloc_printf("%s/fence_confirm", files);
	int log = klog_open(), ret = file_write(file, "1");

	if (ret) {
		fault_set(fault, ret, "writes of %s go on waiting: %s", name, strerror(-ret));
		if (!advice_root(ret, fault) && !klog_explain(log, name, fault))
			fault_add(fault, "next: istripectl status %s", name);
	}
	klog_close(log);
	free(file);
	return ret;
}

static int path_confirm(const struct volume *volume, struct leg *leg, const char *text, bool yes,
			struct fault *fault)
{
	char *device = power_device(volume->name), *files;
	unsigned long index;
	int ret = path_find(leg, text, &index, fault);

	if (!ret && !device)
		ret = fault_set(fault, -ENODEV, "volume %s is down: nothing waits", volume->name);
	else if (!ret && !yes && !isatty(STDIN_FILENO))
		ret = fault_set(fault, -ENOTTY,
				"there is no terminal to ask at\nnext: see istripectl status %s, then give --yes",
				volume->name);
	if (ret) {
		free(device);
		return ret;
	}
	files = place_path("/sys/block/%s/istripe/legs/%u/paths/%lu", device, leg->index, index);
	if (!yes)
		ret = confirm_ask(files, volume->name, leg->index, index, fault);
	if (!ret)
		ret = confirm_write(files, volume->name, fault);
	free(files);
	free(device);
	return ret;
}

enum verb {
	PATH_ADD,
	PATH_REMOVE,
	PATH_CONFIRM,
	PATH_CONFIRM_YES,
};

static int path_act(char **words, enum verb verb, struct fault *fault)
{
	struct volume volume = { 0 };
	struct leg *leg;
	char *end;
	unsigned long index = strtoul(words[1], &end, 10);
	int ret = tree_read(words[0], &volume, fault);

	if (!ret) {
		leg = *words[1] && !*end ? volume_find_leg(&volume, index) : NULL;
		if (!leg)
			ret = fault_set(fault, -EINVAL, "volume %s has no leg %s", words[0],
					words[1]);
		else if (verb == PATH_ADD)
			ret = path_add(&volume, leg, words[2], fault);
		else if (verb == PATH_REMOVE)
			ret = path_remove(&volume, leg, words[2], fault);
		else
			ret = path_confirm(&volume, leg, words[2], verb == PATH_CONFIRM_YES,
					   fault);
	}
	volume_free(&volume);
	return ret;
}

/* "path", a verb, NAME, LEG, LIST or PATH; --yes right behind the verb has been taken out. */
static int words_check(int argc, char **argv, enum verb verb, struct fault *fault)
{
	if (argc != 5)
		return fault_set(fault, -EINVAL,
				 "a volume, the number of a leg, and %s are needed",
				 verb == PATH_ADD ? "settings" : "the number of a path");
	if (!volume_name_valid(argv[2]))
		return fault_set(fault, -EINVAL, "\"%s\" cannot be the name of a volume",
				 argv[2]);
	return 0;
}

static int verb_take(int *argc, char **argv, enum verb *verb, struct fault *fault)
{
	static const char *const names[] = { "add", "remove", "confirm" };
	size_t i;

	for (i = 0; *argc > 1 && i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(argv[1], names[i]))
			continue;
		*verb = i;
		if (*verb == PATH_CONFIRM && *argc > 2 && !strcmp(argv[2], "--yes")) {
			*verb = PATH_CONFIRM_YES;
			memmove(argv + 2, argv + 3, (*argc - 2) * sizeof(*argv));
			(*argc)--;
		}
		return 0;
	}
	return fault_set(fault, -EINVAL, "add a path, remove one, or confirm that one is dead?");
}

int command_path(const struct command *command, int argc, char **argv)
{
	struct fault fault = { 0 };
	enum verb verb = PATH_ADD;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return command_help(command);
	if (verb_take(&argc, argv, &verb, &fault) || words_check(argc, argv, verb, &fault))
		return command_usage(command, &fault);
	interrupt_catch();
	if (!path_act(argv + 2, verb, &fault)) {
		if (verb <= PATH_REMOVE)
			apply_mention(argv[2]);
		return EXIT_DONE;
	}
	fault_print(&fault);
	return EXIT_FAILED;
}
