// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "iscsi/text.h"
#include "test_random.h"

#define A63	"Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A text, and how it is read: "key:value|" for each pair, then the last result. */
static const struct reader_row {
	const char *text;
	u32 bytes;
	const char *pairs;
	int last;
} reader_rows[] = {
#define ROW(_text, _pairs, _last)	{ _text, sizeof(_text) - 1, _pairs, _last }
	ROW("", "", 0),
	ROW("A=b\0", "A:b|", 0),
	ROW("A=b\0C=d\0", "A:b|C:d|", 0),
	ROW("A=\0", "A:|", 0),
	ROW("A=b=c\0", "A:b=c|", 0),
	ROW("\0\0A=b\0\0\0C=d\0\0", "A:b|C:d|", 0),
	ROW("\0\0\0\0", "", 0),
	ROW("iSCSIProtocolLevel=1\0", "iSCSIProtocolLevel:1|", 0),
	ROW("X-com.example.key_1+2@3=v\0", "X-com.example.key_1+2@3:v|", 0),
	ROW("X#NodeArchitecture=v\0", "X#NodeArchitecture:v|", 0),
	ROW("TargetAlias=a b \xc3\xa9!\0", "TargetAlias:a b \xc3\xa9!|", 0),
	ROW("AuthMethod=CHAP,None\0", "AuthMethod:CHAP,None|", 0),
	ROW(A63 "=1\0", A63 ":1|", 0),
	/* final NUL missing */
	ROW("A=b", "", -EPROTO),
	ROW("A=b\0C=d", "A:b|", -EPROTO),
	ROW("A", "", -EPROTO),
	/* no key, no "=" */
	ROW("=b\0", "", -EPROTO),
	ROW("A\0", "", -EPROTO),
	ROW("A\0=b\0", "", -EPROTO),
	ROW("A=b\0junk\0", "A:b|", -EPROTO),
	/* not a standard-label */
	ROW("1A=b\0", "", -EPROTO),
	ROW("-A=b\0", "", -EPROTO),
	ROW("A B=b\0", "", -EPROTO),
	ROW("A/B=b\0", "", -EPROTO),
	ROW("A#B=b\0", "", -EPROTO),
	ROW("XX#B=b\0", "", -EPROTO),
	ROW("A\xc3\xa9=b\0", "", -EPROTO),
	ROW(A63 "a=1\0", "", -EPROTO),
	/* control characters */
	ROW("A=b\n\0", "", -EPROTO),
	ROW("A=\x1b[31m\0", "", -EPROTO),
	ROW("A=\x7f\0", "", -EPROTO),
	ROW("A\x01=b\0", "", -EPROTO),
	/* but for a name that is only to be shown */
	ROW("TargetAlias=\x1b[31m\0A=b\0", "A:b|", 0),
	ROW("A=b\0TargetAlias=\x7f\0", "A:b|", 0),
	ROW("TargetAlias=\x01\0TargetAlias=c\0", "TargetAlias:c|", 0),
	ROW("TargetAliasx=\x01\0", "", -EPROTO),
	ROW("TargetAlia=\x01\0", "", -EPROTO),
	ROW("TargetAlias=\x01", "", -EPROTO),
#undef ROW
};

/* Exactly as large as the text, so that a sanitizer sees what is read beyond it. */
static char *text_copy(struct kunit *test, const char *text, u32 bytes)
{
	char *copy = kunit_kzalloc(test, bytes ? bytes : 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, text, bytes);
	return copy;
}

static void reader_show(struct kunit *test, const char *text, u32 bytes, char *out, u32 size,
			int *last)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;
	u32 used = 0;

	out[0] = 0;
	istripe_text_reader_init(&r, text_copy(test, text, bytes), bytes);
	while ((*last = istripe_text_next(&r, &p)) == 1) {
		KUNIT_EXPECT_EQ(test, strlen(p.value), p.value_bytes);
		KUNIT_EXPECT_TRUE(test, istripe_text_pair_is(&p, p.key));
		KUNIT_EXPECT_FALSE(test, istripe_text_pair_is(&p, "A-"));
		used += scnprintf(out + used, size - used, "%s:%s|", p.key, p.value);
	}
	/* An end is final, an error too. */
	KUNIT_EXPECT_EQ(test, istripe_text_next(&r, &p), 0);
}

