// SPDX-License-Identifier: GPL-2.0
/* apply: a volume becomes as its configuration file says, while it is in use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "conf.h"
#include "designator.h"
#include "fence.h"
#include "initiator.h"
#include "interrupt.h"
#include "leave_out.h"
#include "lock.h"
#include "module.h"
#include "node.h"
#include "overridden.h"
#include "parse.h"
#include "plan.h"
#include "portal.h"
#include "power.h"
#include "remains.h"
#include "text.h"
#include "tree.h"
#include "twin.h"

#define STEPS_SHOWN	20	/* in one message */

bool apply_has_file(const char *name)
{
	char *path = conf_path(name);
	bool has = file_mode(path) >= 0;

	free(path);
	return has;
}

/* Secrets stay the names of their files. */
static int file_take(const char *name, struct volume *wanted, struct fault *fault)
{
	char *path = conf_path(name);
	int ret = conf_read(path, name, wanted, fault);
	struct fault missing;

	if (ret == -ENOENT && !tree_has_volume(name, &missing))
		fault_add(fault, "next: istripectl save %s writes it", name);
	if (ret == -ENOENT)
		tree_names_add(name, fault);
	if (!ret)
		ret = initiator_take(wanted, fault);
	free(path);
	return ret;
}

/*
 * A volume that is configured anew, as at boot, is as its file says when the records of open-iscsi
 * cannot be read.
 */
static int records_follow(struct volume *wanted, bool is_new, bool warn, struct fault *fault)
{
	int ret = node_follows(wanted, fault);
	struct volume copy = { 0 };
	struct fault why = { 0 };

	if (ret > 0) {
		volume_copy(wanted, &copy);
		ret = openiscsi_refresh(&copy, warn, &why);
		if (!ret) {
			volume_free(wanted);
			*wanted = copy;
		} else {
			volume_free(&copy);
		}
	}
	node_drop(wanted);
	if (!*why.text)
		return ret;
	if (is_new && ret != -EINTR) {
		fault_add(&why, "%s is configured as its file says", wanted->name);
		fault_print(&why);
		return 0;
	}
	*fault = why;
	return ret;
}

/* Steps */

/* Without what the file has in its section for the leg. */
static int path_make(const struct volume *now, const struct leg *leg, const struct path *wanted,
		     struct fault *fault)
{
	struct path path = { .index = wanted->index };
	const struct settings *its = &wanted->settings;
	size_t i;
	int ret;

	for (i = 0; i < its->count; i++)
		if (!plan_setting_is_of_leg(leg, its->items[i].name))
			settings_take(&path.settings, &its->items[i]);
	if (now->up)
		ret = tree_add_path(now->name, leg->index, &path, fault);
	else
		ret = leave_out_add_path(now->name, leg->index, &path, fault);
	settings_free(&path.settings);
	return ret;
}

static int path_add(const struct volume *now, const struct volume *wanted,
		    const struct step *step, struct fault *fault)
{
	struct fault after = { 0 };
	int ret = path_make(now, &now->legs[step->leg],
			    leg_find_path(&wanted->legs[step->leg], step->path), fault);

	if (ret || !now->up)
		return ret;
	ret = power_path(now->name, step->leg, step->path, true, fault);
	if (ret && tree_remove_path(now->name, step->leg, step->path, &after))
		fault_add(fault, "and its settings are left: %s", after.text);
	return ret;
}

static int path_remove(const struct volume *now, const struct step *step, struct fault *fault)
{
	int ret = now->up ? power_path(now->name, step->leg, step->path, false, fault) : 0;

	if (ret)
		fence_advise(now->name, step->leg, step->path, NULL, fault);
	return ret ? ret : tree_remove_path(now->name, step->leg, step->path, fault);
}

static int step_write(const struct volume *now, const struct step *step, const char *value,
		      struct fault *fault)
{
	struct fault why = { 0 };
	int ret = tree_set(now->name, step->leg, step->path, step->name, value, &why);

