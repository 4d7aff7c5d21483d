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

#include <istripe/settings.h>
#include "advice.h"
#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "conf.h"
#include "fence.h"
#include "file.h"
#include "interrupt.h"
#include "klog.h"
#include "known.h"
#include "leave_out.h"
#include "lock.h"
#include "node.h"
#include "parse.h"
#include "place.h"
#include "portal.h"
#include "power.h"
#include "remains.h"
#include "save.h"
#include "secret.h"
#include "text.h"
#include "tree.h"
#include "twin.h"
#include "value.h"
#include "watch.h"

/* A login that nobody answers takes so long, and more. */
#define LEFT_WAIT_MS	60000
#define LEFT_LOOK_MS	50

enum verb {
	PATH_ADD,
	PATH_REMOVE,
	PATH_CONFIRM,
};

struct path_options {
	enum verb verb;
	bool yes;		/* of PATH_CONFIRM: nobody is asked */
	bool dry_run;
	bool help;
};

/* A path that is left out has its number in the file, to which save adds the new one. */
static unsigned int path_free_index(const struct volume *volume, const struct leg *leg)
{
	struct volume all = { 0 };
	unsigned int index = 0;

	volume_copy(volume, &all);
	leave_out_keep(&all);
	while (leg_find_path(volume_find_leg(&all, leg->index), index))
		index++;
	volume_free(&all);
	return index;
}

/*
 * The file that the configuration of a volume names for a secret of a leg's first path. For free();
 * NULL: none.
 */
static char *secret_file(const struct volume *volume, const struct leg *leg, const char *name)
{
	char *conf = conf_path(volume->name), *file = NULL;
	const struct leg *its = NULL;
	const struct path *path = NULL;
	struct volume saved = { 0 };
	struct fault ignored;
	const char *value;

	if (leg->path_count && !conf_read(conf, volume->name, &saved, &ignored)) {
		conf_secrets(&saved);
		its = volume_find_leg(&saved, leg->index);
	}
	if (its)
		path = leg_find_path(its, leg->paths[0].index);
	value = path ? settings_value(&path->settings, name) : "";
	if (value[0] == '@' && strcmp(value, "@-"))
		file = alloc_text(value + 1);
	volume_free(&saved);
	free(conf);
	return file;
}

/* A path of a leg with CHAP needs the secrets that the leg's first path has. */
static int secrets_check(const struct volume *volume, const struct leg *leg,
			 const struct settings *settings, struct fault *fault)
{
	static const char *const names[] = { "chap_secret", "chap_mutual_secret" };
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < 2 && *settings_value(settings, "chap_user"); i++) {
		char *file = secret_file(volume, leg, names[i]);

		/* A mutual secret needs no name: that there is one only the file tells. */
		if (!settings_find(settings, names[i]) &&
		    (file || !i || *settings_value(settings, "chap_mutual_user")))
			ret = fault_set(fault, -EINVAL,
					"%s of %s cannot be read back: give %s=@%s", names[i],
					volume->name, names[i], file ? file : "FILE");
		free(file);
	}
	return ret;
}

static int number_check(const struct volume *volume, const struct leg *leg, unsigned int path,
			struct fault *fault)
{
	if (path < ISTRIPE_PATHS_MAX)
		return 0;
	return fault_set(fault, -EINVAL,
			 "leg %u has %u paths, and no more are possible\nnext: istripectl path remove %s %u PATH",
			 leg->index, ISTRIPE_PATHS_MAX, volume->name, leg->index);
}

/* The settings of one path, in a volume of its own; secrets are the names of their files. */
static int path_read(const char *text, const struct volume *volume, const struct leg *leg,
		     struct volume *one, struct fault *fault)
{
	struct path *path = leg_add_path(volume_add_leg(one, leg->index),
					 path_free_index(volume, leg));
	int ret = parse_path(text, leg, path, fault);

	if (!ret)
		ret = node_refuse(&path->settings, volume->name, fault);
	if (!ret)
		ret = portal_resolve(&path->settings, fault);
	if (!ret)
		ret = secrets_check(volume, leg, &path->settings, fault);
	return ret ? ret : number_check(volume, leg, path->index, fault);
}

