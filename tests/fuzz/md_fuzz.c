// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a mode byte, a number of legs or of bits, then
 *	mode bit 0 clear: the raw bytes of one superblock,
 *	mode bit 0 set: patches of a good array: { leg, width, offset (2 bytes), value (4) },
 *	mode bit 2 set: a LUN's size (8 bytes), an offset (2 bytes), and what a block has there.
 * Mode bit 1 seals the checksums, so that what is behind them is reached.
 * Accepted input must obey the rules and survive being written and read again.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/raid/md_p.h>

#include <compat/unaligned.h>

#include <istripe/reason.h>
#include "layout/md.h"
#include "layout/signature.h"
#include "layout/stripe.h"
#include "fuzz.h"

#define LEG_SECTORS	1048576u
#define MODE_PATCHES	1
#define MODE_SEAL	2
#define MODE_SIGNATURE	4
#define PLACES_MAX	64	/* more than any LUN has */
#define SUPER_FITS_BYTES	(1024 * 1024)	/* on smaller ones no volume is made */
#define PATCH_BYTES	8

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static u8 supers[ISTRIPE_STRIPE_LEGS_MAX][ISTRIPE_MD_SUPER_BYTES];
static struct istripe_md legs[ISTRIPE_STRIPE_LEGS_MAX];

static void seal(u8 *sb, u32 size)
{
	u32 at, bytes, max_dev;
	u64 sum = 0;

	if (size < sizeof(struct mdp_superblock_1))
		return;
	max_dev = get_unaligned_le32(sb + offsetof(struct mdp_superblock_1, max_dev));
	bytes = sizeof(struct mdp_superblock_1) + 2 * max_dev;
	if (max_dev > ISTRIPE_MD_SUPER_BYTES || bytes > size)
		return;
	put_unaligned_le32(0, sb + offsetof(struct mdp_superblock_1, sb_csum));
	for (at = 0; at + 4 <= bytes; at += 4)
		sum += get_unaligned_le32(sb + at);
	if (at < bytes)
		sum += get_unaligned_le16(sb + at);
	put_unaligned_le32((u32)sum + (u32)(sum >> 32),
			   sb + offsetof(struct mdp_superblock_1, sb_csum));
}

static void check_same(const struct istripe_md *a, const struct istripe_md *b)
{
	require(!memcmp(a->array_uuid, b->array_uuid, sizeof(a->array_uuid)));
	require(!memcmp(a->device_uuid, b->device_uuid, sizeof(a->device_uuid)));
	require(!strcmp(a->name, b->name));
	require(a->legs == b->legs && a->role == b->role);
	require(a->chunk_sectors == b->chunk_sectors);
	require(a->logical_block_bytes == b->logical_block_bytes);
	require(a->layout == b->layout || (!a->layout && b->layout == 1));
	require(a->data_offset_sectors == b->data_offset_sectors);
	require(a->data_sectors == b->data_sectors && a->size_sectors == b->size_sectors);
	require(a->events == b->events);
	require(a->ctime_s == b->ctime_s && a->utime_s == b->utime_s);
}

static void check_accepted(const struct istripe_md *md)
{
	static u8 again[ISTRIPE_MD_SUPER_BYTES];
	struct istripe_stripe stripe;
	struct istripe_md back;

	require(md->problem == ISTRIPE_MD_OK);
	require(md->legs && md->legs <= ISTRIPE_STRIPE_LEGS_MAX && md->role < md->legs);
	require(strlen(md->name) < ISTRIPE_MD_NAME_BYTES);
	require(md->data_offset_sectors <= LEG_SECTORS);
	require(md->data_sectors <= LEG_SECTORS - md->data_offset_sectors);
	require(!istripe_stripe_init(&stripe, md->legs, md->chunk_sectors << 9,
				     istripe_md_share_sectors(md), md->data_offset_sectors));
	require(!istripe_md_encode(md, LEG_SECTORS, again));
	require(!istripe_md_decode(again, sizeof(again), LEG_SECTORS, &back));
	check_same(md, &back);
	require(istripe_signature_find(again, (u64)LEG_SECTORS << 9,
				       ISTRIPE_MD_SUPER_SECTOR << 9));
}

static bool same(const struct istripe_md *a, const struct istripe_md *b)
{
	return !memcmp(a->array_uuid, b->array_uuid, sizeof(a->array_uuid)) &&
	       !memcmp(a->device_uuid, b->device_uuid, sizeof(a->device_uuid)) &&
	       !strcmp(a->name, b->name) && a->legs == b->legs && a->role == b->role &&
	       a->dev_number == b->dev_number && a->chunk_sectors == b->chunk_sectors &&
	       a->logical_block_bytes == b->logical_block_bytes && a->layout == b->layout &&
	       a->data_offset_sectors == b->data_offset_sectors &&
	       a->data_sectors == b->data_sectors && a->size_sectors == b->size_sectors &&
	       a->events == b->events && a->ctime_s == b->ctime_s && a->utime_s == b->utime_s;
}

/* Nothing that differs is passed over, and nothing is told of what does not. */
static void check_unchanged(const struct istripe_md *then, const struct istripe_md *now, u32 leg)
{
	struct istripe_reason reason;
	int ret = istripe_md_check_unchanged(then, now, leg, &reason);

	require(!ret == !reason.text[0] && strlen(reason.text) < sizeof(reason.text) - 1);
	require(!ret == (now->problem == ISTRIPE_MD_OK && same(then, now)));
	if (now->problem == ISTRIPE_MD_OK)
		require(!istripe_md_check_unchanged(now, now, leg, &reason) && !reason.text[0]);
	else
		require(ret && ret != -ESTALE);
	if (istripe_md_has_grown(then, now))
		require(ret && now->data_sectors > then->data_sectors && now->role == then->role);
}

