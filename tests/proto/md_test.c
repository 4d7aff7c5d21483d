// SPDX-License-Identifier: GPL-2.0
/*
 * Superblocks are built by the encoder, then exactly one field is damaged. The bytes
 * of one of them are checked against a sum that mdadm --examine called correct.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/raid/md_p.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <compat/unaligned.h>

#include <istripe/reason.h>
#include "layout/md.h"
#include "layout/stripe.h"
#include "test_random.h"

#define LEG_SECTORS	(2u << 20)	/* 1 GiB */
#define FIELD(f)	((u32)offsetof(struct mdp_superblock_1, f))
#define LOGICAL_BLOCK	224u	/* a field since Linux 6.19 */
#define ROLES		((u32)sizeof(struct mdp_superblock_1))

static u8 super[ISTRIPE_MD_SUPER_BYTES];
static struct istripe_md array[ISTRIPE_STRIPE_LEGS_MAX];

static void build_leg(struct istripe_md *md, u32 legs, u32 role)
{
	u32 i;

	*md = (struct istripe_md) {
		.problem = ISTRIPE_MD_OK,
		.name = "host:vol0",
		.legs = legs,
		.role = role,
		.dev_number = role,
		.chunk_sectors = 128,
		.layout = 1,
		.data_offset_sectors = 4096,
		.data_sectors = LEG_SECTORS - 4096,
		.ctime_s = 1750000000,
		.utime_s = 1750000000,
	};
	for (i = 0; i < sizeof(md->array_uuid); i++) {
		md->array_uuid[i] = i + 1;
		md->device_uuid[i] = 0x40 * role + i;
	}
	md->device_uuid[15] = role;
}

static void build_super(struct kunit *test)
{
	struct istripe_md md;

	build_leg(&md, 4, 1);
	KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, LEG_SECTORS, super), 0);
}

/* MD's sum, written again: words of 32 bits, then what is left of 16 bits, then fold. */
static void seal(u8 *sb)
{
	u32 bytes = ROLES + 2 * get_unaligned_le32(sb + FIELD(max_dev));
	u64 sum = 0;
	u32 at;

	put_unaligned_le32(0, sb + FIELD(sb_csum));
	for (at = 0; at < (bytes & ~3u); at += 4)
		sum += get_unaligned_le32(sb + at);
	if (bytes & 2)
		sum += get_unaligned_le16(sb + at);
	put_unaligned_le32((sum & U32_MAX) + (sum >> 32), sb + FIELD(sb_csum));
}

static void put_le(u8 *at, u32 bytes, u64 value)
{
	while (bytes--) {
		*at++ = value;
		value >>= 8;
	}
}

static void md_known_bytes(struct kunit *test)
{
	struct istripe_md md;

	build_leg(&md, 4, 1);
	md.device_uuid[15] = 0x4f;
	memset(super, 0x5a, sizeof(super));
	KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, LEG_SECTORS, super), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(super), 0xa92b4efcu);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(super + 216), 0xa8154716u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(super + 8), 0x1000u);
	KUNIT_EXPECT_MEMEQ(test, super + 32, "host:vol0\0\0", 11);
	KUNIT_EXPECT_EQ(test, get_unaligned_le64(super + 144), 8u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le64(super + 208), U64_MAX);
	KUNIT_EXPECT_EQ(test, get_unaligned_le16(super + 256 + 6), 3u);
	KUNIT_EXPECT_EQ(test, get_unaligned_le16(super + 256 + 8), 0xffffu);
	KUNIT_EXPECT_EQ(test, super[1023], 0xff);
	KUNIT_EXPECT_NULL(test, memchr_inv(super + 1024, 0, sizeof(super) - 1024));
}