	if (!ret || (!now->up && leave_out_forgives(step->name, ret)))
		return 0;
	*fault = why;
	return ret;
}

static bool same_path(const struct step *one, const struct step *other)
{
	return one->kind == other->kind && one->leg == other->leg && one->path == other->path;
}

/*
 * Puts back what was written to the first @count settings of a path. Secrets cannot be, but one
 * that was not there before goes: without a name the module refuses it.
 */
static void path_put_back(const struct volume *now, const struct step *steps, size_t count,
			  struct fault *fault)
{
	struct fault after = { 0 };
	int ret = 0;
	size_t i;

	interrupt_hold(true);
	for (i = 0; !ret && i < count; i++)
		if (steps[i].from || steps[i].first)
			ret = step_write(now, &steps[i], steps[i].from ? steps[i].from : "",
					 &after);
	if (!ret)
		ret = power_path(now->name, steps->leg, steps->path, true, &after);
	interrupt_hold(false);
	if (ret)
		fault_add(fault, "and the path is off now: %s", after.text);
	else
		fault_add(fault, "the path is as it was before");
}

/* A path in the place of one whose LUN is elsewhere now: the words of a shell. NULL: it is not. */
static char *place_list(const struct volume *now, const struct volume *wanted,
			const struct step *steps, size_t count)
{
	static const char *const place[] = { "target_name", "portal", "lun", NULL };
	const struct leg *leg = &now->legs[steps->leg], *other = &wanted->legs[steps->leg];
	char *list, *word;
	size_t i;

	for (i = 0; i < count; i++)
		if (steps[i].name && text_listed(place, steps[i].name))
			break;
	if (i == count)
		return NULL;
	list = parse_format_path(leg, leg_find_path(leg, steps->path),
				 leg_find_path(other, steps->path));
	word = text_quoted(list);
	free(list);
	return word;
}

/* The module waits long for lost writes, and another command cannot add a path meanwhile. */
static void place_mention(const struct volume *now, const struct step *step, const char *list)
{
	struct fault said = { 0 };

	fault_set(&said, 0,
		  "warning: leg %d of %s has no live path: if path %d has lost writes, its login waits for their end",
		  step->leg, now->name, step->path);
	fault_add(&said,
		  "next: for I/O to go on: end this command; istripectl path add %s %d %s",
		  now->name, step->leg, list);
	fault_print(&said);
}

static void retire_fault(const struct volume *now, const struct step *step, const char *list,
			 struct fault *fault)
{
	fault_add(fault, "so it does not log in anew");
	if (!fence_advise(now->name, step->leg, step->path, list, fault))
		fault_add(fault,
			  "next: bring another path of the leg back; or istripectl down %s; istripectl up --saved %s",
			  now->name, now->name);
}

/* @first: no other path of the leg was to log in before. */
static int path_retire(const struct volume *now, const struct volume *wanted,
		       const struct step *steps, size_t count, bool first, struct fault *fault)
{
	char *list = place_list(now, wanted, steps, count);
	int ret;

	if (list && first && fence_leg_is_dead(now->name, steps->leg))
		place_mention(now, steps, list);
	ret = power_path(now->name, steps->leg, steps->path, false, fault);
	if (ret)
		retire_fault(now, steps, list, fault);
	free(list);
	return ret;
}

/* All settings of one path that it logs in anew for. */
static int path_restart(const struct volume *now, const struct step *steps, size_t count,
			struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < count; i++)
		if (steps[i].name)
			ret = step_write(now, &steps[i], steps[i].to, fault);
	if (!ret)
		ret = power_path(now->name, steps->leg, steps->path, true, fault);
	if (ret)
		path_put_back(now, steps, count, fault);
	return ret;
}