static int leg_missing(const char *name, const char *leg, struct fault *fault)
{
	return fault_set(fault, -EINVAL, "volume %s has no leg %s\nnext: istripectl show %s", name,
			 leg, name);
}

static int path_make(const struct volume *volume, const struct leg *leg, const struct path *path,
		     struct fault *fault)
{
	int ret = tree_add_path(volume->name, leg->index, path, fault);
	struct fault after = { 0 };

	if (!ret && volume->up) {
		ret = power_path(volume->name, leg->index, path->index, true, fault);
		if (ret && tree_remove_path(volume->name, leg->index, path->index, &after))
			fault_add(fault, "and its settings are left: %s", after.text);
	}
	if (!ret)
		printf("%s: leg %u path %u\n", volume->name, leg->index, path->index);
	return ret;
}

/* As @text says of the leg as it is now; names and secrets were waited for, and are in @given. */
static int path_read_again(const char *text, const struct leg *leg, const struct settings *given,
			   struct path *path, struct fault *fault)
{
	static const char *const addresses[] = { "portal", "source_address", "nic", NULL };
	int ret = parse_path(text, leg, path, fault);
	size_t i;

	for (i = 0; !ret && i < given->count; i++)
		if (setting_is_secret(given->items[i].name) ||
		    text_listed(addresses, given->items[i].name))
			settings_put(&path->settings, given->items[i].name, given->items[i].value);
	return ret;
}

/* With the lock of the volume. @path gets its number. */
static int path_make_now(const char *name, unsigned int leg, const char *text, struct path *path,
			 bool *up, struct fault *fault)
{
	struct volume now = { 0 }, one = { .name = alloc_text(name) };
	struct leg *its = NULL;
	struct path *made = NULL;
	char *number = alloc_printf("%u", leg);
	int ret = tree_read(name, &now, fault);

	if (!ret)
		its = volume_find_leg(&now, leg);
	if (!ret && !its)
		ret = leg_missing(name, number, fault);
	if (!ret) {
		path->index = path_free_index(&now, its);
		made = leg_add_path(volume_add_leg(&one, leg), path->index);
		ret = number_check(&now, its, path->index, fault);
	}
	if (!ret)
		ret = path_read_again(text, its, &path->settings, made, fault);
	if (!ret)
		ret = path_make(&now, its, made, fault);
	*up = now.up;
	free(number);
	volume_free(&one);
	volume_free(&now);
	return ret;
}

static int path_make_alone(const char *name, unsigned int leg, const char *text,
			   struct path *path, struct fault *fault)
{
	bool up = false;
	int lock, ret = remains_lock(name, &lock, fault);

	if (!ret)
		ret = path_make_now(name, leg, text, path, &up, fault);
	lock_leave(lock);
	if (!ret && up)
		fence_warn(name, leg);
	return ret;
}

/* The module checks the values when they are written: here those that are known. */
static int path_plan(const struct volume *volume, const struct leg *leg, const struct path *path,
		     struct fault *fault)
{
	const struct settings *wanted = &path->settings;
	const struct path *first = leg->path_count ? &leg->paths[0] : NULL;
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < wanted->count; i++) {
		const struct setting *item = &wanted->items[i];

		if (first)
			ret = tree_check_name(volume->name, leg->index, first->index, item->name,
					      fault);
		if (!ret)
			ret = known_check(KNOWN_PATH, item->name, item->value, fault);
	}
	if (!ret)
		printf("%s: would add leg %u path %u%s\n", volume->name, leg->index, path->index,
		       volume->up ? ", which would log in" : "");
	return ret;
}

static int path_add(const struct volume *volume, struct leg *leg, const char *text, bool dry_run,
		    struct fault *fault)
{
	struct volume one = { .name = alloc_text(volume->name) }, given = { 0 };
	int ret = path_read(text, volume, leg, &one, fault);
	struct path *path = &one.legs[0].paths[0];

