// SPDX-License-Identifier: GPL-2.0
/*
 * Text of any kind: a configuration that was understood is written as a text that is
 * understood as the same volume, again and again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

static char *text_of(const struct volume *volume)
{
	struct fault fault = { 0 };
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out && !conf_print(out, volume, &fault) && !fclose(out));
	return text;
}

static void round_trip(const struct volume *volume)
{
	char *first = text_of(volume), *copy = alloc_text(first), *second;
	struct volume again = { 0 };
	struct fault fault = { 0 };

	REQUIRE(!conf_parse(copy, "file", volume->name, &again, &fault));
	second = text_of(&again);
	REQUIRE(!strcmp(first, second));
	volume_free(&again);
	free(second);
	free(copy);
	free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct volume volume = { 0 };
	struct fault fault = { 0 };
	char *text = alloc_array(NULL, size + 1, 1);
	int ret;

	memcpy(text, data, size);
	text[size] = '\0';
	ret = conf_parse(text, "file", "db", &volume, &fault);
	REQUIRE(!ret == !*fault.text);
	if (!ret)
		round_trip(&volume);
	volume_free(&volume);
	free(text);
	return 0;
}
