// SPDX-License-Identifier: GPL-2.0
/* create: all of a volume in one line, or nothing of it but superblocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "conf.h"
#include "designator.h"
#include "fence.h"
#include "initiator.h"
#include "interrupt.h"
#include "isid.h"
#include "known.h"
#include "leave_out.h"
#include "lock.h"
#include "module.h"
#include "node.h"
#include "parse.h"
#include "portal.h"
#include "power.h"
#include "retry.h"
#include "propose.h"
#include "remains.h"
#include "save.h"
#include "script.h"
#include "secret.h"
#include "tree.h"
#include "twin.h"

/*
 * New directories are removed again; a volume that came up all the same goes down first.
 * Superblocks stay: nobody could tell them from those of another host that was faster.
 */
static void volume_undo(const char *name, bool marked, struct fault *fault)
{
	struct fault after = { 0 };
	int lock = -1, ret;

	/* An interrupt is the reason for it, and no reason to leave it to others. */
	interrupt_hold(true);
	ret = power_is_up(name) ? power_down(name, true, &after) : 0;
	if (!ret)
		ret = lock_take(name, &lock, &after);
	/* Of a volume without superblocks the legs that are left would come up. */
	if (!ret)
		ret = power_check_others(name, &after);
	/* Nothing else knows of writes of superblocks that were lost. */
	if (!ret)
		ret = tree_check_fenced(name, &after);
	if (!ret)
		ret = tree_remove(name, lock, &after);
	lock_leave(lock);
	interrupt_hold(false);
	if (ret)
		fault_add(fault, "and it could not be removed again: %s", after.text);
	else if (!marked)
		fault_add(fault, "nothing of it is left; --no-up would make it without connecting");
}

/* @begun: of power_begin(), before others see the volume; NULL: it is to stay down. */
static int settings_make(const struct volume *volume, int *begun, struct fault *fault)
{
	int lock, ret = lock_take(volume->name, &lock, fault);

	if (!ret)
		ret = remains_clear(lock, volume->name, fault);
	if (!ret && begun)
		*begun = power_begin(volume->name);
	if (!ret)
		ret = tree_create(volume, lock, fault);
	if (!ret)
		leave_out_record(volume);
	lock_leave(lock);
	return ret;
}

static int isids_check(const struct volume *volume, struct fault *fault)
{
	char *why = isid_problem(volume);
	int ret = why ? power_not_up(volume->name, why, fault) : 0;

	free(why);
	return ret;
}

static int volume_make(struct volume *volume, bool up, struct retry *retry, struct fault *fault)
{
	int ret = secret_load(volume, fault), begun = -1;

	if (!ret && up)
		ret = isids_check(volume, fault);
	if (!ret)
		ret = settings_make(volume, up ? &begun : NULL, fault);
	if (!ret && up) {
		ret = power_up(volume->name, retry, fault);
		if (ret)
			volume_undo(volume->name, retry->marked, fault);
	}
	if (begun >= 0)
		close(begun);
	return ret;
}

/* While they are still the names of files. */
static int secrets_locate(struct volume *volume, struct fault *fault)
{
	int ret = 0;
	size_t i, j;

	for (i = 0; !ret && i < volume->leg_count; i++)
		for (j = 0; !ret && j < volume->legs[i].path_count; j++)
			ret = secret_locate(&volume->legs[i].paths[j].settings, fault);
	return ret;
}

/* A name server may be as slow to start as an array. */
static int names_resolve(struct volume *volume, struct retry *retry, struct fault *fault)
{
	int ret;

	do
		ret = portal_resolve_all(volume, NULL, NULL, fault);
	while (ret == -EAGAIN && retry_again(retry, fault));
	return ret;
}

/* A file that nobody wants to be replaced may be all that is known of another volume. */
static int file_check(const char *name, const struct create_options *options,
		      struct fault *fault)
{
	char *path;

	if (!options->save_unasked || !apply_has_file(name))
		return 0;
	path = conf_path(name);
	fault_set(fault, -EEXIST,
		  "%s is there already\nnext: --save replaces it, --no-save leaves it as it is",
		  path);
	free(path);
	return -EEXIST;
}

/* For --dry-run, whose standard output is for a shell. */
static void saving_mention(const char *name, const struct create_options *options)
{
	char *path = conf_path(name);

	if (options->save)
		fprintf(stderr, "%s: would %s %s\n", name,
			apply_has_file(name) ? "replace" : "write", path);
	if (options->boot)
		fprintf(stderr, "%s: would start at boot%s\n", name,
			options->no_up ? ", not now" : "");
	free(path);
}

/* Once the volume is up, the module shows what the superblocks say. */
static void chunk_take(struct volume *saved)
{
	char *chunk = tree_value(saved->name, "chunk_bytes");

	if (chunk)
		settings_put(&saved->settings, "chunk_bytes", chunk);
	free(chunk);
}

static int settings_save(struct volume *saved, struct fault *fault)
{
	int lock, ret = lock_take(saved->name, &lock, fault);

	if (!ret)
		ret = save_volume(saved, true, fault);
	lock_leave(lock);
	return ret;
}