	volume_copy(&one, &given);
	if (!ret && !dry_run)
		ret = secret_load(&one, fault);
	if (!ret)
		twin_warn(leg, path);
	if (!ret && dry_run)
		ret = path_plan(volume, leg, path, fault);
	else if (!ret)
		ret = path_make_alone(volume->name, leg->index, text, path, fault);
	if (!ret && !dry_run)
		save_mention_secrets(volume->name, leg->index, path->index,
				     &given.legs[0].paths[0].settings);
	volume_free(&given);
	volume_free(&one);
	return ret;
}

static bool number_take(const char *text, unsigned int end, unsigned int *number)
{
	long long value;

	if (!value_number(text, &value) || value < 0 || value >= end)
		return false;
	*number = value;
	return true;
}

static int path_find(const struct volume *volume, const struct leg *leg, const char *text,
		     unsigned int *index, struct fault *fault)
{
	const struct path *path = NULL;

	if (number_take(text, ISTRIPE_PATHS_MAX, index))
		path = leg_find_path(leg, *index);
	if (!path)
		return fault_set(fault, -EINVAL, "leg %u has no path %s\nnext: istripectl show %s",
				 leg->index, text, volume->name);
	return 0;
}

/* All else that the module refuses is seen only when it is done. */
static int path_remove_plan(const struct volume *volume, const struct leg *leg,
			    unsigned int index, struct fault *fault)
{
	if (volume->up && leg->path_count == 1)
		return fault_set(fault, -EBUSY,
				 "leg %u path %u of %s is its only path\nnext: istripectl path add %s %u",
				 leg->index, index, volume->name, volume->name, leg->index);
	printf("%s: would remove leg %u path %u\n", volume->name, leg->index, index);
	return 0;
}

static int path_remove(const struct volume *volume, struct leg *leg, const char *text,
		       bool dry_run, struct fault *fault)
{
	unsigned int index;
	int ret = path_find(volume, leg, text, &index, fault);

	if (!ret && dry_run)
		return path_remove_plan(volume, leg, index, fault);
	if (!ret && volume->up)
		ret = power_path(volume->name, leg->index, index, false, fault);
	if (ret)
		fence_advise(volume->name, leg->index, index, NULL, fault);
	return ret ? ret : tree_remove_path(volume->name, leg->index, index, fault);
}

static char *path_value(const char *files, const char *name)
{
	char *file = alloc_printf("%s/%s", files, name), *text = NULL;

	file_read(file, &text);
	free(file);
	return text ? text : alloc_text("unknown");
}

static int confirm_ask(const char *files, const char *name, unsigned int leg, unsigned int path,
		       struct fault *fault)
{
	char *writes = path_value(files, "waiting_writes"), *lost = path_value(files, "faults");
	char *ghosts = path_value(files, "ghost_writes");
	char answer[16] = "", *now;
	int ret = 0;

