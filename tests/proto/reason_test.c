// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <istripe/reason.h>

static void reason_is_replaced(struct kunit *test)
{
	struct istripe_reason reason;

	memset(&reason, 'x', sizeof(reason));
	istripe_reason_set(&reason, "leg %u", 7);
	KUNIT_EXPECT_STREQ(test, reason.text, "leg 7");
	istripe_reason_set(&reason, "%s", "");
	KUNIT_EXPECT_STREQ(test, reason.text, "");
}

static void reason_fails(struct kunit *test)
{
	struct istripe_reason reason;

	memset(&reason, 'x', sizeof(reason));
	KUNIT_EXPECT_EQ(test, istripe_reason_fail(&reason, -EINVAL, "leg %u", 7), -EINVAL);
	KUNIT_EXPECT_STREQ(test, reason.text, "leg 7");
}

static void reason_grows(struct kunit *test)
{
	struct istripe_reason reason = {};

	istripe_reason_add(&reason, "leg %u", 7);
	istripe_reason_add(&reason, ": %s", "it was lost");
	KUNIT_EXPECT_STREQ(test, reason.text, "leg 7: it was lost");
}

static void reason_is_cut(struct kunit *test)
{
	static const char more[] = "0123456789";
	struct {
		struct istripe_reason reason;
		char behind;
	} one = { .behind = 'x' };
	size_t at, bytes = 2 * sizeof(one.reason.text);

	for (at = 0; at < bytes; at += strlen(more)) {
		istripe_reason_add(&one.reason, "%s", more);
		KUNIT_ASSERT_EQ(test, strnlen(one.reason.text, sizeof(one.reason.text)),
				min(at + strlen(more), sizeof(one.reason.text) - 1));
	}
	istripe_reason_set(&one.reason, "%*s", (int)bytes, "");
	KUNIT_EXPECT_EQ(test, strnlen(one.reason.text, sizeof(one.reason.text)),
			sizeof(one.reason.text) - 1);
	KUNIT_EXPECT_EQ(test, one.behind, 'x');
}

static struct kunit_case reason_cases[] = {
	KUNIT_CASE(reason_is_replaced),
	KUNIT_CASE(reason_fails),
	KUNIT_CASE(reason_grows),
	KUNIT_CASE(reason_is_cut),
	{}
};

static struct kunit_suite istripe_reason_suite = {
	.name = "istripe_reason",
	.test_cases = reason_cases,
};

kunit_test_suite(istripe_reason_suite);
