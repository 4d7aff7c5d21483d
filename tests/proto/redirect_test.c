// SPDX-License-Identifier: GPL-2.0
/* TargetAddress of a redirect: good and bad values, and where it is found. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/redirect.h"
#include "iscsi/text.h"

static void redirect_good(struct kunit *test)
{
	static const struct {
		const char *value, *host;
		u32 port;
	} rows[] = {
		{ "10.0.0.2", "10.0.0.2", 3260 },
		{ "10.0.0.2:3261", "10.0.0.2", 3261 },
		{ "10.0.0.2:3261,1", "10.0.0.2", 3261 },
		{ "10.0.0.2,65535", "10.0.0.2", 3260 },
		{ "10.0.0.2,0", "10.0.0.2", 3260 },
		{ "[fe80::1]", "fe80::1", 3260 },
		{ "[2001:DB8::1:2]:860,7", "2001:DB8::1:2", 860 },
		{ "[::ffff:10.0.0.2]:1", "::ffff:10.0.0.2", 1 },
		/* At the last colon, as open-iscsi has it, unless only the whole is an address. */
		{ "2001:db8::5:3260,1", "2001:db8::5", 3260 },
		{ "::ffff:10.0.0.2:860", "::ffff:10.0.0.2", 860 },
		{ "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8", 9 },
		{ "2001:db8:::5", "2001:db8::", 5 },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", 3260 },
		{ "2001:db8::5,1", "2001:db8::5", 3260 },
		{ "::1", "::1", 3260 },
		{ "2001:db8:1::", "2001:db8:1::", 3260 },
		{ "storage-1.example.com:65535", "storage-1.example.com", 65535 },
		{ "s_1", "s_1", 3260 },
		{ "a:00860,0001", "a", 860 },
		{ "10-0-0-2", "10-0-0-2", 3260 },
		{ "4.example.", "4.example.", 3260 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct istripe_redirect redirect = {};

		KUNIT_ASSERT_EQ_MSG(test, istripe_redirect_parse(&redirect, rows[i].value), 0, "%s",
				    rows[i].value);
		KUNIT_EXPECT_STREQ(test, redirect.host, rows[i].host);
		KUNIT_EXPECT_EQ(test, redirect.port, rows[i].port);
	}
}

static void redirect_bad(struct kunit *test)
{
	static const char * const values[] = {
		"", ":3260", ",1", "a:", "a:0", "a:65536", "a:99999999999999999999", "a:1x",
		"a:-1", "a:+1", "a:1:2", "a,", "a,65536", "a,-1", "a,1,2", "a,1:3260", "a b", "a/b",
		"a:1 ", "[", "[]", "[]:3260", "[::1", "[::1]x", "[::1]:", "[::1]3260",
		"[10.0.0.2]",
		"[fe80::1%eth0]", "[g::1]", "10.0.0.2;reboot", "h\xc3\xb6st", "::1:0",
		"::1:65536",
		"2001:db8::5:", "2001:db8::5:-1", "g::1:3260", "1::2::3:4", "10.0.0.2:1:2",
		":::1:2:",
		"fe80::1%eth0:3260", "1:::2:3", "2001:db8::5::1", "1:2:3:4:5:6:7:8::9", "::1:::",
		"12345::1:3260", "::1.2.3.4.x:3260", "::ffff:10.0.0", "::ffff:10.0.0.256:1",
		"::ffff:10.0.0.1.2", "::ffff:.10.0.0.1",
		/* Neither an address nor a name: getaddrinfo() would read addresses into some. */
		"10.0.0", "10.0.0.256", "10..0.3", "10.0.0.3.", "3232235777", ".", "...:3260",
		"10.0.0.00000000003", "[1:2:3]", "[::ffff:10.0.0]", "[1:2:3:4:5:6:7:8:9]",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		struct istripe_redirect redirect = { .host = "untouched", .port = 1 };

		KUNIT_EXPECT_EQ_MSG(test, istripe_redirect_parse(&redirect, values[i]), -EPROTO,
				    "%s", values[i]);
		KUNIT_EXPECT_STREQ(test, redirect.host, "untouched");
		KUNIT_EXPECT_EQ(test, redirect.port, 1);
	}
}

static void redirect_host_length(struct kunit *test)
{
	struct istripe_redirect redirect = { .port = 1 };
	char value[ISTRIPE_REDIRECT_HOST_MAX + 8];

	memset(value, 'h', sizeof(value));
	value[ISTRIPE_REDIRECT_HOST_MAX] = '\0';
	KUNIT_EXPECT_EQ(test, istripe_redirect_parse(&redirect, value), 0);
	KUNIT_EXPECT_STREQ(test, redirect.host, value);
	value[ISTRIPE_REDIRECT_HOST_MAX] = 'h';
	value[ISTRIPE_REDIRECT_HOST_MAX + 1] = '\0';
	KUNIT_EXPECT_EQ(test, istripe_redirect_parse(&redirect, value), -EPROTO);
}

