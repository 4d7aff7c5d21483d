// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/raid/md_p.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include <compat/unaligned.h>

#include <istripe/reason.h>
#include "layout/md.h"
#include "layout/stripe.h"

#define SUPER_HEAD_BYTES	((u32)sizeof(struct mdp_superblock_1))
#define SUPER_CSUM_BYTE		((u32)offsetof(struct mdp_superblock_1, sb_csum))
/*
 * Linux 6.19 has taken 4 of the bytes that were pad3 before. Its name for them is not in older
 * headers, and pad3 is shorter in its own.
 */
#define SUPER_BLOCK_BYTE	224u
#define SUPER_PAD_BYTE		228u
#define ROLES_MAX		((ISTRIPE_MD_SUPER_BYTES - SUPER_HEAD_BYTES) / 2)
#define ROLES_CREATED		384u	/* as mdadm: fills 1 KiB with the table of roles */
#define SUPER_END_SECTOR	(ISTRIPE_MD_SUPER_SECTOR + (ISTRIPE_MD_SUPER_BYTES >> 9))
#define MEBIBYTE_SECTORS	2048u
#define BLOCK_SECTORS		8u	/* the largest block size a LUN may have, 4 KiB */
#define BLOCK_BYTES_MIN		512u
#define TIME_MASK		GENMASK_ULL(39, 0)

/* Values of mdp_superblock_1.layout with MD_FEATURE_RAID0_LAYOUT. */
enum raid0_layout {
	RAID0_LAYOUT_UNTOLD,
	RAID0_LAYOUT_ORIGINAL,
	RAID0_LAYOUT_ALTERNATE,
};

static const struct {
	int error;
	const char *text;
} problems[ISTRIPE_MD_PROBLEM_COUNT] = {
	[ISTRIPE_MD_UNREAD] = { -ENODATA, "superblock was not read" },
	[ISTRIPE_MD_OK] = { 0, "superblock is good" },
	[ISTRIPE_MD_ABSENT] = { -ENODATA, "no MD superblock found" },
	[ISTRIPE_MD_TRUNCATED] = { -EINVAL, "superblock is truncated" },
	[ISTRIPE_MD_VERSION] = { -EOPNOTSUPP, "superblock is not of version 1.2" },
	[ISTRIPE_MD_CHECKSUM] = { -EBADMSG, "superblock is damaged, its checksum is wrong" },
	[ISTRIPE_MD_PADDING] = { -EOPNOTSUPP, "superblock uses reserved bytes, a newer format" },
	[ISTRIPE_MD_LEVEL] = { -EOPNOTSUPP, "array is not a raid0" },
	[ISTRIPE_MD_RESHAPE] = { -EOPNOTSUPP, "a reshape is in progress" },
	[ISTRIPE_MD_BAD_BLOCKS] = { -EOPNOTSUPP, "bad-block log is not empty" },
	[ISTRIPE_MD_FEATURE] = { -EOPNOTSUPP, "superblock has an unsupported feature" },
	[ISTRIPE_MD_LAYOUT] = { -EOPNOTSUPP, "unknown raid0 layout" },
	[ISTRIPE_MD_LEGS] = { -EOPNOTSUPP, "array has no or too many members" },
	[ISTRIPE_MD_CHUNK] = { -EOPNOTSUPP, "chunk is not a power of two of 4 KiB to 4 MiB" },
	[ISTRIPE_MD_BLOCK] = { -EOPNOTSUPP,
			       "logical block is not a power of two of 512 bytes to 4 KiB" },
	[ISTRIPE_MD_ROLE] = { -EINVAL, "not an active member of its array" },
	[ISTRIPE_MD_DATA_OFFSET] = { -EINVAL, "data offset is in the superblock or not on 4 KiB" },
	[ISTRIPE_MD_SIZE] = { -EINVAL, "data size does not fit the leg" },
};

const char *istripe_md_problem_text(enum istripe_md_problem problem)
{
	return (u32)problem < ARRAY_SIZE(problems) ? problems[problem].text : "unknown fault";
}

