// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/kernel.h>
#include <compat/unaligned.h>

#include "scsi/pr_keys.h"

#define KEY	0x1122334455667788ull
#define OTHER	0x1122334455667789ull

struct answer {
	u8 data[8 + 4 * 8];
};

static void answer_fill(struct answer *answer, u32 generation, u32 listed_bytes)
{
	static const u64 keys[] = { OTHER, KEY, 0, KEY };
	u32 i;

	put_unaligned_be32(generation, answer->data);
	put_unaligned_be32(listed_bytes, answer->data + 4);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		put_unaligned_be64(keys[i], answer->data + 8 + 8 * i);
}

static void pr_keys_listed(struct kunit *test)
{
	static const struct {
		u32 listed, bytes;	/* additional length, and what has come */
		u32 count;
		bool cut;
	} rows[] = {
		{ 0, 8, 0, false },
		{ 0, 40, 0, false },
		{ 8, 40, 0, false },
		{ 16, 24, 1, false },
		{ 16, 23, 0, true },
		{ 20, 40, 1, false },
		{ 32, 40, 2, false },
		{ 32, 39, 1, true },
		{ 40, 40, 2, true },
		{ 0xffffffff, 40, 2, true },
		{ 0xffffffff, 8, 0, true },
	};
	struct istripe_pr_keys keys;
	struct answer answer;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		answer_fill(&answer, 0xfffffffe + i, rows[i].listed);
		KUNIT_ASSERT_EQ(test, 0, istripe_pr_keys_decode(answer.data, rows[i].bytes,
								KEY, &keys));
		KUNIT_EXPECT_EQ(test, keys.generation, 0xfffffffe + i);
		KUNIT_EXPECT_EQ(test, keys.count, rows[i].count);
		KUNIT_EXPECT_EQ(test, keys.listed, rows[i].listed);
		KUNIT_EXPECT_EQ(test, keys.cut, rows[i].cut);
	}
}

static void pr_keys_short(struct kunit *test)
{
	struct istripe_pr_keys keys;
	struct answer answer = {};
	u32 bytes;

	for (bytes = 0; bytes < 8; bytes++)
		KUNIT_EXPECT_EQ(test, -EPROTO,
				istripe_pr_keys_decode(answer.data, bytes, KEY, &keys));
}

static void pr_keys_holder(struct kunit *test)
{
	u8 data[24] = {};
	u64 key;
	u8 type;
	u32 bytes;

	KUNIT_ASSERT_EQ(test, 0, istripe_pr_holder_decode(data, 8, &key, &type));
	KUNIT_EXPECT_EQ(test, key, 0ull);
	KUNIT_EXPECT_EQ(test, type, 0);
	put_unaligned_be32(16, data + 4);
	put_unaligned_be64(KEY, data + 8);
	data[21] = 0x15;
	KUNIT_ASSERT_EQ(test, 0, istripe_pr_holder_decode(data, 24, &key, &type));
	KUNIT_EXPECT_EQ(test, key, KEY);
	KUNIT_EXPECT_EQ(test, type, 5);
	for (bytes = 0; bytes < 24; bytes++)
		KUNIT_EXPECT_EQ(test, -EPROTO,
				istripe_pr_holder_decode(data, bytes, &key, &type));
}

static struct kunit_case pr_keys_cases[] = {
	KUNIT_CASE(pr_keys_holder),
	KUNIT_CASE(pr_keys_listed),
	KUNIT_CASE(pr_keys_short),
	{}
};

static struct kunit_suite istripe_pr_keys_suite = {
	.name = "istripe_pr_keys",
	.test_cases = pr_keys_cases,
};

kunit_test_suite(istripe_pr_keys_suite);
