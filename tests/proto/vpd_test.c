// SPDX-License-Identifier: GPL-2.0
/*
 * The answers of a LUN about itself. The good answers are laid out as the tables of SPC-5
 * and SBC-4 draw them; the bad ones are good ones with one thing wrong. Every answer is
 * also cut at every length, in memory of just that length.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <scsi/scsi_common.h>

#include <compat/unaligned.h>

#include "scsi/vpd.h"
#include "test_random.h"

/* The same bytes where a byte read too many is noticed. */
static u8 *exact(struct kunit *test, const void *from, u32 bytes)
{
	u8 *to = kunit_kmalloc(test, bytes ?: 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, to);
	memcpy(to, from, bytes);
	return bytes ? to : to + 1;
}

static void build_inquiry(u8 *data)
{
	memset(data, 0, 96);
	data[2] = 6;
	data[3] = 2;
	data[4] = 91;
	memcpy(data + 8, "LIO-ORG volume0         4.0 ", 28);
}

static void vpd_inquiry(struct kunit *test)
{
	struct istripe_vpd_inquiry inquiry;
	u8 data[96];
	u32 len;

	build_inquiry(data);
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_EQ(test, inquiry.qualifier, 0);
	KUNIT_EXPECT_EQ(test, inquiry.device_type, TYPE_DISK);
	KUNIT_EXPECT_STREQ(test, inquiry.vendor, "LIO-ORG");
	KUNIT_EXPECT_STREQ(test, inquiry.product, "volume0");
	for (len = 0; len < sizeof(data); len++)
		KUNIT_EXPECT_EQ(test,
				istripe_vpd_inquiry_decode(exact(test, data, len), len, &inquiry),
				len < 36 ? -EPROTO : 0);
	KUNIT_EXPECT_EQ(test, inquiry.tpgs, 0);
	data[5] = 0x10;
	data[0] = 0x7f;
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_EQ(test, inquiry.tpgs, ISTRIPE_TPGS_IMPLICIT);
	data[5] = 0xef;
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_EQ(test, inquiry.tpgs, ISTRIPE_TPGS_EXPLICIT);
	KUNIT_EXPECT_EQ(test, inquiry.qualifier, 3);
	KUNIT_EXPECT_EQ(test, inquiry.device_type, 0x1f);
	data[0] = 0x20;
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_EQ(test, inquiry.qualifier, ISTRIPE_VPD_NOT_CONNECTED);
	KUNIT_EXPECT_EQ(test, inquiry.device_type, TYPE_DISK);
}

/* Fields without room for a NUL, with control characters, with nothing. */
static void vpd_inquiry_text(struct kunit *test)
{
	struct istripe_vpd_inquiry inquiry;
	u8 data[96];

	build_inquiry(data);
	memcpy(data + 8, "ABCDEFGHIJKLMNOPQRSTUVWXYZab", 28);
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_STREQ(test, inquiry.vendor, "ABCDEFGH");
	KUNIT_EXPECT_STREQ(test, inquiry.product, "IJKLMNOPQRSTUVWX");
	memcpy(data + 8, " A\n\x1b[\xe9 \0", 8);
	memset(data + 16, 0, 16);
	memset(data + 32, ' ', 4);
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(data, sizeof(data), &inquiry), 0);
	KUNIT_EXPECT_STREQ(test, inquiry.vendor, "A??[?");
	KUNIT_EXPECT_STREQ(test, inquiry.product, "");
}

static void vpd_pages_listed(struct kunit *test)
{
	static const u8 data[] = { 0, 0, 0, 5, 0x00, 0x80, 0x83, 0xb0, 0xb2 };
	u32 page, len;

	for (page = 0; page <= 0xff; page++) {
		bool want = page == 0 || page == 0x80 || page == 0x83 || page == 0xb0 ||
			    page == 0xb2;

		KUNIT_EXPECT_EQ(test, istripe_vpd_page_listed(data, sizeof(data), page), want);
	}
	for (len = 0; len < sizeof(data); len++) {
		KUNIT_EXPECT_FALSE(test, istripe_vpd_page_listed(exact(test, data, len), len,
								 0xb2));
		KUNIT_EXPECT_EQ(test, istripe_vpd_page_listed(exact(test, data, len), len, 0x80),
				len >= 6);
	}
}