u64 istripe_md_data_offset_sectors(u64 leg_sectors, u32 chunk_sectors)
{
	u64 headroom = 128 * MEBIBYTE_SECTORS;

	while (headroom << 10 > leg_sectors && headroom > 2 * (u64)chunk_sectors)
		headroom >>= 1;
	headroom += SUPER_END_SECTOR;
	return (headroom + MEBIBYTE_SECTORS - 1) & ~(u64)(MEBIBYTE_SECTORS - 1);
}

u64 istripe_md_share_sectors(const struct istripe_md *md)
{
	return md->data_sectors & ~((u64)md->chunk_sectors - 1);
}

/* MD's sum over little-endian words, with the checksum itself taken as zero. */
static u32 super_checksum(const u8 *super, u32 bytes)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i + 4 <= bytes; i += 4)
		sum += i == SUPER_CSUM_BYTE ? 0 : get_unaligned_le32(super + i);
	if (bytes - i == 2)
		sum += get_unaligned_le16(super + i);
	return (u32)sum + (u32)(sum >> 32);
}

static u32 super_bytes(const struct mdp_superblock_1 *sb)
{
	return SUPER_HEAD_BYTES + 2 * le32_to_cpu(sb->max_dev);
}

/* Is it a whole superblock of the right kind? Nothing else in it is looked at before. */
static enum istripe_md_problem super_check(const struct mdp_superblock_1 *sb, const u8 *super,
					   u32 bytes)
{
	if (le32_to_cpu(sb->magic) != MD_SB_MAGIC)
		return ISTRIPE_MD_ABSENT;
	if (le32_to_cpu(sb->major_version) != 1 ||
	    le64_to_cpu(sb->super_offset) != ISTRIPE_MD_SUPER_SECTOR)
		return ISTRIPE_MD_VERSION;
	if (le32_to_cpu(sb->max_dev) > ROLES_MAX || super_bytes(sb) > bytes)
		return ISTRIPE_MD_TRUNCATED;
	if (super_checksum(super, super_bytes(sb)) != le32_to_cpu(sb->sb_csum))
		return ISTRIPE_MD_CHECKSUM;
	if (sb->pad0 || memchr_inv(super + SUPER_PAD_BYTE, 0, SUPER_HEAD_BYTES - SUPER_PAD_BYTE))
		return ISTRIPE_MD_PADDING;
	return ISTRIPE_MD_OK;
}

static enum istripe_md_problem features_check(const struct mdp_superblock_1 *sb)
{
	u32 features = le32_to_cpu(sb->feature_map);

	if (sb->level)
		return ISTRIPE_MD_LEVEL;
	if (features & (MD_FEATURE_RESHAPE_ACTIVE | MD_FEATURE_RESHAPE_BACKWARDS |
			MD_FEATURE_NEW_OFFSET))
		return ISTRIPE_MD_RESHAPE;
	if (features & MD_FEATURE_BAD_BLOCKS)
		return ISTRIPE_MD_BAD_BLOCKS;
	if (features & ~MD_FEATURE_RAID0_LAYOUT)
		return ISTRIPE_MD_FEATURE;
	return ISTRIPE_MD_OK;
}

static bool chunk_valid(u32 chunk_sectors)
{
	return is_power_of_2(chunk_sectors) &&
	       chunk_sectors >= ISTRIPE_STRIPE_CHUNK_BYTES_MIN >> 9 &&
	       chunk_sectors <= ISTRIPE_STRIPE_CHUNK_BYTES_MAX >> 9;
}

static bool block_valid(u32 bytes)
{
	return !bytes || (is_power_of_2(bytes) && bytes >= BLOCK_BYTES_MIN &&
			  bytes <= BLOCK_SECTORS << 9);
}

