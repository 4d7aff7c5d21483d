// SPDX-License-Identifier: GPL-2.0
/* set: settings of a volume that exists, all of them or none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "conf.h"
#include "fence.h"
#include "interrupt.h"
#include "known.h"
#include "lock.h"
#include "node.h"
#include "parse.h"
#include "portal.h"
#include "remains.h"
#include "same.h"
#include "save.h"
#include "secret.h"
#include "tree.h"

#define NONE		(-1)
#define NUMBER_MAX	(ISTRIPE_LEGS_MAX - 1)	/* of a leg or a path */

struct set_options {
	const char *name, *list;
	int leg, path;		/* NONE: settings of the volume, of the leg */
	bool dry_run, help;
};

static int number_take(const char *option, const char *text, int *number, struct fault *fault)
{
	char *end;
	long value = text ? strtol(text, &end, 10) : -1;

	if (!text || !*text || *end || value < 0 || value > NUMBER_MAX)
		return fault_set(fault, -EINVAL, "%s %s: a number from 0 to %d is needed", option,
				 text ? text : "", NUMBER_MAX);
	*number = value;
	return 0;
}

static int word_take(const char *word, struct set_options *options, struct fault *fault)
{
	if (word[0] == '-')
		return fault_set(fault, -EINVAL, "unknown option %s", word);
	if (options->list)
		return fault_set(fault, -EINVAL, "\"%s\" is one word too many", word);
	if (options->name) {
		options->list = word;
		return 0;
	}
	options->name = word;
	return parse_volume_name(word, fault);
}

static int options_take(int argc, char **argv, struct set_options *options, struct fault *fault)
{
	const char *value;
	int i, ret = 0;

	*options = (struct set_options) { .leg = NONE, .path = NONE };
	for (i = 1; !ret && i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			options->help = true;
			return 0;
		}
		if (!strcmp(argv[i], "--dry-run") || !strcmp(argv[i], "-n"))
			options->dry_run = true;
		else if (command_value(argv, &i, "--leg", &value))
			ret = number_take("--leg", value, &options->leg, fault);
		else if (command_value(argv, &i, "--path", &value))
			ret = number_take("--path", value, &options->path, fault);
		else
			ret = word_take(argv[i], options, fault);
	}
	if (!ret && !options->list)
		ret = fault_set(fault, -EINVAL,
				"a volume and settings are needed: db ping_interval=1s");
	if (!ret && options->path != NONE && options->leg == NONE)
		ret = fault_set(fault, -EINVAL, "--path needs the --leg that it is of");
	return ret;
}

/* The settings that the place has now; NULL when there is no such place. */
static const struct settings *place_find(const struct volume *volume,
					 const struct set_options *options, struct fault *fault)
{
	const struct leg *leg;
	const struct path *path = NULL;

	if (options->leg == NONE)
		return &volume->settings;
	leg = volume_find_leg(volume, options->leg);
	if (leg && options->path == NONE)
		return &leg->settings;
	if (leg)
		path = leg_find_path(leg, options->path);
	if (path)
		return &path->settings;
	if (leg)
		fault_set(fault, -EINVAL, "leg %d has no path %d", options->leg, options->path);
	else
		fault_set(fault, -EINVAL, "volume %s has no leg %d", volume->name, options->leg);
	fault_add(fault, "next: istripectl show %s", volume->name);
	return NULL;
}

static enum known_place place_kind(const struct set_options *options)
{
	if (options->leg == NONE)
		return KNOWN_VOLUME;
	return options->path == NONE ? KNOWN_LEG : KNOWN_PATH;
}

static bool is_unchanged(const struct set_options *options, const struct settings *now,
			 const struct setting *wanted)
{
	const struct setting *its = settings_find(now, wanted->name);

	return !setting_is_secret(wanted->name) && its && its->value &&
	       same_value(place_kind(options), wanted->name, its->value, wanted->value);
}

/*
 * While the volume is up the module refuses also a value that is so already, unless it may change
 * then: that one has an effect again, as fence does. While the volume is down, a chunk that was
 * given is another thing than the same one by default.
 */
static bool is_left(const struct set_options *options, const struct volume *volume,
		    const struct settings *now, const struct setting *wanted)
{
	const struct known *known = known_find(place_kind(options), wanted->name);

	return volume->up && !(known && known->live) && is_unchanged(options, now, wanted);
}