static void expect_same(struct kunit *test, const struct istripe_md *a, const struct istripe_md *b)
{
	KUNIT_EXPECT_MEMEQ(test, a->array_uuid, b->array_uuid, 16);
	KUNIT_EXPECT_MEMEQ(test, a->device_uuid, b->device_uuid, 16);
	KUNIT_EXPECT_STREQ(test, a->name, b->name);
	KUNIT_EXPECT_EQ(test, a->legs, b->legs);
	KUNIT_EXPECT_EQ(test, a->role, b->role);
	KUNIT_EXPECT_EQ(test, a->dev_number, b->dev_number);
	KUNIT_EXPECT_EQ(test, a->chunk_sectors, b->chunk_sectors);
	KUNIT_EXPECT_EQ(test, a->logical_block_bytes, b->logical_block_bytes);
	KUNIT_EXPECT_EQ(test, a->layout, b->layout);
	KUNIT_EXPECT_EQ(test, a->data_offset_sectors, b->data_offset_sectors);
	KUNIT_EXPECT_EQ(test, a->data_sectors, b->data_sectors);
	KUNIT_EXPECT_EQ(test, a->size_sectors, b->size_sectors);
	KUNIT_EXPECT_EQ(test, a->events, b->events);
	KUNIT_EXPECT_EQ(test, a->ctime_s, b->ctime_s);
	KUNIT_EXPECT_EQ(test, a->utime_s, b->utime_s);
}

static void random_leg(struct test_random *r, struct istripe_md *md, u64 leg_sectors)
{
	u32 legs = 1 + test_random_below(r, 64);

	build_leg(md, legs, test_random_below(r, legs));
	test_random_fill(r, md->array_uuid, 16);
	test_random_fill(r, md->device_uuid, 16);
	memset(md->name, 'x', test_random_below(r, 33));
	md->chunk_sectors = 8u << test_random_below(r, 11);
	md->logical_block_bytes = test_random_below(r, 2) ? 512u << test_random_below(r, 4) : 0;
	md->layout = 1 + test_random_below(r, 2);
	md->data_offset_sectors = istripe_md_data_offset_sectors(leg_sectors, md->chunk_sectors);
	md->data_sectors = leg_sectors - md->data_offset_sectors - test_random_below(r, 1000);
	md->size_sectors = test_random_below(r, 2) ? md->data_sectors : 0;
	md->events = test_random_u64(r);
	md->ctime_s = test_random_u64(r) >> 24;
	md->utime_s = test_random_u64(r) >> 24;
}

static void md_identity(struct kunit *test)
{
	struct test_random r = { 127 };
	struct istripe_md md, back;
	u64 leg_sectors;
	u32 i;

	for (i = 0; i < 500; i++) {
		leg_sectors = (test_random_u64(&r) >> (20 + test_random_below(&r, 20))) + (1 << 20);
		random_leg(&r, &md, leg_sectors);
		test_random_fill(&r, super, sizeof(super));
		KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, leg_sectors, super), 0);
		KUNIT_ASSERT_EQ(test, istripe_md_decode(super, sizeof(super), leg_sectors, &back),
				0);
		KUNIT_ASSERT_EQ(test, (u32)back.problem, (u32)ISTRIPE_MD_OK);
		expect_same(test, &back, &md);
		seal(super);
		KUNIT_ASSERT_EQ(test, istripe_md_decode(super, 1024, leg_sectors, &back), 0);
		KUNIT_ASSERT_EQ(test, istripe_md_decode(super, 1023, leg_sectors, &back), -EINVAL);
	}
}

static void md_name_is_cut(struct kunit *test)
{
	struct istripe_md md;

	build_super(test);
	memset(super + FIELD(set_name), 'n', 32);
	seal(super);
	KUNIT_ASSERT_EQ(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md), 0);
	KUNIT_EXPECT_EQ(test, strlen(md.name), (size_t)32);
}