/* A list that claims to be shorter than what came ends where it says. */
static void vpd_pages_listed_bad(struct kunit *test)
{
	u8 data[] = { 0, 0, 0, 2, 0x00, 0x80, 0x83 };

	KUNIT_EXPECT_TRUE(test, istripe_vpd_page_listed(data, sizeof(data), 0x80));
	KUNIT_EXPECT_FALSE(test, istripe_vpd_page_listed(data, sizeof(data), 0x83));
	data[1] = 0x83;
	KUNIT_EXPECT_FALSE(test, istripe_vpd_page_listed(data, sizeof(data), 0x80));
}

static void vpd_page_bytes(struct kunit *test)
{
	static const u8 data[] = { 0, 0x83, 0x02, 0x54, 1, 3 };
	u32 len;

	for (len = 0; len <= sizeof(data); len++)
		KUNIT_EXPECT_EQ(test, istripe_vpd_page_bytes(exact(test, data, len), len),
				len < 4 ? 0u : 600u);
}

static void vpd_serial(struct kunit *test)
{
	static const u8 data[] = "\0\x80\0\x0c  SN-0042\x07 \0";
	const u32 bytes = 4 + 12;
	char serial[16], small[5];
	u32 len;

	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode(data, bytes, serial, sizeof(serial)), 0);
	KUNIT_EXPECT_STREQ(test, serial, "SN-0042?");
	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode(data, bytes, small, sizeof(small)), 0);
	KUNIT_EXPECT_STREQ(test, small, "SN-0");
	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode("\0\x80\0\6AB  CD", 10, small,
							sizeof(small)), 0);
	KUNIT_EXPECT_STREQ(test, small, "AB");	/* cut, and no blank at its end */
	for (len = 0; len < bytes; len++)
		KUNIT_EXPECT_EQ(test,
				istripe_vpd_serial_decode(exact(test, data, len), len, serial,
							  sizeof(serial)),
				len < 4 ? -EPROTO : 0);
	KUNIT_EXPECT_EQ(test, istripe_vpd_serial_decode("\0\x83\0\x01x", 5, serial,
							sizeof(serial)), -EPROTO);
	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode("\0\x80\0\0x", 5, serial,
							sizeof(serial)), 0);
	KUNIT_EXPECT_STREQ(test, serial, "");
}

static void build_block_limits(u8 *data)
{
	memset(data, 0, 64);
	data[1] = 0xb0;
	data[3] = 0x3c;
	put_unaligned_be16(0x1122, data + 6);
	put_unaligned_be32(0x01020304, data + 8);
	put_unaligned_be32(0x05060708, data + 12);
	put_unaligned_be32(0x090a0b0c, data + 20);
	put_unaligned_be32(0x0d0e0f10, data + 24);
	put_unaligned_be32(0x11121314, data + 28);
	put_unaligned_be32(0x95161718, data + 32);
	put_unaligned_be64(0x191a1b1c1d1e1f20, data + 36);
	put_unaligned_be32(0x21222324, data + 44);
	put_unaligned_be32(0x25262728, data + 48);
	put_unaligned_be32(0x292a2b2c, data + 52);
}

static void vpd_block_limits(struct kunit *test)
{
	struct istripe_vpd_block_limits limits;
	u8 data[64];

	build_block_limits(data);
	KUNIT_ASSERT_EQ(test, istripe_vpd_block_limits_decode(data, sizeof(data), &limits), 0);
	KUNIT_EXPECT_EQ(test, limits.optimal_granularity, 0x1122u);
	KUNIT_EXPECT_EQ(test, limits.max_transfer, 0x01020304u);
	KUNIT_EXPECT_EQ(test, limits.optimal_transfer, 0x05060708u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap, 0x090a0b0cu);
	KUNIT_EXPECT_EQ(test, limits.max_unmap_descriptors, 0x0d0e0f10u);
	KUNIT_EXPECT_EQ(test, limits.unmap_granularity, 0x11121314u);
	KUNIT_EXPECT_TRUE(test, limits.unmap_alignment_valid);
	KUNIT_EXPECT_EQ(test, limits.unmap_alignment, 0x15161718u);
	KUNIT_EXPECT_EQ(test, limits.max_write_same, 0x191a1b1c1d1e1f20ull);
	KUNIT_EXPECT_EQ(test, limits.max_atomic, 0x21222324u);
	KUNIT_EXPECT_EQ(test, limits.atomic_alignment, 0x25262728u);
	KUNIT_EXPECT_EQ(test, limits.atomic_granularity, 0x292a2b2cu);
	data[32] = 0x15;
	KUNIT_ASSERT_EQ(test, istripe_vpd_block_limits_decode(data, sizeof(data), &limits), 0);
	KUNIT_EXPECT_FALSE(test, limits.unmap_alignment_valid);
}

