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
