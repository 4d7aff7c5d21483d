// SPDX-License-Identifier: GPL-2.0
/* From two configurations to the steps between them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "designator.h"
#include "fence.h"
#include "known.h"
#include "plan.h"
#include "same.h"
#include "suggest.h"

struct maker {
	const struct volume *now, *wanted;
	bool secrets;		/* they have changed, as somebody says */
	bool only_path;		/* the leg has no other one: it cannot log in anew */
	const struct leg *its_leg;	/* while it is compared: as it is now */
	const struct settings *of_leg;	/* while its paths are compared: what it is to have */
	struct plan *plan;
	struct fault *fault;
	int ret;
};

static void step_add(struct maker *maker, enum step_kind kind, int leg, int path,
		     const char *name, const char *from, const char *to)
{
	struct plan *plan = maker->plan;

	*alloc_append(plan->items, plan->count) = (struct step) {
		.kind = kind, .leg = leg, .path = path,
		.name = name ? alloc_text(name) : NULL,
		.from = from ? alloc_text(from) : NULL,
		.to = to ? alloc_text(to) : NULL,
	};
}

/* How a setting can change. */
static enum step_kind step_kind(const struct maker *maker, enum known_place place, const char *name)
{
	const struct known *known = known_find(place, name);

	if (!maker->now->up || !known || known->live)
		return STEP_WRITE;
	return place == KNOWN_PATH && !maker->only_path ? STEP_RESTART : STEP_DOWN;
}

/* @always: also when the volume is up, where nobody sees whether it has changed. */
static void secret_compare(struct maker *maker, enum known_place place, int leg, int path,
			   const struct settings *now, const struct settings *wanted,
			   const char *name, bool always)
{
	const char *secret = settings_value(wanted, name);
	const char *user = strcmp(name, "chap_secret") ? "chap_mutual_user" : "chap_user";
	/* Without a name the module refuses the secret that it still has. */
	bool goes = !*secret && *settings_value(now, user) && !*settings_value(wanted, user);

	if (!goes && (!*secret || (!always && maker->now->up)))
		return;
	step_add(maker, step_kind(maker, place, name), leg, path, name, NULL, secret);
	maker->plan->items[maker->plan->count - 1].first = !*settings_value(now, user);
}

/* Pages are stable, as digests of them need, when a path had a digest as the volume came up. */
static bool digests_begin(const struct volume *now, const char *name, const char *to)
{
	size_t i, j;

	if (strcmp(name, "data_digest") || !strcmp(to, "None"))
		return false;
	for (i = 0; i < now->leg_count; i++)
		for (j = 0; j < now->legs[i].path_count; j++)
			if (strcmp(known_worth(KNOWN_PATH, &now->legs[i].paths[j].settings, name),
				   "None"))
				return false;
	return true;
}

/* The superblocks say the chunk of an array when its file does not. */
static bool is_left(const struct settings *wanted, const char *name)
{
	if (!strcmp(name, "metadata_create"))
		return true;
	return !strcmp(name, "chunk_bytes") && !settings_find(wanted, name) &&
	       !strcmp(known_worth(KNOWN_VOLUME, wanted, "metadata"), "md");
}

static void setting_compare(struct maker *maker, enum known_place place, int leg, int path,
			    const struct settings *now, const struct settings *wanted,
			    const char *name)
{
	const char *from = known_worth(place, now, name), *to = known_worth(place, wanted, name);

	if (is_left(wanted, name) ||
	    (place == KNOWN_LEG && designator_is_that(maker->its_leg, name, from, to)))
		return;
	if (setting_is_secret(name))
		secret_compare(maker, place, leg, path, now, wanted, name, maker->secrets);
	else if (!same_value(place, name, from, to))
		step_add(maker, maker->now->up && digests_begin(maker->now, name, to) ?
			 STEP_DOWN : step_kind(maker, place, name), leg, path, name, from, to);
}

