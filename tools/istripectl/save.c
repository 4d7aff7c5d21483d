// SPDX-License-Identifier: GPL-2.0
/* save: the configuration of volumes as files, from which the next boot takes it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "command.h"
#include "conf.h"
#include "designator.h"
#include "leave_out.h"
#include "lock.h"
#include "node.h"
#include "openiscsi.h"
#include "overridden.h"
#include "plan.h"
#include "portal.h"
#include "remains.h"
#include "run.h"
#include "save.h"
#include "secret.h"
#include "text.h"
#include "tree.h"
#include "unit.h"

struct unit_call {
	const char *verb, *unit;
};

/* systemctl says itself what is wrong. */
static int systemctl_exec(void *context)
{
	const struct unit_call *call = context;

	execlp("systemctl", "systemctl", call->verb, call->unit, (char *)NULL);
	return RUN_MISSING;
}

static int systemctl(const char *verb, const char *unit)
{
	struct unit_call call = { .verb = verb, .unit = unit };
	int code, ret = run_child(systemctl_exec, &call, &code);

	if (!ret && code)
		ret = code == RUN_MISSING ? -ENOPKG : -EIO;
	return ret;
}

int save_boot(const char *name, bool now, struct fault *fault)
{
	char *unit = unit_of_volume(name);
	int ret = systemctl("enable", unit), started = 0;

	if (!ret && now)
		started = systemctl("start", unit);
	if (ret == -ENOPKG)
		fault_set(fault, ret,
			  "%s is saved, but does not start at boot: there is no systemctl\n"
			  "next: have istripectl up --all run at boot, and istripectl down --all at shutdown",
			  name);
	else if (ret)
		fault_set(fault, ret,
			  "%s is saved, but does not start at boot: systemctl enable %s failed\n"
			  "next: is the unit istripe@.service installed?", name, unit);
	else if (started)
		ret = fault_set(fault, started,
				"%s is saved, up, and starts at boot, but systemctl start %s failed: nothing stops it at a shutdown\n"
				"next: systemctl status %s", name, unit, unit);
	else
		printf("%s: starts at boot%s\n", name, now ? "" : ", not now");
	free(unit);
	return ret;
}

/* One that is not there, or that of somebody else, would be missed at the next boot. */
static void secrets_mention(const struct volume *volume)
{
	size_t i, j, k;

	for (i = 0; i < volume->leg_count; i++) {
		for (j = 0; j < volume->legs[i].path_count; j++) {
			const struct settings *its = &volume->legs[i].paths[j].settings;

			for (k = 0; k < its->count; k++) {
				const char *value = its->items[k].value;

				if (!setting_is_secret(its->items[k].name) || !value ||
				    value[0] != '@' ||
				    (file_mode(value + 1) >= 0 && !its->items[k].invented))
					continue;
				fprintf(stderr,
					"istripectl: %s: leg %u path %u: %s is not in the kernel's files and cannot be saved\n"
					"            next: put it into %s, mode 0600\n",
					volume->name, volume->legs[i].index,
					volume->legs[i].paths[j].index, its->items[k].name,
					value + 1);
			}
		}
	}
}

int save_volume(struct volume *volume, bool anew, struct fault *fault)
{
	char *path = conf_path(volume->name);
	bool other = anew && file_mode(path) >= 0;
	int ret = conf_write(volume, anew, fault);

	if (!ret) {
		printf("%s: %s%s\n", volume->name, path,
		       other ? ", which was another one before" : "");
		conf_secrets(volume);
		secrets_mention(volume);
	}
	free(path);
	return ret;
}

/* @saved: what the configuration file says of it. */
static void secret_mention(const struct volume *volume, const struct leg *leg,
			   const struct path *path, const struct setting *given,
			   const struct setting *saved)
{
	char *conf = conf_path(volume->name), *target;

	if (node_follows_path(volume, &path->settings)) {
		target = text_quoted(settings_value(&path->settings, "target_name"));
		fprintf(stderr,
			"istripectl: leg %u path %u of %s follows its node record of open-iscsi: the next up, or apply --secrets, takes %s from there\n"
			"            next: iscsiadm -m node -T %s -o update -n %s -v SECRET\n",
			leg->index, path->index, volume->name, given->name, target,
			openiscsi_name(given->name));
		free(target);
	} else if (saved && saved->value && !saved->invented &&
		   strcmp(given->value, saved->value)) {
		fprintf(stderr,
			"istripectl: the configuration file of %s goes on to name %s for %s\n"
			"            next: put the new secret there, or change %s\n",
			volume->name, saved->value + 1, given->name, conf);
	}
	free(conf);
}

void save_mention_secrets(const char *name, unsigned int leg, unsigned int path,
			  struct settings *given)
{
	struct volume volume = { 0 };
	const struct path *its = NULL;
	const struct leg *of = NULL;
	struct fault ignored;
	size_t i;

	if (!tree_read(name, &volume, &ignored) && !conf_check(&volume, &ignored)) {
		conf_secrets(&volume);
		secret_locate(given, &ignored);
		of = volume_find_leg(&volume, leg);
	}
	if (of)
		its = leg_find_path(of, path);
	for (i = 0; its && i < given->count; i++) {
		const struct setting *item = &given->items[i];

		if (setting_is_secret(item->name) && *item->value)
			secret_mention(&volume, of, its, item,
				       settings_find(&its->settings, item->name));
	}
	volume_free(&volume);
}