/* One field damaged; the checksum made right again unless the row says so. */
static const struct damage {
	const char *name;
	u32 at, bytes;
	u64 value;
	enum istripe_md_problem problem;
	int ret;
	bool unsealed;
} damages[] = {
	{ "nothing", 0, 0, 0, ISTRIPE_MD_OK, 0, true },
	{ "no magic", FIELD(magic), 4, 0, ISTRIPE_MD_ABSENT, -ENODATA },
	{ "big-endian magic", FIELD(magic), 4, 0xfc4e2ba9, ISTRIPE_MD_ABSENT, -ENODATA },
	{ "version 0", FIELD(major_version), 4, 0, ISTRIPE_MD_VERSION, -EOPNOTSUPP },
	{ "version 2", FIELD(major_version), 4, 2, ISTRIPE_MD_VERSION, -EOPNOTSUPP },
	{ "version 1.1", FIELD(super_offset), 8, 0, ISTRIPE_MD_VERSION, -EOPNOTSUPP },
	{ "version 1.0", FIELD(super_offset), 8, 2097136, ISTRIPE_MD_VERSION, -EOPNOTSUPP },
	{ "checksum", FIELD(sb_csum), 4, 1, ISTRIPE_MD_CHECKSUM, -EBADMSG, true },
	{ "unsealed change", FIELD(events), 8, 77, ISTRIPE_MD_CHECKSUM, -EBADMSG, true },
	{ "unsealed role", ROLES + 767, 1, 0, ISTRIPE_MD_CHECKSUM, -EBADMSG, true },
	{ "too many roles", FIELD(max_dev), 4, 1921, ISTRIPE_MD_TRUNCATED, -EINVAL, true },
	{ "roles wrap", FIELD(max_dev), 4, 0x7fffff80, ISTRIPE_MD_TRUNCATED, -EINVAL, true },
	{ "roles of all ones", FIELD(max_dev), 4, U32_MAX, ISTRIPE_MD_TRUNCATED, -EINVAL, true },
	{ "most roles", FIELD(max_dev), 4, 1920, ISTRIPE_MD_OK, 0 },
	{ "odd number of roles", FIELD(max_dev), 4, 5, ISTRIPE_MD_OK, 0 },
	{ "padding", FIELD(pad0), 4, 1, ISTRIPE_MD_PADDING, -EOPNOTSUPP },
	{ "padding of Linux 6.19", LOGICAL_BLOCK + 4, 1, 1, ISTRIPE_MD_PADDING, -EOPNOTSUPP },
	{ "last padding", ROLES - 1, 1, 1, ISTRIPE_MD_PADDING, -EOPNOTSUPP },
	{ "logical block of 512", LOGICAL_BLOCK, 4, 512, ISTRIPE_MD_OK, 0 },
	{ "logical block of 2048", LOGICAL_BLOCK, 4, 2048, ISTRIPE_MD_OK, 0 },
	{ "logical block of 4096", LOGICAL_BLOCK, 4, 4096, ISTRIPE_MD_OK, 0 },
	{ "logical block of 256", LOGICAL_BLOCK, 4, 256, ISTRIPE_MD_BLOCK, -EOPNOTSUPP },
	{ "logical block of 520", LOGICAL_BLOCK, 4, 520, ISTRIPE_MD_BLOCK, -EOPNOTSUPP },
	{ "logical block of 8192", LOGICAL_BLOCK, 4, 8192, ISTRIPE_MD_BLOCK, -EOPNOTSUPP },
	{ "logical block of 2^31", LOGICAL_BLOCK, 4, 1u << 31, ISTRIPE_MD_BLOCK, -EOPNOTSUPP },
	{ "raid1", FIELD(level), 4, 1, ISTRIPE_MD_LEVEL, -EOPNOTSUPP },
	{ "linear", FIELD(level), 4, U32_MAX, ISTRIPE_MD_LEVEL, -EOPNOTSUPP },
	{ "reshape", FIELD(feature_map), 4, 0x1004, ISTRIPE_MD_RESHAPE, -EOPNOTSUPP },
	{ "backwards", FIELD(feature_map), 4, 0x1020, ISTRIPE_MD_RESHAPE, -EOPNOTSUPP },
	{ "new offset", FIELD(feature_map), 4, 0x1040, ISTRIPE_MD_RESHAPE, -EOPNOTSUPP },
	{ "bad blocks", FIELD(feature_map), 4, 0x1008, ISTRIPE_MD_BAD_BLOCKS, -EOPNOTSUPP },
	{ "bitmap", FIELD(feature_map), 4, 0x1001, ISTRIPE_MD_FEATURE, -EOPNOTSUPP },
	{ "recovery", FIELD(feature_map), 4, 0x1002, ISTRIPE_MD_FEATURE, -EOPNOTSUPP },
	{ "journal", FIELD(feature_map), 4, 0x1200, ISTRIPE_MD_FEATURE, -EOPNOTSUPP },
	{ "unknown feature", FIELD(feature_map), 4, 0x3000, ISTRIPE_MD_FEATURE, -EOPNOTSUPP },
	{ "highest feature", FIELD(feature_map) + 3, 1, 0x80, ISTRIPE_MD_FEATURE, -EOPNOTSUPP },
	{ "layout not told", FIELD(feature_map), 4, 0, ISTRIPE_MD_OK, 0 },
	{ "layout alternate", FIELD(layout), 4, 2, ISTRIPE_MD_OK, 0 },
	{ "layout unknown", FIELD(layout), 4, 3, ISTRIPE_MD_LAYOUT, -EOPNOTSUPP },
	{ "bad-block log, empty", FIELD(bblog_size), 2, 8, ISTRIPE_MD_OK, 0 },
	{ "no member", FIELD(raid_disks), 4, 0, ISTRIPE_MD_LEGS, -EOPNOTSUPP },
	{ "65 members", FIELD(raid_disks), 4, 65, ISTRIPE_MD_LEGS, -EOPNOTSUPP },
	{ "64 members", FIELD(raid_disks), 4, 64, ISTRIPE_MD_OK, 0 },
	{ "2^31 members", FIELD(raid_disks), 4, 1u << 31, ISTRIPE_MD_LEGS, -EOPNOTSUPP },
	{ "no chunk", FIELD(chunksize), 4, 0, ISTRIPE_MD_CHUNK, -EOPNOTSUPP },
	{ "chunk of 2 KiB", FIELD(chunksize), 4, 4, ISTRIPE_MD_CHUNK, -EOPNOTSUPP },
	{ "chunk of 8 MiB", FIELD(chunksize), 4, 16384, ISTRIPE_MD_CHUNK, -EOPNOTSUPP },
	{ "chunk of 12 KiB", FIELD(chunksize), 4, 24, ISTRIPE_MD_CHUNK, -EOPNOTSUPP },
	{ "dev_number at the end", FIELD(dev_number), 4, 384, ISTRIPE_MD_ROLE, -EINVAL },
	{ "dev_number wild", FIELD(dev_number), 4, U32_MAX, ISTRIPE_MD_ROLE, -EINVAL },
	{ "dev_number of a spare", FIELD(dev_number), 4, 4, ISTRIPE_MD_ROLE, -EINVAL },
	{ "no roles", FIELD(max_dev), 4, 0, ISTRIPE_MD_ROLE, -EINVAL },
	{ "spare", ROLES + 2, 2, 0xffff, ISTRIPE_MD_ROLE, -EINVAL },
	{ "faulty", ROLES + 2, 2, 0xfffe, ISTRIPE_MD_ROLE, -EINVAL },
	{ "journal role", ROLES + 2, 2, 0xfffd, ISTRIPE_MD_ROLE, -EINVAL },
	{ "role beyond members", ROLES + 2, 2, 4, ISTRIPE_MD_ROLE, -EINVAL },
	{ "another role", ROLES + 2, 2, 3, ISTRIPE_MD_OK, 0 },
	{ "data at 0", FIELD(data_offset), 8, 0, ISTRIPE_MD_DATA_OFFSET, -EINVAL },
	{ "data in the superblock", FIELD(data_offset), 8, 8, ISTRIPE_MD_DATA_OFFSET, -EINVAL },
	{ "data behind it", FIELD(data_offset), 8, 16, ISTRIPE_MD_OK, 0 },
	{ "data not on 4 KiB", FIELD(data_offset), 8, 2044, ISTRIPE_MD_DATA_OFFSET, -EINVAL },
	{ "data beyond the leg", FIELD(data_offset), 8, LEG_SECTORS + 8, ISTRIPE_MD_SIZE, -EINVAL },
	{ "offset wraps", FIELD(data_offset), 8, U64_MAX - 7, ISTRIPE_MD_SIZE, -EINVAL },
	{ "size fits just not", FIELD(data_size), 8, LEG_SECTORS - 4095, ISTRIPE_MD_SIZE, -EINVAL },
	{ "size wraps", FIELD(data_size), 8, U64_MAX - 100, ISTRIPE_MD_SIZE, -EINVAL },
	{ "less than a chunk", FIELD(data_size), 8, 127, ISTRIPE_MD_SIZE, -EINVAL },
	{ "one chunk", FIELD(data_size), 8, 128, ISTRIPE_MD_OK, 0 },
	{ "used size", FIELD(size), 8, LEG_SECTORS - 4096, ISTRIPE_MD_OK, 0 },
	{ "used size too large", FIELD(size), 8, LEG_SECTORS - 4095, ISTRIPE_MD_SIZE, -EINVAL },
};

