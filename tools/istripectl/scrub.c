// SPDX-License-Identifier: GPL-2.0
/* Texts for others to read, without secrets. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "alloc.h"
#include "conf.h"
#include "file.h"
#include "place.h"
#include "scrub.h"
#include "text.h"

#define LEFT_OUT	"(left out)"
#define SECRET_MIN	4	/* bytes; a shorter one is part of anything */
#define FILE_MAX	65536	/* bytes of a file that has secrets */

/* Lines that say a secret by its name */

/* The value behind a name that has the word @name in it; NULL: it has none, or names a file. */
static char *value_behind(char *name)
{
	while (isalnum((unsigned char)*name) || (*name && strchr("_.-[]", *name)))
		name++;
	name += strspn(name, " \t\"");
	if (*name != '=')
		return NULL;
	name++;
	name += strspn(name, " \t\"");
	return *name && *name != '@' ? name : NULL;
}

/* The value in a line that says a secret by its name. */
static char *value_find(char *line)
{
	static const char *const words[] = { "secret", "password" };
	char *first = NULL;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *at = line;

		while ((at = strcasestr(at, words[i]))) {
			char *value = value_behind(at);

			if (value && (!first || value < first))
				first = value;
			at += strlen(words[i]);
		}
	}
	return first;
}

/* Learning */

static void secret_put(struct scrub *scrub, const char *secret)
{
	if (strlen(secret) < SECRET_MIN)
		return;
	*alloc_append(scrub->secrets, scrub->count) = alloc_text(secret);
}

/* Unless it is that of the secret itself. Takes @form. */
static void form_put(struct scrub *scrub, const char *secret, char *form)
{
	if (strcmp(form, secret))
		secret_put(scrub, form);
	alloc_wipe(form);
}

/* As it is, as file_read() gives it, as terminals get it, and as JSON has it. */
static void secret_add(struct scrub *scrub, const char *secret)
{
	struct json_object *json = json_object_new_string(secret);
	const char *quoted = json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE);
	char *form = alloc_text(secret), *tab;

	secret_put(scrub, secret);
	text_clean(form);
	form_put(scrub, secret, form);
	form = alloc_text(secret);
	while ((tab = strchr(form, '\t')))
		*tab = ' ';
	text_clean(form);
	form_put(scrub, secret, form);
	form = alloc_text(quoted + 1);
	form[strlen(form) - 1] = '\0';
	form_put(scrub, secret, form);
	json_object_put(json);
}

/* Bytes as they are: file_read() would change some of them. */
static char *bytes_read(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text;
	size_t bytes;

	if (!in)
		return NULL;
	text = alloc_array(NULL, FILE_MAX + 1, 1);
	bytes = fread(text, 1, FILE_MAX, in);
	text[bytes] = '\0';
	fclose(in);
	return text;
}

static void file_add(struct scrub *scrub, const char *path)
{
	char *text = bytes_read(path), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n"))) {
		secret_add(scrub, line);
		explicit_bzero(line, strlen(line));
	}
	free(text);
}

static void settings_add(struct scrub *scrub, const struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++) {
		const struct setting *item = &settings->items[i];

		if (!item->value || !setting_is_secret(item->name))
			continue;
		if (item->value[0] == '@')
			file_add(scrub, item->value + 1);
		else
			secret_add(scrub, item->value);
	}
}

static void conf_add(struct scrub *scrub, const char *name)
{
	char *path = conf_path(name);
	struct volume volume = { 0 };
	struct fault fault = { 0 };
	size_t i, j;

	/* The lines before an error are in it all the same. */
	conf_read(path, name, &volume, &fault);
	conf_secrets(&volume);
	for (i = 0; i < volume.leg_count; i++)
		for (j = 0; j < volume.legs[i].path_count; j++)
			settings_add(scrub, &volume.legs[i].paths[j].settings);
	volume_free(&volume);
	free(path);
}