/* The page of SBC-2 ends after 12 or 16 bytes; what lies behind its end is not its. */
static void vpd_block_limits_short(struct kunit *test)
{
	struct istripe_vpd_block_limits limits;
	u8 data[64];

	build_block_limits(data);
	data[3] = 12;
	KUNIT_ASSERT_EQ(test, istripe_vpd_block_limits_decode(data, sizeof(data), &limits), 0);
	KUNIT_EXPECT_EQ(test, limits.optimal_transfer, 0x05060708u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap_descriptors, 0u);
	KUNIT_EXPECT_EQ(test, limits.unmap_granularity, 0u);
	KUNIT_EXPECT_FALSE(test, limits.unmap_alignment_valid);
	KUNIT_EXPECT_EQ(test, limits.max_write_same, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_atomic, 0u);
	data[3] = 11;
	KUNIT_EXPECT_EQ(test, istripe_vpd_block_limits_decode(data, sizeof(data), &limits),
			-EPROTO);
}

static void vpd_block_limits_cut(struct kunit *test)
{
	struct istripe_vpd_block_limits limits;
	u8 data[64];
	u32 len;

	build_block_limits(data);
	for (len = 0; len < sizeof(data); len++) {
		KUNIT_ASSERT_EQ(test, istripe_vpd_block_limits_decode(exact(test, data, len), len,
								      &limits),
				len < 16 ? -EPROTO : 0);
		if (len < 16)
			continue;
		/* Whole or not at all: half a number is another number. */
		KUNIT_EXPECT_EQ(test, limits.max_unmap, len < 24 ? 0 : 0x090a0b0cu);
		KUNIT_EXPECT_EQ(test, limits.unmap_alignment_valid, len >= 36);
		KUNIT_EXPECT_EQ(test, limits.max_write_same, len < 44 ? 0 : 0x191a1b1c1d1e1f20ull);
		/* Without the alignment behind it, the length would promise too much. */
		KUNIT_EXPECT_EQ(test, limits.max_atomic, 0u);
	}
	data[1] = 0xb2;
	KUNIT_EXPECT_EQ(test, istripe_vpd_block_limits_decode(data, sizeof(data), &limits),
			-EPROTO);
}

static void vpd_rotation(struct kunit *test)
{
	static const struct {
		u16 rate;
		bool want;
	} rows[] = {
		{ 0, true }, { 1, false }, { 2, true }, { 0x0100, true }, { 0x0101, true },
		{ 7200, true }, { 0xfffe, true }, { 0xffff, true },
	};
	u8 data[64] = { 0, 0xb1, 0, 0x3c };
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		put_unaligned_be16(rows[i].rate, data + 4);
		KUNIT_EXPECT_EQ(test, istripe_vpd_rotational(data, sizeof(data)), rows[i].want);
	}
	put_unaligned_be16(1, data + 4);
	for (len = 0; len <= 8; len++)
		KUNIT_EXPECT_EQ(test, istripe_vpd_rotational(exact(test, data, len), len), len < 6);
	data[1] = 0xb0;
	KUNIT_EXPECT_TRUE(test, istripe_vpd_rotational(data, sizeof(data)));
}

static void vpd_provisioning(struct kunit *test)
{
	u8 data[8] = { 0, 0xb2, 0, 4 };
	struct istripe_vpd_provisioning p;
	u32 bits, len;

	for (bits = 0; bits <= 0xff; bits++) {
		data[5] = bits;
		KUNIT_ASSERT_EQ(test, istripe_vpd_provisioning_decode(data, sizeof(data), &p), 0);
		KUNIT_EXPECT_EQ(test, p.unmap, bits >= 0x80);
		KUNIT_EXPECT_EQ(test, p.write_same16, bits / 0x40 % 2 == 1);
	}
	for (len = 0; len < sizeof(data); len++)
		KUNIT_EXPECT_EQ(test, istripe_vpd_provisioning_decode(exact(test, data, len), len,
								      &p),
				len < 6 ? -EPROTO : 0);
	data[1] = 0xb1;
	KUNIT_EXPECT_EQ(test, istripe_vpd_provisioning_decode(data, sizeof(data), &p), -EPROTO);
}

