// SPDX-License-Identifier: GPL-2.0
/* A few signatures at the places where the programs that own them write them. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "layout/signature.h"
#include "test_random.h"

/* The start of a LUN that is too small for what stands at the end of one. */
static u8 area[ISTRIPE_SIGNATURE_AREA_BYTES];

/* A whole LUN, with an end that nothing is aligned to. */
#define LUN_SECTORS	((5u << 11) + 77)

static u8 whole[LUN_SECTORS * 512];

static const char *find_in(const u8 *bytes, u64 lun_bytes)
{
	const char *found = NULL;
	u64 at;
	u32 n;

	for (n = 0; !found && istripe_signature_place(lun_bytes, n, &at); n++)
		found = istripe_signature_find(bytes + at, lun_bytes, at);
	return found;
}

/* The result for the first block of the area that has a signature. */
static const char *find_in_area(void)
{
	const char *found = NULL;
	u32 at;

	for (at = 0; !found && at < sizeof(area); at += ISTRIPE_SIGNATURE_BLOCK_BYTES)
		found = istripe_signature_find(area + at, 1ULL << 40, at);
	return found;
}

static const struct {
	u32 at;
	const char *bytes;
	u32 count;
	const char *what;
} known[] = {
	{ 0, "XFSB", 4, "an XFS" },
	{ 0, "\xfe\xed\xba\xbe", 4, "the log of an XFS" },
	{ 0, "SnAp", 4, "the changes of a dm snapshot" },
	{ 65536, "ReIsEr4", 7, "a Reiser4" },
	{ 4086, "S1SUSPEND", 9, "swap space with the image of a suspended host" },
	{ 65536 - 10, "S1SUSPEND", 9, "swap space with the image of a suspended host" },
	{ 1024 + 56, "\x53\xef", 2, "an ext2, ext3 or ext4" },
	{ 4096, "\xfc\x4e\x2b\xa9", 4, "an MD superblock (version 1.2)" },
	{ 512, "LABELONE", 8, "an LVM label" },
	{ 0, "LUKS\xba\xbe", 6, "a LUKS header" },
	{ 4086, "SWAPSPACE2", 10, "swap space" },
	{ 510, "\x55\xaa", 2, "a partition table or boot sector" },
	{ 512, "EFI PART", 8, "a partition table (GPT)" },
	{ 65536 + 64, "_BHRfS_M", 8, "a btrfs" },
	{ 32769, "CD001", 5, "an ISO 9660 file system" },
	{ 32, "ORCLDISK", 8, "an Oracle ASM disk" },
	{ 1024, "OCFSV2", 6, "an OCFS2" },
	{ 2048, "OCFSV2", 6, "an OCFS2" },
	{ 4096, "OCFSV2", 6, "an OCFS2" },
	{ 8192, "OCFSV2", 6, "an OCFS2" },
	{ 512 + 4, "!Stra0tis\x86\xff\x02^Arh", 16, "a Stratis block device" },
	{ 9 * 512 + 4, "!Stra0tis\x86\xff\x02^Arh", 16, "a Stratis block device" },
	{ 3, "-FVE-FS-", 8, "a BitLocker header" },
	{ 16384 + 20, "\0\0\0\7version", 11, "a ZFS label" },
	{ 1024, "\xf5\xfc\x01\xa5", 4, "a VxFS" },
	{ 8192, "\xa5\x01\xfc\xf5", 4, "a VxFS" },
	{ 32769, "BEA01", 5, "a UDF" },
	{ 32769, "NSR02", 5, "a UDF" },
	{ 32769, "NSR03", 5, "a UDF" },
	{ 8192 - 10, "SWAPSPACE2", 10, "swap space" },
	{ 16384 - 10, "SWAPSPACE2", 10, "swap space" },
	{ 32768 - 10, "SWAPSPACE2", 10, "swap space" },
	{ 65536 - 10, "SWAPSPACE2", 10, "swap space" },
	{ 65536 - 10, "SWAP-SPACE", 10, "swap space" },
	{ 1024, "\2\0\0\0\0\0\x34\x34", 8, "a NILFS2" },
	{ 1024, "H+\0\4", 4, "an HFS+" },
	{ 1024, "HX\0\5", 4, "an HFS+" },
	{ 1024, "BD", 2, "an HFS" },
	/* A byte of zero at the end of a magic is there anyway: all of it is zero around them. */
	{ 8192 + 1372, "\x54\x19\x01", 3, "a UFS" },
	{ 8192 + 1372, "\0\x01\x19\x54", 4, "a UFS" },
	{ 65536 + 1372, "\x19\x01\x54\x19", 4, "a UFS2" },
	{ 65536 + 1372, "\x19\x54\x01\x19", 4, "a UFS2" },
	{ 32, "NXSB", 4, "an APFS" },
	{ 3, "ReFS", 4, "a ReFS" },
	{ 0, "HM\1", 3, "an LVM1 physical volume" },
	{ 0, "HM\2", 3, "an LVM1 physical volume" },
	{ 508, "\xda\xbe", 2, "a Sun disk label" },
};