static void reader_table(struct kunit *test)
{
	char out[256];
	int last;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reader_rows); i++) {
		const struct reader_row *row = &reader_rows[i];

		reader_show(test, row->text, row->bytes, out, sizeof(out), &last);
		KUNIT_EXPECT_EQ_MSG(test, last, row->last, "row %u", i);
		KUNIT_EXPECT_STREQ_MSG(test, out, row->pairs, "row %u", i);
	}
}

static void reader_empty(struct kunit *test)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;

	istripe_text_reader_init(&r, NULL, 0);
	KUNIT_EXPECT_EQ(test, istripe_text_next(&r, &p), 0);
}

static const struct length_row {
	const char *start;
	u32 fill;
	int result;
} length_rows[] = {
	{ "A=", 255, 1 },
	{ "A=", 256, -EPROTO },
	{ "A=short,", 255, 1 },
	{ "A=short,", 256, -EPROTO },
	{ "CHAP_C=0x", 1024, 1 },
	{ "CHAP_C=0b", 8190, 1 },
	{ "CHAP_C=0X", 8190, 1 },
	{ "CHAP_C=0x", 8191, -EPROTO },
	{ "CHAP_C=0c", 254, -EPROTO },
};

static void reader_lengths(struct kunit *test)
{
	u32 size = 8300, i;

	for (i = 0; i < ARRAY_SIZE(length_rows); i++) {
		const struct length_row *row = &length_rows[i];
		char *text = kunit_kzalloc(test, size, GFP_KERNEL);
		struct istripe_text_reader r;
		struct istripe_text_pair p;
		u32 bytes = strlen(row->start);

		KUNIT_ASSERT_NOT_NULL(test, text);
		memcpy(text, row->start, bytes);
		memset(text + bytes, 'a', row->fill);
		istripe_text_reader_init(&r, text, bytes + row->fill + 1);
		KUNIT_EXPECT_EQ_MSG(test, istripe_text_next(&r, &p), row->result, "row %u", i);
	}
}

/* Every beginning of a good text gives the pairs that are whole, then an error or the end. */
static void reader_truncation(struct kunit *test)
{
	static const char text[] = "InitialR2T=Yes\0CHAP_N=me\0TargetPortalGroupTag=1\0A=\0";
	u32 whole = sizeof(text) - 1, bytes, i;

	for (bytes = 0; bytes <= whole; bytes++) {
		struct istripe_text_reader r;
		struct istripe_text_pair p;
		u32 pairs = 0, expected = 0;
		int last;

		for (i = 0; i < bytes; i++)
			expected += !text[i];
		istripe_text_reader_init(&r, text_copy(test, text, bytes), bytes);
		while ((last = istripe_text_next(&r, &p)) == 1)
			pairs++;
		KUNIT_EXPECT_EQ_MSG(test, pairs, expected, "%u bytes", bytes);
		KUNIT_EXPECT_EQ_MSG(test, last, bytes && text[bytes - 1] ? -EPROTO : 0, "%u bytes",
				    bytes);
	}
}

static struct istripe_text_pair pair_of(const char *value)
{
	struct istripe_text_pair p = { .key = "Key", .value = value };

	p.value_bytes = strlen(value);
	return p;
}

