/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Linux MD superblock, version 1.2, for level 0: who is which leg of what.
 *
 * A leg that carries it can be assembled by mdadm over any other initiator, and a raid0 that mdadm
 * made can become a volume. The on-disk structure is the one of <linux/raid/md_p.h>; struct
 * istripe_md is what matters of it, in host order.
 *
 * Time and random numbers are passed in. Nothing read is trusted before istripe_md_decode() said 0,
 * and no volume may be assembled before istripe_md_check_array() said 0.
 */
#ifndef ISTRIPE_LAYOUT_MD_H
#define ISTRIPE_LAYOUT_MD_H

#include <linux/types.h>

struct istripe_reason;

#define ISTRIPE_MD_SUPER_SECTOR		8u	/* where version 1.2 stands on a leg */
#define ISTRIPE_MD_SUPER_BYTES		4096u	/* read and written as a whole */
#define ISTRIPE_MD_NAME_BYTES		33	/* 32 on disk, and a NUL */

/* Why a leg's superblock cannot be used. */
enum istripe_md_problem {
	ISTRIPE_MD_UNREAD,	/* not decoded yet; zeroed memory says so */
	ISTRIPE_MD_OK,		/* it can */
	ISTRIPE_MD_ABSENT,	/* no MD superblock there */
	ISTRIPE_MD_TRUNCATED,	/* fewer bytes than it says it has */
	ISTRIPE_MD_VERSION,	/* not version 1.2 */
	ISTRIPE_MD_CHECKSUM,	/* damaged */
	ISTRIPE_MD_PADDING,	/* reserved bytes in use, a newer format */
	ISTRIPE_MD_LEVEL,	/* not a raid0 */
	ISTRIPE_MD_RESHAPE,	/* a reshape is in progress */
	ISTRIPE_MD_BAD_BLOCKS,	/* known bad blocks */
	ISTRIPE_MD_FEATURE,	/* a feature that a raid0 of ours does not have */
	ISTRIPE_MD_LAYOUT,	/* unknown raid0 layout */
	ISTRIPE_MD_LEGS,	/* number of members not 1..64 */
	ISTRIPE_MD_CHUNK,	/* chunk not a power of two, or too small or too large */
	ISTRIPE_MD_BLOCK,	/* logical block not a power of two, or too small or too large */
	ISTRIPE_MD_ROLE,	/* not an active member: spare, faulty, out of range */
	ISTRIPE_MD_DATA_OFFSET,	/* data would overlap the superblock, or are not on 4 KiB */
	ISTRIPE_MD_SIZE,	/* data reach beyond the end of the leg, or not one chunk */
};

#define ISTRIPE_MD_PROBLEM_COUNT		(ISTRIPE_MD_SIZE + 1)

/* A leg's superblock. */
struct istripe_md {
	enum istripe_md_problem problem;	/* of decoding; all else holds with ISTRIPE_MD_OK */
	u8 array_uuid[16];		/* same on all legs */
	u8 device_uuid[16];		/* different on every leg */
	char name[ISTRIPE_MD_NAME_BYTES];	/* "host:volume" as created, NUL-terminated */
	u32 legs;			/* members of the array, 1..64 */
	u32 role;			/* this leg's place, 0..@legs - 1 */
	u32 dev_number;	/* MD's index into its table of roles; equals @role when we create */
	u32 chunk_sectors;		/* a power of two, 8..8192 */
	u32 logical_block_bytes;	/* of the array, since Linux 6.19; 0 not told */
	u32 layout;	/* of raid0: 0 not told, 1 original, 2 alternate; same for equal legs */
	u64 data_offset_sectors;	/* start of the data, a multiple of 8 */
	u64 data_sectors;		/* room for data from there; not rounded to the chunk */
	u64 size_sectors;	/* "used size" of MD, which raid0 does not use; 0 is usual */
	u64 events;			/* update counter */
	u64 ctime_s;			/* creation, seconds since 1970, 40 bits */
	u64 utime_s;			/* last update, seconds since 1970, 40 bits */
};

/**
 * istripe_md_data_offset_sectors() - choose the data offset of a new leg
 * @leg_sectors: capacity of the leg
 * @chunk_sectors: a power of two
 *
 * As mdadm chooses: head-room for a reshape of about 0.1 % of the leg, at least two chunks, at most
 * 128 MiB, rounded up to 1 MiB. The legs of a volume use the offset of the smallest one.
 *
 * Return: sectors, a multiple of 2048; may exceed a tiny leg, istripe_md_encode() tells.
 */