static int login_write(const struct volume *now, const struct step *steps, size_t count,
		       struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < count; i++)
		ret = step_write(now, &steps[i], steps[i].to, fault);
	return ret;
}

/* Another path of the leg goes afterwards, at least for a moment. */
static bool leaves_leg(const struct plan *plan, size_t first, int leg)
{
	for (; first < plan->count; first++)
		if (plan->items[first].leg == leg && (plan->items[first].kind == STEP_RESTART ||
						      plan->items[first].kind == STEP_REMOVE))
			return true;
	return false;
}

/* The path may be live again, perhaps with the first of them: then as if it had been so before. */
static int path_relogin(const struct volume *now, const struct volume *wanted, struct step *steps,
			size_t count, bool waits, struct fault *fault)
{
	struct fault why = { 0 };
	int ret = login_write(now, steps, count, &why);
	size_t i;

	if (ret != -EBUSY) {
		if (ret)
			*fault = why;
		else if (waits)
			fence_await_login(now->name, steps->leg, steps->path);
		return ret;
	}
	for (i = 0; i < count; i++)
		steps[i].kind = steps[i].else_kind;
	if (steps->kind == STEP_DOWN)
		return 0;
	ret = path_retire(now, wanted, steps, count, false, fault);
	return ret ? ret : path_restart(now, steps, count, fault);
}

static size_t steps_of_path(const struct plan *plan, size_t first)
{
	size_t count = 1;

	while (first + count < plan->count &&
	       same_path(&plan->items[first], &plan->items[first + count]))
		count++;
	return count;
}

static int step_do(const struct volume *now, const struct volume *wanted, const struct plan *plan,
		   size_t *i, struct fault *fault)
{
	struct step *step = &plan->items[*i];
	size_t count = steps_of_path(plan, *i);
	bool first;
	int ret;

	switch (step->kind) {
	case STEP_ADD:
		return path_add(now, wanted, step, fault);
	case STEP_WRITE:
		return step_write(now, step, step->to, fault);
	case STEP_REMOVE:
		return path_remove(now, step, fault);
	case STEP_LOGIN:
		*i += count - 1;
		return path_relogin(now, wanted, step, count,
				    leaves_leg(plan, *i + 1, step->leg), fault);
	case STEP_RESTART:
		first = !*i || step[-1].kind != step->kind || step[-1].leg != step->leg;
		*i += count - 1;
		ret = path_retire(now, wanted, step, count, first, fault);
		return ret ? ret : path_restart(now, step, count, fault);
	case STEP_DOWN:
		break;
	}
	return 0;
}

/* Legs that are on another LUN than their file names. */
static void others_add(const struct volume *now, const struct plan *plan, struct fault *fault)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct step *step = &plan->items[i];
		const struct leg *leg = step->leg == STEP_NONE ? NULL : &now->legs[step->leg];

		if (leg && leg->found && step->kind == STEP_DOWN && *step->to &&
		    !strcmp(step->name, DESIGNATOR_SETTING) && strcmp(leg->found, step->to))
			fault_add(fault,
				  "leg %d is LUN %s now: with %s it comes up only when that LUN answers there",
				  step->leg, leg->found, step->to);
	}
}