static const struct number_row {
	const char *text;
	u32 min, max;
	int result;
	u32 number;
} number_rows[] = {
	{ "0", 0, U32_MAX, 0, 0 },
	{ "1", 0, U32_MAX, 0, 1 },
	{ "16777215", 512, 16777215, 0, 16777215 },
	{ "4294967295", 0, U32_MAX, 0, U32_MAX },
	{ "0x0", 0, U32_MAX, 0, 0 },
	{ "0x200", 512, 512, 0, 512 },
	{ "0XfFfFfFfF", 0, U32_MAX, 0, U32_MAX },
	{ "0x00000000000000000000ff", 0, U32_MAX, 0, 255 },
	{ "511", 512, 16777215, -EPROTO },
	{ "16777216", 512, 16777215, -EPROTO },
	{ "4294967296", 0, U32_MAX, -EPROTO },
	{ "18446744073709551616", 0, U32_MAX, -EPROTO },
	{ "18446744073709552128", 0, U32_MAX, -EPROTO },
	{ "0x100000000", 0, U32_MAX, -EPROTO },
	{ "0x10000000000000200", 0, U32_MAX, -EPROTO },
	{ "", 0, U32_MAX, -EPROTO },
	{ "0x", 0, U32_MAX, -EPROTO },
	{ "x1", 0, U32_MAX, -EPROTO },
	{ "00", 0, U32_MAX, -EPROTO },
	{ "01", 0, U32_MAX, -EPROTO },
	{ "-1", 0, U32_MAX, -EPROTO },
	{ "+1", 0, U32_MAX, -EPROTO },
	{ " 1", 0, U32_MAX, -EPROTO },
	{ "1 ", 0, U32_MAX, -EPROTO },
	{ "1,2", 0, U32_MAX, -EPROTO },
	{ "1a", 0, U32_MAX, -EPROTO },
	{ "0x1g", 0, U32_MAX, -EPROTO },
	{ "0b1", 0, U32_MAX, -EPROTO },
	{ "Yes", 0, U32_MAX, -EPROTO },
	{ "/", 0, U32_MAX, -EPROTO },
	{ ":", 0, U32_MAX, -EPROTO },
};

static void number_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(number_rows); i++) {
		const struct number_row *row = &number_rows[i];
		struct istripe_text_pair p = pair_of(row->text);
		u32 number = 4711;

		int err = istripe_text_parse_number(&p, row->min, row->max, &number);

		KUNIT_EXPECT_EQ_MSG(test, err, row->result, "%s", row->text);
		KUNIT_EXPECT_EQ_MSG(test, number, row->result ? 4711 : row->number, "%s",
				    row->text);
	}
}

static void boolean_table(struct kunit *test)
{
	static const char * const bad[] = { "", "yes", "YES", "no", "Yes ", "1", "true", "YesNo" };
	struct istripe_text_pair p = pair_of("Yes");
	bool yes = false;
	u32 i;

	KUNIT_EXPECT_EQ(test, istripe_text_parse_boolean(&p, &yes), 0);
	KUNIT_EXPECT_TRUE(test, yes);
	p = pair_of("No");
	KUNIT_EXPECT_EQ(test, istripe_text_parse_boolean(&p, &yes), 0);
	KUNIT_EXPECT_FALSE(test, yes);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p = pair_of(bad[i]);
		KUNIT_EXPECT_EQ_MSG(test, istripe_text_parse_boolean(&p, &yes), -EPROTO, "%s",
				    bad[i]);
	}
}

static const struct binary_row {
	const char *text;
	u32 size;
	int result;
	u32 bytes;
	const char *data;
} binary_rows[] = {
	{ "0x00", 4, 0, 1, "\0" },
	{ "0xdeadBEEF", 4, 0, 4, "\xde\xad\xbe\xef" },
	{ "0Xff", 4, 0, 1, "\xff" },
	{ "0x123", 4, 0, 2, "\x01\x23" },
	{ "0x1", 1, 0, 1, "\x01" },
	{ "0bAA==", 4, 0, 1, "\0" },
	{ "0b3q2+7w==", 4, 0, 4, "\xde\xad\xbe\xef" },
	{ "0B////", 3, 0, 3, "\xff\xff\xff" },
	{ "0b/+A=", 2, 0, 2, "\xff\xe0" },
	{ "0bYWJj", 3, 0, 3, "abc" },
	/* one byte too long */
	{ "0xdeadbeef", 3, -EMSGSIZE },
	{ "0x123", 1, -EMSGSIZE },
	{ "0xff", 0, -EMSGSIZE },
	{ "0b3q2+7w==", 3, -EMSGSIZE },
	{ "0bYWJj", 2, -EMSGSIZE },
	/* broken */
	{ "", 4, -EPROTO },
	{ "0", 4, -EPROTO },
	{ "0x", 4, -EPROTO },
	{ "0b", 4, -EPROTO },
	{ "ff", 4, -EPROTO },
	{ "12", 4, -EPROTO },
	{ "0xfg", 4, -EPROTO },
	{ "0x 1", 4, -EPROTO },
	{ "0bA", 4, -EPROTO },
	{ "0bAA", 4, -EPROTO },
	{ "0bAAA", 4, -EPROTO },
	{ "0bAA=", 4, -EPROTO },
	{ "0b====", 4, -EPROTO },
	{ "0bA===", 4, -EPROTO },
	{ "0bAA=A", 4, -EPROTO },
	{ "0bAA==AAAA", 8, -EPROTO },
	{ "0bAAAAAA==A", 8, -EPROTO },
	{ "0bAA-_", 4, -EPROTO },
	{ "0bAA A", 4, -EPROTO },
	/* bits that belong to no byte */
	{ "0bAB==", 4, -EPROTO },
	{ "0bAAB=", 4, -EPROTO },
};

