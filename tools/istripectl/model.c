// SPDX-License-Identifier: GPL-2.0
/* A volume as plain values. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "known.h"
#include "model.h"
#include "text.h"

#define NAME_MAX_CHARS	63
#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

bool setting_is_secret(const char *name)
{
	return text_ends(name, "secret");
}

bool setting_is_of_leg(const char *name)
{
	return known_find(KNOWN_LEG, name);
}

bool setting_is_of_one_path(const char *name)
{
	static const char *const names[] = { "portal", "nic", "source_address", "isid", NULL };

	return text_listed(names, name);
}

/* Settings */

static struct setting *find(const struct settings *settings, const char *name)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		if (!strcmp(settings->items[i].name, name))
			return &settings->items[i];
	return NULL;
}

const struct setting *settings_find(const struct settings *settings, const char *name)
{
	return find(settings, name);
}

const char *settings_value(const struct settings *settings, const char *name)
{
	const struct setting *setting = find(settings, name);

	return setting && setting->value ? setting->value : "";
}

static void value_free(struct setting *setting)
{
	if (setting->value && setting_is_secret(setting->name))
		explicit_bzero(setting->value, strlen(setting->value));
	free(setting->value);
	setting->value = NULL;
	free(setting->from);
	setting->from = NULL;
}

struct setting *settings_put(struct settings *settings, const char *name, const char *value)
{
	struct setting *setting = find(settings, name);
	char *copy = value ? alloc_text(value) : NULL;

	if (setting) {
		value_free(setting);
	} else {
		setting = alloc_append(settings->items, settings->count);
		setting->name = alloc_text(name);
	}
	setting->value = copy;
	return setting;
}

void settings_take(struct settings *settings, const struct setting *setting)
{
	struct setting *copy = settings_put(settings, setting->name, setting->value);

	copy->from = setting->from ? alloc_text(setting->from) : NULL;
}

void settings_drop(struct settings *settings, const char *name)
{
	struct setting *setting = find(settings, name);

	if (!setting)
		return;
	value_free(setting);
	free(setting->name);
	memmove(setting, setting + 1,
		(settings->items + settings->count - setting - 1) * sizeof(*setting));
	settings->count--;
}

void settings_free(struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++) {
		value_free(&settings->items[i]);
		free(settings->items[i].name);
	}
	free(settings->items);
	memset(settings, 0, sizeof(*settings));
}

/* Volumes */

/* Partition 1 of volume db has the link /dev/istripe/db-part1. */
static bool is_of_partition(const char *name)
{
	size_t bytes = strlen(name), end = bytes;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	return end < bytes && end >= strlen("-part") &&
	       !strncmp(name + end - strlen("-part"), "-part", strlen("-part"));
}

bool volume_name_valid(const char *name)
{
	size_t bytes = strlen(name);

	return bytes && bytes <= NAME_MAX_CHARS && strspn(name, NAME_CHARS) == bytes &&
	       name[0] != '.' && name[0] != '-' && !is_of_partition(name);
}

struct leg *volume_add_leg(struct volume *volume, unsigned int index)
{
	struct leg *leg;

	leg = alloc_append(volume->legs, volume->leg_count);
	leg->index = index;
	return leg;
}

struct path *leg_add_path(struct leg *leg, unsigned int index)
{
	struct path *path;

	path = alloc_append(leg->paths, leg->path_count);
	path->index = index;
	return path;
}

struct leg *volume_find_leg(const struct volume *volume, unsigned int index)
{
	size_t i;

	for (i = 0; i < volume->leg_count; i++)
		if (volume->legs[i].index == index)
			return &volume->legs[i];
	return NULL;
}

struct path *leg_find_path(const struct leg *leg, unsigned int index)
{
	size_t i;

	for (i = 0; i < leg->path_count; i++)
		if (leg->paths[i].index == index)
			return &leg->paths[i];
	return NULL;
}

size_t volume_path_count(const struct volume *volume)
{
	size_t i, count = 0;

	for (i = 0; i < volume->leg_count; i++)
		count += volume->legs[i].path_count;
	return count;
}

static void settings_copy(const struct settings *settings, struct settings *copy)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		settings_take(copy, &settings->items[i]);
}

void volume_copy(const struct volume *volume, struct volume *copy)
{
	size_t i, j;

	copy->name = alloc_text(volume->name);
	settings_copy(&volume->settings, &copy->settings);
	for (i = 0; i < volume->leg_count; i++) {
		const struct leg *from = &volume->legs[i];
		struct leg *leg = volume_add_leg(copy, from->index);

		settings_copy(&from->settings, &leg->settings);
		for (j = 0; j < from->path_count; j++) {
			struct path *path = leg_add_path(leg, from->paths[j].index);

			path->left_out = from->paths[j].left_out;
			settings_copy(&from->paths[j].settings, &path->settings);
		}
	}
}

void leg_drop_path(struct leg *leg)
{
	settings_free(&leg->paths[--leg->path_count].settings);
}

static void leg_free(struct leg *leg)
{
	while (leg->path_count)
		leg_drop_path(leg);
	free(leg->paths);
	settings_free(&leg->settings);
	free(leg->found);
}

void volume_drop_leg(struct volume *volume)
{
	leg_free(&volume->legs[--volume->leg_count]);
}

void volume_free(struct volume *volume)
{
	while (volume->leg_count)
		volume_drop_leg(volume);
	free(volume->legs);
	settings_free(&volume->settings);
	free(volume->name);
	free(volume->device);
	free(volume->last_error);
	memset(volume, 0, sizeof(*volume));
}
