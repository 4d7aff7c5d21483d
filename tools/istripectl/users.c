// SPDX-License-Identifier: GPL-2.0
/* Volumes of this host that have a leg on a target. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "tree.h"
#include "users.h"

static bool user_is_known(const struct users *users, const char *name)
{
	size_t i;

	for (i = 0; i < users->count; i++)
		if (!strcmp(users->volumes[i].name, name))
			return true;
	return false;
}

static void user_read(struct users *users, const char *name, bool live)
{
	char *path = conf_path(name);
	struct volume volume = { 0 };
	struct fault ignored;

	if (!user_is_known(users, name) && !(live ? tree_read(name, &volume, &ignored) :
					     conf_read(path, name, &volume, &ignored)))
		users->volumes[users->count++] = volume;
	else
		volume_free(&volume);
	free(path);
}

void users_read(struct users *users)
{
	struct file_names names = { 0 }, files = { 0 };
	struct fault ignored;
	size_t i;

	if (!tree_check(&ignored))
		tree_list(&names, &ignored);
	conf_list(&files, &ignored);
	users->volumes = alloc_array(NULL, names.count + files.count + 1,
				     sizeof(*users->volumes));
	for (i = 0; i < names.count; i++)
		user_read(users, names.items[i], true);
	for (i = 0; i < files.count; i++)
		user_read(users, files.items[i], false);
	file_names_free(&names);
	file_names_free(&files);
}

void users_free(struct users *users)
{
	size_t i;

	for (i = 0; i < users->count; i++)
		volume_free(&users->volumes[i]);
	free(users->volumes);
	memset(users, 0, sizeof(*users));
}

/* The LUN of a target that a path leads to; NULL: it leads to another target. */
static const char *path_lun(const struct path *path, const char *target)
{
	const char *lun = settings_value(&path->settings, "lun");

	if (strcmp(settings_value(&path->settings, "target_name"), target))
		return NULL;
	return *lun ? lun : "0";
}

/* A leg has several paths to a target, and each may have a LUN of its own. */
static bool lun_is_new(const struct leg *leg, size_t path, const char *target)
{
	const char *lun = path_lun(&leg->paths[path], target), *earlier;
	size_t i;

	for (i = 0; lun && i < path; i++) {
		earlier = path_lun(&leg->paths[i], target);
		if (earlier && !strcmp(earlier, lun))
			return false;
	}
	return lun;
}

void users_each(const struct users *users, const char *target,
		void (*each)(void *context, const char *volume, const struct leg *leg,
			     const char *lun),
		void *context)
{
	size_t i, j, k;

	for (i = 0; i < users->count; i++) {
		const struct volume *volume = &users->volumes[i];

		for (j = 0; j < volume->leg_count; j++) {
			const struct leg *leg = &volume->legs[j];

			for (k = 0; k < leg->path_count; k++)
				if (lun_is_new(leg, k, target))
					each(context, volume->name, leg,
					     path_lun(&leg->paths[k], target));
		}
	}
}