/* The volume is made: it stays, whatever becomes of this. */
static int volume_keep(struct volume *saved, const struct create_options *options,
		       struct fault *fault)
{
	int ret;

	if (!options->no_up) {
		chunk_take(saved);
		designator_take(saved);
	}
	ret = settings_save(saved, fault);
	if (ret) {
		fault_add(fault, "%s is made, but not saved", saved->name);
		fault_add(fault, "next: istripectl save %s%s", options->boot ? "--boot " : "",
			  saved->name);
		return ret;
	}
	if (options->boot)
		ret = save_boot(saved->name, !options->no_up, fault);
	if (ret != -ENOPKG || !options->boot_unasked)
		return ret;
	fault_print(fault);
	return 0;
}

/* A volume follows records of open-iscsi as its file says. */
static int nodes_refuse(const struct volume *volume, const struct create_options *options,
			struct fault *fault)
{
	int ret = node_refuse(&volume->settings, volume->name, fault);
	size_t i, j;

	if (!ret)
		ret = node_refuse(&options->discovery.paths, volume->name, fault);
	for (i = 0; !ret && i < volume->leg_count; i++)
		for (j = 0; !ret && j < volume->legs[i].path_count; j++)
			ret = node_refuse(&volume->legs[i].paths[j].settings, volume->name, fault);
	return ret;
}

static int path_check(const char *name, const struct leg *leg, const struct path *path,
		      struct fault *fault)
{
	const char *problem = known_path_problem(&path->settings);
	char *why;

	if (!problem)
		return 0;
	why = alloc_printf("leg %u path %u: %s", leg->index, path->index, problem);
	power_not_up(name, why, fault);
	free(why);
	return -EINVAL;
}

static int paths_check(const struct volume *volume, struct fault *fault)
{
	size_t i, j;
	int ret = 0;

	for (i = 0; !ret && i < volume->leg_count; i++)
		for (j = 0; !ret && j < volume->legs[i].path_count; j++)
			ret = path_check(volume->name, &volume->legs[i],
					 &volume->legs[i].paths[j], fault);
	return ret ? ret : isids_check(volume, fault);
}

/* All that can be told without the module and the targets. */
static int dry_check(const struct volume *volume, bool up, struct fault *fault)
{
	struct volume copy = { 0 };
	struct fault missing;
	int ret = 0;

	if (!tree_has_volume(volume->name, &missing) && !remains_are(volume->name))
		ret = tree_volume_exists(volume->name, fault);
	if (!ret)
		ret = tree_check_values(volume, false, fault);
	if (ret || !up)
		return ret;
	volume_copy(volume, &copy);
	secret_peek(&copy);
	ret = paths_check(&copy, fault);
	volume_free(&copy);
	return ret;
}

static int volume_dry_run(const struct volume *volume, const struct create_options *options,
			  struct fault *fault)
{
	int ret = dry_check(volume, !options->no_up, fault);

	if (ret)
		return ret;
	saving_mention(volume->name, options);
	return script_create(volume, !options->no_up, fault);
}

/* One that is down is being made still. */
static void unsaved_mention(const char *name, const struct create_options *options)
{
	if (options->save || options->no_up || options->discovery.no_save || apply_has_file(name))
		return;
	fprintf(stderr, "%s: not saved: gone after a reboot; next: istripectl save --boot %s\n",
		name, name);
}

static int volume_create(struct volume *volume, const struct create_options *options,
			 struct fault *fault)
{
	struct volume saved = { 0 };
	struct retry retry;
	int ret = nodes_refuse(volume, options, fault);

	if (!ret)
		ret = initiator_take(volume, fault);
	if (!ret)
		ret = file_check(volume->name, options, fault);
	if (!ret && options->discovery.portal)
		ret = propose_legs(volume, options, fault);
	retry_begin(&retry, options->wait_ms);
	if (!ret)
		ret = names_resolve(volume, &retry, fault);
	if (ret)
		return ret;
	twins_warn(volume);
	if (options->dry_run)
		return volume_dry_run(volume, options, fault);
	module_wanted();
	ret = tree_check(fault);
	if (!ret && options->save)
		ret = secrets_locate(volume, fault);
	if (ret)
		return ret;
	volume_copy(volume, &saved);
	interrupt_catch();
	ret = volume_make(volume, !options->no_up, &retry, fault);
	if (!ret)
		power_print(volume->name);
	if (!ret && options->save)
		ret = volume_keep(&saved, options, fault);
	if (!ret) {
		unsaved_mention(volume->name, options);
		fence_warn(volume->name, -1);
	}
	volume_free(&saved);
	return ret;
}

int command_create(const struct command *command, int argc, char **argv)
{
	struct create_options options;
	struct volume volume = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE;

	if (parse_create(argc, argv, &options, &volume, &fault)) {
		code = command_usage(command, &fault);
	} else if (options.help) {
		command_help(command);
	} else if (volume_create(&volume, &options, &fault)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	parse_create_free(&options);
	volume_free(&volume);
	return code;
}