/* A live value has had an effect meanwhile: requests may have failed, a fence may have ended. */
static void meanwhile_add(const struct set_options *options, const struct volume *volume,
			  const struct setting *item, struct fault *fault)
{
	const struct known *known = known_find(place_kind(options), item->name);

	if (volume->up && known && known->live)
		fault_add(fault, "%s was %s until it was put back", item->name, item->value);
}

/* Undoes what was written before a refusal; a secret cannot be read back. */
static void put_back(const struct set_options *options, const struct volume *volume,
		     const struct settings *now, const struct settings *wanted, size_t count,
		     struct fault *fault)
{
	struct fault after = { 0 };

	interrupt_hold(true);
	while (count-- > 0) {
		const char *name = wanted->items[count].name;
		const struct setting *old = settings_find(now, name);

		if (is_unchanged(options, now, &wanted->items[count]))
			continue;
		if (!old || !old->value)
			fault_add(fault, "%s is changed: its old value cannot be read", name);
		else if (tree_set(options->name, options->leg, options->path, name, old->value,
				  &after))
			fault_add(fault, "and %s could not be put back: %s", name, after.text);
		else
			meanwhile_add(options, volume, &wanted->items[count], fault);
	}
	interrupt_hold(false);
	fault_add(fault, "nothing else is changed");
}

/* Of a path: whether the module takes all, or in a while, as a login is not foreseen here. */
static bool path_may_take(const struct set_options *options, const struct volume *volume,
			  const struct known *known)
{
	if (options->path == NONE)
		return false;
	if (leg_find_path(volume_find_leg(volume, options->leg), options->path)->off)
		return true;
	return known->login && (!options->dry_run ||
				fence_path_is_lost(options->name, options->leg, options->path));
}

static int live_check(const struct set_options *options, const struct volume *volume,
		      const char *name, struct fault *fault)
{
	const struct known *known = known_find(place_kind(options), name);

	if (!known || known->live || path_may_take(options, volume, known))
		return 0;
	fault_set(fault, -EBUSY, "%s is up, and %s is refused until it is down", options->name,
		  name);
	if (options->path == NONE)
		fault_add(fault, "next: istripectl down %s", options->name);
	else
		tree_add_anew(options->name, fault);
	return -EBUSY;
}

/*
 * Before anything is written of several values: what one that is in force does cannot be taken
 * back. One alone is left to the module, which may be of another version.
 */
static int values_check(const struct set_options *options, const struct volume *volume,
			const struct settings *now, const struct settings *wanted,
			struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < wanted->count; i++) {
		const struct setting *item = &wanted->items[i];

		ret = known_check(place_kind(options), item->name, item->value, fault);
		if (!ret && volume->up && !is_left(options, volume, now, item))
			ret = live_check(options, volume, item->name, fault);
	}
	return ret;
}

static void change_print(const struct set_options *options, const struct volume *volume,
			 const struct settings *now, const struct setting *setting)
{
	const struct known *known = known_find(place_kind(options), setting->name);
	const char *unchecked = "";

	if (options->dry_run && (!known || known->kind == KNOWN_OTHER))
		unchecked = " (the module checks it when it is written)";
	if (setting_is_secret(setting->name))
		printf("%s: a secret%s\n", setting->name, unchecked);
	else if (is_left(options, volume, now, setting))
		printf("%s: %s (unchanged)\n", setting->name, settings_value(now, setting->name));
	else
		printf("%s: %s -> %s%s\n", setting->name, settings_value(now, setting->name),
		       setting->value, unchecked);
}

/* A name that is not there is found before anything is written. */
static int names_check(const struct set_options *options, const struct settings *now,
		       const struct settings *wanted, struct fault *fault)
{
	size_t i;

	for (i = 0; i < wanted->count; i++)
		if (!settings_find(now, wanted->items[i].name))
			return tree_set(options->name, options->leg, options->path,
					wanted->items[i].name, wanted->items[i].value, fault);
	return 0;
}

static int settings_write(const struct set_options *options, const struct volume *volume,
			  const struct settings *now, const struct settings *wanted,
			  struct fault *fault)
{
	int ret = names_check(options, now, wanted, fault);
	size_t i;

