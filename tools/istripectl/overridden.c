// SPDX-License-Identifier: GPL-2.0
/* What a volume with from_node = yes has, and its records of open-iscsi say otherwise. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "known.h"
#include "node.h"
#include "openiscsi.h"
#include "overridden.h"
#include "plan.h"
#include "portal.h"
#include "records.h"
#include "same.h"
#include "text.h"

#define SHOWN	8	/* settings, and commands, in one message */

struct finder {
	const struct volume *saved;	/* what a file would say that is written now */
	struct volume followed;		/* what apply would make of that */
	struct records records;
	struct overridden *it;
};

/* @of_volume: the setting is the same in all records of the volume. */
static void command_add(struct finder *finder, const struct settings *record, bool of_volume,
			const char *name, const char *value)
{
	const char *theirs = openiscsi_name(name);
	bool of_iface = !strncmp(theirs, "iface.", strlen("iface."));
	char *words = record_words(record), *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		abort();
	fprintf(out, "iscsiadm -m %s ", of_iface ? "iface -I" : of_volume ? "node -T" : "node");
	if (of_iface)
		text_quote(out, settings_value(record, "iface.iscsi_ifacename"));
	else if (of_volume)
		text_quote(out, settings_value(record, "node.name"));
	else
		fputs(words, out);
	fputs(" -o update -n ", out);
	text_quote(out, theirs);
	fputs(" -v ", out);
	text_quote(out, value);
	fclose(out);
	file_names_add_new(&finder->it->commands, text);
	free(text);
	free(words);
}

/* @leg, @path: the only path whose record is meant, or NULL. */
static void commands_add(struct finder *finder, const struct path *path, const char *name,
			 const char *value)
{
	const struct volume *saved = finder->saved;
	char *theirs = openiscsi_value(name, value, saved->leg_count);
	const struct settings *record;
	struct fault ignored;
	size_t i, j;

	for (i = 0; theirs && i < saved->leg_count; i++) {
		for (j = 0; j < saved->legs[i].path_count; j++) {
			const struct path *one = &saved->legs[i].paths[j];

			if ((!path || path == one) && node_follows_path(saved, &one->settings) &&
			    !node_record(&finder->records, &one->settings, &record, &ignored) &&
			    record)
				command_add(finder, record, !path, name, theirs);
		}
	}
	free(theirs);
}

/* @step: its place; @path: whose settings these are, NULL: the volume's. */
static void settings_find_overridden(struct finder *finder, struct step step,
				     const struct path *path, const struct settings *saved,
				     const struct settings *followed)
{
	enum known_place place = path ? KNOWN_PATH : KNOWN_VOLUME;
	char *where = step_place(&step), *text;
	size_t i;

	for (i = 0; i < saved->count; i++) {
		const char *name = saved->items[i].name;
		const char *from = known_worth(place, saved, name);
		const char *to = known_worth(place, followed, name);

		if (!openiscsi_name(name) || setting_is_secret(name) ||
		    same_value(place, name, from, to))
			continue;
		text = alloc_printf("%s%s \"%s\" -> \"%s\"", where, name, from, to);
		file_names_add(&finder->it->settings, text);
		free(text);
		commands_add(finder, path, name, from);
	}
	free(where);
}

static void volume_compare(struct finder *finder)
{
	const struct volume *saved = finder->saved;
	struct step step = { .leg = STEP_NONE, .path = STEP_NONE };
	size_t i, j;

	settings_find_overridden(finder, step, NULL, &saved->settings, &finder->followed.settings);
	for (i = 0; i < saved->leg_count; i++) {
		for (j = 0; j < saved->legs[i].path_count; j++) {
			const struct path *path = &saved->legs[i].paths[j];

			step.leg = saved->legs[i].index;
			step.path = path->index;
			settings_find_overridden(finder, step, path, &path->settings,
						 &finder->followed.legs[i].paths[j].settings);
		}
	}
}

void overridden_find(const struct volume *now, struct overridden *it)
{
	struct volume saved = { 0 };
	struct finder finder = { .saved = &saved, .it = it };
	struct fault ignored = { 0 };

	volume_copy(now, &saved);
	if (!conf_check(&saved, &ignored) &&
	    !portal_resolve_all(&saved, now, &ignored, &ignored) &&
	    node_follows(&saved, &ignored) > 0) {
		volume_copy(&saved, &finder.followed);
		if (!openiscsi_refresh(&finder.followed, false, &ignored) &&
		    !records_read(&finder.records, &ignored))
			volume_compare(&finder);
	}
	records_free(&finder.records);
	volume_free(&finder.followed);
	volume_free(&saved);
}

static void lines_add(const struct file_names *lines, struct fault *fault)
{
	size_t i;

	for (i = 0; i < lines->count && i < SHOWN; i++)
		fault_add(fault, "  %s", lines->items[i]);
	if (i < lines->count)
		fault_add(fault, "  and %zu more", lines->count - i);
}

size_t overridden_check(const struct volume *now, struct fault *fault)
{
	struct overridden it = { 0 };
	char *path = conf_path(now->name);
	size_t count;

	overridden_find(now, &it);
	count = it.settings.count;
	if (count) {
		fault_set(fault, 0,
			  "%s has from_node = yes: what records of open-iscsi say counts at the next up or apply, saved or not:",
			  now->name);
		lines_add(&it.settings, fault);
		fault_add(fault, "next: from_node = no in %s, so that the file counts%s", path,
			  it.commands.count ? "; or, so that the records say what is to stay:" :
			  "");
		lines_add(&it.commands, fault);
	}
	free(path);
	overridden_free(&it);
	return count;
}

void overridden_free(struct overridden *it)
{
	file_names_free(&it->settings);
	file_names_free(&it->commands);
}