u64 istripe_md_data_offset_sectors(u64 leg_sectors, u32 chunk_sectors);

/**
 * istripe_md_share_sectors() - sectors of a leg that the stripe may use
 * @md: decoded, or about to be encoded
 * Return: @md->data_sectors in whole chunks, as md raid0 rounds them.
 */
u64 istripe_md_share_sectors(const struct istripe_md *md);

/**
 * istripe_md_encode() - write the superblock of a leg of a new array
 * @md: all fields but @problem and @dev_number are used; @layout 0 writes 1 (original)
 * @leg_sectors: capacity of the leg
 * @buf: ISTRIPE_MD_SUPER_BYTES, all written
 * Return: 0; -EINVAL when @md would be refused by istripe_md_decode() (then @buf is untouched).
 */
int istripe_md_encode(const struct istripe_md *md, u64 leg_sectors, void *buf);

/**
 * istripe_md_resize() - let a superblock say that more of its leg is the array's
 * @buf: ISTRIPE_MD_SUPER_BYTES that istripe_md_decode() has found good; changed in place
 * @data_sectors: room for data from the data offset on; the leg must have it
 *
 * All else stays as it was: as mdadm --assemble --update=devicesize.
 */
void istripe_md_resize(void *buf, u64 data_sectors);

/**
 * istripe_md_decode() - read and check the superblock of one leg
 * @buf: bytes from sector ISTRIPE_MD_SUPER_SECTOR of the leg; any alignment
 * @buf_bytes: their number, ISTRIPE_MD_SUPER_BYTES is always enough
 * @leg_sectors: capacity of the leg
 * @md: filled; @md->problem says what is wrong, also for istripe_md_check_array()
 * Return: 0; -ENODATA no MD superblock; -EBADMSG its checksum is wrong; -EOPNOTSUPP it is one, but
 * of an array that this driver does not run (version, level, reshape, bad blocks, features, layout,
 * chunk, logical block, number of members); -EINVAL its numbers contradict each other or the leg.
 */
int istripe_md_decode(const void *buf, u32 buf_bytes, u64 leg_sectors, struct istripe_md *md);

/* A phrase that goes after "leg 3: ". */
const char *istripe_md_problem_text(enum istripe_md_problem problem);

/**
 * istripe_md_check_array() - do these legs, in this order, make the array
 * @legs: one decoded superblock per configured leg, those with a fault included
 * @n: their number
 * @bad_leg: set to the leg to blame
 * @reason: set to one readable line "leg N: ...", empty on success
 *
 * Refuses faulty, missing, foreign, repeated and swapped legs, and legs that differ in chunk,
 * logical block, layout, events, data offset or share. Where legs contradict each other the
 * minority is blamed, between two legs the second one.
 *
 * Return: 0; -ENODATA a leg without superblock or too few legs; -EINVAL any other contradiction;
 * -EOPNOTSUPP legs that md would run but this driver does not: unequal shares or data offsets. For
 * a leg with a fault what istripe_md_decode() returned.
 */
int istripe_md_check_array(const struct istripe_md *legs, u32 n, u32 *bad_leg,
			   struct istripe_reason *reason);

/**
 * istripe_md_check_unchanged() - is a leg's superblock what it was
 * @then: decoded, without fault
 * @now: decoded again later, perhaps with a fault
 * @leg: index of the leg, for @reason
 * @reason: set to one readable line "leg N: ...", empty on success
 *
 * While a volume is up its superblocks are written when it grows only (resize.h), by this host or
 * another one: any other difference means that another host has them in use.
 *
 * Return: 0; -ESTALE it has been changed; for a fault what istripe_md_decode() returned.
 */
int istripe_md_check_unchanged(const struct istripe_md *then, const struct istripe_md *now, u32 leg,
			       struct istripe_reason *reason);

/**
 * istripe_md_has_grown() - is more of a leg the array's than before, and all else what it was
 * @then: decoded, without fault
 * @now: decoded again later; with ISTRIPE_MD_SIZE its data may reach beyond the end of the leg
 * Return: true when it is more by a chunk at least; false also for any other fault.
 */
bool istripe_md_has_grown(const struct istripe_md *then, const struct istripe_md *now);

#endif