static void signature_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		memset(area, 0, sizeof(area));
		memcpy(area + known[i].at, known[i].bytes, known[i].count);
		KUNIT_EXPECT_STREQ(test, find_in_area(), known[i].what);
	}
}

static void signature_elsewhere_is_none(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		memset(area, 0, sizeof(area));
		memcpy(area + known[i].at + 16, known[i].bytes, known[i].count);
		KUNIT_EXPECT_NULL(test, find_in_area());
	}
}

static void signature_incomplete_is_none(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		memset(area, 0, sizeof(area));
		memcpy(area + known[i].at, known[i].bytes, known[i].count - 1);
		KUNIT_EXPECT_NULL(test, find_in_area());
	}
}

static void signature_same_bytes_are_none(struct kunit *test)
{
	u32 value;

	for (value = 0; value < 256; value++) {
		memset(area, value, sizeof(area));
		KUNIT_EXPECT_NULL(test, find_in_area());
	}
}

/* The surest one is told when there are several: a GPT's disk has a boot sector, too. */
static void signature_surest_first(struct kunit *test)
{
	memset(area, 0, sizeof(area));
	memcpy(area + 510, "\x55\xaa", 2);
	memcpy(area + 512, "EFI PART", 8);
	KUNIT_EXPECT_STREQ(test, find_in_area(), "a partition table (GPT)");
}

static void signature_random_in_bounds(struct kunit *test)
{
	struct test_random r = { 17 };
	u32 i, round;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < sizeof(area); i++)
			area[i] = test_random_u32(&r);
		/* No verdict is expected: the sanitizers watch the reads. */
		find_in_area();
	}
	KUNIT_EXPECT_NULL(test, istripe_signature_find(area, 1u << 30, 1u << 20));
}

/* Every place is a whole block within the LUN, however small that is. */
static void signature_places_are_within(struct kunit *test)
{
	u64 sectors, at;
	u32 n;

	for (sectors = 0; sectors < 1024; sectors++) {
		for (n = 0; istripe_signature_place(sectors << 9, n, &at); n++) {
			KUNIT_EXPECT_EQ(test, at % ISTRIPE_SIGNATURE_BLOCK_BYTES, 0ULL);
			KUNIT_EXPECT_LE(test, at + ISTRIPE_SIGNATURE_BLOCK_BYTES, sectors << 9);
		}
		KUNIT_EXPECT_LE(test, n, 20u);
		KUNIT_EXPECT_FALSE(test, istripe_signature_place(sectors << 9, n + 1, &at));
	}
}

/* linux/raid/md_p.h, MD_NEW_SIZE_SECTORS(); md.c, super_1_load(). */
static const struct {
	u32 sector;
	const char *magic;
	const char *what;
} at_end[] = {
	{ 10112, "\xfc\x4e\x2b\xa9", "an MD superblock (version 0.90)" },
	{ 10112, "\xa9\x2b\x4e\xfc", "an MD superblock (version 0.90)" },
	{ 10296, "\xfc\x4e\x2b\xa9", "an MD superblock (version 1.0)" },
	{ 10296, "\xa9\x2b\x4e\xfc", NULL },
	{ 10240, "\xfc\x4e\x2b\xa9", NULL },
	{ 10304, "\xfc\x4e\x2b\xa9", NULL },
};

static void signature_at_the_end(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at_end); i++) {
		const char *found;

		memset(whole, 0, sizeof(whole));
		memcpy(whole + at_end[i].sector * 512, at_end[i].magic, 4);
		found = find_in(whole, sizeof(whole));
		if (at_end[i].what)
			KUNIT_EXPECT_STREQ(test, found, at_end[i].what);
		else
			KUNIT_EXPECT_NULL(test, found);
	}
}

#define LAST_BLOCK	(LUN_SECTORS / 8 * 4096 - 4096)

/*
 * DRBD's metadata, and the second superblock of NILFS2, are in the last 4096 bytes that are aligned
 * so; libblkid looks 4096 bytes before the end. VMFS leaves the first MiB.
 */
