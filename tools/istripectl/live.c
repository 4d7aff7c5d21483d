// SPDX-License-Identifier: GPL-2.0
/* What a volume that is up shows in sysfs. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "file.h"
#include "live.h"
#include "place.h"
#include "text.h"

#define DEPTH_MAX	12
#define SECTOR_BYTES	512

/* Whether an entry of a directory is of interest. */
typedef bool (*wanted_fn)(const char *name);

static int dir_read(const char *dir, const char *name, struct live *live, wanted_fn wanted,
		    int depth);

static bool all_wanted(const char *name)
{
	(void)name;
	return true;
}

/* Counters of sessions, not the many keys of their login. */
static bool count_wanted(const char *name)
{
	static const char *const names[] = { "offered", "negotiated", NULL };

	return !text_listed(names, name);
}

/* Of all but sessions, which have most of the files. */
static bool place_wanted(const char *name)
{
	static const char *const names[] = { "session", "sessions", NULL };

	return !text_listed(names, name);
}

/* Of the volume, legs and paths, not of sessions and connections. */
static bool state_wanted(const char *name)
{
	static const char *const names[] = { "state", "last_error", "legs", "paths", NULL };

	return text_listed(names, name) || isdigit((unsigned char)*name);
}

/* Files about fences of legs and paths. */
static bool fence_wanted(const char *name)
{
	static const char *const names[] = {
		"state", "fence", "fence_timeout_ms", "fenced_through", "unproven", "legs", "paths",
		NULL
	};

	return text_listed(names, name) || isdigit((unsigned char)*name);
}

/* A file without a value at the moment, as of a session that is not there, is kept as such. */
static void value_take(const char *path, const char *name, struct settings *values)
{
	int mode = file_mode(path);
	char *value = NULL;

	if (mode < 0 || !(mode & 0444))
		return;
	file_read(path, &value);
	settings_put(values, name, value);
	free(value);
}

static void entry_read(const char *dir, const char *name, struct live *live, wanted_fn wanted,
		       int depth)
{
	char *path = alloc_printf("%s/%s", dir, name);

	if (!file_is_dir(path)) {
		value_take(path, name, &live->values);
	} else if (depth < DEPTH_MAX) {
		dir_read(path, name, alloc_append(live->children, live->child_count), wanted,
			 depth + 1);
	}
	free(path);
}

static int dir_read(const char *dir, const char *name, struct live *live, wanted_fn wanted,
		    int depth)
{
	struct file_names names = { 0 };
	int ret = file_list(dir, &names);
	size_t i;

	live->name = alloc_text(name);
	for (i = 0; i < names.count; i++)
		if (wanted(names.items[i]))
			entry_read(dir, names.items[i], live, wanted, depth);
	file_names_free(&names);
	return ret;
}

static int tree_read(const char *device, struct live *live, wanted_fn wanted)
{
	char *dir = place_path("/sys/block/%s/istripe", device);
	int ret = dir_read(dir, device, live, wanted, 0);

	free(dir);
	return ret;
}

int live_read(const char *device, struct live *live)
{
	return tree_read(device, live, all_wanted);
}

int live_read_counts(const char *device, struct live *live)
{
	return tree_read(device, live, count_wanted);
}

int live_read_places(const char *device, struct live *live)
{
	return tree_read(device, live, place_wanted);
}

int live_read_states(const char *device, struct live *live)
{
	return tree_read(device, live, state_wanted);
}

int live_read_fences(const char *device, struct live *live)
{
	return tree_read(device, live, fence_wanted);
}

const struct live *live_child(const struct live *live, const char *name)
{
	size_t i;

	for (i = 0; i < live->child_count; i++)
		if (!strcmp(live->children[i].name, name))
			return &live->children[i];
	return NULL;
}

/* The directory @name below the directory @group, or NULL. */
static struct live *child_below(const struct live *live, const char *group, const char *name)
{
	const struct live *all = live_child(live, group);

	return all ? (struct live *)live_child(all, name) : NULL;
}

static void path_add_off(struct live *leg, const struct path *path)
{
	static const char *const names[] = {
		"target_name", "lun", "portal", "source_address", "nic"
	};
	struct live *paths = (struct live *)live_child(leg, "paths"), *added;
	char *name = alloc_printf("%u", path->index);
	size_t i, at;

	if (!paths || live_child(paths, name)) {
		free(name);
		return;
	}
	paths->children = alloc_array(paths->children, paths->child_count + 1,
				      sizeof(*paths->children));
	/* In the order of their numbers. */
	for (at = paths->child_count++; at; at--) {
		if (atoi(paths->children[at - 1].name) < (int)path->index)
			break;
		paths->children[at] = paths->children[at - 1];
	}
	added = &paths->children[at];
	memset(added, 0, sizeof(*added));
	added->name = name;
	settings_put(&added->values, "state", "off");
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		settings_put(&added->values, names[i], settings_value(&path->settings, names[i]));
}

void live_add_off(struct live *live, const struct volume *volume)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];
		char *name = alloc_printf("%u", leg->index);
		struct live *its = child_below(live, "legs", name);

		for (j = 0; its && j < leg->path_count; j++)
			if (leg->paths[j].off)
				path_add_off(its, &leg->paths[j]);
		free(name);
	}
}

unsigned long long live_size(const char *device)
{
	char *path = place_path("/sys/block/%s/size", device), *text = NULL;
	unsigned long long sectors = 0;

	if (!file_read(path, &text))
		sectors = strtoull(text, NULL, 10);
	free(text);
	free(path);
	return sectors * SECTOR_BYTES;
}

void live_free(struct live *live)
{
	size_t i;

	for (i = 0; i < live->child_count; i++)
		live_free(&live->children[i]);
	free(live->children);
	settings_free(&live->values);
	free(live->name);
	memset(live, 0, sizeof(*live));
}

bool live_takes_io(const char *state)
{
	return !strcmp(state, "live") || !strcmp(state, "degraded");
}
