// SPDX-License-Identifier: GPL-2.0
/* Login statuses: RFC 7143 section 11.13.5 row by row, and all other numbers. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/login_status.h"

struct status_row {
	u32 number;		/* class and detail */
	int err;
	bool final;
};

static const struct status_row status_rows[] = {
	{ 0x0000, 0, false }, { 0x0101, 0, false }, { 0x0102, 0, false },
	{ 0x0200, -ECONNREFUSED, true }, { 0x0201, -EACCES, true },
	{ 0x0202, -ECONNREFUSED, true }, { 0x0203, -ECONNREFUSED, true },
	{ 0x0204, -ECONNREFUSED, true }, { 0x0205, -ECONNREFUSED, true },
	{ 0x0206, -ECONNREFUSED, false }, { 0x0207, -ECONNREFUSED, true },
	{ 0x0208, -ECONNREFUSED, false }, { 0x0209, -ECONNREFUSED, true },
	{ 0x020a, -ECONNREFUSED, false }, { 0x020b, -ECONNREFUSED, true },
	{ 0x0300, -ECONNREFUSED, false }, { 0x0301, -ECONNREFUSED, false },
	{ 0x0302, -ECONNREFUSED, false },
};

static const struct status_row *status_row_find(u32 number)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(status_rows); i++) {
		if (status_rows[i].number == number)
			return &status_rows[i];
	}
	return NULL;
}

static void login_status_known(struct kunit *test)
{
	const struct istripe_login_status *status, *other;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(status_rows); i++) {
		u32 number = status_rows[i].number;

		status = istripe_login_status_find(number >> 8, number & 0xff);
		KUNIT_EXPECT_EQ_MSG(test, status->err, status_rows[i].err, "status %04x", number);
		KUNIT_EXPECT_EQ_MSG(test, status->final, status_rows[i].final, "status %04x",
				    number);
		for (k = 0; k < i; k++) {
			other = istripe_login_status_find(status_rows[k].number >> 8,
							  status_rows[k].number & 0xff);
			KUNIT_EXPECT_STRNEQ(test, status->text, other->text);
		}
	}
}

/* An unknown status is never taken for a redirect, nor for success but in its class. */
static void login_status_unknown(struct kunit *test)
{
	u32 number;

	for (number = 0; number <= 0xffff; number++) {
		const struct istripe_login_status *status =
			istripe_login_status_find(number >> 8, number & 0xff);

		KUNIT_ASSERT_GT(test, strlen(status->text), 0);
		if (status_row_find(number))
			continue;
		KUNIT_ASSERT_EQ_MSG(test, status->err, number >> 8 ? -ECONNREFUSED : 0,
				    "status %04x", number);
		KUNIT_ASSERT_EQ_MSG(test, status->final, number >> 8 == 2, "status %04x", number);
	}
}

static struct kunit_case login_status_cases[] = {
	KUNIT_CASE(login_status_known),
	KUNIT_CASE(login_status_unknown),
	{}
};

static struct kunit_suite istripe_login_status_suite = {
	.name = "istripe_login_status",
	.test_cases = login_status_cases,
};

kunit_test_suite(istripe_login_status_suite);
