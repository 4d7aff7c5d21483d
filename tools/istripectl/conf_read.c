// SPDX-License-Identifier: GPL-2.0
/* Configuration files: from the text to the model. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "conf.h"
#include "known.h"
#include "parse.h"

#define INDEX_MAX	(ISTRIPE_LEGS_MAX - 1)

/*
 * While it is read, the settings of a leg in the model are all those of its section, its paths'
 * included. A section that is empty is a section, too: hence the lists of those that were seen.
 */
struct reader {
	struct volume *volume;
	struct settings all_paths;
	struct settings *section;	/* NULL before the first one */
	const char *path;
	unsigned int line;
	bool volume_seen, all_paths_seen, leg_seen[INDEX_MAX + 1];
	struct fault *fault;
};

static struct leg *leg_get(struct volume *volume, unsigned int index)
{
	struct leg *leg = volume_find_leg(volume, index);

	return leg ? leg : volume_add_leg(volume, index);
}

/* Sections */

/* A word and a number, as "leg 0", at the beginning of @text; NULL when it is not that. */
static char *number_take(char *text, const char *word, unsigned int *number)
{
	char *end;

	if (strncmp(text, word, strlen(word)))
		return NULL;
	text += strlen(word);
	if (!isblank((unsigned char)*text))
		return NULL;
	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text) || (*text == '0' && isdigit((unsigned char)text[1])))
		return NULL;
	*number = strtoul(text, &end, 10);
	if (end - text > 3 || *number > INDEX_MAX)
		return NULL;
	return end + strspn(end, " \t");
}

static int section_again(struct reader *reader, const char *name)
{
	return fault_set(reader->fault, -EINVAL, "[%s] is given twice", name);
}

static int leg_section(struct reader *reader, const char *name, unsigned int leg)
{
	if (reader->leg_seen[leg])
		return section_again(reader, name);
	reader->leg_seen[leg] = true;
	reader->section = &leg_get(reader->volume, leg)->settings;
	return 0;
}

static int path_section(struct reader *reader, const char *name, unsigned int index,
			unsigned int path)
{
	struct leg *leg = leg_get(reader->volume, index);

	if (leg_find_path(leg, path))
		return section_again(reader, name);
	reader->section = &leg_add_path(leg, path)->settings;
	return 0;
}

static int section_take(struct reader *reader, char *name)
{
	unsigned int leg, path;
	char *rest;

	if (!strcmp(name, "volume")) {
		if (reader->volume_seen)
			return section_again(reader, name);
		reader->volume_seen = true;
		reader->section = &reader->volume->settings;
		return 0;
	}
	if (!strcmp(name, "paths")) {
		if (reader->all_paths_seen)
			return section_again(reader, name);
		reader->all_paths_seen = true;
		reader->section = &reader->all_paths;
		return 0;
	}
	rest = number_take(name, "leg", &leg);
	if (rest && !*rest)
		return leg_section(reader, name, leg);
	rest = rest ? number_take(rest, "path", &path) : NULL;
	if (rest && !*rest)
		return path_section(reader, name, leg, path);
	return fault_set(reader->fault, -EINVAL,
			 "[%s]: sections are [volume], [paths], [leg N] and [leg N path N], N from 0 to %u",
			 name, INDEX_MAX);
}

/* Lines */

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* "text" with \" and \\ within it; other values are taken as they are. */
static int value_unquote(struct reader *reader, const char *name, char *value)
{
	char *from = value + 1, *to = value;

	if (*value != '"')
		return 0;
	while (*from && *from != '"') {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from++;
	}
	if (*from != '"' || from[1])
		return fault_set(reader->fault, -EINVAL,
				 "%s: a value that begins with \" ends with it, and has \\\" for one within",
				 name);
	*to = '\0';
	return 0;
}

/* Of the setting just read. One that is not known anywhere may be of a later module's. */
static int place_check(const struct reader *reader)
{
	static const char *const sections[] = {
		[KNOWN_VOLUME] = "[volume]", [KNOWN_LEG] = "[leg N]",
		[KNOWN_PATH] = "[paths], [leg N] or [leg N path N]",
	};
	const char *name = reader->section->items[reader->section->count - 1].name;
	bool in_volume = reader->section == &reader->volume->settings;
	bool of_volume = known_find(KNOWN_VOLUME, name);
	enum known_place place;

	if (!known_anywhere(name, &place) || of_volume == in_volume)
		return 0;
	return fault_set(reader->fault, -EINVAL, "%s belongs in %s", name, sections[place]);
}

static int setting_take(struct reader *reader, char *line)
{
	char *equals = strchr(line, '='), *name, *value;
	int ret;

	if (!equals)
		return fault_set(reader->fault, -EINVAL,
				 "\"%s\" is neither [section] nor name = value", line);
	if (!reader->section)
		return fault_set(reader->fault, -EINVAL,
				 "\"%s\" is before the first section, as [volume]", line);
	*equals = '\0';
	name = trim(line);
	value = trim(equals + 1);
	if (!strcmp(name, "metadata_create"))
		return fault_set(reader->fault, -EINVAL,
				 "metadata_create is for the command create alone: a file never makes a volume anew");
	ret = value_unquote(reader, name, value);
	if (!ret && setting_is_secret(name) && !strcmp(value, "@-"))
		ret = fault_set(reader->fault, -EINVAL,
				"%s = @-: nobody is there to type it at boot: name a file, as @%s.secret",
				name, reader->volume->name);
	if (!ret)
		ret = parse_setting(reader->section, name, value, reader->fault);
	if (ret)
		return ret;
	reader->section->items[reader->section->count - 1].from =
		alloc_printf("%s:%u", reader->path, reader->line);
	return place_check(reader);
}

