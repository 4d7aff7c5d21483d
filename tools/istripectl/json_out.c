// SPDX-License-Identifier: GPL-2.0
/* Configuration and live state as JSON. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "json_out.h"
#include "text.h"
#include "value.h"

static struct json_object *numbers_object(const char *text)
{
	struct json_object *array = json_object_new_array();
	char *copy = alloc_text(text), *rest = copy, *word;
	long long number;

	while ((word = strsep(&rest, " ")))
		if (value_number(word, &number))
			json_object_array_add(array, json_object_new_int64(number));
	free(copy);
	return array;
}

static struct json_object *value_object(const struct setting *setting)
{
	long long number;
	bool yes;

	if (!setting->value)
		return NULL;
	switch (value_type(setting->name)) {
	case VALUE_NUMBERS:
		return numbers_object(setting->value);
	case VALUE_BOOLEAN:
		if (value_boolean(setting->value, &yes))
			return json_object_new_boolean(yes);
		break;
	case VALUE_NUMBER:
		if (value_number(setting->value, &number))
			return json_object_new_int64(number);
		break;
	case VALUE_TEXT:
		break;
	}
	return *setting->value ? json_object_new_string(setting->value) : NULL;
}

void json_text(struct json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name,
			       text && *text ? json_object_new_string(text) : NULL);
}

static void settings_add(struct json_object *object, const struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		if (settings->items[i].value)
			json_object_object_add(object, settings->items[i].name,
					       value_object(&settings->items[i]));
}

static struct json_object *indexed(unsigned int index)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "index", json_object_new_int64(index));
	return object;
}

static struct json_object *leg_object(const struct leg *leg)
{
	struct json_object *object = indexed(leg->index), *paths = json_object_new_array();
	size_t i;

	settings_add(object, &leg->settings);
	for (i = 0; i < leg->path_count; i++) {
		struct json_object *path = indexed(leg->paths[i].index);

		settings_add(path, &leg->paths[i].settings);
		json_object_array_add(paths, path);
	}
	json_object_object_add(object, "paths", paths);
	return object;
}

struct json_object *json_volume(const struct volume *volume)
{
	struct json_object *object = json_object_new_object(), *legs = json_object_new_array();
	size_t i;

	json_text(object, "name", volume->name);
	json_object_object_add(object, "up", json_object_new_boolean(volume->up));
	json_text(object, "device", volume->device);
	json_text(object, "last_error", volume->last_error);
	settings_add(object, &volume->settings);
	for (i = 0; i < volume->leg_count; i++)
		json_object_array_add(legs, leg_object(&volume->legs[i]));
	json_object_object_add(object, "legs", legs);
	return object;
}

/* Directories of numbers are arrays, also while they are empty. */
static int is_array(const struct live *live)
{
	static const char *const names[] = { "legs", "paths", "sessions", "connections", NULL };

	return text_listed(names, live->name) ||
	       (live->child_count && !live->values.count &&
		isdigit((unsigned char)live->children[0].name[0]));
}

static struct json_object *array_object(const struct live *live)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < live->child_count; i++) {
		struct json_object *member = indexed(strtoul(live->children[i].name, NULL, 10));

		json_live(member, &live->children[i]);
		json_object_array_add(array, member);
	}
	return array;
}

void json_live(struct json_object *object, const struct live *live)
{
	size_t i;

	for (i = 0; i < live->values.count; i++)
		json_object_object_add(object, live->values.items[i].name,
				       value_object(&live->values.items[i]));
	for (i = 0; i < live->child_count; i++) {
		const struct live *child = &live->children[i];
		struct json_object *member;

		if (is_array(child)) {
			member = array_object(child);
		} else {
			member = json_object_new_object();
			json_live(member, child);
		}
		json_object_object_add(object, child->name, member);
	}
}

struct json_object *json_begin(void)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "schema", json_object_new_int64(JSON_SCHEMA));
	return object;
}

void json_end(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

void json_put_line(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

void json_line(struct json_object *volumes)
{
	struct json_object *object = json_begin();

	json_object_object_add(object, "volumes", volumes);
	json_put_line(object);
}

void json_print(struct json_object *volumes)
{
	struct json_object *object = json_begin();

	json_object_object_add(object, "volumes", volumes);
	json_end(object);
}