/* The rules for the numbers, the same ones for what is read and what is written. */
static enum istripe_md_problem numbers_check(const struct istripe_md *md, u64 leg_sectors)
{
	if (!md->legs || md->legs > ISTRIPE_STRIPE_LEGS_MAX)
		return ISTRIPE_MD_LEGS;
	if (md->role >= md->legs)
		return ISTRIPE_MD_ROLE;
	if (!chunk_valid(md->chunk_sectors))
		return ISTRIPE_MD_CHUNK;
	if (!block_valid(md->logical_block_bytes))
		return ISTRIPE_MD_BLOCK;
	if (md->layout > RAID0_LAYOUT_ALTERNATE)
		return ISTRIPE_MD_LAYOUT;
	if (md->data_offset_sectors < SUPER_END_SECTOR || md->data_offset_sectors % BLOCK_SECTORS)
		return ISTRIPE_MD_DATA_OFFSET;
	if (md->data_offset_sectors > leg_sectors ||
	    md->data_sectors > leg_sectors - md->data_offset_sectors ||
	    md->size_sectors > md->data_sectors || !istripe_md_share_sectors(md))
		return ISTRIPE_MD_SIZE;
	return ISTRIPE_MD_OK;
}

/* A role above any number of members stands for "none". */
static u32 role_decode(const struct mdp_superblock_1 *sb, const u8 *super)
{
	u32 dev = le32_to_cpu(sb->dev_number);

	if (dev >= le32_to_cpu(sb->max_dev))
		return MD_DISK_ROLE_SPARE;
	return get_unaligned_le16(super + SUPER_HEAD_BYTES + 2 * dev);
}

static void fields_decode(struct istripe_md *md, const struct mdp_superblock_1 *sb,
			  const u8 *super)
{
	bool layout_told = le32_to_cpu(sb->feature_map) & MD_FEATURE_RAID0_LAYOUT;

	memcpy(md->array_uuid, sb->set_uuid, sizeof(md->array_uuid));
	memcpy(md->device_uuid, sb->device_uuid, sizeof(md->device_uuid));
	memcpy(md->name, sb->set_name, sizeof(sb->set_name));
	md->legs = le32_to_cpu(sb->raid_disks);
	md->role = role_decode(sb, super);
	md->dev_number = le32_to_cpu(sb->dev_number);
	md->chunk_sectors = le32_to_cpu(sb->chunksize);
	md->logical_block_bytes = get_unaligned_le32(super + SUPER_BLOCK_BYTE);
	md->layout = layout_told ? le32_to_cpu(sb->layout) : RAID0_LAYOUT_UNTOLD;
	md->data_offset_sectors = le64_to_cpu(sb->data_offset);
	md->data_sectors = le64_to_cpu(sb->data_size);
	md->size_sectors = le64_to_cpu(sb->size);
	md->events = le64_to_cpu(sb->events);
	md->ctime_s = le64_to_cpu(sb->ctime) & TIME_MASK;
	md->utime_s = le64_to_cpu(sb->utime) & TIME_MASK;
}

int istripe_md_decode(const void *buf, u32 buf_bytes, u64 leg_sectors, struct istripe_md *md)
{
	struct mdp_superblock_1 sb;	/* the fixed part, aligned */

	memset(md, 0, sizeof(*md));
	md->problem = ISTRIPE_MD_TRUNCATED;
	if (buf_bytes < SUPER_HEAD_BYTES)
		goto out;
	memcpy(&sb, buf, SUPER_HEAD_BYTES);
	md->problem = super_check(&sb, buf, buf_bytes);
	if (md->problem != ISTRIPE_MD_OK)
		goto out;
	md->problem = features_check(&sb);
	if (md->problem != ISTRIPE_MD_OK)
		goto out;
	fields_decode(md, &sb, buf);
	md->problem = numbers_check(md, leg_sectors);
out:
	return problems[md->problem].error;
}

static void roles_encode(u8 *roles, u32 legs)
{
	u32 i;

	memset(roles, 0xff, 2 * ROLES_CREATED);	/* MD_DISK_ROLE_SPARE */
	for (i = 0; i < legs; i++)
		put_unaligned_le16(i, roles + 2 * i);
}