	if (!ret && (options->dry_run || wanted->count > 1))
		ret = values_check(options, volume, now, wanted, fault);
	for (i = 0; !ret && i < wanted->count; i++) {
		const struct setting *item = &wanted->items[i];

		if (!options->dry_run && !is_left(options, volume, now, item))
			ret = tree_set(options->name, options->leg, options->path, item->name,
				       item->value, fault);
		if (ret)
			put_back(options, volume, now, wanted, i, fault);
	}
	for (i = 0; !ret && i < wanted->count; i++)
		change_print(options, volume, now, &wanted->items[i]);
	return ret;
}

/* Parsed as those of a path, in a volume of its own, which is how secrets are loaded. */
static int wanted_read(const char *list, struct volume *one, struct fault *fault)
{
	struct leg *leg = volume_add_leg(one, 0);
	struct path *path = leg_add_path(leg, 0);
	const struct leg nothing = { 0 };

	return parse_path(list, &nothing, path, fault);
}

/* Those that were given, with the names of their files. */
static void secrets_mention(const struct set_options *options)
{
	struct volume one = { 0 };
	struct fault ignored;

	wanted_read(options->list, &one, &ignored);
	if (options->path != NONE)
		save_mention_secrets(options->name, options->leg, options->path,
				     &one.legs[0].paths[0].settings);
	volume_free(&one);
}

static void put_last(struct settings *wanted, const char *name)
{
	struct setting *items = wanted->items, item;
	size_t i;

	for (i = 0; i + 1 < wanted->count; i++) {
		if (strcmp(items[i].name, name))
			continue;
		item = items[i];
		memmove(&items[i], &items[i + 1], (wanted->count - i - 1) * sizeof(*items));
		items[wanted->count - 1] = item;
		break;
	}
}

/*
 * Those that fail requests or end fences when they are in force only for a moment come behind the
 * others, which may be refused. The chunk comes last, so that it never has to be put back: the
 * module refuses superblocks that say another chunk than one that was written, and shows one also
 * when none was.
 */
static void lasting_put_last(struct settings *wanted)
{
	static const char *const names[] = {
		"recovery_timeout_ms", "ghost_timeout_ms", "fence_timeout_ms", "fence",
		"chunk_bytes",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		put_last(wanted, names[i]);
}

/*
 * One value of a volume in use cannot be mixed with those of others, and may be what the command
 * waits for that has the lock, as a fence.
 */
static bool is_alone(const struct set_options *options, const struct volume *volume,
		     const struct settings *wanted)
{
	const struct known *known;

	if (!volume->up || wanted->count != 1)
		return false;
	known = known_find(place_kind(options), wanted->items[0].name);
	return known && known->live;
}

/* As the volume is when no other process changes it. */
static int volume_write(const struct set_options *options, struct volume *volume,
			const struct settings *wanted, struct fault *fault)
{
	bool waits = !options->dry_run && !is_alone(options, volume, wanted);
	const struct settings *now;
	int lock = -1, ret = 0;

	if (waits) {
		volume_free(volume);
		ret = remains_lock(options->name, &lock, fault);
	}
	if (waits && !ret)
		ret = tree_read(options->name, volume, fault);
	if (!ret) {
		now = place_find(volume, options, fault);
		ret = now ? settings_write(options, volume, now, wanted, fault) : -EINVAL;
	}
	lock_leave(lock);
	return ret;
}

static int volume_set(const struct set_options *options, struct volume *one, struct fault *fault)
{
	struct settings *wanted = &one->legs[0].paths[0].settings;
	struct volume volume = { 0 };
	int ret = tree_read(options->name, &volume, fault);

	if (!ret)
		ret = node_refuse(wanted, options->name, fault);
	if (!ret && options->path != NONE && settings_find(wanted, "portal"))
		ret = portal_resolve(wanted, fault);
	if (!ret && !options->dry_run)
		ret = secret_load(one, fault);
	if (!ret)
		ret = volume_write(options, &volume, wanted, fault);
	volume_free(&volume);
	return ret;
}

int command_set(const struct command *command, int argc, char **argv)
{
	struct set_options options;
	struct volume one = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE, ret = options_take(argc, argv, &options, &fault);

	if (!ret && options.help)
		return command_help(command);
	if (!ret)
		ret = wanted_read(options.list, &one, &fault);
	if (!ret)
		lasting_put_last(&one.legs[0].paths[0].settings);
	interrupt_catch();
	if (ret) {
		code = command_usage(command, &fault);
	} else if (volume_set(&options, &one, &fault)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	} else if (!options.dry_run) {
		apply_mention(options.name);
		secrets_mention(&options);
	}
	volume_free(&one);
	return code;
}
