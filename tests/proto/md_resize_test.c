// SPDX-License-Identifier: GPL-2.0
/* A superblock, of ours or of others, that is to say more: size and sum change, nothing else. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/raid/md_p.h>
#include <linux/string.h>

#include <compat/unaligned.h>

#include "layout/md.h"
#include "test_random.h"

#define LEG_SECTORS	(2u << 20)
#define OFFSET_SECTORS	4096u
#define ROLES		((u32)sizeof(struct mdp_superblock_1))
#define ROLES_MOST	((ISTRIPE_MD_SUPER_BYTES - ROLES) / 2)
#define FIELD(f)	((u32)offsetof(struct mdp_superblock_1, f))

static u8 super[ISTRIPE_MD_SUPER_BYTES];
static u8 before[ISTRIPE_MD_SUPER_BYTES];

static void build(struct kunit *test)
{
	struct istripe_md md = {
		.array_uuid = { 1, 2 },
		.device_uuid = { 3, 4 },
		.name = "elsewhere:db",
		.legs = 4,
		.role = 2,
		.chunk_sectors = 128,
		.logical_block_bytes = 512,
		.layout = 2,
		.data_offset_sectors = OFFSET_SECTORS,
		.data_sectors = LEG_SECTORS / 2,
		.events = 7,
		.ctime_s = 1750000000,
		.utime_s = 1760000000,
	};

	KUNIT_ASSERT_EQ(test, istripe_md_encode(&md, LEG_SECTORS, super), 0);
}

/* Of so many roles, that of the leg at another place, with microseconds in its times. */
static void make_foreign(u32 roles)
{
	memset(super + ROLES, 0xff, 2 * roles);
	put_unaligned_le32(roles, super + FIELD(max_dev));
	put_unaligned_le32(roles - 1, super + FIELD(dev_number));
	put_unaligned_le16(2, super + ROLES + 2 * (roles - 1));
	super[FIELD(utime) + 7] = 0x5a;
}

/* The sum is right when decoding says so; until then any other one will do. */
static void resize_and_compare(struct kunit *test, u64 sectors)
{
	struct istripe_md md;
	u32 i;

	memcpy(before, super, sizeof(super));
	istripe_md_resize(super, sectors);
	KUNIT_ASSERT_EQ(test, istripe_md_decode(super, sizeof(super), LEG_SECTORS, &md), 0);
	KUNIT_EXPECT_EQ(test, md.data_sectors, sectors);
	KUNIT_EXPECT_EQ(test, md.role, 2u);
	for (i = 0; i < sizeof(super); i++) {
		if (i - FIELD(data_size) < 8 || i - FIELD(sb_csum) < 4)
			continue;
		KUNIT_ASSERT_EQ_MSG(test, super[i], before[i], "byte %u", i);
	}
}

static void md_resize_ours(struct kunit *test)
{
	build(test);
	resize_and_compare(test, LEG_SECTORS - OFFSET_SECTORS);
	/* Back to what it was: to the last bit. */
	build(test);
	memcpy(before, super, sizeof(super));
	istripe_md_resize(super, LEG_SECTORS - OFFSET_SECTORS);
	istripe_md_resize(super, LEG_SECTORS / 2);
	KUNIT_EXPECT_MEMEQ(test, super, before, sizeof(super));
}

static void md_resize_foreign(struct kunit *test)
{
	static const u32 roles[] = { 4, 5, 128, ROLES_MOST - 1, ROLES_MOST };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(roles); i++) {
		build(test);
		make_foreign(roles[i]);
		resize_and_compare(test, LEG_SECTORS - OFFSET_SECTORS - i);
	}
}

static void md_resize_random(struct kunit *test)
{
	struct test_random r = { 128 };
	u32 i;

	build(test);
	for (i = 0; i < 200; i++)
		resize_and_compare(test, 128 + test_random_below(&r, LEG_SECTORS - OFFSET_SECTORS -
								     128));
}

static struct kunit_case md_resize_cases[] = {
	KUNIT_CASE(md_resize_ours),
	KUNIT_CASE(md_resize_foreign),
	KUNIT_CASE(md_resize_random),
	{}
};

static struct kunit_suite istripe_md_resize_suite = {
	.name = "istripe_md_resize",
	.test_cases = md_resize_cases,
};

kunit_test_suite(istripe_md_resize_suite);
