// SPDX-License-Identifier: GPL-2.0
/*
 * A leg is known by its designator, so: always the same one of a LUN, whatever order
 * the target lists them in; never the one of a port; never the same text for two LUNs.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <compat/unaligned.h>

#include "scsi/vpd.h"
#include "test_random.h"

#define PAGE_BYTES	1024u
#define TEXT_BYTES	ISTRIPE_VPD_DESIGNATOR_BYTES

struct designator {
	u8 code_set;
	u8 association;
	u8 type;
	u8 bytes;
	const char *value;
	const char *want;	/* NULL: not to be used */
};

#define NAA_6	"\x60\x01\x40\x5a\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\xfc"
#define NAA_5	"\x50\x01\x40\x5a\x01\x02\x03\x04"
#define NAA_2	"\x20\x01\x40\x5a\x01\x02\x03\x04"
#define NAA_3	"\x30\x01\x40\x5a\x01\x02\x03\x04"
#define EUI	"\x00\x25\x38\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"

/* The good ones, best first. */
static const struct designator good[] = {
	{ 1, 0, 3, 16, NAA_6, "naa.6001405a0102030405060708090a0bfc" },
	{ 1, 0, 3, 8, NAA_5, "naa.5001405a01020304" },
	{ 1, 0, 3, 8, NAA_2, "naa.2001405a01020304" },
	{ 1, 0, 2, 8, EUI, "eui.002538ff01020304" },
	{ 2, 0, 1, 24, "LIO-ORG volume0:0042-42\0", "t10.LIO-ORG volume0:0042-42" },
	{ 3, 0, 8, 20, "iqn.2025-01.x:disk1\0", "name.iqn.2025-01.x:disk1" },
	{ 1, 0, 3, 8, NAA_3, "naa.3001405a01020304" },
};

static const struct designator others[] = {
	{ 1, 1, 3, 16, NAA_6, NULL },		/* of the port */
	{ 1, 2, 3, 16, NAA_6, NULL },		/* of the target */
	{ 1, 3, 3, 16, NAA_6, NULL },		/* reserved */
	{ 2, 0, 3, 16, NAA_6, NULL },		/* not binary */
	{ 2, 0, 3, 16, "6001405a01020304", NULL },
	{ 1, 0, 3, 15, NAA_6, NULL },
	{ 1, 0, 3, 8, NAA_6, NULL },
	{ 1, 0, 3, 16, NAA_5 NAA_5, NULL },
	{ 1, 0, 3, 7, NAA_5, NULL },
	{ 1, 0, 3, 0, "", NULL },
	{ 1, 0, 3, 8, "\x40\0\0\0\0\0\0\1", NULL },	/* no such NAA */
	{ 1, 0, 2, 9, EUI, NULL },
	{ 3, 0, 2, 8, EUI, NULL },
	{ 1, 0, 2, 8, "\0\0\0\0\0\0\0\0", NULL },
	{ 1, 0, 1, 8, "LIO-ORG ", NULL },
	{ 2, 0, 1, 8, "        ", NULL },
	{ 2, 0, 1, 0, "", NULL },
	{ 2, 0, 1, 8, "LIO-ORG ", NULL },	/* a vendor, but no LUN */
	{ 2, 0, 1, 9, "LIO-ORG \0", NULL },
	{ 2, 0, 1, 12, "IET       \0 ", NULL },
	{ 3, 0, 8, 0, "", NULL },
	{ 3, 0, 8, 4, "\0\0\0\0", NULL },
	{ 1, 0, 4, 4, "\0\0\0\1", NULL },	/* relative target port */
	{ 1, 0, 5, 4, "\0\0\0\1", NULL },	/* target port group */
	{ 1, 0, 6, 4, "\0\0\0\1", NULL },	/* logical unit group */
	{ 2, 0, 0, 8, "whatever", NULL },	/* vendor specific */
	{ 1, 0, 15, 16, NAA_6, NULL },
	{ 1, 0, 2, 12, EUI, "eui.002538ff0102030405060708" },
	{ 1, 0, 2, 16, EUI, "eui.002538ff0102030405060708090a0b0c" },
	{ 2, 0, 1, 12, " LIO  X  Y  ", "t10.LIO  X  Y" },
	{ 3, 0, 1, 9, "ABCDEFGHI", "t10.ABCDEFGHI" },
	{ 3, 0, 8, 7, "n\xc3\xa9\\\n\0z", "name.n\\xc3\\xa9\\x5c\\x0a\\x00z" },
};