static void md_decode_table(struct kunit *test)
{
	struct istripe_md md;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(damages); i++) {
		const struct damage *d = &damages[i];

		build_super(test);
		put_le(super + d->at, d->bytes, d->value);
		if (!d->unsealed)
			seal(super);
		KUNIT_EXPECT_EQ_MSG(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md),
				    d->ret, "%s", d->name);
		KUNIT_EXPECT_EQ_MSG(test, (u32)md.problem, (u32)d->problem, "%s", d->name);
	}
}

/* As an mdadm from before 5.4 leaves it after a member of the array was replaced. */
static void md_decode_foreign(struct kunit *test)
{
	struct istripe_md md;

	build_super(test);
	put_le(super + FIELD(feature_map), 4, 0);
	put_le(super + FIELD(layout), 4, 99);
	put_le(super + FIELD(dev_number), 4, 6);
	put_le(super + ROLES + 2, 2, 0xffff);
	put_le(super + ROLES + 12, 2, 1);
	put_le(super + FIELD(max_dev), 4, 7);
	put_le(super + FIELD(ctime), 8, 0x0123450060000000);
	seal(super);
	KUNIT_ASSERT_EQ(test, istripe_md_decode(super, ROLES + 14, LEG_SECTORS, &md), 0);
	KUNIT_EXPECT_EQ(test, md.role, 1u);
	KUNIT_EXPECT_EQ(test, md.dev_number, 6u);
	KUNIT_EXPECT_EQ(test, md.layout, 0u);
	KUNIT_EXPECT_EQ(test, md.ctime_s, 0x60000000u);
	KUNIT_EXPECT_EQ(test, istripe_md_share_sectors(&md), (u64)LEG_SECTORS - 4096);
	KUNIT_EXPECT_EQ(test, istripe_md_decode(super, ROLES + 13, LEG_SECTORS, &md), -EINVAL);
}