static void fields_encode(struct mdp_superblock_1 *sb, const struct istripe_md *md)
{
	sb->magic = cpu_to_le32(MD_SB_MAGIC);
	sb->major_version = cpu_to_le32(1);
	sb->feature_map = cpu_to_le32(MD_FEATURE_RAID0_LAYOUT);
	memcpy(sb->set_uuid, md->array_uuid, sizeof(sb->set_uuid));
	memcpy(sb->set_name, md->name, strnlen(md->name, sizeof(sb->set_name)));
	sb->ctime = cpu_to_le64(md->ctime_s & TIME_MASK);
	sb->layout = cpu_to_le32(md->layout ?: RAID0_LAYOUT_ORIGINAL);
	sb->size = cpu_to_le64(md->size_sectors);
	sb->chunksize = cpu_to_le32(md->chunk_sectors);
	sb->raid_disks = cpu_to_le32(md->legs);
	sb->data_offset = cpu_to_le64(md->data_offset_sectors);
	sb->data_size = cpu_to_le64(md->data_sectors);
	sb->super_offset = cpu_to_le64(ISTRIPE_MD_SUPER_SECTOR);
	sb->dev_number = cpu_to_le32(md->role);
	memcpy(sb->device_uuid, md->device_uuid, sizeof(sb->device_uuid));
	sb->utime = cpu_to_le64(md->utime_s & TIME_MASK);
	sb->events = cpu_to_le64(md->events);
	sb->resync_offset = cpu_to_le64(U64_MAX);	/* clean */
	sb->max_dev = cpu_to_le32(ROLES_CREATED);
}

int istripe_md_encode(const struct istripe_md *md, u64 leg_sectors, void *buf)
{
	struct mdp_superblock_1 sb = {};
	u32 bytes = SUPER_HEAD_BYTES + 2 * ROLES_CREATED;
	u8 *super = buf;

	if (numbers_check(md, leg_sectors) != ISTRIPE_MD_OK)
		return -EINVAL;
	fields_encode(&sb, md);
	memset(super, 0, ISTRIPE_MD_SUPER_BYTES);
	memcpy(super, &sb, SUPER_HEAD_BYTES);
	put_unaligned_le32(md->logical_block_bytes, super + SUPER_BLOCK_BYTE);
	roles_encode(super + SUPER_HEAD_BYTES, md->legs);
	put_unaligned_le32(super_checksum(super, bytes), super + SUPER_CSUM_BYTE);
	return 0;
}

void istripe_md_resize(void *buf, u64 data_sectors)
{
	u8 *super = buf;
	u32 roles = get_unaligned_le32(super + offsetof(struct mdp_superblock_1, max_dev));

	put_unaligned_le64(data_sectors, super + offsetof(struct mdp_superblock_1, data_size));
	put_unaligned_le32(super_checksum(super, SUPER_HEAD_BYTES + 2 * roles),
			   super + SUPER_CSUM_BYTE);
}

/* Where istripe_md_check_array() puts what it found. */
struct complaint {
	u32 *leg;
	struct istripe_reason *reason;
};

__printf(4, 5)
static int blame(const struct complaint *c, u32 leg, int error, const char *fmt, ...)
{
	char *text = c->reason->text;
	int used = scnprintf(text, sizeof(c->reason->text), "leg %u: ", leg);
	va_list args;

	*c->leg = leg;
	va_start(args, fmt);
	vsnprintf(text + used, sizeof(c->reason->text) - used, fmt, args);
	va_end(args);
	return error;
}

static int problem_error(enum istripe_md_problem problem)
{
	return (u32)problem < ARRAY_SIZE(problems) ? problems[problem].error : -EINVAL;
}

static int check_problems(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (legs[i].problem != ISTRIPE_MD_OK)
			return blame(c, i, problem_error(legs[i].problem), "%s",
				     istripe_md_problem_text(legs[i].problem));
	return 0;
}

