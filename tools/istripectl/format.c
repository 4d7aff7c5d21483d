// SPDX-License-Identifier: GPL-2.0
/* From the model to words, which parse.c reads as the same model. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "known.h"
#include "parse.h"
#include "text.h"
#include "value.h"

static void word_add(struct words *words, char *word)
{
	words->items = alloc_array(words->items, words->count + 2, sizeof(*words->items));
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

void words_free(struct words *words)
{
	size_t i;

	for (i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	memset(words, 0, sizeof(*words));
}

/* Lists */

struct list {
	char *text;
	size_t bytes;
	FILE *out;
};

static void list_open(struct list *list)
{
	list->out = open_memstream(&list->text, &list->bytes);
	if (!list->out)
		abort();
}

/* A leg or path that differs in nothing from what it inherits is one all the same. */
static void list_fill(struct list *list)
{
	fflush(list->out);
	if (!list->bytes)
		fputs("portal=", list->out);
}

/* An option with the list, unless that is empty. */
static void list_close(struct list *list, struct words *words, const char *option)
{
	fclose(list->out);
	if (list->bytes) {
		word_add(words, alloc_text(option));
		word_add(words, alloc_text(list->text));
	}
	free(list->text);
}

/*
 * A comma needs no backslash when nothing that follows can be taken for an entry. A later comma
 * that has one belongs to the same piece.
 */
static bool comma_plain(const char *comma)
{
	return strcspn(comma + 1, ",") && !strchr(comma + 1, '=');
}

void parse_escape(FILE *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || (*value == ',' && !comma_plain(value)))
			fputc('\\', out);
		fputc(*value, out);
	}
}

static void list_put(struct list *list, const char *name, const char *value)
{
	char *text = value_write(name, value);

	fflush(list->out);
	fprintf(list->out, "%s%s=", list->bytes ? "," : "", name);
	parse_escape(list->out, text);
	free(text);
}

static const char *short_name(const char *name)
{
	if (!strcmp(name, "target_name"))
		return "target";
	return strcmp(name, "source_address") ? name : "source";
}

/* Secrets */

/* The user's name tells whether there is a secret: chap_user, chap_mutual_user. */
static bool secret_used(const struct settings *settings, const char *name)
{
	char *user = alloc_printf("%.*suser", (int)(strlen(name) - strlen("secret")), name);
	bool used = *settings_value(settings, user);

	free(user);
	return used;
}

static const char *value_shown(const struct settings *settings, const struct setting *setting)
{
	if (setting->value)
		return setting->value;
	return setting_is_secret(setting->name) && secret_used(settings, setting->name) ? "@-" : "";
}

/* A secret may be another one than that of the next path: it is the same only where it is said. */
static bool secret_unknown(const struct setting *setting, const char *shown)
{
	return !setting->value && *shown;
}

/* The settings that all paths have in common; where a path leads is written beside it. */

static bool common_wanted(const struct setting *setting)
{
	return setting->value && *setting->value && !setting_is_secret(setting->name) &&
	       !setting_is_of_one_path(setting->name) &&
	       strcmp(setting->name, "target_name") && strcmp(setting->name, "lun");
}

static bool common_everywhere(const struct volume *volume, const struct setting *setting)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++) {
		for (j = 0; j < volume->legs[i].path_count; j++) {
			const struct settings *its = &volume->legs[i].paths[j].settings;

			if (strcmp(settings_value(its, setting->name), setting->value))
				return false;
		}
	}
	return true;
}

static void common_find(const struct volume *volume, struct settings *common)
{
	const struct settings *first = &volume->legs[0].paths[0].settings;
	size_t i;

	/* Of one path only, there is nothing to share. */
	if (volume_path_count(volume) < 2)
		return;
	for (i = 0; i < first->count; i++)
		if (common_wanted(&first->items[i]) && common_everywhere(volume, &first->items[i]))
			settings_put(common, first->items[i].name, first->items[i].value);
}

/* Paths, legs, the volume */

/* The settings that a path takes from its leg, as parse.c does it. */
static const char *inherited(const struct settings *leg, const struct settings *common,
			     const char *name)
{
	const struct setting *setting = leg ? settings_find(leg, name) : NULL;

	if (setting && !setting_is_of_one_path(name))
		return value_shown(leg, setting);
	return settings_value(common, name);
}

static void setting_put(struct list *list, const struct settings *settings,
			const struct setting *setting, const char *before)
{
	const char *shown = value_shown(settings, setting);

	if (strcmp(shown, before) || secret_unknown(setting, shown))
		list_put(list, short_name(setting->name), shown);
}

/* Settings that @leg hands down and @settings does not have are taken back. */
static void missing_put(struct list *list, const struct settings *settings,
			const struct settings *leg, const struct settings *common)
{
	size_t i;

	for (i = 0; leg && i < leg->count; i++) {
		const char *name = leg->items[i].name;

		if (!settings_find(settings, name) && *inherited(leg, common, name))
			list_put(list, short_name(name), "");
	}
}

