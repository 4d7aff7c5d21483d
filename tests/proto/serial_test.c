// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "iscsi/serial.h"
#include "test_random.h"

static const struct serial_row {
	u32 a, b;
	bool lt, le;
} serial_rows[] = {
	{ 0, 0, false, true },
	{ 0, 1, true, true },
	{ 1, 0, false, false },
	{ U32_MAX, 0, true, true },
	{ 0, U32_MAX, false, false },
	{ U32_MAX - 5, 5, true, true },
	{ 5, U32_MAX - 5, false, false },
	{ 0, 0x7fffffff, true, true },
	{ 0x7fffffff, 0, false, false },
	{ 0x7fffffff, 0x80000000, true, true },
	{ 0x80000001, 0, true, true },
	/* exactly half the circle apart: no order */
	{ 0, 0x80000000, false, false },
	{ 0x80000000, 0, false, false },
	{ 0x12345678, 0x92345678, false, false },
	{ 0x92345678, 0x12345678, false, false },
};

static void serial_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(serial_rows); i++) {
		const struct serial_row *row = &serial_rows[i];

		KUNIT_EXPECT_EQ_MSG(test, istripe_serial_lt(row->a, row->b), row->lt, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, istripe_serial_le(row->a, row->b), row->le, "row %u", i);
	}
}

/* RFC 1982: s + n is after s for n of 1 to 2^31 - 1, and nothing is both. */
static void serial_addition(struct kunit *test)
{
	struct test_random r = { 7143 };
	u32 i, s, n;

	for (i = 0; i < 20000; i++) {
		s = test_random_u32(&r);
		n = test_random_below(&r, 0x7fffffff) + 1;
		KUNIT_ASSERT_TRUE(test, istripe_serial_lt(s, s + n));
		KUNIT_ASSERT_TRUE(test, istripe_serial_le(s, s + n));
		KUNIT_ASSERT_FALSE(test, istripe_serial_lt(s + n, s));
		KUNIT_ASSERT_FALSE(test, istripe_serial_le(s + n, s));
		KUNIT_ASSERT_TRUE(test, istripe_serial_le(s, s));
	}
}

static struct kunit_case serial_cases[] = {
	KUNIT_CASE(serial_table),
	KUNIT_CASE(serial_addition),
	{}
};

static struct kunit_suite istripe_serial_suite = {
	.name = "istripe_serial",
	.test_cases = serial_cases,
};

kunit_test_suite(istripe_serial_suite);