static bool same_array(const struct istripe_md *a, const struct istripe_md *b)
{
	return !memcmp(a->array_uuid, b->array_uuid, sizeof(a->array_uuid));
}

/* The first leg of the array that most of the legs belong to. */
static u32 majority_array(const struct istripe_md *legs, u32 n)
{
	u32 i, j, votes, most = 0, best = 0;

	for (i = 0; i < n; i++) {
		votes = 0;
		for (j = i; j < n; j++)
			votes += same_array(&legs[i], &legs[j]);
		if (votes > most) {
			most = votes;
			best = i;
		}
	}
	return best;
}

static int check_foreign(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u32 i, ref = majority_array(legs, n);

	for (i = 0; i < n; i++)
		if (!same_array(&legs[i], &legs[ref]))
			return blame(c, i, -EINVAL, "belongs to another array than leg %u", ref);
	return 0;
}

#define GETTER(_name, _value)				\
static u64 get_##_name(const struct istripe_md *md)	\
{							\
	return _value;					\
}

GETTER(legs, md->legs)
GETTER(chunk, md->chunk_sectors)
GETTER(logical_block, md->logical_block_bytes)
GETTER(layout, md->layout)
GETTER(events, md->events)
GETTER(data_offset, md->data_offset_sectors)

struct common {
	u64 (*get)(const struct istripe_md *md);
	int error;
	bool largest;		/* the largest value is right, not the most frequent one */
	const char *what;
	const char *more;	/* what it may come from */
};

/* All legs must agree in these. */
static const struct common commons[] = {
	{ get_legs, -EINVAL, false, "number of members", "" },
	{ get_chunk, -EINVAL, false, "chunk in sectors", "" },
	{ get_logical_block, -EINVAL, false, "logical block in bytes", "" },
	{ get_layout, -EINVAL, false, "layout", "" },
	{ get_events, -EINVAL, true, "event count", ", the leg is stale" },
	{ get_data_offset, -EOPNOTSUPP, false, "data offset in sectors", "" },
	{ istripe_md_share_sectors, -EOPNOTSUPP, false, "share in sectors",
	  "; growing cut short? mdadm --assemble --update=devicesize" },
};

static u32 votes_for(const struct istripe_md *legs, u32 n, const struct common *common, u64 value)
{
	u32 i, votes = 0;

	for (i = 0; i < n; i++)
		votes += common->get(&legs[i]) == value;
	return votes;
}

/* A leg that has the right value of something common. */
static u32 common_reference(const struct istripe_md *legs, u32 n, const struct common *common)
{
	u32 i, best = 0;
	u64 value, right;

	for (i = 1; i < n; i++) {
		value = common->get(&legs[i]);
		right = common->get(&legs[best]);
		if (common->largest ? value > right :
		    votes_for(legs, n, common, value) > votes_for(legs, n, common, right))
			best = i;
	}
	return best;
}

static int check_common(const struct istripe_md *legs, u32 n, const struct common *common,
			const struct complaint *c)
{
	u32 i, ref = common_reference(legs, n, common);
	u64 right = common->get(&legs[ref]);
	u64 value;

	for (i = 0; i < n; i++) {
		value = common->get(&legs[i]);
		if (value != right)
			return blame(c, i, common->error, "%s is %llu, on leg %u it is %llu%s",
				     common->what, value, ref, right, common->more);
	}
	return 0;
}

static bool same_device(const struct istripe_md *a, const struct istripe_md *b)
{
	return !memcmp(a->device_uuid, b->device_uuid, sizeof(a->device_uuid));
}

static int check_pair(const struct istripe_md *legs, u32 i, u32 j, const struct complaint *c)
{
	if (legs[i].role == legs[j].role)
		return blame(c, i, -EINVAL, "repeated, leg %u is role %u already", j,
			     legs[j].role);
	if (same_device(&legs[i], &legs[j]))
		return blame(c, i, -EINVAL, "repeated, same device UUID as leg %u", j);
	return 0;
}

