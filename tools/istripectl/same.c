// SPDX-License-Identifier: GPL-2.0
/* Values that differ in their form only. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "portal.h"
#include "same.h"

/* Whether each word of @list, between commas, is one of @other. */
static bool words_within(const char *list, const char *other)
{
	char *words = alloc_printf(",%s,", other), *copy = alloc_text(list), *rest = copy, *word;
	bool within = true;

	while (within && (word = strsep(&rest, ","))) {
		char *one = alloc_printf(",%s,", word);

		within = strstr(words, one);
		free(one);
	}
	free(copy);
	free(words);
	return within;
}

static bool words_equal(const char *a, const char *b)
{
	return words_within(a, b) && words_within(b, a);
}

static bool case_equal(const char *a, const char *b)
{
	return !strcasecmp(a, b);
}

bool same_value(enum known_place place, const char *name, const char *a, const char *b)
{
	static const struct {
		const char *name;
		bool (*equal)(const char *a, const char *b);
	} rows[] = {
		{ "portal", portal_equal }, { "source_address", address_equal },
		{ "isid", case_equal }, { "chap_algorithms", words_equal },
	};
	size_t i;

	if (!strcmp(a, b))
		return true;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].equal(a, b);
	return known_same_number(known_find(place, name), a, b);
}
