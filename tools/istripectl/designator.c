// SPDX-License-Identifier: GPL-2.0
/* Which LUN a leg is. The module remembers the first one that answers, and forgets it when down. */
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "designator.h"
#include "known.h"
#include "same.h"
#include "tree.h"

/*
 * Others may have these, too: a serial number counts when a user vouches for it, a locally assigned
 * NAA while the LUN has nothing better, and that of tgt is made of the numbers of target and LUN.
 */
static bool is_of_this_lun_alone(const char *designator)
{
	static const char *const others[] = { "serial.", "naa.3", "t10.IET " };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(designator, others[i], strlen(others[i])))
			return false;
	return true;
}

static void leg_take(struct leg *leg, const char *found)
{
	if (found && *found && is_of_this_lun_alone(found) &&
	    !*settings_value(&leg->settings, DESIGNATOR_SETTING))
		settings_put(&leg->settings, DESIGNATOR_SETTING, found);
}

void designator_take(struct volume *volume)
{
	struct volume now = { 0 };
	struct fault ignored;
	size_t i;

	if (!tree_read(volume->name, &now, &ignored)) {
		for (i = 0; i < volume->leg_count; i++) {
			const struct leg *its = volume_find_leg(&now, volume->legs[i].index);

			leg_take(&volume->legs[i], its ? its->found : NULL);
		}
	}
	volume_free(&now);
}

static void leg_keep(const char *name, struct leg *leg, const char *saved, struct fault *fault)
{
	if (*settings_value(&leg->settings, DESIGNATOR_SETTING))
		return;
	if (*saved)
		settings_put(&leg->settings, DESIGNATOR_SETTING, saved);
	if (*saved && leg->found && *leg->found && strcmp(leg->found, saved)) {
		fault_add(fault,
			  "leg %u of %s is LUN %s, and its file keeps %s: from the next boot on no other LUN is accepted",
			  leg->index, name, leg->found, saved);
		fault_add(fault,
			  "next: if the new LUN is right, take designator of leg %u out of the file, then istripectl save %s",
			  leg->index, name);
	}
	leg_take(leg, leg->found);
}

static const char *path_value(const struct path *path, const struct leg *leg, const char *name)
{
	const char *value = settings_value(&path->settings, name);

	if (!*value)
		value = settings_value(&leg->settings, name);
	return *value ? value : known_default(KNOWN_PATH, name);
}

static bool path_leads_there(const struct path *path, const struct leg *leg,
			     const struct path *its_path, const struct leg *its)
{
	static const char *const names[] = { "target_name", "lun" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!same_value(KNOWN_PATH, names[i], path_value(path, leg, names[i]),
				path_value(its_path, its, names[i])))
			return false;
	return true;
}

/* Where the file's leg is: what is known of a LUN elsewhere does not count. */
static bool leg_is_there(const struct leg *leg, const struct leg *its)
{
	size_t i, j;

	for (i = 0; i < leg->path_count; i++)
		for (j = 0; j < its->path_count; j++)
			if (path_leads_there(&leg->paths[i], leg, &its->paths[j], its))
				return true;
	return false;
}

void designator_keep(struct volume *volume, struct fault *fault)
{
	char *file = conf_path(volume->name);
	struct volume before = { 0 };
	struct fault ignored;
	bool has = !conf_read(file, volume->name, &before, &ignored);
	size_t i;

	for (i = 0; i < volume->leg_count; i++) {
		struct leg *leg = &volume->legs[i];
		const struct leg *its = has ? volume_find_leg(&before, leg->index) : NULL;
		const char *saved = "";

		if (its && leg_is_there(leg, its))
			saved = settings_value(&its->settings, DESIGNATOR_SETTING);
		leg_keep(volume->name, leg, saved, fault);
	}
	volume_free(&before);
	free(file);
}

bool designator_is_that(const struct leg *leg, const char *name, const char *from,
			const char *to)
{
	return leg->found && !*from && !strcmp(name, DESIGNATOR_SETTING) &&
	       !strcmp(leg->found, to);
}
