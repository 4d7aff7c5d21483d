// SPDX-License-Identifier: GPL-2.0
/*
 * Command descriptor blocks, byte by byte as the tables of SPC-5 and SBC-4 draw them.
 * Every case is built twice, over zeroes and over ones, so that a byte that nobody
 * writes shows, and between guards, so that a byte too many shows.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "scsi/cdb.h"
#include "test_random.h"

#define GUARD_BYTES	8
#define LBA		0x0102030405060708ull
#define BLOCKS		0x090a0b0cu

static void read16_plain(u8 *cdb)
{
	istripe_cdb_transfer16(cdb, false, LBA, BLOCKS);
}

static void read16_fua(u8 *cdb)
{
	istripe_cdb_transfer16(cdb, false, LBA, BLOCKS);
	istripe_cdb_set_fua(cdb, true);
}

/* It was sent over another path before. */
static void read16_fua_no_more(u8 *cdb)
{
	read16_fua(cdb);
	istripe_cdb_set_fua(cdb, false);
}

static void write16_plain(u8 *cdb)
{
	istripe_cdb_transfer16(cdb, true, LBA, BLOCKS);
}

static void write16_fua(u8 *cdb)
{
	istripe_cdb_transfer16(cdb, true, LBA, BLOCKS);
	istripe_cdb_set_fua(cdb, true);
}

static void write_atomic16_plain(u8 *cdb)
{
	istripe_cdb_write_atomic16(cdb, LBA, 0x0b0c);
}

static void write_atomic16_fua(u8 *cdb)
{
	istripe_cdb_write_atomic16(cdb, LBA, 0x0b0c);
	istripe_cdb_set_fua(cdb, true);
}

static void synchronize_cache16(u8 *cdb)
{
	istripe_cdb_init(cdb, SYNCHRONIZE_CACHE_16);
}

static void write_same16_plain(u8 *cdb)
{
	istripe_cdb_write_same16(cdb, LBA, BLOCKS, false);
}

static void write_same16_keep(u8 *cdb)
{
	istripe_cdb_write_same16(cdb, LBA, BLOCKS, true);
	istripe_cdb_write_same_keep(cdb);
}

static void write_same16_unmap(u8 *cdb)
{
	istripe_cdb_write_same16(cdb, LBA, BLOCKS, true);
}

static void inquiry(u8 *cdb)
{
	istripe_cdb_inquiry(cdb, 0x0a0b);
}

static void inquiry_vpd(u8 *cdb)
{
	istripe_cdb_inquiry_vpd(cdb, 0x83, 0x0a0b);
}

static void report_luns(u8 *cdb)
{
	istripe_cdb_report_luns(cdb, BLOCKS);
}

static void report_target_port_groups(u8 *cdb)
{
	istripe_cdb_report_target_port_groups(cdb, BLOCKS, false);
}

static void report_target_port_groups_extended(u8 *cdb)
{
	istripe_cdb_report_target_port_groups(cdb, BLOCKS, true);
}

static void read_capacity16(u8 *cdb)
{
	istripe_cdb_read_capacity16(cdb, BLOCKS);
}

static void mode_sense6(u8 *cdb)
{
	istripe_cdb_mode_sense6(cdb, 0x08, 0xc0);
}