static u8 page[PAGE_BYTES];

static u32 page_start(void)
{
	memset(page, 0, sizeof(page));
	page[1] = 0x83;
	return 4;
}

static u32 page_add(u32 used, const struct designator *d)
{
	page[used] = 0x50 | d->code_set;	/* iSCSI */
	page[used + 1] = 0x80 | d->association << 4 | d->type;
	page[used + 3] = d->bytes;
	memcpy(page + used + 4, d->value, d->bytes);
	used += 4 + d->bytes;
	put_unaligned_be16(used - 4, page + 2);
	return used;
}

/* Decodes @bytes of the page from memory of just that length. */
static int decode(struct kunit *test, u32 bytes, char *text, u32 text_bytes)
{
	u8 *exact = kunit_kmalloc(test, bytes ?: 1, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, exact);
	memcpy(exact, page, bytes);
	ret = istripe_vpd_designator_decode(exact, bytes, text, text_bytes);
	kunit_kfree(test, exact);
	return ret;
}

static void expect(struct kunit *test, u32 bytes, const char *want)
{
	char text[TEXT_BYTES];

	memset(text, 'x', sizeof(text));
	KUNIT_EXPECT_EQ(test, decode(test, bytes, text, sizeof(text)), want ? 0 : -ENOENT);
	KUNIT_EXPECT_STREQ(test, text, want ?: "");
}

static void designator_alone(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		expect(test, page_add(page_start(), &good[i]), good[i].want);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		expect(test, page_add(page_start(), &others[i]), others[i].want);
	expect(test, page_start(), NULL);
}

/* Any subset in any order, among those that do not count: the best one is chosen. */
static void designator_best(struct kunit *test)
{
	struct test_random r = { .s = 83 };
	u32 round, i, used, best, pick;

	for (round = 0; round < 3000; round++) {
		used = page_start();
		best = ARRAY_SIZE(good);
		for (i = test_random_below(&r, 8); i; i--) {
			if (test_random_below(&r, 2)) {
				pick = test_random_below(&r, ARRAY_SIZE(others) - 5);
				used = page_add(used, &others[pick]);
				continue;
			}
			pick = test_random_below(&r, ARRAY_SIZE(good));
			best = min(best, pick);
			used = page_add(used, &good[pick]);
		}
		expect(test, used, best < ARRAY_SIZE(good) ? good[best].want : NULL);
	}
}

/* Cut anywhere: what did not come whole does not count. */
static void designator_cut(struct kunit *test)
{
	char text[TEXT_BYTES];
	u32 used, i, len, end[ARRAY_SIZE(good)];

	used = page_start();
	for (i = ARRAY_SIZE(good); i--; ) {
		used = page_add(used, &good[i]);
		end[i] = used;
	}
	for (len = 0; len <= used; len++) {
		const char *want = NULL;

		for (i = ARRAY_SIZE(good); i--; )
			want = end[i] <= len ? good[i].want : want;
		if (len >= 4)
			expect(test, len, want);
		else
			KUNIT_EXPECT_EQ(test, decode(test, len, text, sizeof(text)), -EPROTO);
	}
	page[1] = 0x80;
	KUNIT_EXPECT_EQ(test, decode(test, used, text, sizeof(text)), -EPROTO);
}

/* Bytes behind the end that the page claims are not read; a wrong length is not believed. */
static void designator_lies(struct kunit *test)
{
	u32 first = page_add(page_start(), &good[5]);
	u32 second = page_add(first, &good[0]);

	put_unaligned_be16(first - 4, page + 2);
	expect(test, second, good[5].want);
	put_unaligned_be16(second - 4 + 100, page + 2);
	expect(test, second, good[0].want);
	put_unaligned_be16(second - 4, page + 2);
	page[first + 3] = 17;
	expect(test, second, good[5].want);
	page[7] = 255;
	expect(test, second, NULL);
}