static int line_take(struct reader *reader, char *line)
{
	size_t bytes;

	line = trim(line);
	bytes = strlen(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line != '[')
		return setting_take(reader, line);
	if (line[bytes - 1] != ']')
		return fault_set(reader->fault, -EINVAL, "\"%s\" has no ] at its end", line);
	line[bytes - 1] = '\0';
	return section_take(reader, trim(line + 1));
}

static int lines_take(struct reader *reader, char *text)
{
	struct fault why;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		reader->line++;
		if (!line_take(reader, line))
			continue;
		why = *reader->fault;
		return fault_set(reader->fault, -EINVAL, "%s:%u: %s", reader->path, reader->line,
				 why.text);
	}
	return 0;
}

/* The whole */

static int path_check(const struct leg *leg, const struct path *path, struct fault *fault)
{
	size_t i;

	for (i = 0; i < path->settings.count; i++)
		if (setting_is_of_leg(path->settings.items[i].name))
			return fault_set(fault, -EINVAL, "[leg %u path %u]: %s belongs in [leg %u]",
					 leg->index, path->index, path->settings.items[i].name,
					 leg->index);
	return 0;
}

static int leg_check(const struct leg *leg, size_t position, bool own_paths, struct fault *fault)
{
	size_t i;

	if (leg->index != position)
		return fault_set(fault, -EINVAL, "there is no [leg %zu]: legs are numbered from 0",
				 position);
	for (i = 0; own_paths && i < leg->settings.count; i++)
		if (setting_is_of_one_path(leg->settings.items[i].name))
			return fault_set(fault, -EINVAL,
					 "[leg %u] has sections for its paths: %s belongs there",
					 leg->index, leg->settings.items[i].name);
	return 0;
}

/* The settings of a leg's section go to the leg or to each of its paths. */
static void leg_divide(struct leg *leg)
{
	struct settings section = leg->settings;
	size_t i, j;

	memset(&leg->settings, 0, sizeof(leg->settings));
	for (i = 0; i < section.count; i++) {
		const struct setting *item = &section.items[i];

		if (setting_is_of_leg(item->name))
			settings_take(&leg->settings, item);
		for (j = 0; !setting_is_of_leg(item->name) && j < leg->path_count; j++)
			if (!settings_find(&leg->paths[j].settings, item->name))
				settings_take(&leg->paths[j].settings, item);
	}
	settings_free(&section);
}

static int leg_compare(const void *a, const void *b)
{
	const struct leg *one = a, *other = b;

	return (int)one->index - (int)other->index;
}

static int path_compare(const void *a, const void *b)
{
	const struct path *one = a, *other = b;

	return (int)one->index - (int)other->index;
}

static int leg_finish(struct leg *leg, size_t position, const struct settings *all_paths,
		      struct fault *fault)
{
	int ret = leg_check(leg, position, leg->path_count, fault);
	size_t i, j;

	for (i = 0; !ret && i < leg->path_count; i++)
		ret = path_check(leg, &leg->paths[i], fault);
	if (ret)
		return ret;
	if (!leg->path_count)
		leg_add_path(leg, 0);
	qsort(leg->paths, leg->path_count, sizeof(*leg->paths), path_compare);
	leg_divide(leg);
	for (i = 0; i < leg->path_count; i++)
		for (j = 0; j < all_paths->count; j++)
			if (!settings_find(&leg->paths[i].settings, all_paths->items[j].name))
				settings_take(&leg->paths[i].settings, &all_paths->items[j]);
	return 0;
}

static int volume_finish(struct reader *reader)
{
	struct volume *volume = reader->volume;
	int ret = 0;
	size_t i;

	if (!volume->leg_count)
		return fault_set(reader->fault, -EINVAL,
				 "there is no [leg 0]: a volume needs a leg");
	for (i = 0; i < reader->all_paths.count; i++)
		if (setting_is_of_one_path(reader->all_paths.items[i].name) ||
		    setting_is_of_leg(reader->all_paths.items[i].name))
			return fault_set(reader->fault, -EINVAL,
					 "[paths] cannot have %s: put it into sections of legs or of paths",
					 reader->all_paths.items[i].name);
	qsort(volume->legs, volume->leg_count, sizeof(*volume->legs), leg_compare);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_finish(&volume->legs[i], i, &reader->all_paths, reader->fault);
	return ret;
}

int conf_parse(char *text, const char *path, const char *name, struct volume *volume,
	       struct fault *fault)
{
	struct reader reader = { .volume = volume, .path = path, .fault = fault };
	struct fault why;
	int ret;

	volume->name = alloc_text(name);
	ret = lines_take(&reader, text);
	if (!ret) {
		ret = volume_finish(&reader);
		why = *fault;
		if (ret)
			fault_set(fault, ret, "%s: %s", path, why.text);
	}
	settings_free(&reader.all_paths);
	return ret;
}

int conf_read(const char *path, const char *name, struct volume *volume, struct fault *fault)
{
	char *text;
	int ret = file_read_as_is(path, &text);

	if (ret)
		return fault_set(fault, ret, "%s: %s", path, strerror(-ret));
	ret = conf_parse(text, path, name, volume, fault);
	free(text);
	return ret;
}