static void setting_unknown(struct maker *maker, int leg, int path, const struct setting *setting)
{
	const struct step step = { .leg = leg, .path = path };
	const char *other = suggest_setting(setting->name);
	char *place = step_place(&step), *file = conf_path(maker->wanted->name);

	step_add(maker, STEP_WRITE, leg, path, setting->name, "", setting->value);
	if (!maker->ret) {
		maker->ret = fault_set(maker->fault, -ENOENT,
				       "%s: this version of the module has no setting %s%s",
				       setting->from ? setting->from : file, place, setting->name);
		if (other && strcmp(other, setting->name))
			fault_add(maker->fault, "did you mean %s?", other);
	}
	free(place);
	free(file);
}

bool plan_setting_is_of_leg(const struct leg *leg, const char *name)
{
	return settings_find(&leg->settings, name) && !known_find(KNOWN_PATH, name) &&
	       (!leg->path_count || !settings_find(&leg->paths[0].settings, name));
}

/* A leg has one value: that of another path, if it is not the same, has no place. */
static bool is_taken_by_leg(const struct maker *maker, enum known_place place,
			    const struct setting *setting)
{
	return place == KNOWN_PATH && settings_find(maker->of_leg, setting->name) &&
	       !strcmp(settings_value(maker->of_leg, setting->name), setting->value);
}

/* Settings that the module has or the file says; a later version's stay where it says nothing. */
static void settings_compare(struct maker *maker, enum known_place place, int leg, int path,
			     const struct settings *now, const struct settings *wanted)
{
	size_t i;

	for (i = 0; i < now->count; i++)
		if (known_find(place, now->items[i].name) ||
		    settings_find(wanted, now->items[i].name))
			setting_compare(maker, place, leg, path, now, wanted, now->items[i].name);
	for (i = 0; i < wanted->count; i++)
		if (!settings_find(now, wanted->items[i].name) &&
		    !is_taken_by_leg(maker, place, &wanted->items[i]) &&
		    strcmp(wanted->items[i].name, "metadata_create"))
			setting_unknown(maker, leg, path, &wanted->items[i]);
}

static bool is_of_login(const struct step *step)
{
	const struct known *known = step->name ? known_find(KNOWN_PATH, step->name) : NULL;

	return known && known->login;
}

/* Or when it is known to be lost, or the volume has been down. */
static bool logs_in_anew(const struct plan *plan, size_t first)
{
	for (; first < plan->count; first++)
		if (plan->items[first].kind == STEP_RESTART || is_of_login(&plan->items[first]))
			return true;
	return false;
}

/* Nobody sees whether a secret has changed: a path that logs in anew takes the file's. */
static void path_compare(struct maker *maker, int leg, const struct path *now,
			 const struct path *wanted)
{
	static const char *const secrets[] = { "chap_secret", "chap_mutual_secret" };
	size_t first = maker->plan->count, i;

	if (now->off && maker->now->up)
		step_add(maker, STEP_RESTART, leg, now->index, NULL, NULL, NULL);
	settings_compare(maker, KNOWN_PATH, leg, now->index, &now->settings, &wanted->settings);
	if (maker->secrets || !logs_in_anew(maker->plan, first))
		return;
	for (i = 0; i < 2; i++)
		if (*settings_value(&wanted->settings, secrets[i]))
			secret_compare(maker, KNOWN_PATH, leg, now->index, &now->settings,
				       &wanted->settings, secrets[i], true);
}

/* The settings of the leg in the file, also those that were taken for a path's. */
static void leg_gather(const struct leg *now, const struct leg *wanted, struct settings *of_leg)
{
	const struct settings *its = &wanted->settings;
	size_t i, j;

	for (i = 0; i < its->count; i++)
		settings_take(of_leg, &its->items[i]);
	for (i = 0; i < wanted->path_count; i++) {
		its = &wanted->paths[i].settings;
		for (j = 0; j < its->count; j++)
			if (plan_setting_is_of_leg(now, its->items[j].name) &&
			    !settings_find(of_leg, its->items[j].name))
				settings_take(of_leg, &its->items[j]);
	}
}