/* Too long for the buffer: the next best one, never the first part of it. */
static void designator_long(struct kunit *test)
{
	char value[255], text[TEXT_BYTES];
	struct designator t10 = { 2, 0, 1, 255, value, NULL };
	u32 used, bytes;

	memset(value, 'A', sizeof(value));
	used = page_add(page_start(), &t10);
	expect(test, used, NULL);
	used = page_add(used, &good[6]);
	expect(test, used, good[6].want);
	for (bytes = 100; bytes <= 200; bytes++) {
		t10.bytes = bytes;
		used = page_add(page_start(), &t10);
		if (decode(test, used, text, sizeof(text)))
			KUNIT_EXPECT_GE(test, bytes + 4 + 1, TEXT_BYTES - 1);
		else
			KUNIT_EXPECT_EQ(test, strlen(text), (size_t)bytes + 4);
	}
	/* All buffers down to the smallest: whole or not at all. */
	for (bytes = 1; bytes <= TEXT_BYTES; bytes++) {
		used = page_add(page_start(), &good[0]);
		if (!decode(test, used, text, bytes))
			KUNIT_EXPECT_STREQ(test, text, good[0].want);
		else
			KUNIT_EXPECT_LE(test, bytes, (u32)strlen(good[0].want) + 1);
	}
}

/* Two values that differ within the blanks around them have two texts. */
static void designator_distinct(struct kunit *test)
{
	struct test_random r = { .s = 1 };
	char a[TEXT_BYTES], b[TEXT_BYTES], value[2][10];
	struct designator d = { 2, 0, 1, 10, NULL, NULL };
	u32 round, i;

	for (round = 0; round < 3000; round++) {
		for (i = 0; i < sizeof(value[0]); i++)
			value[0][i] = "\\x0aA\xff\n"[test_random_below(&r, 7)];
		value[0][0] = '#';
		value[0][9] = '#';
		memcpy(value[1], value[0], sizeof(value[0]));
		i = 1 + test_random_below(&r, 8);
		value[1][i] ^= 1 << test_random_below(&r, 8);
		d.value = value[0];
		KUNIT_ASSERT_EQ(test, decode(test, page_add(page_start(), &d), a, sizeof(a)), 0);
		d.value = value[1];
		KUNIT_ASSERT_EQ(test, decode(test, page_add(page_start(), &d), b, sizeof(b)), 0);
		KUNIT_ASSERT_STRNEQ(test, a, b);
	}
}

static bool offered(struct kunit *test, u32 bytes, const char *text)
{
	u8 *exact = kunit_kmalloc(test, bytes ?: 1, GFP_KERNEL);
	bool is;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, exact);
	memcpy(exact, page, bytes);
	is = istripe_vpd_designator_offered(exact, bytes, text);
	kunit_kfree(test, exact);
	return is;
}

/* A LUN that gets a better designator is still known by the one that it had. */
static void designator_of_before(struct kunit *test)
{
	static const struct designator second = { 1, 0, 3, 8, "\x50\0\0\0\0\0\0\1", NULL };
	u32 local = ARRAY_SIZE(good) - 1;
	u32 used = page_start(), i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		used = page_add(used, &good[i]);
	/* A locally assigned NAA may be that of another LUN, too. */
	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, offered(test, used, good[i].want), i != local, "row %u",
				    i);
	/* Not only the first one of its kind. */
	used = page_add(used, &second);
	KUNIT_EXPECT_TRUE(test, offered(test, used, "naa.5000000000000001"));
	KUNIT_EXPECT_FALSE(test, offered(test, used - 1, "naa.5000000000000001"));
	KUNIT_EXPECT_FALSE(test, offered(test, used, "naa.5000000000000002"));
	KUNIT_EXPECT_FALSE(test, offered(test, used, "t10.LIO-ORG volume0:0042-4"));
	KUNIT_EXPECT_FALSE(test, offered(test, used, ""));
	/* Those of ports and targets are not the LUN's. */
	used = page_start();
	for (i = 0; i < 4; i++)
		used = page_add(used, &others[i]);
	KUNIT_EXPECT_FALSE(test, offered(test, used, good[0].want));
	KUNIT_EXPECT_FALSE(test, offered(test, 3, good[0].want));
	page[1] = 0x80;
	KUNIT_EXPECT_FALSE(test, offered(test, page_add(4, &good[0]), good[0].want));
}

struct names_case {
	const char *best;	/* of VPD 83h, which the page has, unless it is a serial number */
	const char *serial;
	const char *known;
	const char *since;
	bool same;
};

