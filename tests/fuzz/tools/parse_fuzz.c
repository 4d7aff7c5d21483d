// SPDX-License-Identifier: GPL-2.0
/*
 * Words of any kind, separated by NUL bytes: a volume that was understood is
 * written as words that are understood as the same volume, again and again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "parse.h"

#define WORDS_MAX	64
#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

static int words_cut(char *text, size_t size, char **words)
{
	int count = 0;
	size_t i = 0;

	words[count++] = "assemble";
	while (i < size && count < WORDS_MAX) {
		words[count++] = text + i;
		i += strlen(text + i) + 1;
	}
	words[count] = NULL;
	return count;
}

/* getopt moves words about: it gets a copy of the array. */
static int words_parse(const struct words *words, struct volume *volume, struct fault *fault)
{
	char **copy = alloc_array(NULL, words->count + 1, sizeof(*copy));
	struct create_options options;
	int ret;

	memcpy(copy, words->items, (words->count + 1) * sizeof(*copy));
	ret = parse_create(words->count, copy, &options, volume, fault);
	parse_create_free(&options);
	free(copy);
	return ret;
}

/* Whether all that is set in @a is the same in @b. */
static bool settings_within(const struct settings *a, const struct settings *b)
{
	size_t i;

	for (i = 0; i < a->count; i++) {
		const char *name = a->items[i].name;

		if (strcmp(settings_value(a, name), settings_value(b, name)))
			return false;
	}
	return true;
}

static bool settings_equal(const struct settings *a, const struct settings *b)
{
	return settings_within(a, b) && settings_within(b, a);
}

static bool leg_equal(const struct leg *a, const struct leg *b)
{
	size_t i;

	if (a->index != b->index || a->path_count != b->path_count ||
	    !settings_equal(&a->settings, &b->settings))
		return false;
	for (i = 0; i < a->path_count; i++)
		if (a->paths[i].index != b->paths[i].index ||
		    !settings_equal(&a->paths[i].settings, &b->paths[i].settings))
			return false;
	return true;
}

/* The state in the kernel does not count. */
static bool volume_equal(const struct volume *a, const struct volume *b)
{
	size_t i;

	if (strcmp(a->name, b->name) || a->leg_count != b->leg_count ||
	    !settings_equal(&a->settings, &b->settings))
		return false;
	for (i = 0; i < a->leg_count; i++)
		if (!leg_equal(&a->legs[i], &b->legs[i]))
			return false;
	return true;
}

static void round_trip(const struct volume *volume)
{
	struct words first = { 0 }, second = { 0 };
	struct volume again = { 0 };
	struct fault fault = { 0 };

	REQUIRE(!parse_format(volume, &first, &fault));
	REQUIRE(!words_parse(&first, &again, &fault));
	REQUIRE(volume_equal(volume, &again));
	REQUIRE(!parse_format(&again, &second, &fault));
	REQUIRE(first.count == second.count);
	volume_free(&again);
	REQUIRE(!words_parse(&second, &again, &fault));
	REQUIRE(volume_equal(volume, &again));
	volume_free(&again);
	words_free(&first);
	words_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct create_options options;
	struct volume volume = { 0 };
	struct fault fault = { 0 };
	char *words[WORDS_MAX + 1], *text = alloc_array(NULL, size + 1, 1);
	int count, ret;

	memcpy(text, data, size);
	text[size] = '\0';
	count = words_cut(text, size, words);
	ret = parse_create(count, words, &options, &volume, &fault);
	REQUIRE(!ret == !*fault.text);
	if (!ret && !options.help && !options.discovery.portal)
		round_trip(&volume);
	parse_create_free(&options);
	volume_free(&volume);
	free(text);
	return 0;
}