static void md_decode_short(struct kunit *test)
{
	struct istripe_md md;
	u32 bytes;

	build_super(test);
	for (bytes = 0; bytes < 1024; bytes++) {
		u8 *exact = kunit_kzalloc(test, bytes ?: 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, exact);
		memcpy(exact, super, bytes);
		build_leg(&md, 4, 1);
		KUNIT_ASSERT_EQ(test, istripe_md_decode(exact, bytes, LEG_SECTORS, &md), -EINVAL);
		KUNIT_ASSERT_EQ(test, (u32)md.problem, (u32)ISTRIPE_MD_TRUNCATED);
		KUNIT_ASSERT_EQ(test, md.legs, 0u);
		KUNIT_ASSERT_STREQ(test, md.name, "");
		kunit_kfree(test, exact);
	}
}

static void md_decode_bit_flips(struct kunit *test)
{
	struct istripe_md md;
	u32 bit;

	build_super(test);
	for (bit = 0; bit < 1024 * 8; bit++) {
		super[bit / 8] ^= 1 << bit % 8;
		KUNIT_ASSERT_NE_MSG(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md),
				    0, "bit %u", bit);
		super[bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_EQ(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md), 0);
}

static void md_decode_unaligned(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, sizeof(super) + 1, GFP_KERNEL);
	struct istripe_md md;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	build_leg(&md, 4, 2);
	KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, LEG_SECTORS, buf + 1), 0);
	KUNIT_EXPECT_EQ(test, istripe_md_decode(buf + 1, sizeof(super), LEG_SECTORS, &md), 0);
	KUNIT_EXPECT_EQ(test, md.role, 2u);
}

