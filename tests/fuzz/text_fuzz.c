// SPDX-License-Identifier: GPL-2.0
/*
 * Text as a peer may send it: what is read must be well formed and, written
 * again, read the same; no value may be decoded beyond its buffer.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "iscsi/text.h"
#include "fuzz.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

static void binary_check(const struct istripe_text_pair *p, u32 room)
{
	u8 *buf = malloc(room ? room : 1);
	u32 bytes = U32_MAX;
	int err = istripe_text_parse_binary(p, buf, room, &bytes);

	REQUIRE(!err == (bytes != U32_MAX));
	REQUIRE(err || (bytes && bytes <= room));
	if (err == -EMSGSIZE)
		REQUIRE(room < p->value_bytes);
	free(buf);
}

static void number_check(const struct istripe_text_pair *p)
{
	u32 number;
	bool yes;

	if (!istripe_text_parse_number(p, 512, 16777215, &number))
		REQUIRE(number >= 512 && number <= 16777215);
	(void)istripe_text_parse_boolean(p, &yes);
}

static void list_check(const struct istripe_text_pair *p)
{
	const char *cursor = p->value;
	const char *member;
	u32 bytes, total = 0, members = 0;

	while ((member = istripe_text_list_next(&cursor, &bytes))) {
		REQUIRE(member >= p->value && member + bytes <= p->value + p->value_bytes);
		REQUIRE(!memchr(member, ',', bytes));
		total += bytes;
		members++;
	}
	REQUIRE(total + members - 1 == p->value_bytes);
}

static void pair_check(const struct istripe_text_pair *p, const u8 *data, size_t size)
{
	u32 i;

	REQUIRE(p->key[0] && strlen(p->key) <= ISTRIPE_TEXT_KEY_MAX);
	REQUIRE(strlen(p->value) == p->value_bytes);
	REQUIRE((const u8 *)p->value > data);
	REQUIRE((const u8 *)p->value + p->value_bytes < data + size);
	for (i = 0; i < p->value_bytes; i++)
		REQUIRE((u8)p->value[i] >= ' ' && p->value[i] != 0x7f);
	binary_check(p, 0);
	binary_check(p, 16);
	binary_check(p, 1024);
	binary_check(p, p->value_bytes);
	number_check(p);
	list_check(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct istripe_text_reader r, again;
	struct istripe_text_pair p, q;
	struct istripe_text_writer w;
	char *buf = malloc(size + 1);
	int last;

	istripe_text_writer_init(&w, buf, size);
	istripe_text_reader_init(&r, (const char *)data, size);
	while ((last = istripe_text_next(&r, &p)) == 1) {
		u32 before = w.used;

		pair_check(&p, data, size);
		REQUIRE(!istripe_text_put(&w, p.key, p.value));
		istripe_text_reader_init(&again, buf + before, w.used - before);
		REQUIRE(istripe_text_next(&again, &q) == 1);
		REQUIRE(!strcmp(q.key, p.key) && !strcmp(q.value, p.value));
		REQUIRE(istripe_text_next(&again, &q) == 0);
	}
	REQUIRE(last == 0 || last == -EPROTO);
	REQUIRE(last || !size || !data[size - 1]);
	REQUIRE(istripe_text_next(&r, &p) == 0);
	free(buf);
	return 0;
}