static void paths_compare(struct maker *maker, const struct leg *now, const struct leg *wanted)
{
	size_t i;

	maker->only_path = now->path_count == 1;
	for (i = 0; i < wanted->path_count; i++) {
		const struct path *path = leg_find_path(now, wanted->paths[i].index);

		if (wanted->paths[i].left_out)
			continue;
		if (path)
			path_compare(maker, now->index, path, &wanted->paths[i]);
		else
			step_add(maker, STEP_ADD, now->index, wanted->paths[i].index, NULL, NULL,
				 NULL);
	}
	for (i = 0; i < now->path_count; i++)
		if (!leg_find_path(wanted, now->paths[i].index))
			step_add(maker, STEP_REMOVE, now->index, now->paths[i].index, NULL, NULL,
				 NULL);
}

static void leg_compare(struct maker *maker, const struct leg *now, const struct leg *wanted)
{
	struct settings of_leg = { 0 };

	maker->its_leg = now;
	leg_gather(now, wanted, &of_leg);
	settings_compare(maker, KNOWN_LEG, now->index, STEP_NONE, &now->settings, &of_leg);
	maker->of_leg = &of_leg;
	paths_compare(maker, now, wanted);
	maker->of_leg = NULL;
	settings_free(&of_leg);
}

/* Steps of one kind stay in their order: their numbers are that of the legs and paths. */
static int step_compare(const void *a, const void *b)
{
	const struct step *one = a, *other = b;

	if (one->kind != other->kind)
		return (int)one->kind - (int)other->kind;
	if (one->leg != other->leg)
		return one->leg - other->leg;
	if (one->path != other->path)
		return one->path - other->path;
	return strcmp(one->name ? one->name : "", other->name ? other->name : "");
}

static const char *path_value(const struct volume *volume, const struct step *step,
			      const char *name)
{
	const struct leg *leg = volume_find_leg(volume, step->leg);

	return known_worth(KNOWN_PATH, &leg_find_path(leg, step->path)->settings, name);
}

static bool is_isid(const struct step *step)
{
	return step->name && !strcmp(step->name, "isid");
}

/* Whether another path, whose turn comes later, has it at the same target. */
static bool isid_is_taken(const struct maker *maker, const struct step *step)
{
	const struct plan *plan = maker->plan;
	const struct step *other;

	for (other = plan->items; other < plan->items + plan->count; other++)
		if (other != step && is_isid(other) &&
		    (other > step || other->kind == STEP_DOWN) &&
		    same_value(KNOWN_PATH, "isid", other->from, step->to) &&
		    !strcmp(path_value(maker->now, other, "target_name"),
			    path_value(maker->wanted, step, "target_name")))
			return true;
	return false;
}

/* One after another, paths that swap theirs would have the same: the module refuses that. */
static void isids_check(const struct maker *maker)
{
	struct plan *plan = maker->plan;
	size_t i;

	for (i = 0; i < plan->count; i++)
		if (plan->items[i].kind == STEP_RESTART && is_isid(&plan->items[i]) &&
		    isid_is_taken(maker, &plan->items[i]))
			plan->items[i].kind = STEP_DOWN;
}

static void plan_sort(struct plan *plan)
{
	if (plan->count)
		qsort(plan->items, plan->count, sizeof(*plan->items), step_compare);
}

int plan_make(const struct volume *now, const struct volume *wanted, bool secrets,
	      struct plan *plan, struct fault *fault)
{
	struct maker maker = {
		.now = now, .wanted = wanted, .secrets = secrets, .plan = plan, .fault = fault,
	};
	size_t i;

	if (now->leg_count != wanted->leg_count)
		return fault_set(fault, -EINVAL,
				 "%s has %zu legs, its file %zu: legs of a volume never come or go\n"
				 "next: if the file is right, istripectl delete %s; istripectl up %s",
				 now->name, now->leg_count, wanted->leg_count, now->name,
				 now->name);
	for (i = 0; i < now->leg_count; i++)
		if (now->legs[i].index != wanted->legs[i].index)
			return fault_set(fault, -EINVAL, "%s has no leg %u, but its file has one",
					 now->name, wanted->legs[i].index);
	settings_compare(&maker, KNOWN_VOLUME, STEP_NONE, STEP_NONE, &now->settings,
			 &wanted->settings);
	for (i = 0; i < now->leg_count; i++)
		leg_compare(&maker, &now->legs[i], &wanted->legs[i]);
	plan_sort(plan);
	isids_check(&maker);
	plan_sort(plan);
	return maker.ret;
}