static void expect_not_encoded(struct kunit *test, const struct istripe_md *md)
{
	memset(super, 0x5a, sizeof(super));
	KUNIT_EXPECT_EQ(test, istripe_md_encode(md, LEG_SECTORS, super), -EINVAL);
	KUNIT_EXPECT_NULL(test, memchr_inv(super, 0x5a, sizeof(super)));
}

static void md_encode_refuses(struct kunit *test)
{
	struct istripe_md md;

	build_leg(&md, 4, 4);
	expect_not_encoded(test, &md);
	build_leg(&md, 0, 0);
	expect_not_encoded(test, &md);
	build_leg(&md, 65, 0);
	expect_not_encoded(test, &md);
	build_leg(&md, 4, 1);
	md.chunk_sectors = 100;
	expect_not_encoded(test, &md);
	build_leg(&md, 4, 1);
	md.logical_block_bytes = 8192;
	expect_not_encoded(test, &md);
	build_leg(&md, 4, 1);
	md.data_sectors++;
	expect_not_encoded(test, &md);
	build_leg(&md, 4, 1);
	md.data_offset_sectors = 8;
	expect_not_encoded(test, &md);
}

static void md_encode_layout(struct kunit *test)
{
	struct istripe_md md;

	build_leg(&md, 4, 1);
	md.layout = 0;
	KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, LEG_SECTORS, super), 0);
	KUNIT_ASSERT_EQ(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md), 0);
	KUNIT_EXPECT_EQ(test, md.layout, 1u);
}

static const struct offset_row {
	u64 leg_sectors;
	u32 chunk_sectors;
	u64 offset;
} offset_rows[] = {
	{ 4096, 8, 2048 },
	{ 1 << 21, 128, 4096 },
	{ 1 << 21, 1024, 4096 },
	{ 20ull << 21, 1024, 34816 },
	{ 256ull << 21, 1024, 264192 },
	{ 1ull << 40, 8, 264192 },
	{ 1 << 21, 8192, 18432 },
};

static void md_data_offset(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offset_rows); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    istripe_md_data_offset_sectors(offset_rows[i].leg_sectors,
								   offset_rows[i].chunk_sectors),
				    offset_rows[i].offset, "row %u", i);
}

static void lose_super(struct istripe_md *legs)
{
	memset(&legs[2], 0, sizeof(legs[2]));
	legs[2].problem = ISTRIPE_MD_ABSENT;
}

static void unread(struct istripe_md *legs)
{
	memset(&legs[0], 0, sizeof(legs[0]));
}

static void wild_fault(struct istripe_md *legs)
{
	legs[3].problem = 12345;
}

static void damaged(struct istripe_md *legs)
{
	legs[1].problem = ISTRIPE_MD_CHECKSUM;
}

static void foreign_first(struct istripe_md *legs)
{
	legs[0].array_uuid[15] ^= 1;
}

static void foreign_last(struct istripe_md *legs)
{
	legs[3].array_uuid[0] ^= 1;
}

static void swap_middle(struct istripe_md *legs)
{
	swap(legs[1], legs[2]);
}

static void repeat(struct istripe_md *legs)
{
	legs[2] = legs[0];
}