static void binary_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(binary_rows); i++) {
		const struct binary_row *row = &binary_rows[i];
		struct istripe_text_pair p = pair_of(row->text);
		u8 *buf = kunit_kzalloc(test, row->size ? row->size : 1, GFP_KERNEL);
		u32 bytes = 4711;

		KUNIT_ASSERT_NOT_NULL(test, buf);
		KUNIT_EXPECT_EQ_MSG(test, istripe_text_parse_binary(&p, buf, row->size, &bytes),
				    row->result, "%s", row->text);
		KUNIT_EXPECT_EQ_MSG(test, bytes, row->result ? 4711 : row->bytes, "%s", row->text);
		if (row->result)
			KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0, row->size ? row->size : 1));
		else
			KUNIT_EXPECT_EQ_MSG(test, memcmp(buf, row->data, row->bytes), 0, "%s",
					    row->text);
	}
}

static void base64_encode(const u8 *data, u32 bytes, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	u32 i, k;

	*out++ = '0';
	*out++ = 'b';
	for (i = 0; i < bytes; i += 3) {
		u32 have = min(bytes - i, 3u);
		u32 bits = data[i] << 16;

		bits |= have > 1 ? data[i + 1] << 8 : 0;
		bits |= have > 2 ? data[i + 2] : 0;
		for (k = 0; k < 4; k++)
			*out++ = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=';
	}
	*out = 0;
}

static void binary_round_trip(struct kunit *test)
{
	static u8 data[1024], back[1024];
	static char text[4096];
	struct test_random r = { 64 };
	struct istripe_text_writer w;
	struct istripe_text_pair p;
	u32 i, bytes, got;

	for (i = 0; i < 300; i++) {
		bytes = i < 40 ? i + 1 : test_random_below(&r, sizeof(data)) + 1;
		test_random_fill(&r, data, bytes);

		base64_encode(data, bytes, text);
		p = pair_of(text);
		KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&p, back, bytes, &got), 0);
		KUNIT_ASSERT_EQ(test, got, bytes);
		KUNIT_ASSERT_EQ(test, memcmp(data, back, bytes), 0);
		KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&p, back, bytes - 1, &got),
				-EMSGSIZE);

		istripe_text_writer_init(&w, text, sizeof(text));
		KUNIT_ASSERT_EQ(test, istripe_text_put_binary(&w, "K", data, bytes), 0);
		p = pair_of(text + 2);
		KUNIT_ASSERT_EQ(test, p.value_bytes, 2 + 2 * bytes);
		KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&p, back, bytes, &got), 0);
		KUNIT_ASSERT_EQ(test, got, bytes);
		KUNIT_ASSERT_EQ(test, memcmp(data, back, bytes), 0);
		KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&p, back, bytes - 1, &got),
				-EMSGSIZE);
	}
}

static const struct list_row {
	const char *list, *shown;
} list_rows[] = {
	{ "None", "None|" },
	{ "CHAP,None", "CHAP|None|" },
	{ "a,b,c", "a|b|c|" },
	{ "", "|" },
	{ "a,,b", "a||b|" },
	{ ",", "||" },
};

static void list_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(list_rows); i++) {
		const char *cursor = list_rows[i].list;
		const char *member;
		char shown[32] = "";
		u32 bytes, used = 0;

		while ((member = istripe_text_list_next(&cursor, &bytes)))
			used += scnprintf(shown + used, sizeof(shown) - used, "%.*s|", bytes,
					  member);
		KUNIT_EXPECT_STREQ(test, shown, list_rows[i].shown);
	}
}

static int writer_fill(struct istripe_text_writer *w)
{
	static const u8 data[] = { 0x01, 0xaf };

	return istripe_text_put(w, "A", "b") ?:
	       istripe_text_put(w, "Empty", "") ?:
	       istripe_text_put_number(w, "Number", U32_MAX) ?:
	       istripe_text_put_binary(w, "Binary", data, sizeof(data));
}