static void redirect_text(struct kunit *test)
{
	static const char two[] = "TargetAlias=x\0TargetAddress=b:2\0TargetAddress=c:3";
	static const char none[] = "TargetAlias=x";
	static const char cut[] = "TargetAddress=b";
	struct istripe_redirect redirect = { .port = 1 };

	KUNIT_EXPECT_EQ(test, istripe_redirect_read(&redirect, two, sizeof(two), false), 0);
	KUNIT_EXPECT_STREQ(test, redirect.host, "b");
	KUNIT_EXPECT_EQ(test, istripe_redirect_read(&redirect, none, sizeof(none), false),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, istripe_redirect_read(&redirect, cut, sizeof(cut) - 1, false),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, istripe_redirect_read(&redirect, NULL, 0, false), -EPROTO);
}

#define V4	"10.0.0.2:1,1"
#define V6	"[2001:db8::5]:2,1"

static const struct {
	const char *values[3];
	const char *host_v4, *host_v6;	/* by what is preferred; NULL: none */
	u32 port_v4, port_v6;
} choices[] = {
	{ { V4, V6 }, "10.0.0.2", "2001:db8::5", 1, 2 },
	{ { V6, V4 }, "10.0.0.2", "2001:db8::5", 1, 2 },
	{ { V6, V4, "10.0.0.3" }, "10.0.0.2", "2001:db8::5", 1, 2 },
	{ { V4, V6, "::1" }, "10.0.0.2", "2001:db8::5", 1, 2 },
	{ { V4, "10.0.0.3:3" }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { V6, "[::1]:3" }, "2001:db8::5", "2001:db8::5", 2, 2 },
	/* A name needs user space, and may have an address of either family. */
	{ { "name:3", V6, V4 }, "10.0.0.2", "2001:db8::5", 1, 2 },
	{ { "name:3", V6 }, "2001:db8::5", "2001:db8::5", 2, 2 },
	{ { V4, "name:3" }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "name:3", "other:4" }, "name", "name", 3, 3 },
	{ { "10.0.0.3:0", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "", "name:3", V6 }, "2001:db8::5", "2001:db8::5", 2, 2 },
	{ { "name:3", "10.0.0.3:0" }, "name", "name", 3, 3 },
	{ { "10.0.0.3:0", "name:3" }, "name", "name", 3, 3 },
	{ { "10.0.0", "name:3", "other:4" }, "name", "name", 3, 3 },
	{ { "[1:2:3]", "name:3" }, "name", "name", 3, 3 },
	/* The error of the first one, when nothing is of use. */
	{ { "10.0.0.3:0", "" }, NULL, NULL, 9, 9 },
	/* Not numeric, whatever it resembles. */
	{ { "10.0.0", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "10.0.0.3.4", V6 }, "2001:db8::5", "2001:db8::5", 2, 2 },
	{ { "10.0.0.256", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "10..0.3", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "10.0.0.3.", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "10.0.0.00000000003", V4 }, "10.0.0.2", "10.0.0.2", 1, 1 },
	{ { "[1:2:3]", V6 }, "2001:db8::5", "2001:db8::5", 2, 2 },
	{ { "[::ffff:10.0.0]", V6 }, "2001:db8::5", "2001:db8::5", 2, 2 },
	{ { V4, "[::ffff:10.0.0.3]:3" }, "10.0.0.2", "::ffff:10.0.0.3", 1, 3 },
};

static void redirect_choice(struct kunit *test)
{
	u32 i, j;

	for (i = 0; i < 2 * ARRAY_SIZE(choices); i++) {
		const typeof(choices[0]) *row = &choices[i / 2];
		const char *host = i % 2 ? row->host_v6 : row->host_v4;
		struct istripe_redirect redirect = { .host = "untouched", .port = 9 };
		struct istripe_text_writer w;
		char text[256];

		istripe_text_writer_init(&w, text, sizeof(text));
		for (j = 0; j < ARRAY_SIZE(row->values) && row->values[j]; j++)
			istripe_text_put(&w, "TargetAddress", row->values[j]);
		KUNIT_EXPECT_EQ_MSG(test, istripe_redirect_read(&redirect, text, w.used, i % 2),
				    host ? 0 : -EPROTO, "row %u", i);
		KUNIT_EXPECT_STREQ_MSG(test, redirect.host, host ?: "untouched", "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, redirect.port, i % 2 ? row->port_v6 : row->port_v4,
				    "row %u", i);
	}
}

static void redirect_name(struct kunit *test)
{
	static const char * const names[] = {
		"a", "s_1", "10-0-0-2", "a.1", "4.example.", "0x7f.1",
	};
	static const char * const others[] = { "10.0.0.2", "::1", "fe80::a", "::ffff:10.0.0.2" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		KUNIT_EXPECT_TRUE_MSG(test, istripe_redirect_is_name(names[i]), "%s", names[i]);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_FALSE_MSG(test, istripe_redirect_is_name(others[i]), "%s", others[i]);
}

static struct kunit_case redirect_cases[] = {
	KUNIT_CASE(redirect_good),
	KUNIT_CASE(redirect_bad),
	KUNIT_CASE(redirect_host_length),
	KUNIT_CASE(redirect_text),
	KUNIT_CASE(redirect_choice),
	KUNIT_CASE(redirect_name),
	{}
};

static struct kunit_suite istripe_redirect_suite = {
	.name = "istripe_redirect",
	.test_cases = redirect_cases,
};

kunit_test_suite(istripe_redirect_suite);