static bool same_place(const struct step *one, const struct step *other)
{
	return one->leg == other->leg && one->path == other->path;
}

static bool waits_for_login(const struct step *step)
{
	return step->path != STEP_NONE && (step->kind == STEP_RESTART || step->kind == STEP_DOWN);
}

/* Is the step one of a path that is lost, and all that its path is to be got away for of logins? */
static bool is_of_lost(const struct volume *now, const struct plan *plan, const struct step *step)
{
	size_t i;

	if (!waits_for_login(step))
		return false;
	for (i = 0; i < plan->count; i++) {
		const struct step *other = &plan->items[i];

		if (same_place(step, other) && waits_for_login(other) && !is_of_login(other))
			return false;
	}
	return fence_path_is_lost(now->name, step->leg, step->path);
}

void plan_take_lost(const struct volume *now, struct plan *plan)
{
	bool *lost = alloc_array(NULL, plan->count + 1, sizeof(*lost));
	size_t i;

	for (i = 0; i < plan->count; i++)
		lost[i] = now->up && is_of_lost(now, plan, &plan->items[i]);
	for (i = 0; i < plan->count; i++) {
		if (!lost[i])
			continue;
		plan->items[i].else_kind = plan->items[i].kind;
		plan->items[i].kind = STEP_LOGIN;
	}
	free(lost);
	plan_sort(plan);
}

char *step_place(const struct step *step)
{
	if (step->leg == STEP_NONE)
		return alloc_text("");
	if (step->path == STEP_NONE)
		return alloc_printf("leg %d: ", step->leg);
	return alloc_printf("leg %d path %d: ", step->leg, step->path);
}

char *step_text(const struct step *step)
{
	static const char *const notes[] = {
		[STEP_ADD] = "a new path", [STEP_REMOVE] = "the path goes", [STEP_WRITE] = "",
		[STEP_LOGIN] = ", the lost path logs in with it",
		[STEP_RESTART] = ", the path logs in anew", [STEP_DOWN] = ", needs down and up",
	};
	char *place = step_place(step), *text;

	if (!step->name)
		text = alloc_printf("%s%s", place, step->kind == STEP_RESTART ?
				    "the path is off: it logs in" : notes[step->kind]);
	else if (!step->from)
		text = alloc_printf("%s%s%s", place, step->name, notes[step->kind]);
	else
		text = alloc_printf("%s%s \"%s\" -> \"%s\"%s", place, step->name, step->from,
				    step->to, notes[step->kind]);
	free(place);
	return text;
}

void plan_print(const char *name, const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		char *text = step_text(&plan->items[i]);

		printf("%s: %s\n", name, text);
		free(text);
	}
}

size_t plan_differences(const struct plan *plan, const struct step **first)
{
	size_t i, count = 0;

	*first = NULL;
	for (i = 0; i < plan->count; i++) {
		const struct step *step = &plan->items[i];

		/* A path that is only off is configured as the file says. */
		if (step->kind == STEP_RESTART && !step->name)
			continue;
		/* The designator is in the file first: configfs has taken none while it was up. */
		if (step->kind == STEP_WRITE && !strcmp(step->name, DESIGNATOR_SETTING) &&
		    !*step->from)
			continue;
		if (!count++)
			*first = step;
	}
	return count;
}

void plan_free(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		struct step *step = &plan->items[i];

		if (!step->from && step->to)
			explicit_bzero(step->to, strlen(step->to));
		free(step->name);
		free(step->from);
		free(step->to);
	}
	free(plan->items);
	memset(plan, 0, sizeof(*plan));
}