static void build_capacity(u8 *data, u64 last_lba, u32 block_bytes)
{
	memset(data, 0, 32);
	put_unaligned_be64(last_lba, data);
	put_unaligned_be32(block_bytes, data + 8);
}

static void vpd_capacity(struct kunit *test)
{
	struct istripe_vpd_capacity c;
	u8 data[32];
	u32 len;

	build_capacity(data, 0x1234567, 512);
	data[13] = 0x13;	/* P_I exponent 1, 8 logical blocks per physical one */
	data[14] = 0xc0 | 0x12;
	data[15] = 0x34;
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_EQ(test, c.blocks, 0x1234568ull);
	KUNIT_EXPECT_EQ(test, c.block_bytes, 512u);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 4096u);
	KUNIT_EXPECT_EQ(test, c.lowest_aligned_lba, 0x1234u);
	KUNIT_EXPECT_TRUE(test, c.provisioning);
	KUNIT_EXPECT_TRUE(test, c.reads_zeroes);
	data[14] = 0x80;
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.provisioning);
	KUNIT_EXPECT_FALSE(test, c.reads_zeroes);
	data[14] = 0x40;
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_FALSE(test, c.provisioning);
	KUNIT_EXPECT_TRUE(test, c.reads_zeroes);
	for (len = 0; len < sizeof(data); len++)
		KUNIT_EXPECT_EQ(test,
				istripe_vpd_capacity_decode(exact(test, data, len), len, &c),
				len < 12 ? -EPROTO : 0);
}

/* The answer of SBC-2: bytes that do not come are 0. */
static void vpd_capacity_short(struct kunit *test)
{
	struct istripe_vpd_capacity c;
	u8 data[32];

	build_capacity(data, 0x1234567, 512);
	data[13] = 0x13;
	data[14] = 0xc0 | 0x12;
	data[15] = 0x34;
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(exact(test, data, 12), 12, &c), 0);
	KUNIT_EXPECT_EQ(test, c.blocks, 0x1234568ull);
	KUNIT_EXPECT_EQ(test, c.block_bytes, 512u);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 512u);
	KUNIT_EXPECT_EQ(test, c.lowest_aligned_lba, 0u);
	KUNIT_EXPECT_FALSE(test, c.provisioning);
	KUNIT_EXPECT_FALSE(test, c.reads_zeroes);
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(exact(test, data, 15), 15, &c), 0);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 4096u);
	KUNIT_EXPECT_EQ(test, c.lowest_aligned_lba, 0x1200u);
	KUNIT_EXPECT_TRUE(test, c.provisioning);
}

static void vpd_capacity10(struct kunit *test)
{
	struct istripe_vpd_capacity c;
	u8 data[8];
	u32 len;

	put_unaligned_be32(0xfffffffe, data);
	put_unaligned_be32(512, data + 4);
	for (len = 0; len <= sizeof(data); len++)
		KUNIT_EXPECT_EQ(test,
				istripe_vpd_capacity10_decode(exact(test, data, len), len, &c),
				len < 8 ? -EPROTO : 0);
	KUNIT_EXPECT_EQ(test, c.blocks, 0xffffffffull);
	KUNIT_EXPECT_EQ(test, c.block_bytes, 512u);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 512u);
	KUNIT_EXPECT_FALSE(test, c.provisioning);
	data[3] = 0xff;		/* more than can be told */
	KUNIT_EXPECT_EQ(test, istripe_vpd_capacity10_decode(data, sizeof(data), &c), -EOVERFLOW);
}

static void vpd_capacity_blocks(struct kunit *test)
{
	static const u32 sizes[] = {
		0, 1, 2, 256, 511, 513, 520, 528, 1536, 4095, 4097, 4104, 4160, 8192, 65536,
		1u << 31, U32_MAX, 512, 1024, 2048, 4096,
	};
	struct istripe_vpd_capacity c;
	u8 data[32];
	u32 i, exponent;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bool good = i >= ARRAY_SIZE(sizes) - 4;

		build_capacity(data, 1000, sizes[i]);
		KUNIT_EXPECT_EQ_MSG(test, istripe_vpd_capacity_decode(data, sizeof(data), &c),
				    good ? 0 : -EPROTO, "%u", sizes[i]);
		for (exponent = 0; good && exponent < 16; exponent++) {
			data[13] = exponent;
			KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(data, sizeof(data), &c),
					0);
			KUNIT_EXPECT_EQ(test, c.physical_block_bytes,
					sizes[i] << min(exponent, 8u));
		}
	}
}