static const char writer_text[] = "A=b\0Empty=\0Number=4294967295\0Binary=0x01af";

static void writer_whole(struct kunit *test)
{
	struct istripe_text_writer w;
	char *buf = kunit_kzalloc(test, sizeof(writer_text), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	istripe_text_writer_init(&w, buf, sizeof(writer_text));
	KUNIT_EXPECT_EQ(test, writer_fill(&w), 0);
	KUNIT_EXPECT_EQ(test, w.used, sizeof(writer_text));
	KUNIT_EXPECT_EQ(test, memcmp(buf, writer_text, sizeof(writer_text)), 0);
	KUNIT_EXPECT_EQ(test, istripe_text_put(&w, "", ""), -EMSGSIZE);
}

/* In a buffer that is too small stand whole pairs only, and nothing behind them. */
static void writer_full(struct kunit *test)
{
	u32 size, i;

	for (size = 0; size < sizeof(writer_text); size++) {
		char *buf = kunit_kzalloc(test, size ? size : 1, GFP_KERNEL);
		struct istripe_text_writer w;
		u32 whole = 0;

		KUNIT_ASSERT_NOT_NULL(test, buf);
		for (i = 0; i < size; i++)
			whole = writer_text[i] ? whole : i + 1;
		istripe_text_writer_init(&w, buf, size);
		KUNIT_EXPECT_EQ_MSG(test, writer_fill(&w), -EMSGSIZE, "%u bytes", size);
		KUNIT_EXPECT_EQ_MSG(test, w.used, whole, "%u bytes", size);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(buf, writer_text, whole), 0, "%u bytes", size);
		for (i = whole; i < size; i++)
			KUNIT_EXPECT_EQ_MSG(test, buf[i], 0, "%u bytes", size);
	}
}

static void random_word(struct test_random *r, char *word, u32 bytes, const char *alphabet)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		word[i] = alphabet[test_random_below(r, strlen(alphabet))];
	word[bytes] = 0;
}

/* The reader finds the text that was written. */
static void round_trip(struct kunit *test)
{
	static char buf[16384], key[20][64], value[20][256];
	struct test_random r = { 6 };
	u32 round, count, i;

	for (round = 0; round < 200; round++) {
		struct istripe_text_reader reader;
		struct istripe_text_writer w;
		struct istripe_text_pair p;

		count = test_random_below(&r, 20);
		istripe_text_writer_init(&w, buf, sizeof(buf));
		for (i = 0; i < count; i++) {
			random_word(&r, key[i], test_random_below(&r, 63) + 1, "AbcXyzQ");
			random_word(&r, value[i], test_random_below(&r, 256), "aZ09.-+@_/[]:=, ");
			KUNIT_ASSERT_EQ(test, istripe_text_put(&w, key[i], value[i]), 0);
		}
		istripe_text_reader_init(&reader, buf, w.used);
		for (i = 0; i < count; i++) {
			KUNIT_ASSERT_EQ(test, istripe_text_next(&reader, &p), 1);
			KUNIT_ASSERT_STREQ(test, p.key, key[i]);
			KUNIT_ASSERT_STREQ(test, p.value, value[i]);
			KUNIT_ASSERT_TRUE(test, istripe_text_value_is(&p, value[i]));
		}
		KUNIT_ASSERT_EQ(test, istripe_text_next(&reader, &p), 0);
	}
}

static struct kunit_case text_cases[] = {
	KUNIT_CASE(reader_table),
	KUNIT_CASE(reader_empty),
	KUNIT_CASE(reader_lengths),
	KUNIT_CASE(reader_truncation),
	KUNIT_CASE(number_table),
	KUNIT_CASE(boolean_table),
	KUNIT_CASE(binary_table),
	KUNIT_CASE(binary_round_trip),
	KUNIT_CASE(list_table),
	KUNIT_CASE(writer_whole),
	KUNIT_CASE(writer_full),
	KUNIT_CASE(round_trip),
	{}
};

static struct kunit_suite istripe_text_suite = {
	.name = "istripe_text",
	.test_cases = text_cases,
};

kunit_test_suite(istripe_text_suite);