static void signature_of_clusters(struct kunit *test)
{
	static const struct {
		u32 at;
		const char *magic;
		u32 bytes;
		const char *what;
	} places[] = {
		{ LAST_BLOCK + 60, "\x83\x74\x02\x6b", 4, "DRBD metadata" },
		{ LAST_BLOCK + 60, "\x83\x74\x02\x6c", 4, "DRBD metadata" },
		{ LAST_BLOCK + 60, "\x83\x74\x02\x6d", 4, "DRBD metadata" },
		{ LAST_BLOCK + 60, "\x83\x74\x02\x67", 4, NULL },
		{ LAST_BLOCK, "\x83\x74\x02\x6d", 4, NULL },
		{ LAST_BLOCK, "\2\0\0\0\0\0\x34\x34", 8, "a NILFS2" },
		{ LAST_BLOCK + 512, "\2\0\0\0\0\0\x34\x34", 8, NULL },
		{ sizeof(whole) - 4096 + 60, "\x83\x74\x02\x6d", 4, "DRBD metadata" },
		{ sizeof(whole) - 4096, "\2\0\0\0\0\0\x34\x34", 8, "a NILFS2" },
		{ 1 << 20, "\x0d\xd0\x01\xc0", 4, "a VMFS volume" },
		{ 2 << 20, "\x5e\xf1\xab\x2f", 4, "a VMFS" },
		{ 2 << 20, "\x0d\xd0\x01\xc0", 4, NULL },
		{ 16 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 32 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 64 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 128 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 256 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 512 << 10, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 1 << 20, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 2 << 20, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 4 << 20, "SKUL\xba\xbe", 6, "a LUKS header" },
		{ 24 << 10, "SKUL\xba\xbe", 6, NULL },
		{ 128 << 10, "LUKS\xba\xbe", 6, NULL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		const char *found;

		memset(whole, 0, sizeof(whole));
		memcpy(whole + places[i].at, places[i].magic, places[i].bytes);
		found = find_in(whole, sizeof(whole));
		if (places[i].what)
			KUNIT_EXPECT_STREQ(test, found, places[i].what);
		else
			KUNIT_EXPECT_NULL(test, found);
	}
}

#define LABEL_BYTES	(256u << 10)

/* Of a LUN that is no multiple of their size, labels 2 and 3 end where the last multiple does. */
static const u32 zfs_labels[] = {
	0, LABEL_BYTES, sizeof(whole) / LABEL_BYTES * LABEL_BYTES - 2 * LABEL_BYTES,
	sizeof(whole) / LABEL_BYTES * LABEL_BYTES - LABEL_BYTES,
};

static void put_zfs(u32 label)
{
	memset(whole + zfs_labels[label], 0x5a, LABEL_BYTES);
	memcpy(whole + zfs_labels[label] + 16384 + 20, "\0\0\0\7version", 11);
}

static void signature_of_each_zfs_label(struct kunit *test)
{
	const char *found;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(zfs_labels); i++) {
		memset(whole, 0, sizeof(whole));
		memcpy(whole + zfs_labels[i] + 16384 + 20, "\0\0\0\7version", 11);
		found = find_in(whole, sizeof(whole));
		KUNIT_EXPECT_STREQ(test, found, "a ZFS label");
		KUNIT_EXPECT_TRUE(test, istripe_signature_is_zfs(found));
	}
	KUNIT_EXPECT_FALSE(test, istripe_signature_is_zfs("an XFS"));
}

/* All four labels go and nothing else does; until the last one has gone, one of them is found. */
static void signature_zfs_blocks(struct kunit *test)
{
	u64 at, last = 0;
	u32 i, n;

	memset(whole, 0xa5, sizeof(whole));
	for (i = 0; i < ARRAY_SIZE(zfs_labels); i++)
		put_zfs(i);
	for (n = 0; istripe_signature_zfs_block(sizeof(whole), n, &at); n++) {
		KUNIT_ASSERT_EQ(test, at % ISTRIPE_SIGNATURE_BLOCK_BYTES, 0ULL);
		KUNIT_ASSERT_LE(test, at + ISTRIPE_SIGNATURE_BLOCK_BYTES, (u64)sizeof(whole));
		KUNIT_EXPECT_TRUE(test, istripe_signature_is_zfs(find_in(whole, sizeof(whole))));
		memset(whole + at, 0, ISTRIPE_SIGNATURE_BLOCK_BYTES);
		last = at;
	}
	KUNIT_EXPECT_EQ(test, n, 4 * LABEL_BYTES / ISTRIPE_SIGNATURE_BLOCK_BYTES);
	KUNIT_EXPECT_EQ(test, last, 16384ULL);
	for (i = 0; i < ARRAY_SIZE(zfs_labels); i++) {
		KUNIT_EXPECT_NULL(test, memchr_inv(whole + zfs_labels[i], 0, LABEL_BYTES));
		memset(whole + zfs_labels[i], 0xa5, LABEL_BYTES);
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(whole, 0xa5, sizeof(whole)));
	KUNIT_EXPECT_FALSE(test, istripe_signature_zfs_block((1 << 20) - 512, 0, &at));
}

static struct kunit_case signature_cases[] = {
	KUNIT_CASE(signature_table),
	KUNIT_CASE(signature_elsewhere_is_none),
	KUNIT_CASE(signature_incomplete_is_none),
	KUNIT_CASE(signature_same_bytes_are_none),
	KUNIT_CASE(signature_surest_first),
	KUNIT_CASE(signature_random_in_bounds),
	KUNIT_CASE(signature_places_are_within),
	KUNIT_CASE(signature_at_the_end),
	KUNIT_CASE(signature_of_clusters),
	KUNIT_CASE(signature_of_each_zfs_label),
	KUNIT_CASE(signature_zfs_blocks),
	{}
};

static struct kunit_suite istripe_signature_suite = {
	.name = "istripe_signature",
	.test_cases = signature_cases,
};

kunit_test_suite(istripe_signature_suite);
