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

/* Keys that the list has already are not added, however often they come; others as they come. */
static void pr_keys_added(struct kunit *test)
{
	static const struct {
		u32 listed, bytes;
		u64 first;		/* the key that the list has already */
		u32 room;
		u32 count;
	} rows[] = {
		{ 32, 40, 1, 8, 5 },
		{ 32, 40, KEY, 8, 3 },
		{ 32, 40, OTHER, 8, 4 },
		{ 32, 40, 1, 4, 4 },
		{ 32, 40, 1, 1, 1 },
		{ 32, 39, 1, 8, 4 },
		{ 16, 40, 1, 8, 3 },
		{ 15, 40, 1, 8, 2 },
		{ 0, 40, 1, 8, 1 },
		{ 0xffffffff, 40, 1, 8, 5 },
		{ 32, 8, 1, 8, 1 },
		{ 32, 7, 1, 8, 1 },
	};
	struct answer answer;
	u64 keys[8];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		answer_fill(&answer, 1, rows[i].listed);
		memset(keys, 0x5a, sizeof(keys));
		keys[0] = rows[i].first;
		KUNIT_ASSERT_EQ(test, rows[i].count,
				istripe_pr_keys_add(answer.data, rows[i].bytes, keys, 1,
						    rows[i].room));
		KUNIT_EXPECT_EQ(test, keys[0], rows[i].first);
		if (rows[i].count > 1)
			KUNIT_EXPECT_EQ(test, keys[1], rows[i].first == OTHER ? KEY : OTHER);
		if (rows[i].count < ARRAY_SIZE(keys))
			KUNIT_EXPECT_EQ(test, keys[rows[i].count], 0x5a5a5a5a5a5a5a5aull);
	}
}

static void pr_keys_holder(struct kunit *test)
{
	struct istripe_pr_holder holder;
	u8 data[24] = {};
	u32 bytes;

	put_unaligned_be32(7, data);
	KUNIT_ASSERT_EQ(test, 0, istripe_pr_holder_decode(data, 8, &holder));
	KUNIT_EXPECT_EQ(test, holder.generation, 7u);
	KUNIT_EXPECT_EQ(test, holder.key, 0ull);
	KUNIT_EXPECT_EQ(test, holder.type, 0);
	put_unaligned_be32(16, data + 4);
	put_unaligned_be64(KEY, data + 8);
	data[21] = 0x15;
	KUNIT_ASSERT_EQ(test, 0, istripe_pr_holder_decode(data, 24, &holder));
	KUNIT_EXPECT_EQ(test, holder.generation, 7u);
	KUNIT_EXPECT_EQ(test, holder.key, KEY);
	KUNIT_EXPECT_EQ(test, holder.type, 5);
	for (bytes = 0; bytes < 24; bytes++)
		KUNIT_EXPECT_EQ(test, -EPROTO, istripe_pr_holder_decode(data, bytes, &holder));
}

static struct kunit_case pr_keys_cases[] = {
	KUNIT_CASE(pr_keys_added),
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