/* As many bytes as a signed 64-bit offset can count, and not one block more. */
static void vpd_capacity_end(struct kunit *test)
{
	static const struct {
		u32 block_bytes;
		u64 last;
		bool good;
	} rows[] = {
		{ 512, 0, true },
		{ 512, (1ull << 54) - 2, true },
		{ 512, (1ull << 54) - 1, false },
		{ 512, U32_MAX, true },
		{ 4096, (1ull << 51) - 2, true },
		{ 4096, (1ull << 51) - 1, false },
		{ 512, U64_MAX - 1, false },
		{ 512, U64_MAX, false },
		{ 4096, U64_MAX, false },
	};
	struct istripe_vpd_capacity c;
	u8 data[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		build_capacity(data, rows[i].last, rows[i].block_bytes);
		KUNIT_ASSERT_EQ_MSG(test, istripe_vpd_capacity_decode(data, sizeof(data), &c),
				    rows[i].good ? 0 : -EPROTO, "row %u", i);
		if (!rows[i].good)
			continue;
		KUNIT_EXPECT_EQ(test, c.blocks, rows[i].last + 1);
		KUNIT_EXPECT_LE(test, c.blocks, (u64)S64_MAX / c.block_bytes);
	}
}

/* Header, an 8 byte block descriptor when asked for, the caching page. */
static u32 build_mode(u8 *data, u32 descriptor_bytes)
{
	u32 page = 4 + descriptor_bytes;

	memset(data, 0, 64);
	data[0] = page + 20 - 1;
	data[3] = descriptor_bytes;
	data[page] = 0x08;
	data[page + 1] = 18;
	return page;
}

static void vpd_caching(struct kunit *test)
{
	struct istripe_vpd_caching c;
	u32 descriptor, bits, page;
	u8 data[64];

	for (descriptor = 0; descriptor <= 8; descriptor += 8)
		for (bits = 0; bits < 8; bits++) {
			page = build_mode(data, descriptor);
			data[2] = (bits & 1 ? 0x80 : 0) | (bits & 2 ? 0x10 : 0);
			data[page] |= 0x80;	/* PS, saveable, is not part of the code */
			data[page + 2] = (bits & 4 ? 0x04 : 0) | 0xfb * (descriptor == 8);
			KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(data, page + 20, &c), 0);
			KUNIT_EXPECT_EQ(test, c.write_protected, (bits & 1) != 0);
			KUNIT_EXPECT_EQ(test, c.dpofua, (bits & 2) != 0);
			KUNIT_EXPECT_EQ(test, c.write_cache, (bits & 4) != 0);
		}
}

/* A LUN that cannot say that it has no write cache has one. */
static void vpd_caching_absent(struct kunit *test)
{
	struct istripe_vpd_caching c;
	u32 page, len;
	u8 data[64];

	page = build_mode(data, 0);
	for (len = 0; len <= page + 20; len++) {
		c.write_cache = false;
		KUNIT_ASSERT_EQ(test,
				istripe_vpd_caching_decode(exact(test, data, len), len, &c),
				len < 4 ? -EPROTO : 0);
		if (len < 4)
			continue;
		KUNIT_EXPECT_EQ(test, c.write_cache, len < page + 3);
		KUNIT_EXPECT_EQ(test, c.told, len >= page + 3);
	}
	data[page] = 0x0a;	/* another page */
	data[2] = 0x90;		/* the header counts all the same */
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_cache && !c.told);
	KUNIT_EXPECT_TRUE(test, c.write_protected && c.dpofua);
	build_mode(data, 0);
	data[0] = page + 1;	/* claims to end within the page's header */
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_cache);
	build_mode(data, 0);
	data[page] |= 0x40;	/* a subpage: these bytes mean something else */
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_cache);
	build_mode(data, 0);
	data[page + 1] = 0;	/* a page too short to have the flag */
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(data, sizeof(data), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_cache);
	build_mode(data, 0);
	data[3] = 0xff;		/* descriptors beyond the end */
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(exact(test, data, 64), 64, &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_cache);
}

#define LUNS	20u

static void build_luns(u8 *data)
{
	u32 i;

	memset(data, 0, 8 + 8 * LUNS);
	put_unaligned_be32(8 * LUNS, data);
	for (i = 0; i < LUNS; i++)
		data[8 + 8 * i + 1] = 3 * i;
}