	fprintf(stderr,
		"%s: leg %u path %u: writes that wait: %s, ghost writes: %s.\n"
		"The waiting ones are sent, also over other paths.\n"
		"If the target still carries out old ones, these overwrite newer data.\n"
		"Has it been switched off or restarted since the path was lost? yes or no: ",
		name, leg, path, writes, ghosts);
	if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n"))
		ret = fault_set(fault, -ECANCELED, "the answer was not yes: nothing was done");
	now = path_value(files, "faults");
	if (!ret && strcmp(now, lost))
		ret = fault_set(fault, -EAGAIN,
				"the path was lost again meanwhile: nothing was done\nnext: istripectl status %s",
				name);
	free(now);
	free(ghosts);
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

static int confirm_check(const char *files, const char *name, unsigned int leg,
			 unsigned int path, struct fault *fault)
{
	char *state = path_value(files, "state");
	int ret = 0;

	if (!strcmp(state, "live"))
		ret = fault_set(fault, -EBUSY,
				"leg %u path %u of %s is live: its writes do not wait", leg, path,
				name);
	free(state);
	return ret;
}

static void confirm_plan(const char *files, const char *name, unsigned int leg,
			 unsigned int path)
{
	char *writes = path_value(files, "waiting_writes");

	printf("%s: would send writes of leg %u path %u that wait again: %s\n", name, leg, path,
	       writes);
	free(writes);
}

static int confirm_check_terminal(struct fault *fault)
{
	if (isatty(STDIN_FILENO))
		return 0;
	return fault_set(fault, -ENOTTY,
			 "there is no terminal to ask at\n"
			 "next: only if its target was switched off or restarted since the path was lost: the same with --yes");
}

static int left_find(const struct volume *volume, const struct leg *leg, const char *text,
		     unsigned int *index, struct fault *fault)
{
	int ret;

	/* Its directory may be gone, and the writes are not. */
	if (number_take(text, ISTRIPE_PATHS_MAX, index) &&
	    tree_has_left(volume->name, leg->index, *index))
		return 0;
	ret = path_find(volume, leg, text, index, fault);
	if (ret)
		return ret;
	return fault_set(fault, -ENODEV,
			 "volume %s is down, and leg %u path %u has left no writes\nnext: istripectl up %s",
			 volume->name, leg->index, *index, volume->name);
}

static int left_ask(const char *name, unsigned int leg, unsigned int path, struct fault *fault)
{
	char answer[16] = "";

	fprintf(stderr,
		"%s: leg %u path %u: it has left writes, and the volume may come up without it.\n"
		"If the target still carries them out, they overwrite newer data.\n"
		"Has it been switched off or restarted since the path was lost? yes or no: ",
		name, leg, path);
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return 0;
	return fault_set(fault, -ECANCELED, "the answer was not yes: nothing was done");
}

/* An attempt to bring the volume up, which up makes again and again, keeps others out. */
static void left_await_phase(const char *name, long long end_ms)
{
	bool passes;

	do {
		char *phase = tree_value(name, "phase");

		passes = phase && (!strcmp(phase, "starting") || !strcmp(phase, "stopping"));
		free(phase);
		if (passes)
			watch_sleep_ms(LEFT_LOOK_MS);
	} while (passes && !interrupt_seen() && watch_now_ms() < end_ms);
}

static int left_write(const char *name, unsigned int leg, unsigned int path, struct fault *fault)
{
	char *place = alloc_printf("legs/%u/unfenced", leg), *file = tree_path(name, place);
	char *number = alloc_printf("%u", path);
	long long end_ms = watch_now_ms() + LEFT_WAIT_MS;
	int log = klog_open(), ret;

	left_await_phase(name, end_ms);
	ret = file_write(file, number);
	if (ret) {
		fault_set(fault, ret, "what leg %u path %u of %s has left is not forgotten: %s",
			  leg, path, name, strerror(-ret));
		if (!advice_root(ret, fault) && !klog_explain(log, name, fault))
			fault_add(fault, "next: istripectl status %s", name);
	}
	klog_close(log);
	free(number);
	free(file);
	free(place);
	return ret;
}

/* Of a volume that is down: its directory knows of the writes. */
static int left_confirm(const struct volume *volume, const struct leg *leg, const char *text,
			const struct path_options *options, struct fault *fault)
{
	bool ask = !options->yes && !options->dry_run;
	unsigned int index;
	int ret = left_find(volume, leg, text, &index, fault);

	if (!ret && ask)
		ret = confirm_check_terminal(fault);
	if (!ret && options->dry_run)
		printf("%s: would forget that leg %u path %u has left writes\n", volume->name,
		       leg->index, index);
	if (!ret && ask)
		ret = left_ask(volume->name, leg->index, index, fault);
	if (!ret && !options->dry_run)
		ret = left_write(volume->name, leg->index, index, fault);
	return ret;
}

static int path_confirm(const struct volume *volume, struct leg *leg, const char *text,
			const struct path_options *options, struct fault *fault)
{
	char *device = power_device(volume->name), *files;
	bool ask = !options->yes && !options->dry_run;
	unsigned int index;
	int ret;

	if (!device)
		return left_confirm(volume, leg, text, options, fault);
	ret = path_find(volume, leg, text, &index, fault);
	if (!ret && ask)
		ret = confirm_check_terminal(fault);
	if (ret) {
		free(device);
		return ret;
	}
	files = place_path("/sys/block/%s/istripe/legs/%u/paths/%u", device, leg->index, index);
	ret = confirm_check(files, volume->name, leg->index, index, fault);
	if (!ret && options->dry_run)
		confirm_plan(files, volume->name, leg->index, index);
	if (!ret && ask)
		ret = confirm_ask(files, volume->name, leg->index, index, fault);
	if (!ret && !options->dry_run)
		ret = confirm_write(files, volume->name, fault);
	free(files);
	free(device);
	return ret;
}

static int path_act(char **words, const struct path_options *options, struct fault *fault)
{
	struct volume volume = { 0 };
	struct leg *leg = NULL;
	unsigned int index;
	int lock = -1, ret = 0;

	/* confirm writes one live value: the command that has the lock may be waiting for it. */
	if (options->verb == PATH_REMOVE && !options->dry_run)
		ret = remains_lock(words[0], &lock, fault);
	if (!ret)
		ret = tree_read(words[0], &volume, fault);
	if (!ret) {
		if (number_take(words[1], ISTRIPE_LEGS_MAX, &index))
			leg = volume_find_leg(&volume, index);
		if (!leg)
			ret = leg_missing(words[0], words[1], fault);
		else if (options->verb == PATH_ADD)
			ret = path_add(&volume, leg, words[2], options->dry_run, fault);
		else if (options->verb == PATH_REMOVE)
			ret = path_remove(&volume, leg, words[2], options->dry_run, fault);
		else
			ret = path_confirm(&volume, leg, words[2], options, fault);
	}
	lock_leave(lock);
	volume_free(&volume);
	return ret;
}

/* "path", a verb, NAME, LEG, LIST or PATH; options have been taken out. */
static int words_check(int argc, char **argv, enum verb verb, struct fault *fault)
{
	if (argc != 5)
		return fault_set(fault, -EINVAL,
				 "a volume, the number of a leg, and %s are needed",
				 verb == PATH_ADD ? "settings" : "the number of a path");
	return parse_volume_name(argv[2], fault);
}

static int verb_take(const char *word, enum verb *verb, struct fault *fault)
{
	static const char *const names[] = { "add", "remove", "confirm" };
	size_t i;

	for (i = 0; word && i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(word, names[i]))
			continue;
		*verb = i;
		return 0;
	}
	if (!word)
		return fault_set(fault, -EINVAL, "which of add, remove, confirm? a word is needed");
	return fault_set(fault, -EINVAL, "\"%s\" is none of add, remove, confirm", word);
}