static void copy_device(struct istripe_md *legs)
{
	memcpy(legs[3].device_uuid, legs[1].device_uuid, 16);
}

static void other_chunk(struct istripe_md *legs)
{
	legs[0].chunk_sectors = 256;
}

static void other_block(struct istripe_md *legs)
{
	legs[2].logical_block_bytes = 512;
}

static void other_legs(struct istripe_md *legs)
{
	legs[1].legs = 5;
}

static void other_layout(struct istripe_md *legs)
{
	legs[1].layout = 2;
}

static void stale(struct istripe_md *legs)
{
	u32 i;

	for (i = 0; i < 4; i++)
		legs[i].events = i ? 6 : 7;
}

static void other_offset(struct istripe_md *legs)
{
	legs[2].data_offset_sectors += 2048;
}

static void other_share(struct istripe_md *legs)
{
	legs[3].data_sectors -= 128;
}

static void same_share(struct istripe_md *legs)
{
	legs[3].data_sectors += 127;
}

static void five_legs(struct istripe_md *legs)
{
	u32 i;

	for (i = 0; i < 4; i++)
		legs[i].legs = 5;
}

static void lost_in_the_middle(struct istripe_md *legs)
{
	five_legs(legs);
	legs[2].role = 3;
	legs[3].role = 4;
}

static void three_legs(struct istripe_md *legs)
{
	u32 i;

	for (i = 0; i < 4; i++)
		legs[i].legs = 3;
	legs[3].role = 1;
}

#define CUT_SHORT	"; growing cut short? mdadm --assemble --update=devicesize"

/* Four good legs, one thing done to them. */
static const struct array_row {
	void (*damage)(struct istripe_md *legs);
	int ret;
	u32 bad_leg;
	const char *reason;
} array_rows[] = {
	{ same_share, 0, 0, "" },
	{ lose_super, -ENODATA, 2, "leg 2: no MD superblock found" },
	{ unread, -ENODATA, 0, "leg 0: superblock was not read" },
	{ wild_fault, -EINVAL, 3, "leg 3: unknown fault" },
	{ damaged, -EBADMSG, 1, "leg 1: superblock is damaged, its checksum is wrong" },
	{ foreign_first, -EINVAL, 0, "leg 0: belongs to another array than leg 1" },
	{ foreign_last, -EINVAL, 3, "leg 3: belongs to another array than leg 0" },
	{ swap_middle, -EINVAL, 1, "leg 1: swapped, it is role 2 of the array" },
	{ repeat, -EINVAL, 2, "leg 2: repeated, leg 0 is role 0 already" },
	{ copy_device, -EINVAL, 3, "leg 3: repeated, same device UUID as leg 1" },
	{ other_chunk, -EINVAL, 0, "leg 0: chunk in sectors is 256, on leg 1 it is 128" },
	{ other_block, -EINVAL, 2,
	  "leg 2: logical block in bytes is 512, on leg 0 it is 0" },
	{ other_legs, -EINVAL, 1, "leg 1: number of members is 5, on leg 0 it is 4" },
	{ other_layout, -EINVAL, 1, "leg 1: layout is 2, on leg 0 it is 1" },
	{ stale, -EINVAL, 1, "leg 1: event count is 6, on leg 0 it is 7, the leg is stale" },
	{ other_offset, -EOPNOTSUPP, 2,
	  "leg 2: data offset in sectors is 6144, on leg 0 it is 4096" },
	{ other_share, -EOPNOTSUPP, 3,
	  "leg 3: share in sectors is 2092928, on leg 0 it is 2093056" CUT_SHORT },
	{ five_legs, -ENODATA, 4, "leg 4: missing, the array has 5 legs, 4 are given" },
	{ lost_in_the_middle, -ENODATA, 2, "leg 2: missing, the array has 5 legs, 4 are given" },
	{ three_legs, -EINVAL, 3, "leg 3: repeated, leg 1 is role 1 already" },
};