static void vpd_luns(struct kunit *test)
{
	struct scsi_lun lun;
	u8 data[8 + 8 * LUNS];
	u32 i;

	build_luns(data);
	for (i = 0; i < 256; i++) {
		int_to_scsilun(i, &lun);
		KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(data, sizeof(data), &lun),
				i % 3 == 0 && i / 3 < LUNS);
	}
	/* All eight bytes count: not what looks alike, and not what lies across two. */
	int_to_scsilun(3, &lun);
	lun.scsi_lun[7] = 1;
	KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(data, sizeof(data), &lun), 0);
	memcpy(&lun, data + 8 + 4, sizeof(lun));
	KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(data, sizeof(data), &lun), 0);
}

/* Flat and peripheral addressing; other forms may mean any LUN. */
static void vpd_lun_may_be(struct kunit *test)
{
	static const struct {
		u8 bytes[2];
		u16 number;
		bool may_be;
	} rows[] = {
		{ { 0x00, 0x00 }, 0, true }, { { 0x40, 0x00 }, 0, true },
		{ { 0x00, 0x07 }, 7, true }, { { 0x40, 0x07 }, 7, true },
		{ { 0x41, 0x2c }, 300, true }, { { 0x01, 0x2c }, 300, true },
		{ { 0x00, 0x07 }, 0, false }, { { 0x40, 0x07 }, 0, false },
		{ { 0x00, 0x00 }, 7, false }, { { 0x41, 0x2c }, 44, false },
		{ { 0xc1, 0x01 }, 7, true }, { { 0x80, 0x07 }, 0, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_lun lun = {};

		memcpy(lun.scsi_lun, rows[i].bytes, sizeof(rows[i].bytes));
		KUNIT_EXPECT_EQ_MSG(test, istripe_vpd_lun_may_be(&lun, rows[i].number),
				    rows[i].may_be, "row %u", i);
	}
}

static void vpd_luns_cut(struct kunit *test)
{
	u8 data[8 + 8 * LUNS];
	struct scsi_lun lun;
	u32 len;
	int want;

	build_luns(data);
	int_to_scsilun(9, &lun);	/* the fourth */
	for (len = 0; len < sizeof(data); len++) {
		want = len < 8 ? -EPROTO : len >= 8 + 4 * 8 ? 1 : -ENODATA;
		KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(exact(test, data, len), len, &lun),
				want);
	}
	put_unaligned_be32(U32_MAX, data);
	KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(exact(test, data, sizeof(data)), sizeof(data),
						     &lun), 1);
	lun.scsi_lun[1] = 8;
	KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(exact(test, data, sizeof(data)), sizeof(data),
						     &lun), -ENODATA);
	put_unaligned_be32(3 * 8, data);
	lun.scsi_lun[1] = 9;
	KUNIT_EXPECT_EQ(test, istripe_vpd_lun_listed(data, sizeof(data), &lun), 0);
}

static struct kunit_case vpd_cases[] = {
	KUNIT_CASE(vpd_inquiry),
	KUNIT_CASE(vpd_inquiry_text),
	KUNIT_CASE(vpd_pages_listed),
	KUNIT_CASE(vpd_pages_listed_bad),
	KUNIT_CASE(vpd_page_bytes),
	KUNIT_CASE(vpd_serial),
	KUNIT_CASE(vpd_block_limits),
	KUNIT_CASE(vpd_block_limits_short),
	KUNIT_CASE(vpd_block_limits_cut),
	KUNIT_CASE(vpd_rotation),
	KUNIT_CASE(vpd_provisioning),
	KUNIT_CASE(vpd_capacity),
	KUNIT_CASE(vpd_capacity_short),
	KUNIT_CASE(vpd_capacity10),
	KUNIT_CASE(vpd_capacity_blocks),
	KUNIT_CASE(vpd_capacity_end),
	KUNIT_CASE(vpd_caching),
	KUNIT_CASE(vpd_caching_absent),
	KUNIT_CASE(vpd_luns),
	KUNIT_CASE(vpd_lun_may_be),
	KUNIT_CASE(vpd_luns_cut),
	{}
};

static struct kunit_suite istripe_vpd_suite = {
	.name = "istripe_vpd",
	.test_cases = vpd_cases,
};

kunit_test_suite(istripe_vpd_suite);