static const struct {
	const char *name;
	void (*build)(u8 *cdb);
	u8 want[ISTRIPE_CDB_BYTES];
} cdbs[] = {
	{ "READ(16)", read16_plain,
	  { 0x88, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "READ(16) FUA", read16_fua,
	  { 0x88, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "READ(16) FUA no more", read16_fua_no_more,
	  { 0x88, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "WRITE(16)", write16_plain,
	  { 0x8a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "WRITE(16) FUA", write16_fua,
	  { 0x8a, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "WRITE ATOMIC(16)", write_atomic16_plain,
	  { 0x9c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xb, 0xc, 0, 0 } },
	{ "WRITE ATOMIC(16) FUA", write_atomic16_fua,
	  { 0x9c, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xb, 0xc, 0, 0 } },
	{ "SYNCHRONIZE CACHE(16)", synchronize_cache16, { 0x91 } },
	{ "WRITE SAME(16)", write_same16_plain,
	  { 0x93, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "WRITE SAME(16) without UNMAP again", write_same16_keep,
	  { 0x93, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "WRITE SAME(16) UNMAP", write_same16_unmap,
	  { 0x93, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0 } },
	{ "INQUIRY", inquiry, { 0x12, 0, 0, 0xa, 0xb } },
	{ "INQUIRY EVPD", inquiry_vpd, { 0x12, 1, 0x83, 0xa, 0xb } },
	{ "REPORT LUNS", report_luns, { 0xa0, 0, 0, 0, 0, 0, 9, 0xa, 0xb, 0xc } },
	{ "REPORT TARGET PORT GROUPS", report_target_port_groups,
	  { 0xa3, 0x0a, 0, 0, 0, 0, 9, 0xa, 0xb, 0xc } },
	{ "REPORT TARGET PORT GROUPS, extended", report_target_port_groups_extended,
	  { 0xa3, 0x2a, 0, 0, 0, 0, 9, 0xa, 0xb, 0xc } },
	{ "READ CAPACITY(16)", read_capacity16,
	  { 0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0xa, 0xb, 0xc } },
	{ "MODE SENSE(6)", mode_sense6, { 0x1a, 0x08, 0x08, 0, 0xc0 } },
	{ "START STOP UNIT", istripe_cdb_start_unit, { 0x1b, 1, 0, 0, 1 } },
};

static void cdb_table(struct kunit *test)
{
	u8 guard[GUARD_BYTES], area[GUARD_BYTES + ISTRIPE_CDB_BYTES + GUARD_BYTES];
	u8 *cdb = area + GUARD_BYTES;
	u32 i, fill;

	for (i = 0; i < ARRAY_SIZE(cdbs); i++) {
		for (fill = 0; fill <= 0xff; fill += 0xff) {
			memset(area, fill, sizeof(area));
			memset(guard, fill, sizeof(guard));
			cdbs[i].build(cdb);
			KUNIT_EXPECT_MEMEQ_MSG(test, cdb, cdbs[i].want, ISTRIPE_CDB_BYTES, "%s",
					       cdbs[i].name);
			KUNIT_EXPECT_MEMEQ_MSG(test, area, guard, GUARD_BYTES, "%s",
					       cdbs[i].name);
			KUNIT_EXPECT_MEMEQ_MSG(test, cdb + ISTRIPE_CDB_BYTES, guard, GUARD_BYTES,
					       "%s", cdbs[i].name);
		}
	}
}

/* With its whole parameter list: header, then one descriptor, SBC-4 table 123. */
static void cdb_unmap(struct kunit *test)
{
	static const u8 want_cdb[ISTRIPE_CDB_BYTES] = { 0x42, [8] = 24 };
	static const u8 want[ISTRIPE_UNMAP_PARAMETER_BYTES] = {
		0, 22, 0, 16, 0, 0, 0, 0,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0, 0, 0, 0,
	};
	u8 cdb[ISTRIPE_CDB_BYTES + 1], list[ISTRIPE_UNMAP_PARAMETER_BYTES + 1];

	memset(cdb, 0xff, sizeof(cdb));
	memset(list, 0xff, sizeof(list));
	istripe_cdb_unmap(cdb, list, LBA, BLOCKS);
	KUNIT_EXPECT_MEMEQ(test, cdb, want_cdb, sizeof(want_cdb));
	KUNIT_EXPECT_EQ(test, cdb[sizeof(want_cdb)], 0xff);
	KUNIT_EXPECT_MEMEQ(test, list, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, list[sizeof(want)], 0xff);
}

static u64 read_be(const u8 *bytes, u32 count)
{
	u64 value = 0;

	while (count--)
		value = value << 8 | *bytes++;
	return value;
}

static void cdb_reserve(struct kunit *test)
{
	u8 cdb[ISTRIPE_CDB_BYTES], list[ISTRIPE_RESERVE_PARAMETER_BYTES];
	static const u8 wanted[ISTRIPE_CDB_BYTES] = { 0x5f, 0x04, 0x05, 0, 0, 0, 0, 0, 24 };

	istripe_cdb_reserve_out(cdb, ISTRIPE_RESERVE_PREEMPT, 5);
	KUNIT_EXPECT_EQ(test, memcmp(cdb, wanted, sizeof(cdb)), 0);
	memset(list, 0xff, sizeof(list));
	istripe_cdb_reserve_parameter(list, 0x0102030405060708, 0x1112131415161718, true);
	KUNIT_EXPECT_EQ(test, read_be(list, 8), (u64)0x0102030405060708);
	KUNIT_EXPECT_EQ(test, read_be(list + 8, 8), (u64)0x1112131415161718);
	KUNIT_EXPECT_EQ(test, read_be(list + 16, 4), (u64)0);
	KUNIT_EXPECT_EQ(test, list[20], 1);
	KUNIT_EXPECT_EQ(test, read_be(list + 21, 3), (u64)0);
	istripe_cdb_reserve_parameter(list, 1, 2, false);
	KUNIT_EXPECT_EQ(test, list[20], 0);
}

static void cdb_set_target_port_groups(struct kunit *test)
{
	static const u8 wanted[ISTRIPE_CDB_BYTES] = { 0xa4, 0x0a, 0, 0, 0, 0, 0, 0, 0, 8 };
	static const u8 wanted_list[] = { 0, 0, 0, 0, 1, 0, 2, 3 };
	u8 cdb[ISTRIPE_CDB_BYTES], list[ISTRIPE_PORT_GROUP_PARAMETER_BYTES];

	memset(list, 0xff, sizeof(list));
	istripe_cdb_set_target_port_group(cdb, list, 0x203, 1);
	KUNIT_EXPECT_EQ(test, memcmp(cdb, wanted, sizeof(cdb)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(list, wanted_list, sizeof(list)), 0);
}

static void cdb_expect_range(struct kunit *test, const u8 *cdb, const u8 *list, u64 lba,
			     u32 blocks)
{
	struct istripe_range found;

	istripe_cdb_range(cdb, list, &found);
	KUNIT_ASSERT_EQ(test, found.lba, lba);
	KUNIT_ASSERT_EQ(test, istripe_range_blocks(&found), (u64)blocks);
}

/* Any address and length come back when read as a target reads them, and as a ghost does. */
static void cdb_range_random(struct kunit *test)
{
	struct test_random r = { .s = 16 };
	u8 cdb[ISTRIPE_CDB_BYTES], list[ISTRIPE_UNMAP_PARAMETER_BYTES];
	u32 i;

	for (i = 0; i < 2000; i++) {
		u64 lba = test_random_u64(&r) >> test_random_below(&r, 64);
		u32 blocks = test_random_u32(&r) >> test_random_below(&r, 32);
		bool flag = i & 1;

		istripe_cdb_transfer16(cdb, false, lba, blocks);
		istripe_cdb_set_fua(cdb, flag);
		KUNIT_ASSERT_EQ(test, read_be(cdb + 2, 8), lba);
		KUNIT_ASSERT_EQ(test, read_be(cdb + 10, 4), (u64)blocks);
		istripe_cdb_transfer16(cdb, true, lba, blocks);
		istripe_cdb_set_fua(cdb, flag);
		KUNIT_ASSERT_EQ(test, istripe_cdb_has_fua(cdb), flag);
		KUNIT_ASSERT_EQ(test, read_be(cdb + 2, 8), lba);
		KUNIT_ASSERT_EQ(test, read_be(cdb + 10, 4), (u64)blocks);
		cdb_expect_range(test, cdb, list, lba, blocks);
		istripe_cdb_write_atomic16(cdb, lba, blocks);
		istripe_cdb_set_fua(cdb, flag);
		cdb_expect_range(test, cdb, list, lba, (u16)blocks);
		istripe_cdb_write_same16(cdb, lba, blocks, flag);
		KUNIT_ASSERT_FALSE(test, istripe_cdb_has_fua(cdb));
		KUNIT_ASSERT_EQ(test, read_be(cdb + 2, 8), lba);
		KUNIT_ASSERT_EQ(test, read_be(cdb + 10, 4), (u64)blocks);
		cdb_expect_range(test, cdb, list, lba, blocks);
		istripe_cdb_unmap(cdb, list, lba, blocks);
		KUNIT_ASSERT_EQ(test, read_be(list + 8, 8), lba);
		KUNIT_ASSERT_EQ(test, read_be(list + 16, 4), (u64)blocks);
		cdb_expect_range(test, cdb, list, lba, blocks);
	}
}

static struct kunit_case cdb_cases[] = {
	KUNIT_CASE(cdb_table),
	KUNIT_CASE(cdb_unmap),
	KUNIT_CASE(cdb_reserve),
	KUNIT_CASE(cdb_set_target_port_groups),
	KUNIT_CASE(cdb_range_random),
	{}
};

static struct kunit_suite istripe_cdb_suite = {
	.name = "istripe_cdb",
	.test_cases = cdb_cases,
};

kunit_test_suite(istripe_cdb_suite);