static void build_array(u32 legs)
{
	u32 i;

	for (i = 0; i < legs; i++)
		build_leg(&array[i], legs, i);
}

static void md_array_table(struct kunit *test)
{
	struct istripe_reason reason;
	u32 i, bad_leg;

	for (i = 0; i < ARRAY_SIZE(array_rows); i++) {
		const struct array_row *row = &array_rows[i];

		build_array(4);
		row->damage(array);
		KUNIT_EXPECT_EQ_MSG(test, istripe_md_check_array(array, 4, &bad_leg, &reason),
				    row->ret, "%s", row->reason);
		KUNIT_EXPECT_EQ_MSG(test, bad_leg, row->bad_leg, "%s", row->reason);
		KUNIT_EXPECT_STREQ(test, reason.text, row->reason);
	}
}

/* Legs of every width, as built; then any two of them exchanged. */
static void md_array_swaps(struct kunit *test)
{
	struct istripe_reason reason;
	u32 legs, i, j, bad_leg;

	for (legs = 1; legs <= ISTRIPE_STRIPE_LEGS_MAX; legs += legs < 8 ? 1 : 14) {
		build_array(legs);
		KUNIT_ASSERT_EQ(test, istripe_md_check_array(array, legs, &bad_leg, &reason), 0);
		for (i = 0; i < legs; i++) {
			for (j = i + 1; j < legs; j++) {
				swap(array[i], array[j]);
				KUNIT_ASSERT_EQ(test, istripe_md_check_array(array, legs, &bad_leg,
									     &reason),
						-EINVAL);
				KUNIT_ASSERT_EQ(test, bad_leg, i);
				swap(array[i], array[j]);
			}
		}
	}
}

/* With any one leg left out, the array is refused and that leg named. */
static void md_array_missing(struct kunit *test)
{
	struct istripe_reason reason;
	u32 out, bad_leg;

	for (out = 0; out < 6; out++) {
		build_array(6);
		memmove(&array[out], &array[out + 1], (5 - out) * sizeof(array[0]));
		KUNIT_EXPECT_EQ(test, istripe_md_check_array(array, 5, &bad_leg, &reason),
				-ENODATA);
		KUNIT_EXPECT_EQ(test, bad_leg, out);
	}
	KUNIT_EXPECT_EQ(test, istripe_md_check_array(array, 0, &bad_leg, &reason), -ENODATA);
}

static void md_fault_texts(struct kunit *test)
{
	u32 i, j;

	for (i = 0; i < ISTRIPE_MD_PROBLEM_COUNT; i++) {
		KUNIT_ASSERT_NOT_NULL(test, istripe_md_problem_text(i));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, istripe_md_problem_text(i),
					    istripe_md_problem_text(j));
	}
	KUNIT_EXPECT_STREQ(test, istripe_md_problem_text(ISTRIPE_MD_PROBLEM_COUNT),
			   "unknown fault");
	KUNIT_EXPECT_STREQ(test, istripe_md_problem_text(U32_MAX), "unknown fault");
}

static struct kunit_case md_cases[] = {
	KUNIT_CASE(md_known_bytes),
	KUNIT_CASE(md_identity),
	KUNIT_CASE(md_name_is_cut),
	KUNIT_CASE(md_decode_table),
	KUNIT_CASE(md_decode_foreign),
	KUNIT_CASE(md_decode_short),
	KUNIT_CASE(md_decode_bit_flips),
	KUNIT_CASE(md_decode_unaligned),
	KUNIT_CASE(md_encode_refuses),
	KUNIT_CASE(md_encode_layout),
	KUNIT_CASE(md_data_offset),
	KUNIT_CASE(md_array_table),
	KUNIT_CASE(md_array_swaps),
	KUNIT_CASE(md_array_missing),
	KUNIT_CASE(md_fault_texts),
	{}
};

static struct kunit_suite istripe_md_suite = {
	.name = "istripe_md",
	.test_cases = md_cases,
};

kunit_test_suite(istripe_md_suite);
