// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "layout/signature.h"

#define MD_MAGIC_LE	"\xfc\x4e\x2b\xa9"
#define MD_MAGIC_BE	"\xa9\x2b\x4e\xfc"

struct signature {
	u32 at_bytes;
	u32 bytes;
	const char *magic;
	const char *what;
};

/* The surer ones first: two bytes alone may be there by chance. */
static const struct signature signatures[] = {
	{ 4096, 4, MD_MAGIC_LE, "an MD superblock (version 1.2)" },
	{ 0, 4, MD_MAGIC_LE, "an MD superblock (version 1.1)" },
	{ 0, 8, "LABELONE", "an LVM label" },
	{ 512, 8, "LABELONE", "an LVM label" },
	{ 1024, 8, "LABELONE", "an LVM label" },
	{ 1536, 8, "LABELONE", "an LVM label" },
	{ 0, 6, "LUKS\xba\xbe", "a LUKS header" },
	{ 16384, 6, "SKUL\xba\xbe", "a LUKS header" },
	{ 0, 8, "integrt", "a dm-integrity superblock" },
	{ 0, 8, "verity\0", "a dm-verity superblock" },
	{ 0, 8, "dmvdo001", "a VDO" },
	{ 4120, 8, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache superblock" },
	{ 4120, 8, "\xc6\x85\x73\xf6\x66\xce\x90\xa9", "a bcachefs" },
	{ 516, 16, "!Stra0tis\x86\xff\x02^\x41rh", "a Stratis block device" },
	{ 4612, 16, "!Stra0tis\x86\xff\x02^\x41rh", "a Stratis block device" },
	/* The first pair of the label's list: the length of its name, and the name. */
	{ 16404, 11, "\0\0\0\aversion", "a ZFS label" },
	{ 1 << 20, 4, "\x0d\xd0\x01\xc0", "a VMFS volume" },
	{ 2 << 20, 4, "\x5e\xf1\xab\x2f", "a VMFS" },
	{ 0, 22, "bluestore block device", "a Ceph BlueStore" },
	{ 32, 8, "ORCLDISK", "an Oracle ASM disk" },
	{ 0, 4, "XFSB", "an XFS" },
	{ 65600, 8, "_BHRfS_M", "a btrfs" },
	{ 1080, 2, "\x53\xef", "an ext2, ext3 or ext4" },
	{ 1024, 4, "\x10\x20\xf5\xf2", "an F2FS" },
	{ 1024, 4, "\xe2\xe1\xf5\xe0", "an EROFS" },
	{ 0, 4, "hsqs", "a squashfs" },
	{ 65536, 4, "\x01\x16\x19\x70", "a GFS2" },
	{ 65588, 6, "ReIsEr", "a ReiserFS" },
	{ 32768, 4, "JFS1", "a JFS" },
	{ 1024, 6, "OCFSV2", "an OCFS2" },
	{ 2048, 6, "OCFSV2", "an OCFS2" },
	{ 4096, 6, "OCFSV2", "an OCFS2" },
	{ 8192, 6, "OCFSV2", "an OCFS2" },
	{ 32769, 5, "CD001", "an ISO 9660 file system" },
	{ 3, 8, "-FVE-FS-", "a BitLocker header" },
	{ 3, 8, "NTFS    ", "an NTFS" },
	{ 3, 8, "EXFAT   ", "an exFAT" },
	{ 4086, 10, "SWAPSPACE2", "swap space" },
	{ 4086, 10, "SWAP-SPACE", "swap space" },
	{ 512, 8, "EFI PART", "a partition table (GPT)" },
	{ 4096, 8, "EFI PART", "a partition table (GPT)" },
	{ 510, 2, "\x55\xaa", "a partition table or boot sector" },
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

#define MD_090_SECTORS_MIN	128u	/* what a LUN has that has room for either, or for DRBD's */

/* DRBD's is in its last 4096 bytes; the block that has the magic begins at most so much before. */
static u64 drbd_block(u64 lun_bytes)
{
	return lun_bytes / ISTRIPE_SIGNATURE_BLOCK_BYTES * ISTRIPE_SIGNATURE_BLOCK_BYTES -
	       ISTRIPE_SIGNATURE_BLOCK_BYTES;
}

#define DRBD_MAGIC_AT_BYTES	60	/* in the last 4096 bytes, versions 8 and 9 */

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
		*at_bytes = drbd_block(lun_bytes);
		return true;
	case 3:
	case 4:
		*at_bytes = (u64)(n - area - 2) << 20;	/* VMFS */
		return lun_bytes >= *at_bytes + ISTRIPE_SIGNATURE_BLOCK_BYTES;
	default:
		return false;
	}
}

/* The last byte differs: version 8, version 8.4 that was not shut down, version 9. */
static bool is_drbd(const u8 *magic)
{
	return !memcmp(magic, "\x83\x74\x02", 3) && magic[3] >= 0x6b && magic[3] <= 0x6d;
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
	if (at_bytes == drbd_block(lun_bytes) &&
	    is_drbd(data + lun_bytes % ISTRIPE_SIGNATURE_BLOCK_BYTES + DRBD_MAGIC_AT_BYTES))
		return "DRBD metadata";
	return NULL;
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
	return find_at_end(data, lun_bytes, at_bytes);
}
