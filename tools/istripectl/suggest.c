// SPDX-License-Identifier: GPL-2.0
/* What was meant by a word that does not exist. */
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "parse.h"
#include "suggest.h"

#define NAME_OF_ROW(_name, ...)	#_name,

static const char *const volume_names[] = { ISTRIPE_VOLUME_SETTINGS(NAME_OF_ROW) NULL };
static const char *const leg_names[] = { ISTRIPE_LEG_SETTINGS(NAME_OF_ROW) NULL };
static const char *const path_names[] = { ISTRIPE_PATH_SETTINGS(NAME_OF_ROW) NULL };

static const struct {
	const char *const *names;
	const char *words;
} places[] = {
	{ volume_names, "the volume: give it in --set" },
	{ leg_names, "a leg: give it in --leg" },
	{ path_names, "a path: give it in --leg or --path" },
};

#define PLACES	(sizeof(places) / sizeof(*places))

/* Words of systemctl, mdadm, iscsiadm, nvme and zpool, and the command that does the same. */
static const struct {
	const char *word, *name;
} of_others[] = {
	{ "start", "up" }, { "login", "up" }, { "connect", "up" },
	{ "stop", "down" }, { "logout", "down" }, { "disconnect", "down" },
	{ "remove", "delete" }, { "destroy", "delete" },
	{ "grow", "rescan" }, { "resize", "rescan" },
	{ "detail", "status" }, { "info", "status" }, { "get", "show" },
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to change, add, leave out, or swap with the next one: three rows of the table. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t width = strlen(b) + 1, i, j, result;
	size_t *before = alloc_array(NULL, width * 3, sizeof(*before));
	size_t *last = before + width, *row = last + width, *rows = before;

	for (j = 0; j < width; j++)
		last[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (j = 1; j < width; j++) {
			row[j] = smaller(smaller(last[j], row[j - 1]) + 1,
					 last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	result = last[width - 1];
	free(rows);
	return result;
}

void suggest_name(const char *word, const char *name, struct suggestion *best)
{
	size_t distance = edit_distance(word, name), limit = (strlen(word) + 2) / 3;

	if (distance > limit || (best->name && distance >= best->distance))
		return;
	best->name = name;
	best->distance = distance;
}

void suggest_of_others(const char *word, struct suggestion *best)
{
	size_t i;

	for (i = 0; i < sizeof(of_others) / sizeof(*of_others); i++)
		if (!strcmp(of_others[i].word, word))
			*best = (struct suggestion) { .name = of_others[i].name };
}

const char *suggest_setting(const char *word)
{
	struct suggestion best = { 0 };
	const char *name;
	size_t i, j;

	for (i = 0; (name = parse_short_name(i)); i++)
		suggest_name(word, name, &best);
	for (i = 0; i < PLACES; i++)
		for (j = 0; places[i].names[j]; j++)
			suggest_name(word, places[i].names[j], &best);
	return best.name;
}

const char *suggest_place(const char *name)
{
	size_t i, j;

	for (i = 0; i < PLACES; i++)
		for (j = 0; places[i].names[j]; j++)
			if (!strcmp(places[i].names[j], name))
				return places[i].words;
	return NULL;
}