static int check_repeated(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u32 i, j;
	int ret;

	for (i = 1; i < n; i++) {
		for (j = 0; j < i; j++) {
			ret = check_pair(legs, i, j, c);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Runs after check_repeated(): every role is held once at most. */
static int check_missing(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u64 held = 0;
	u32 i;

	for (i = 0; i < n; i++)
		held |= BIT_ULL(legs[i].role);
	for (i = 0; i < legs[0].legs; i++)
		if (!(held & BIT_ULL(i)))
			return blame(c, i, -ENODATA, "missing, the array has %u legs, %u are given",
				     legs[0].legs, n);
	return 0;
}

static int check_swapped(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (legs[i].role != i)
			return blame(c, i, -EINVAL, "swapped, it is role %u of the array",
				     legs[i].role);
	return 0;
}

static int check_commons(const struct istripe_md *legs, u32 n, const struct complaint *c)
{
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(commons); i++) {
		ret = check_common(legs, n, &commons[i], c);
		if (ret)
			return ret;
	}
	return 0;
}

int istripe_md_check_array(const struct istripe_md *legs, u32 n, u32 *bad_leg,
			   struct istripe_reason *reason)
{
	static int (*const checks[])(const struct istripe_md *legs, u32 n,
				     const struct complaint *c) = {
		/* Each one relies on those before it. */
		check_problems, check_foreign, check_commons, check_repeated, check_missing,
		check_swapped,
	};
	struct complaint c = { bad_leg, reason };
	u32 i;
	int ret;

	*bad_leg = 0;
	reason->text[0] = '\0';
	if (!n)
		return blame(&c, 0, -ENODATA, "missing, no leg is given");
	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		ret = checks[i](legs, n, &c);
		if (ret)
			return ret;
	}
	return 0;
}

/* The fields that have no message of their own. */
static bool same_rest(const struct istripe_md *a, const struct istripe_md *b)
{
	return same_device(a, b) && a->legs == b->legs && a->dev_number == b->dev_number &&
	       a->chunk_sectors == b->chunk_sectors && a->layout == b->layout &&
	       a->logical_block_bytes == b->logical_block_bytes &&
	       a->data_offset_sectors == b->data_offset_sectors &&
	       a->data_sectors == b->data_sectors && a->size_sectors == b->size_sectors &&
	       a->ctime_s == b->ctime_s && a->utime_s == b->utime_s && !strcmp(a->name, b->name);
}

int istripe_md_check_unchanged(const struct istripe_md *then, const struct istripe_md *now, u32 leg,
			       struct istripe_reason *reason)
{
	u32 bad_leg;
	struct complaint c = { &bad_leg, reason };

	reason->text[0] = '\0';
	if (now->problem != ISTRIPE_MD_OK)
		return blame(&c, leg, problem_error(now->problem), "it was in use, but now: %s",
			     istripe_md_problem_text(now->problem));
	if (!same_array(then, now))
		return blame(&c, leg, -ESTALE, "it has been made a member of another array");
	if (then->role != now->role)
		return blame(&c, leg, -ESTALE, "it is role %u of its array now, it was %u",
			     now->role, then->role);
	if (then->events != now->events)
		return blame(&c, leg, -ESTALE,
			     "another host has assembled it: events %llu, were %llu", now->events,
			     then->events);
	if (!same_rest(then, now))
		return blame(&c, leg, -ESTALE, "another host has changed its superblock");
	return 0;
}

bool istripe_md_has_grown(const struct istripe_md *then, const struct istripe_md *now)
{
	struct istripe_md grown = *then;

	grown.data_sectors = now->data_sectors;
	return (now->problem == ISTRIPE_MD_OK || now->problem == ISTRIPE_MD_SIZE) &&
	       istripe_md_share_sectors(now) > istripe_md_share_sectors(then) &&
	       same_array(then, now) && then->role == now->role && then->events == now->events &&
	       same_rest(&grown, now);
}