static int option_take(const char *word, struct path_options *options, struct fault *fault)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		options->help = true;
	else if (!strcmp(word, "--dry-run") || !strcmp(word, "-n"))
		options->dry_run = true;
	else if (!strcmp(word, "--yes"))
		options->yes = true;
	else
		return fault_set(fault, -EINVAL, "unknown option %s", word);
	return 0;
}

/* Takes options out of the words, whose number changes. */
static int words_take(int *argc, char **argv, struct path_options *options, struct fault *fault)
{
	int i, count = 1, ret = 0;

	for (i = 1; !ret && i < *argc; i++) {
		if (argv[i][0] == '-')
			ret = option_take(argv[i], options, fault);
		else
			argv[count++] = argv[i];
	}
	if (ret || options->help)
		return ret;
	argv[count] = NULL;
	*argc = count;
	ret = verb_take(argv[1], &options->verb, fault);
	if (!ret && options->yes && options->verb != PATH_CONFIRM)
		ret = fault_set(fault, -EINVAL, "--yes is for confirm");
	return ret ? ret : words_check(count, argv, options->verb, fault);
}

int command_path(const struct command *command, int argc, char **argv)
{
	struct path_options options = { 0 };
	struct fault fault = { 0 };

	if (words_take(&argc, argv, &options, &fault))
		return command_usage(command, &fault);
	if (options.help)
		return command_help(command);
	interrupt_catch();
	if (!path_act(argv + 2, &options, &fault)) {
		if (options.verb != PATH_CONFIRM && !options.dry_run)
			apply_mention(argv[2]);
		return EXIT_DONE;
	}
	fault_print(&fault);
	return EXIT_FAILED;
}
