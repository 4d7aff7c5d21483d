// SPDX-License-Identifier: GPL-2.0
/* What was meant by a word that does not exist. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "known.h"
#include "parse.h"
#include "suggest.h"

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
	const struct known *known;
	enum known_place place;
	const char *name;
	size_t i;

	for (i = 0; (name = parse_short_name(i)); i++)
		suggest_name(word, name, &best);
	for (place = 0; place < KNOWN_PLACES; place++)
		for (known = known_settings(place); known->name; known++)
			suggest_name(word, known->name, &best);
	return best.name;
}

const char *suggest_place(const char *name, bool make)
{
	static const char *const words[][2] = {
		[KNOWN_VOLUME] = { "the volume: istripectl set NAME ",
				   "the volume: give it in --set" },
		[KNOWN_LEG] = { "a leg: istripectl set NAME --leg N ", "a leg: give it in --leg" },
		[KNOWN_PATH] = { "a path: istripectl set NAME --leg N --path N ",
				 "a path: give it in --leg or --path" },
	};
	enum known_place place;

	return known_anywhere(name, &place) ? words[place][make] : NULL;
}