/* An error that names the settings which wait for the volume to be down. */
static int left_check(const struct volume *now, const struct plan *plan, struct fault *fault)
{
	const struct step *of_path = NULL;
	char *names = alloc_text("");
	bool others = false;
	size_t i;
	int ret = 0;

	for (i = 0; i < plan->count; i++) {
		const struct step *step = &plan->items[i];
		char *place, *longer;

		if (step->kind != STEP_DOWN)
			continue;
		/* The first digest is refused of a path that is added, too. */
		others |= step->path == STEP_NONE || !strcmp(step->name, "data_digest") ||
			  (of_path && (of_path->leg != step->leg || of_path->path != step->path));
		of_path = step;
		place = step_place(step);
		longer = alloc_printf("%s%s%s%s", names, *names ? ", " : "", place, step->name);
		free(place);
		free(names);
		names = longer;
		ret = -EBUSY;
	}
	if (ret)
		fault_set(fault, ret, "%s is up; not changed, since it needs it down: %s",
			  now->name, names);
	others_add(now, plan, fault);
	/* save writes the file as the volume is then: nothing else may wait in it. */
	if (of_path && !others)
		fault_add(fault,
			  "next: istripectl path add %s %d LIST, with the new settings; istripectl path remove %s %d %d; istripectl save %s; or, with a pause:\n"
			  "istripectl down %s; istripectl up --saved %s", now->name, of_path->leg,
			  now->name, of_path->leg, of_path->path, now->name, now->name, now->name);
	else if (ret)
		fault_add(fault, "next: istripectl down %s; istripectl up --saved %s", now->name,
			  now->name);
	free(names);
	return ret;
}

/* All of a volume of many paths would leave no room for what comes after them. */
static void steps_add(const struct plan *plan, size_t first, struct fault *fault)
{
	size_t end = first + STEPS_SHOWN;

	for (; first < plan->count && first < end; first++) {
		char *text = step_text(&plan->items[first]);

		fault_add(fault, "%s", text);
		free(text);
	}
	if (first < plan->count)
		fault_add(fault, "  and %zu more", plan->count - first);
}

/* Whether a step has left its path off: what it fails for, another path may, too. */
static bool path_is_off(const struct volume *now, const struct step *step)
{
	char *file = alloc_printf("legs/%d/paths/%d/enable", step->leg, step->path);
	char *on = tree_value(now->name, file);
	bool off = !on || strcmp(on, "1");

	free(on);
	free(file);
	return off;
}

static void off_add(const struct volume *now, const struct plan *plan, size_t first,
		    struct fault *fault)
{
	if (first < plan->count)
		fault_add(fault, "not done, so that the other paths stay:");
	steps_add(plan, first, fault);
	fault_add(fault, "next: istripectl apply %s", now->name);
}

static int plan_do(const struct volume *now, const struct volume *wanted, const struct plan *plan,
		   struct fault *fault)
{
	struct fault after;
	int ret = 0, error;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		bool restart = plan->items[i].kind == STEP_RESTART;

		/* Paths that are as before do no harm; all else stops at the first failure. */
		if (ret && !restart)
			break;
		after = (struct fault) { 0 };
		error = step_do(now, wanted, plan, &i, &after);
		if (!error)
			continue;
		if (!ret)
			*fault = after;
		else
			fault_add(fault, "%s", after.text);
		ret = error;
		if (!restart)
			break;
		if (path_is_off(now, &plan->items[i])) {
			off_add(now, plan, i + 1, fault);
			break;
		}
	}
	return ret ? ret : left_check(now, plan, fault);
}

static int volume_converge(const struct volume *wanted, bool secrets, bool dry_run,
			   struct fault *fault)
{
	struct volume now = { 0 };
	struct plan plan = { 0 };
	int ret = tree_read(wanted->name, &now, fault);

	if (!ret)
		ret = plan_make(&now, wanted, secrets, &plan, fault);
	if (!ret) {
		plan_take_lost(&now, &plan);
		plan_print(wanted->name, &plan);
	}
	if (!ret && !dry_run)
		ret = plan_do(&now, wanted, &plan, fault);
	plan_free(&plan);
	volume_free(&now);
	return ret;
}

static void secrets_drop(struct volume *volume)
{
	size_t i, j, k;

	for (i = 0; i < volume->leg_count; i++) {
		for (j = 0; j < volume->legs[i].path_count; j++) {
			struct settings *its = &volume->legs[i].paths[j].settings;

			for (k = its->count; k-- > 0;)
				if (setting_is_secret(its->items[k].name))
					settings_put(its, its->items[k].name, "");
		}
	}
}

