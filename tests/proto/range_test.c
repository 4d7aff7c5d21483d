// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "scsi/range.h"

/* The blocks of two ranges, those that they share, and those from the first to the last. */
static const struct range_row {
	struct istripe_range a, b;
	bool meets;
	struct istripe_range shared, both;
} range_rows[] = {
	{ { 10, 20 }, { 10, 20 }, true, { 10, 20 }, { 10, 20 } },
	{ { 10, 20 }, { 19, 30 }, true, { 19, 20 }, { 10, 30 } },
	{ { 10, 20 }, { 12, 13 }, true, { 12, 13 }, { 10, 20 } },
	{ { 0, 1 }, { 0, U32_MAX }, true, { 0, 1 }, { 0, U32_MAX } },
	{ { U64_MAX - 1, U64_MAX }, { 0, U64_MAX }, true, { U64_MAX - 1, U64_MAX },
	  { 0, U64_MAX } },
	/* one behind the other */
	{ { 10, 20 }, { 20, 30 }, false, {}, { 10, 30 } },
	{ { 10, 20 }, { 40, 50 }, false, {}, { 10, 50 } },
};

static void range_expect(struct kunit *test, const struct range_row *row,
			 const struct istripe_range *a, const struct istripe_range *b)
{
	struct istripe_range shared, both = *a;

	KUNIT_EXPECT_EQ(test, istripe_range_meets(a, b), row->meets);
	KUNIT_EXPECT_EQ(test, istripe_range_share(a, b, &shared), row->meets);
	if (row->meets) {
		KUNIT_EXPECT_EQ(test, shared.lba, row->shared.lba);
		KUNIT_EXPECT_EQ(test, shared.end, row->shared.end);
	}
	istripe_range_add(&both, b);
	KUNIT_EXPECT_EQ(test, both.lba, row->both.lba);
	KUNIT_EXPECT_EQ(test, both.end, row->both.end);
}

static void range_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(range_rows); i++) {
		range_expect(test, &range_rows[i], &range_rows[i].a, &range_rows[i].b);
		range_expect(test, &range_rows[i], &range_rows[i].b, &range_rows[i].a);
	}
}

static void range_empty(struct kunit *test)
{
	static const struct istripe_range empty[] = { {}, { 10, 10 }, { 15, 15 } };
	static const struct istripe_range some = { 10, 20 };
	struct istripe_range range;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(empty); i++) {
		range = empty[i];
		KUNIT_EXPECT_EQ(test, istripe_range_blocks(&range), 0ull);
		KUNIT_EXPECT_FALSE(test, istripe_range_meets(&range, &some));
		KUNIT_EXPECT_FALSE(test, istripe_range_meets(&some, &range));
		istripe_range_add(&range, &some);
		KUNIT_EXPECT_EQ(test, range.lba, some.lba);
		KUNIT_EXPECT_EQ(test, range.end, some.end);
	}
}

static struct kunit_case range_cases[] = {
	KUNIT_CASE(range_table),
	KUNIT_CASE(range_empty),
	{}
};

static struct kunit_suite istripe_range_suite = {
	.name = "istripe_range",
	.test_cases = range_cases,
};

kunit_test_suite(istripe_range_suite);