static int save_plan(struct volume *volume, bool boot, struct fault *fault)
{
	char *path = conf_path(volume->name);
	int ret = conf_check(volume, fault);

	if (!ret) {
		printf("%s: would write %s\n", volume->name, path);
		conf_secrets(volume);
		secrets_mention(volume);
	}
	if (!ret && boot)
		printf("%s: would start at boot%s\n", volume->name,
		       volume->up ? "" : ", not now");
	free(path);
	return ret;
}

static void left_out_mention(const struct volume *volume)
{
	const struct leg *leg;
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0, leg = &volume->legs[i]; j < leg->path_count; j++)
			if (leg->paths[j].left_out)
				printf("%s: leg %u path %u is left out and stays in its file\n",
				       volume->name, leg->index, leg->paths[j].index);
}

/* Whether the file has the setting of a step: one of a leg may have been taken for a path's. */
static bool file_has(const struct volume *file, const struct step *step)
{
	const struct leg *leg;
	bool has;
	size_t i;

	if (step->leg == STEP_NONE)
		return settings_find(&file->settings, step->name);
	leg = volume_find_leg(file, step->leg);
	if (step->path != STEP_NONE)
		return settings_find(&leg_find_path(leg, step->path)->settings, step->name);
	has = settings_find(&leg->settings, step->name);
	for (i = 0; !has && i < leg->path_count; i++)
		has = settings_find(&leg->paths[i].settings, step->name);
	return has;
}

static void line_add(struct file_names *lines, const struct volume *file, const struct step *step)
{
	char *place, *line;

	if (step->kind == STEP_REMOVE || (step->kind != STEP_ADD && !step->name))
		return;
	if (step->name && (setting_is_secret(step->name) || !file_has(file, step)))
		return;
	place = step_place(step);
	if (step->name)
		line = alloc_printf("%s%s \"%s\"", place, step->name, step->to);
	else
		line = alloc_printf("%sa path", place);
	file_names_add(lines, line);
	free(line);
	free(place);
}

/* Lines of the file that the volume does not have, as when it was edited and not yet applied. */
static void replaced_find(const struct volume *volume, struct file_names *lines)
{
	char *path = conf_path(volume->name), *legs;
	struct volume file = { 0 };
	struct fault ignored;
	struct plan plan = { 0 };
	size_t i;

	if (!conf_read(path, volume->name, &file, &ignored)) {
		portal_resolve_all(&file, volume, &ignored, &ignored);
		node_drop(&file);
		plan_make(volume, &file, false, &plan, &ignored);
		legs = alloc_printf("%zu legs", file.leg_count);
		if (file.leg_count != volume->leg_count)
			file_names_add(lines, legs);
		free(legs);
	}
	for (i = 0; i < plan.count; i++)
		line_add(lines, &file, &plan.items[i]);
	plan_free(&plan);
	volume_free(&file);
	free(path);
}

static int volume_save(const char *name, unsigned int flags, struct fault *fault)
{
	struct file_names replaced = { 0 };
	struct volume volume = { 0 };
	struct fault other = { 0 };
	int lock = -1, ret = 0;
	size_t i;

	if (!(flags & COMMAND_DRY_RUN))
		ret = remains_lock(name, &lock, fault);
	if (!ret)
		ret = tree_read(name, &volume, fault);
	if (!ret) {
		leave_out_keep(&volume);
		left_out_mention(&volume);
		designator_keep(&volume, &other);
		replaced_find(&volume, &replaced);
		conf_leave_chunk(&volume);
	}
	if (!ret && (flags & COMMAND_DRY_RUN))
		ret = save_plan(&volume, flags & COMMAND_BOOT, fault);
	else if (!ret)
		ret = save_volume(&volume, false, fault);
	/* The unit waits for it. */
	lock_leave(lock);
	for (i = 0; !ret && i < replaced.count; i++)
		printf("%s: its file said otherwise: %s\n", name, replaced.items[i]);
	if (!ret)
		fault_print(&other);
	if (!ret && (flags & COMMAND_BOOT) && !(flags & COMMAND_DRY_RUN))
		ret = save_boot(name, volume.up, fault);
	leave_out_forget(&volume);
	/* The file is written: it counts when the records cannot be read, or are made to agree. */
	if (!ret && overridden_check(&volume, fault))
		ret = -EBUSY;
	file_names_free(&replaced);
	volume_free(&volume);
	return ret;
}

int command_save(const struct command *command, int argc, char **argv)
{
	struct command_line line;
	int code = EXIT_DONE;
	size_t i;

	if (!command_begin(command, argc, argv, COMMAND_BOOT | COMMAND_DRY_RUN, &line, true,
			   &code))
		return code;
	for (i = 0; i < line.count; i++) {
		struct fault fault = { 0 };

		if (volume_save(line.names[i], line.flags, &fault)) {
			fault_print(&fault);
			code = EXIT_FAILED;
		}
	}
	return code;
}