int apply_compare(const struct volume *now, struct plan *plan, struct fault *fault)
{
	struct volume wanted = { 0 };
	struct fault taken;
	int ret = file_take(now->name, &wanted, fault);

	if (!ret)
		ret = portal_resolve_all(&wanted, now, &taken, fault);
	if (!ret) {
		secrets_drop(&wanted);
		ret = node_follows(&wanted, fault);
	}
	if (ret >= 0) {
		ret = records_follow(&wanted, false, false, fault);
		/* Not the file is missing or wrong, but a record. */
		if (ret == -ENOENT)
			ret = -ENODATA;
		else if (ret == -EINVAL || ret == -ERANGE)
			ret = -EBADMSG;
	}
	if (!ret) {
		secrets_drop(&wanted);
		ret = plan_make(now, &wanted, false, plan, fault);
	}
	volume_free(&wanted);
	return ret;
}

void apply_mention(const char *name)
{
	struct volume now = { 0 };
	const struct step *first;
	struct plan plan = { 0 };
	struct fault ignored, said = { 0 };
	size_t count = 0, overridden = 0;

	if (apply_has_file(name) && !tree_read(name, &now, &ignored) &&
	    !apply_compare(&now, &plan, &ignored))
		count = plan_differences(&plan, &first);
	if (count)
		overridden = overridden_check(&now, &said);
	fault_print(&said);
	if (count > overridden) {
		fault_set(&said, 0,
			  "%s is not as its configuration file says: the next boot or apply changes:",
			  name);
		steps_add(&plan, 0, &said);
		fault_add(&said,
			  "next: istripectl save %s; or, to have it as its file says: istripectl apply %s",
			  name, name);
		fault_print(&said);
	}
	plan_free(&plan);
	volume_free(&now);
}

void apply_differs(const char *name)
{
	struct fault said = { 0 }, why = { 0 };
	struct volume now = { 0 };
	const struct step *first;
	struct plan plan = { 0 };
	int ret = tree_read(name, &now, &why);

	if (!ret)
		ret = apply_compare(&now, &plan, &why);
	if (ret) {
		fault_set(&said, 0,
			  "%s is up and stays as it is: its configuration file cannot be followed",
			  name);
		fault_add(&said, "%s", why.text);
	} else if (plan_differences(&plan, &first)) {
		fault_set(&said, 0,
			  "%s is up and stays as it is, which is not as its configuration file says:",
			  name);
		steps_add(&plan, 0, &said);
		fault_add(&said,
			  "next: istripectl apply %s; or, to keep it as it is: istripectl save %s",
			  name, name);
	}
	fault_print(&said);
	plan_free(&plan);
	volume_free(&now);
}

void apply_add_differences(const char *name, struct fault *fault)
{
	struct volume now = { 0 };
	const struct step *first;
	struct fault ignored;
	struct plan plan = { 0 };

	if (!tree_read(name, &now, &ignored) && !apply_compare(&now, &plan, &ignored) &&
	    plan_differences(&plan, &first)) {
		fault_add(fault, "%s is not as its configuration file says, and up leaves that:",
			  name);
		steps_add(&plan, 0, fault);
		fault_add(fault, "next: istripectl up --saved %s", name);
	}
	plan_free(&plan);
	volume_free(&now);
}

static int ways_take(struct volume *wanted, unsigned int flags, struct retry *late,
		     struct fault *fault)
{
	struct fault left = { 0 };
	int ret;

	conf_secrets(wanted);
	ret = leave_out_paths(wanted, flags & APPLY_FIRST, late, &left, fault);
	if (ret)
		return ret;
	fault_print(&left);
	twins_warn(wanted);
	return 0;
}

static int volume_make(const struct volume *wanted, bool dry_run, int lock, struct fault *fault)
{
	int ret = dry_run ? 0 : leave_out_create(wanted, lock, fault);
	char *file;

	if (ret)
		return ret;
	file = conf_path(wanted->name);
	printf("%s: %s from %s\n", wanted->name, dry_run ? "would be configured" : "configured",
	       file);
	free(file);
	return 0;
}