/* Also of lines that nobody uses: comments, and those behind an error. */
static void lines_add(struct scrub *scrub, const char *path)
{
	char *text = bytes_read(path), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n"))) {
		char *value = value_find(line);

		if (value)
			secret_add(scrub, value);
		explicit_bzero(line, strlen(line));
	}
	free(text);
}

/* Configurations, and files that only root may read, also those that nothing names any more. */
static void folder_add(struct scrub *scrub, const char *folder)
{
	struct file_names names = { 0 };
	size_t i;

	file_list(folder, &names);
	for (i = 0; i < names.count; i++) {
		char *path = alloc_printf("%s/%s", folder, names.items[i]);
		int mode = file_mode(path);

		if (mode >= 0 && strstr(names.items[i], ".conf"))
			lines_add(scrub, path);
		else if (mode >= 0 && !(mode & 0077))
			file_add(scrub, path);
		free(path);
	}
	file_names_free(&names);
}

static void records_add(struct scrub *scrub, const struct records *records)
{
	size_t i, j;

	for (i = 0; i < records->count; i++)
		for (j = 0; j < records->items[i].count; j++) {
			const struct setting *item = &records->items[i].items[j];

			if (item->value && strstr(item->name, ".password"))
				secret_add(scrub, item->value);
		}
}

/* A long one first: another may be a part of it. */
static int longer_first(const void *a, const void *b)
{
	size_t left = strlen(*(char *const *)a), right = strlen(*(char *const *)b);

	return left > right ? -1 : left < right;
}

void scrub_collect(struct scrub *scrub, const struct records *records)
{
	char *folder = place_path(CONF_DIR), *iscsid = place_path("/etc/iscsi/iscsid.conf");
	struct file_names names = { 0 };
	struct fault fault = { 0 };
	size_t i;

	conf_list(&names, &fault);
	for (i = 0; i < names.count; i++)
		conf_add(scrub, names.items[i]);
	folder_add(scrub, folder);
	records_add(scrub, records);
	lines_add(scrub, iscsid);
	if (scrub->count)
		qsort(scrub->secrets, scrub->count, sizeof(*scrub->secrets), longer_first);
	file_names_free(&names);
	free(iscsid);
	free(folder);
}

/* Texts */

static char *names_scrub(char *text)
{
	char *out = NULL, *rest = text, *line;
	size_t bytes = 0;
	FILE *stream = open_memstream(&out, &bytes);

	if (!stream)
		abort();
	while ((line = strsep(&rest, "\n"))) {
		char *value = value_find(line);
		int keep = value ? (int)(value - line) : (int)strlen(line);

		fprintf(stream, "%.*s%s%s", keep, line, value ? LEFT_OUT : "", rest ? "\n" : "");
		explicit_bzero(line, strlen(line));
	}
	fclose(stream);
	free(text);
	return out;
}

static char *secret_scrub(char *text, const char *secret)
{
	char *out = NULL, *at = text, *found;
	size_t bytes = 0;
	FILE *stream;

	if (!strstr(text, secret))
		return text;
	stream = open_memstream(&out, &bytes);
	if (!stream)
		abort();
	while ((found = strstr(at, secret))) {
		fwrite(at, 1, found - at, stream);
		fputs(LEFT_OUT, stream);
		at = found + strlen(secret);
	}
	fputs(at, stream);
	fclose(stream);
	alloc_wipe(text);
	return out;
}

char *scrub_text(const struct scrub *scrub, char *text)
{
	size_t i;

	text = names_scrub(text);
	for (i = 0; i < scrub->count; i++)
		text = secret_scrub(text, scrub->secrets[i]);
	return text;
}

void scrub_free(struct scrub *scrub)
{
	size_t i;

	for (i = 0; i < scrub->count; i++)
		alloc_wipe(scrub->secrets[i]);
	free(scrub->secrets);
	memset(scrub, 0, sizeof(*scrub));
}
