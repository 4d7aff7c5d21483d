// SPDX-License-Identifier: GPL-2.0
/* Values as an administrator may write them: what is taken can be shown and taken again. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "iscsi/keys.h"
#include "fuzz.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

static void value_check(enum istripe_key key, u32 value)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	char shown[ISTRIPE_KEY_TEXT_BYTES];
	u32 again;

	REQUIRE(value >= rule->min);
	REQUIRE(value <= (rule->choices ? rule->choice_count - 1 : rule->max));
	REQUIRE(istripe_key_format(key, value, shown, sizeof(shown)) == (int)strlen(shown));
	REQUIRE(!istripe_key_parse(key, shown, &again) && again == value);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = calloc(1, size + 1);
	u32 key, value;

	memcpy(text, data, size);
	for (key = 0; key <= ISTRIPE_KEY_COUNT; key++) {
		if (!istripe_key_parse(key, text, &value))
			value_check(key, value);
	}
	REQUIRE(istripe_key_find(text) < ISTRIPE_KEY_COUNT);
	free(text);
	return 0;
}
