// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "layout/signature.h"

#define MD_MAGIC_LE	"\xfc\x4e\x2b\xa9"
#define MD_MAGIC_BE	"\xa9\x2b\x4e\xfc"
#define LUKS_MAGIC	"LUKS\xba\xbe"
#define LUKS2_SECOND_MAGIC	"SKUL\xba\xbe"
#define NILFS2_MAGIC	"\x02\0\0\0\0\0\x34\x34"	/* its revision, too */
#define NILFS2_BYTES	8

/* The first pair of the list in a label of ZFS: the length of its name, and the name. */
#define ZFS_PAIR		"\0\0\0\aversion"
#define ZFS_PAIR_BYTES		11
#define ZFS_PAIR_AT_BYTES	20

struct signature {
	u32 at_bytes;
	u32 bytes;
	const char *magic;
	const char *what;
};

static const char zfs_label[] = "a ZFS label";
static const char luks[] = "a LUKS header";
static const char hibernation[] = "swap space with the image of a suspended host";

/* The surer ones first: two bytes alone may be there by chance. */
static const struct signature signatures[] = {
	{ 4096, 4, MD_MAGIC_LE, "an MD superblock (version 1.2)" },
	{ 0, 4, MD_MAGIC_LE, "an MD superblock (version 1.1)" },
	{ 0, 8, "LABELONE", "an LVM label" },
	{ 512, 8, "LABELONE", "an LVM label" },
	{ 1024, 8, "LABELONE", "an LVM label" },
	{ 1536, 8, "LABELONE", "an LVM label" },
	{ 0, 6, LUKS_MAGIC, luks },
	/* LUKS2 has a second one, behind an area of 16 KiB to 4 MiB. */
	{ 16 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 32 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 64 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 128 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 256 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 512 << 10, 6, LUKS2_SECOND_MAGIC, luks },
	{ 1 << 20, 6, LUKS2_SECOND_MAGIC, luks },
	{ 2 << 20, 6, LUKS2_SECOND_MAGIC, luks },
	{ 4 << 20, 6, LUKS2_SECOND_MAGIC, luks },
	{ 0, 8, "integrt", "a dm-integrity superblock" },
	{ 0, 8, "verity\0", "a dm-verity superblock" },
	{ 0, 8, "dmvdo001", "a VDO" },
	{ 4120, 8, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache superblock" },
	{ 4120, 8, "\xc6\x85\x73\xf6\x66\xce\x90\xa9", "a bcachefs" },
	{ 516, 16, "!Stra0tis\x86\xff\x02^\x41rh", "a Stratis block device" },
	{ 4612, 16, "!Stra0tis\x86\xff\x02^\x41rh", "a Stratis block device" },
	{ 16404, ZFS_PAIR_BYTES, ZFS_PAIR, zfs_label },
	{ 1 << 20, 4, "\x0d\xd0\x01\xc0", "a VMFS volume" },
	{ 2 << 20, 4, "\x5e\xf1\xab\x2f", "a VMFS" },
	{ 0, 22, "bluestore block device", "a Ceph BlueStore" },
	{ 32, 8, "ORCLDISK", "an Oracle ASM disk" },
	{ 0, 4, "XFSB", "an XFS" },
	{ 0, 4, "\xfe\xed\xba\xbe", "the log of an XFS" },
	{ 0, 4, "SnAp", "the changes of a dm snapshot" },
	{ 0, 4, "SFOZ", "a zonefs" },
	{ 65600, 8, "_BHRfS_M", "a btrfs" },
	{ 1080, 2, "\x53\xef", "an ext2, ext3 or ext4" },
	{ 1024, 4, "\x10\x20\xf5\xf2", "an F2FS" },
	{ 1024, 4, "\xe2\xe1\xf5\xe0", "an EROFS" },
	{ 0, 4, "hsqs", "a squashfs" },
	{ 65536, 4, "\x01\x16\x19\x70", "a GFS2" },
	{ 65588, 6, "ReIsEr", "a ReiserFS" },
	{ 65536, 7, "ReIsEr4", "a Reiser4" },
	{ 32768, 4, "JFS1", "a JFS" },
	{ 1024, 6, "OCFSV2", "an OCFS2" },
	{ 2048, 6, "OCFSV2", "an OCFS2" },
	{ 4096, 6, "OCFSV2", "an OCFS2" },
	{ 8192, 6, "OCFSV2", "an OCFS2" },
	{ 32769, 5, "CD001", "an ISO 9660 file system" },
	{ 32769, 5, "BEA01", "a UDF" },
	{ 32769, 5, "NSR02", "a UDF" },
	{ 32769, 5, "NSR03", "a UDF" },
	{ 1024, 4, "\xf5\xfc\x01\xa5", "a VxFS" },
	{ 8192, 4, "\xa5\x01\xfc\xf5", "a VxFS" },
	{ 1024, NILFS2_BYTES, NILFS2_MAGIC, "a NILFS2" },
	{ 1024, 4, "H+\0\x04", "an HFS+" },
	{ 1024, 4, "HX\0\x05", "an HFS+" },
	{ 32, 4, "NXSB", "an APFS" },
	{ 66908, 4, "\x19\x01\x54\x19", "a UFS2" },
	{ 66908, 4, "\x19\x54\x01\x19", "a UFS2" },
	{ 9564, 4, "\x54\x19\x01\0", "a UFS" },
	{ 9564, 4, "\0\x01\x19\x54", "a UFS" },
	{ 0, 4, "HM\x01\0", "an LVM1 physical volume" },
	{ 0, 4, "HM\x02\0", "an LVM1 physical volume" },
	{ 0, 8, "\0\0\0ReFS\0", "a ReFS" },
	{ 3, 8, "-FVE-FS-", "a BitLocker header" },
	{ 3, 8, "NTFS    ", "an NTFS" },
	{ 3, 8, "EXFAT   ", "an exFAT" },
	/* At the end of a page, of 4 to 64 KiB. */
	{ 4086, 10, "SWAPSPACE2", "swap space" },
	{ 4086, 10, "SWAP-SPACE", "swap space" },
	{ 4086, 9, "S1SUSPEND", hibernation },
	{ 4086, 9, "ULSUSPEND", hibernation },
	{ 4086, 10, "LINHIB0001", hibernation },
	{ 8182, 10, "SWAPSPACE2", "swap space" },
	{ 8182, 10, "SWAP-SPACE", "swap space" },
	{ 16374, 10, "SWAPSPACE2", "swap space" },
	{ 16374, 10, "SWAP-SPACE", "swap space" },
	{ 32758, 10, "SWAPSPACE2", "swap space" },
	{ 32758, 10, "SWAP-SPACE", "swap space" },
	{ 65526, 10, "SWAPSPACE2", "swap space" },
	{ 65526, 10, "SWAP-SPACE", "swap space" },
	{ 65526, 9, "S1SUSPEND", hibernation },
	{ 512, 8, "EFI PART", "a partition table (GPT)" },
	{ 4096, 8, "EFI PART", "a partition table (GPT)" },
	{ 508, 2, "\xda\xbe", "a Sun disk label" },
	{ 510, 2, "\x55\xaa", "a partition table or boot sector" },
	{ 1024, 2, "BD", "an HFS" },
};

/* Where versions 0.90 and 1.0 of MD put theirs, in sectors; the LUN is large enough. */
static u64 md_090_sector(u64 lun_sectors)
{
	return (lun_sectors & ~127ULL) - 128;
}

static u64 md_10_sector(u64 lun_sectors)
{
	return (lun_sectors - 16) & ~7ULL;
}

#define BLOCK_SECTORS	(ISTRIPE_SIGNATURE_BLOCK_BYTES >> 9)
#define MD_090_SECTORS_MIN	128u	/* what a LUN has that has room for either, or for DRBD's */

/* The last aligned 4096 bytes, or where those begin in which libblkid looks 4096 before the end. */
static u64 last_block(u64 lun_bytes)
{
	return lun_bytes / ISTRIPE_SIGNATURE_BLOCK_BYTES * ISTRIPE_SIGNATURE_BLOCK_BYTES -
	       ISTRIPE_SIGNATURE_BLOCK_BYTES;
}

#define DRBD_MAGIC_AT_BYTES	60	/* of its metadata, versions 8 and 9 */

/* ZFS has two labels at the start, and two at the end of what is a multiple of their size. */
#define ZFS_LABELS		4u
#define ZFS_LABEL_BYTES		(256u << 10)
#define ZFS_LABEL_BLOCKS	(ZFS_LABEL_BYTES / ISTRIPE_SIGNATURE_BLOCK_BYTES)
#define ZFS_LIST_BLOCK		4u	/* the list of a label, by which it is known */

static u64 zfs_label_at(u64 lun_bytes, u32 label)
{
	u64 end = lun_bytes / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;

	return label < 2 ? (u64)label * ZFS_LABEL_BYTES :
			   end - (u64)(ZFS_LABELS - label) * ZFS_LABEL_BYTES;
}

static u64 zfs_block(u64 lun_bytes, u32 label, u32 block)
{
	return zfs_label_at(lun_bytes, label) + (u64)block * ISTRIPE_SIGNATURE_BLOCK_BYTES;
}

static bool zfs_has_room(u64 lun_bytes)
{
	return lun_bytes >= (u64)ZFS_LABELS * ZFS_LABEL_BYTES;
}

bool istripe_signature_zfs_block(u64 lun_bytes, u32 n, u64 *at_bytes)
{
	u32 label = ZFS_LABELS - 1 - n / ZFS_LABEL_BLOCKS;

	if (n >= ZFS_LABELS * ZFS_LABEL_BLOCKS || !zfs_has_room(lun_bytes))
		return false;
	*at_bytes = zfs_block(lun_bytes, label, (n + ZFS_LIST_BLOCK + 1) % ZFS_LABEL_BLOCKS);
	return true;
}

bool istripe_signature_is_zfs(const char *what)
{
	return what == zfs_label;
}

/* From 128 KiB to 4 MiB: LUKS2 has its second header at one of them, VMFS is at 1 and 2 MiB. */
static bool behind_area(u64 lun_bytes, u32 n, u64 *at_bytes)
{
	*at_bytes = (128ULL << 10) << min(n, 6u);
	return n < 6 && lun_bytes >= *at_bytes + ISTRIPE_SIGNATURE_BLOCK_BYTES;
}

bool istripe_signature_place(u64 lun_bytes, u32 n, u64 *at_bytes)
{
	u64 lun_sectors = lun_bytes >> 9;
	u64 area = min_t(u64, ISTRIPE_SIGNATURE_AREA_BYTES, lun_bytes) /
		   ISTRIPE_SIGNATURE_BLOCK_BYTES;

	if (n < area) {
		*at_bytes = (u64)n * ISTRIPE_SIGNATURE_BLOCK_BYTES;
		return true;
	}
	if (lun_sectors < MD_090_SECTORS_MIN)
		return false;
	switch (n - area) {
	case 0:
		*at_bytes = md_10_sector(lun_sectors) << 9;
		return true;
	case 1:
		*at_bytes = md_090_sector(lun_sectors) << 9;
		return true;
	case 2:
		*at_bytes = last_block(lun_bytes);
		return true;
	case 3:
	case 4:
	case 5:
		*at_bytes = zfs_block(lun_bytes, n - area - 2, ZFS_LIST_BLOCK);
		return zfs_has_room(lun_bytes);
	default:
		return behind_area(lun_bytes, n - area - 6, at_bytes);
	}
}

/* The last byte differs: version 8, version 8.4 that was not shut down, version 9. */
static bool is_drbd(const u8 *magic)
{
	return !memcmp(magic, "\x83\x74\x02", 3) && magic[3] >= 0x6b && magic[3] <= 0x6d;
}

/* NILFS2 has its second superblock there. */
static const char *find_in_last(const u8 *data)
{
	if (is_drbd(data + DRBD_MAGIC_AT_BYTES))
		return "DRBD metadata";
	return memcmp(data, NILFS2_MAGIC, NILFS2_BYTES) ? NULL : "a NILFS2";
}

/* 0.90 is in the byte order of the host that made it. */
static const char *find_at_end(const u8 *data, u64 lun_bytes, u64 at_bytes)
{
	u64 lun_sectors = lun_bytes >> 9;

	if (lun_sectors < MD_090_SECTORS_MIN)
		return NULL;
	if (at_bytes >> 9 == md_10_sector(lun_sectors) && !memcmp(data, MD_MAGIC_LE, 4))
		return "an MD superblock (version 1.0)";
	if (at_bytes >> 9 == md_090_sector(lun_sectors) &&
	    (!memcmp(data, MD_MAGIC_LE, 4) || !memcmp(data, MD_MAGIC_BE, 4)))
		return "an MD superblock (version 0.90)";
	if (at_bytes == last_block(lun_bytes))
		return find_in_last(data) ?:
		       find_in_last(data + (lun_sectors % BLOCK_SECTORS << 9));
	return NULL;
}

/* The label at the start of the LUN is in the table. */
static bool is_zfs_list(const u8 *data, u64 lun_bytes, u64 at_bytes)
{
	u32 label;

	if (!zfs_has_room(lun_bytes) || memcmp(data + ZFS_PAIR_AT_BYTES, ZFS_PAIR, ZFS_PAIR_BYTES))
		return false;
	for (label = 1; label < ZFS_LABELS; label++)
		if (at_bytes == zfs_block(lun_bytes, label, ZFS_LIST_BLOCK))
			return true;
	return false;
}

const char *istripe_signature_find(const void *block, u64 lun_bytes, u64 at_bytes)
{
	const u8 *data = block;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(signatures); i++) {
		const struct signature *s = &signatures[i];

		if (s->at_bytes >= at_bytes &&
		    s->at_bytes - at_bytes < ISTRIPE_SIGNATURE_BLOCK_BYTES &&
		    !memcmp(data + (s->at_bytes - at_bytes), s->magic, s->bytes))
			return s->what;
	}
	if (is_zfs_list(data, lun_bytes, at_bytes))
		return zfs_label;
	return find_at_end(data, lun_bytes, at_bytes);
}
