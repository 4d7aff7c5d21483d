// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include "iscsi/error.h"

/* Errors of the network stack, the block layer and the target. */
static const int error_known[] = {
	-EADDRINUSE, -EADDRNOTAVAIL, -EBADMSG, -EBUSY, -ECANCELED, -ECONNABORTED, -ECONNREFUSED,
	-ECONNRESET, -EEXIST, -EHOSTUNREACH, -EINTR, -EINVAL, -EIO, -EMSGSIZE, -ENETDOWN,
	-ENETUNREACH, -ENODEV, -ENOENT, -ENOMEM, -ENOSPC, -ENOTCONN, -EOPNOTSUPP, -EPERM, -EPIPE,
	-EPROTO, -ESTALE, -ETIMEDOUT,
};

static void error_has_words(struct kunit *test)
{
	u32 a, b;

	for (a = 0; a < ARRAY_SIZE(error_known); a++) {
		const char *words = istripe_error_words(error_known[a]);

		KUNIT_EXPECT_STRNEQ(test, words, "failed");
		KUNIT_EXPECT_NE(test, words[0], '\0');
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_STRNEQ(test, words, istripe_error_words(error_known[b]));
	}
}

static void error_unknown(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, istripe_error_words(0), "failed");
	KUNIT_EXPECT_STREQ(test, istripe_error_words(EIO), "failed");
	KUNIT_EXPECT_STREQ(test, istripe_error_words(-4095), "failed");
}

static struct kunit_case error_cases[] = {
	KUNIT_CASE(error_has_words),
	KUNIT_CASE(error_unknown),
	{}
};

static struct kunit_suite istripe_error_suite = {
	.name = "istripe_error",
	.test_cases = error_cases,
};

kunit_test_suite(istripe_error_suite);