/* @leg: what the first path of the leg has, or NULL for that one. */
static void path_put(struct list *list, const struct settings *settings,
		     const struct settings *leg, const struct settings *common)
{
	static const char *const first[] = { "target_name", "lun", "portal", "nic", NULL };
	const struct setting *setting;
	size_t i;

	for (i = 0; first[i]; i++) {
		setting = settings_find(settings, first[i]);
		if (setting)
			setting_put(list, settings, setting, inherited(leg, common, first[i]));
	}
	for (i = 0; i < settings->count; i++) {
		setting = &settings->items[i];
		if (!text_listed(first, setting->name))
			setting_put(list, settings, setting,
				    inherited(leg, common, setting->name));
	}
	missing_put(list, settings, leg, common);
}

/* The names are those that the kernel has. */
static void path_merge(const struct settings *now, const struct settings *wanted,
		       struct settings *all)
{
	size_t i;

	for (i = 0; i < now->count; i++) {
		const char *name = now->items[i].name;

		if (setting_is_secret(name))
			settings_put(all, name, NULL);
		else if (settings_find(wanted, name) || known_find(KNOWN_PATH, name))
			settings_put(all, name, known_worth(KNOWN_PATH, wanted, name));
		else
			settings_put(all, name, now->items[i].value);
	}
	settings_drop(all, "isid");
}

char *parse_format_path(const struct leg *leg, const struct path *now, const struct path *wanted)
{
	const struct settings none = { 0 };
	struct settings all = { 0 };
	struct list list;

	path_merge(&now->settings, &wanted->settings, &all);
	list_open(&list);
	path_put(&list, &all, &leg->paths[0].settings, &none);
	fclose(list.out);
	settings_free(&all);
	return list.text;
}

static void leg_put(struct words *words, const struct leg *leg, const struct settings *common)
{
	const struct settings *first = &leg->paths[0].settings;
	struct list list;
	size_t i;

	list_open(&list);
	path_put(&list, first, NULL, common);
	for (i = 0; i < leg->settings.count; i++)
		setting_put(&list, &leg->settings, &leg->settings.items[i], "");
	list_fill(&list);
	list_close(&list, words, "--leg");
	for (i = 1; i < leg->path_count; i++) {
		list_open(&list);
		path_put(&list, &leg->paths[i].settings, first, common);
		list_fill(&list);
		list_close(&list, words, "--path");
	}
}

static void option_put(struct words *words, const char *option, const char *name,
		       const struct settings *settings)
{
	const char *value = settings_value(settings, name);

	if (!*value)
		return;
	word_add(words, alloc_text(option));
	word_add(words, value_write(name, value));
}

/* The settings that are not in --set. */
static bool volume_has_option(const char *name)
{
	static const char *const names[] = {
		"initiator_name", "chunk_bytes", "metadata", "metadata_create", NULL
	};

	return text_listed(names, name);
}

static void volume_put(struct words *words, const struct volume *volume)
{
	const struct settings *settings = &volume->settings;
	struct list list;
	size_t i;

	option_put(words, "--initiator", "initiator_name", settings);
	option_put(words, "--chunk", "chunk_bytes", settings);
	option_put(words, "--metadata", "metadata", settings);
	list_open(&list);
	for (i = 0; i < settings->count; i++)
		if (!volume_has_option(settings->items[i].name))
			setting_put(&list, settings, &settings->items[i], "");
	list_close(&list, words, "--set");
}

/* Positions on a command line have no gaps and are never empty. */
static int volume_check(const struct volume *volume, struct fault *fault)
{
	size_t i, j;

	if (!volume->leg_count)
		return fault_set(fault, -EINVAL, "%s has no leg", volume->name);
	for (i = 0; i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		if (leg->index != i)
			return fault_set(fault, -EINVAL, "%s: leg %zu is missing", volume->name, i);
		if (!leg->path_count)
			return fault_set(fault, -EINVAL, "%s: leg %zu has no path",
					 volume->name, i);
		for (j = 0; j < leg->path_count; j++)
			if (leg->paths[j].index != j)
				return fault_set(fault, -EINVAL, "%s: leg %zu: path %zu is missing",
						 volume->name, i, j);
	}
	return 0;
}

static void common_put(struct words *words, const struct settings *common)
{
	struct list list;
	size_t i;

	list_open(&list);
	for (i = 0; i < common->count; i++)
		list_put(&list, common->items[i].name, common->items[i].value);
	list_close(&list, words, "--all-paths");
}

int parse_format(const struct volume *volume, struct words *words, struct fault *fault)
{
	struct settings common = { 0 };
	int ret = volume_check(volume, fault);
	size_t i;

	if (ret)
		return ret;
	word_add(words, alloc_text("assemble"));
	word_add(words, alloc_text(volume->name));
	volume_put(words, volume);
	common_find(volume, &common);
	common_put(words, &common);
	for (i = 0; i < volume->leg_count; i++)
		leg_put(words, &volume->legs[i], &common);
	settings_free(&common);
	return 0;
}