static void decode(const u8 *sb, u32 size, struct istripe_md *md)
{
	int ret = istripe_md_decode(sb, size, LEG_SECTORS, md);

	require(istripe_md_problem_text(md->problem));
	require(!ret == (md->problem == ISTRIPE_MD_OK));
	if (!ret)
		check_accepted(md);
}

static void fuzz_raw(const u8 *data, u32 size, bool sealed)
{
	u8 *exact = malloc(size ?: 1);

	require(exact);
	memcpy(exact, data, size);
	if (sealed)
		seal(exact, size);
	decode(exact, size, &legs[0]);
	free(exact);
}

static void build_array(u32 n)
{
	struct istripe_md md = {
		.name = "fuzz", .legs = n, .chunk_sectors = 128, .data_offset_sectors = 2048,
		.data_sectors = LEG_SECTORS - 4096,
	};

	for (md.role = 0; md.role < n; md.role++) {
		md.device_uuid[0] = md.role;
		require(!istripe_md_encode(&md, LEG_SECTORS, supers[md.role]));
	}
}

static void check_array(u32 n)
{
	struct istripe_reason reason;
	u32 i, bad_leg = U32_MAX;
	int ret = istripe_md_check_array(legs, n, &bad_leg, &reason);

	require(bad_leg <= ISTRIPE_STRIPE_LEGS_MAX);
	require(!ret == !reason.text[0] && strlen(reason.text) < sizeof(reason.text) - 1);
	for (i = 0; !ret && i < n; i++) {
		require(legs[i].problem == ISTRIPE_MD_OK && legs[i].legs == n && legs[i].role == i);
		require(!memcmp(legs[i].array_uuid, legs[0].array_uuid, 16));
		require(legs[i].chunk_sectors == legs[0].chunk_sectors);
		require(legs[i].data_offset_sectors == legs[0].data_offset_sectors);
		require(legs[i].events == legs[0].events);
		require(istripe_md_share_sectors(&legs[i]) == istripe_md_share_sectors(&legs[0]));
	}
}

/* A byte, a word, or a word extended by its sign: what counts is near 0 or near 2^64. */
static void patch(u8 *sb, const u8 *data)
{
	u32 at = get_unaligned_le16(data + 2) % 1016;
	u32 value = get_unaligned_le32(data + 4);

	if (data[1] % 3 == 0)
		sb[at] = value;
	else if (data[1] % 3 == 1)
		put_unaligned_le32(value, sb + (at & ~3u));
	else
		put_unaligned_le64((s64)(s32)value, sb + (at & ~7u));
}

/* The input behind the last patch cuts the first superblock short. */
static void fuzz_patches(u32 n, const u8 *data, size_t size, bool sealed)
{
	struct istripe_md then;
	u32 i;

	build_array(n);
	decode(supers[0], sizeof(supers[0]), &then);
	for (; size >= PATCH_BYTES; data += PATCH_BYTES, size -= PATCH_BYTES)
		patch(supers[data[0] % n], data);
	fuzz_raw(supers[0], size * 150, false);
	for (i = 0; i < n; i++) {
		if (sealed)
			seal(supers[i], sizeof(supers[i]));
		decode(supers[i], sizeof(supers[i]), &legs[i]);
	}
	check_array(n);
	check_unchanged(&then, &legs[0], 0);
}

/* The bytes are somewhere in an empty block, wherever on the LUN that is looked for. */
static void check_places(const u8 *block, u64 lun_bytes)
{
	static const u8 empty[ISTRIPE_SIGNATURE_BLOCK_BYTES];
	const char *what;
	u64 at_bytes;
	u32 n;

	for (n = 0; istripe_signature_place(lun_bytes, n, &at_bytes); n++) {
		require(n < PLACES_MAX && at_bytes % sizeof(empty) == 0);
		require(lun_bytes >= sizeof(empty) && at_bytes <= lun_bytes - sizeof(empty));
		require(!istripe_signature_find(empty, lun_bytes, at_bytes));
		what = istripe_signature_find(block, lun_bytes, at_bytes);
		require(!what || what[0]);
		require(what == istripe_signature_find(block, lun_bytes, at_bytes));
		if (istripe_signature_is_zfs(what) && lun_bytes >= SUPER_FITS_BYTES)
			require(istripe_signature_zfs_block(lun_bytes, 0, &at_bytes));
	}
}

static void fuzz_signature(u32 shift, const u8 *data, size_t size)
{
	u64 lun_bytes;
	u8 *exact;
	u32 at;

	if (size < 10)
		return;
	lun_bytes = get_unaligned_le64(data) >> shift % 64;
	at = get_unaligned_le16(data + 8) % ISTRIPE_SIGNATURE_BLOCK_BYTES;
	exact = calloc(1, ISTRIPE_SIGNATURE_BLOCK_BYTES);
	require(exact);
	memcpy(exact + at, data + 10, min_t(u32, size - 10, ISTRIPE_SIGNATURE_BLOCK_BYTES - at));
	check_places(exact, lun_bytes);
	free(exact);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] & MODE_SIGNATURE)
		fuzz_signature(data[1], data + 2, size - 2);
	else if (data[0] & MODE_PATCHES)
		fuzz_patches(1 + data[1] % 8, data + 2, size - 2, data[0] & MODE_SEAL);
	else if (size - 2 <= ISTRIPE_MD_SUPER_BYTES)
		fuzz_raw(data + 2, size - 2, data[0] & MODE_SEAL);
	return 0;
}