/* Half of what another process does would look like a volume of other legs. */
static int volume_configure(struct volume *wanted, unsigned int flags, int lock,
			    struct fault *fault)
{
	struct fault missing;
	bool is_new, dry_run = flags & APPLY_DRY_RUN;
	int ret = remains_clear(lock, wanted->name, fault);

	is_new = tree_has_volume(wanted->name, &missing) ||
		 (dry_run && remains_are(wanted->name));
	if (ret || (!is_new && (flags & APPLY_MISSING)))
		return ret;
	if (!dry_run)
		leave_out_record(wanted);
	if (is_new)
		leave_out_forget(wanted);
	/* Before anything of a volume that is up is taken down for it. */
	if (dry_run || (!is_new && power_is_up(wanted->name)))
		ret = tree_check_values(wanted, true, fault);
	if (ret)
		return ret;
	if (is_new)
		ret = volume_make(wanted, dry_run, lock, fault);
	else
		ret = volume_converge(wanted, flags & APPLY_SECRETS, dry_run, fault);
	if (!ret && !dry_run)
		leave_out_mention(wanted);
	return ret;
}

/* Of no file: zero. */
static struct stat file_stat(const char *name)
{
	char *path = conf_path(name);
	struct stat st;

	if (stat(path, &st))
		st = (struct stat) { 0 };
	free(path);
	return st;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int wanted_take(const char *name, unsigned int flags, struct retry *late,
		       struct volume *wanted, struct fault *fault)
{
	int ret = file_take(name, wanted, fault);
	struct fault missing;

	if (!ret)
		ret = ways_take(wanted, flags, late, fault);
	/* A module that is not loaded has no volume. */
	if (!ret && !(flags & APPLY_DRY_RUN))
		ret = tree_check(fault);
	/* So is one that is down, as after a first attempt at boot. */
	if (!ret)
		ret = records_follow(wanted, tree_has_volume(name, &missing) || !power_is_up(name),
				     true, fault);
	return ret;
}

int apply_file(const char *name, unsigned int flags, struct retry *late, struct fault *fault)
{
	struct volume wanted = { 0 };
	struct stat before, now;
	int ret, lock = -1;

	/* Another process that had the lock may have written the file anew, and applied it. */
	do {
		lock_leave(lock);
		lock = -1;
		volume_free(&wanted);
		before = file_stat(name);
		ret = wanted_take(name, flags, late, &wanted, fault);
		if (!ret && !(flags & APPLY_DRY_RUN))
			ret = lock_take(name, &lock, fault);
		now = file_stat(name);
	} while (!ret && !same_file(&before, &now));
	if (!ret)
		ret = volume_configure(&wanted, flags, lock, fault);
	lock_leave(lock);
	volume_free(&wanted);
	return ret;
}

int command_apply(const struct command *command, int argc, char **argv)
{
	struct command_line line;
	unsigned int flags;
	int code = EXIT_DONE;
	size_t i;

	if (!command_begin(command, argc, argv, COMMAND_SECRETS | COMMAND_DRY_RUN, &line, true,
			   &code))
		return code;
	flags = (line.flags & COMMAND_SECRETS ? APPLY_SECRETS : 0) |
		(line.flags & COMMAND_DRY_RUN ? APPLY_DRY_RUN : 0);
	if (!(flags & APPLY_DRY_RUN))
		module_wanted();
	interrupt_catch();
	for (i = 0; i < line.count && !interrupt_seen(); i++) {
		struct fault fault = { 0 };

		if (apply_file(line.names[i], flags, NULL, &fault)) {
			fault_print(&fault);
			code = EXIT_FAILED;
		}
	}
	return i < line.count ? EXIT_FAILED : code;
}