#define NUMBER	"serial.ACME.disk.42"
#define OTHER	"serial.ACME.disk.43"

static const struct names_case names[] = {
	/* As always. */
	{ NUMBER, NUMBER, NUMBER, "", true },
	{ NUMBER, NUMBER, OTHER, "", false },
	{ NULL, NUMBER, "naa.5000000000000001", "", true },
	{ NULL, NUMBER, "naa.5000000000000002", "", false },
	{ NUMBER, NUMBER, "naa.5000000000000001", "", false },
	/* It has got VPD 83h. */
	{ NULL, NUMBER, NUMBER, "", true },
	{ NULL, OTHER, NUMBER, "", false },
	{ NULL, "", NUMBER, "", false },
	{ NULL, "serial.ACME.disk.4", NUMBER, "", false },
	{ NULL, "serial.ACME.DISK.42", NUMBER, "", false },
	/* It must keep that, or lose the page altogether. */
	{ NULL, NUMBER, NUMBER, "naa.5000000000000001", true },
	{ NULL, NUMBER, NUMBER, "naa.5000000000000002", false },
	{ NULL, OTHER, NUMBER, "naa.5000000000000001", false },
	{ NUMBER, NUMBER, NUMBER, "naa.5000000000000001", true },
};

static void designator_after_serial(struct kunit *test)
{
	static const struct designator naa = { 1, 0, 3, 8, "\x50\0\0\0\0\0\0\1", NULL };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct istripe_vpd_names lun = {
			.best = names[i].best ?: "naa.5000000000000001",
			.serial = names[i].serial, .page = page,
		};

		if (!names[i].best)
			lun.page_bytes = page_add(page_start(), &naa);
		KUNIT_EXPECT_EQ_MSG(test, istripe_vpd_names_are(&lun, names[i].known,
								names[i].since),
				    names[i].same, "row %u", i);
	}
}

struct serial_case {
	u8 page;
	u8 bytes;
	const char *serial;
	int want;
	const char *text;
};

static const struct serial_case serials[] = {
	{ 0x80, 6, "  42\0\0", 0, "serial.ACME.disk.42" },
	{ 0x80, 5, "4 2\\\n", 0, "serial.ACME.disk.4 2\\x5c\\x0a" },
	{ 0x80, 0, "", -ENOENT, "" },
	{ 0x80, 4, "    ", -ENOENT, "" },
	{ 0x83, 2, "42", -EPROTO, NULL },
};

/* A LUN without VPD 83h; a number that does not fit is none. */
static void designator_of_serial(struct kunit *test)
{
	const struct istripe_vpd_inquiry inquiry = { .vendor = "ACME", .product = "disk" };
	u8 page[4 + 255] = {};
	char text[TEXT_BYTES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(serials); i++) {
		const struct serial_case *one = &serials[i];

		page[1] = one->page;
		page[3] = one->bytes;
		memcpy(page + 4, one->serial, one->bytes);
		KUNIT_EXPECT_EQ_MSG(test, istripe_vpd_serial_designator(page, 4 + one->bytes,
									&inquiry, text,
									sizeof(text)),
				    one->want, "row %u", i);
		if (one->text)
			KUNIT_EXPECT_STREQ(test, text, one->text);
	}
	page[1] = 0x80;
	page[3] = 255;
	memset(page + 4, '7', 255);
	KUNIT_EXPECT_EQ(test, istripe_vpd_serial_designator(page, sizeof(page), &inquiry, text,
							    sizeof(text)), -ENOENT);
	KUNIT_EXPECT_STREQ(test, text, "");
}

static struct kunit_case designator_cases[] = {
	KUNIT_CASE(designator_of_serial),
	KUNIT_CASE(designator_alone),
	KUNIT_CASE(designator_best),
	KUNIT_CASE(designator_cut),
	KUNIT_CASE(designator_lies),
	KUNIT_CASE(designator_long),
	KUNIT_CASE(designator_distinct),
	KUNIT_CASE(designator_of_before),
	KUNIT_CASE(designator_after_serial),
	{}
};

static struct kunit_suite istripe_designator_suite = {
	.name = "istripe_designator",
	.test_cases = designator_cases,
};

kunit_test_suite(istripe_designator_suite);
