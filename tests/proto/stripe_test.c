// SPDX-License-Identifier: GPL-2.0
/*
 * The map is compared, sector by sector, with the one-sector arithmetic of dm-stripe
 * and of md raid0's first zone: chunk n is chunk n / legs of leg n % legs.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "layout/stripe.h"
#include "test_random.h"

#define SMALL_SECTORS	256u
#define LOFF_SECTORS	((u64)S64_MAX >> 9)

static struct istripe_extent extents[ISTRIPE_STRIPE_LEGS_MAX];
static u8 seen[SMALL_SECTORS];

struct place {
	u32 leg;
	u64 leg_sector;
};

static struct place naive_map(const struct istripe_stripe *s, u64 sector)
{
	struct place place;
	u32 in_chunk;
	u64 chunk;

	if (s->legs == 1)
		return (struct place) { 0, s->leg_offset_sectors + sector };
	chunk = div_u64_rem(sector, s->chunk_sectors, &in_chunk);
	place.leg_sector = div_u64_rem(chunk, s->legs, &place.leg) * s->chunk_sectors;
	place.leg_sector += s->leg_offset_sectors + in_chunk;
	return place;
}

/* Checks a piece's ends, or each of its sectors, against the naive map. */
static void check_piece(struct kunit *test, const struct istripe_stripe *s, u64 volume_sector,
			u32 leg, u64 leg_sector, u32 sectors, bool each)
{
	u32 i, step = each || sectors == 1 ? 1 : sectors - 1;

	for (i = 0; i < sectors; i += step) {
		struct place place = naive_map(s, volume_sector + i);

		KUNIT_ASSERT_EQ(test, place.leg, leg);
		KUNIT_ASSERT_EQ(test, place.leg_sector, leg_sector + i);
		KUNIT_ASSERT_EQ(test, istripe_stripe_sector(s, leg, leg_sector + i),
				volume_sector + i);
	}
}

/* Walks an extent as the data path does. Marks @seen when the request is small. */
static void check_extent(struct kunit *test, const struct istripe_stripe *s, u64 sector,
			 u32 sectors, const struct istripe_extent *e)
{
	u32 gap = e->stride_sectors - e->piece_sectors;
	u32 done = 0, pos = e->first_sector, piece = e->first_piece_sectors;
	bool small = sectors <= SMALL_SECTORS;
	u32 i;

	KUNIT_ASSERT_GT(test, e->sectors, 0u);
	KUNIT_ASSERT_GT(test, piece, 0u);
	KUNIT_ASSERT_LE(test, piece, e->sectors);
	while (done < e->sectors) {
		KUNIT_ASSERT_LT(test, pos, sectors);
		KUNIT_ASSERT_LE(test, piece, sectors - pos);
		check_piece(test, s, sector + pos, e->leg, e->leg_sector + done, piece, small);
		for (i = 0; small && i < piece; i++)
			seen[pos + i]++;
		done += piece;
		pos += piece + gap;
		piece = min(e->piece_sectors, e->sectors - done);
	}
	KUNIT_ASSERT_EQ(test, done, e->sectors);
}

static void check_request(struct kunit *test, const struct istripe_stripe *s, u64 sector,
			  u32 sectors)
{
	u64 total = 0, legs_seen = 0;
	u32 i, count;

	memset(seen, 0, sizeof(seen));
	memset(extents, 0xee, sizeof(extents));
	count = istripe_stripe_map(s, sector, sectors, extents);
	KUNIT_ASSERT_GE(test, count, 1u);
	KUNIT_ASSERT_LE(test, count, s->legs);
	for (i = 0; i < count; i++) {
		KUNIT_ASSERT_LT(test, extents[i].leg, s->legs);
		KUNIT_ASSERT_FALSE(test, legs_seen >> extents[i].leg & 1);
		legs_seen |= 1ull << extents[i].leg;
		if (i)
			KUNIT_ASSERT_GT(test, extents[i].first_sector,
					extents[i - 1].first_sector);
		check_extent(test, s, sector, sectors, &extents[i]);
		total += extents[i].sectors;
	}
	KUNIT_ASSERT_EQ(test, extents[0].first_sector, 0u);
	KUNIT_ASSERT_EQ(test, total, (u64)sectors);
	for (i = 0; sectors <= SMALL_SECTORS && i < sectors; i++)
		KUNIT_ASSERT_EQ(test, seen[i], 1);
	if (count < ISTRIPE_STRIPE_LEGS_MAX)
		KUNIT_ASSERT_EQ(test, extents[count].leg, 0xeeeeeeeeu);
}

static const struct init_row {
	const char *name;
	u32 legs, chunk_bytes;
	u64 leg_sectors, offset;
	int ret;
	u64 capacity;
} init_rows[] = {
	{ "one leg", 1, 65536, 1000, 0, 0, 1000 },
	{ "one leg smaller than a chunk", 1, 65536, 1, 0, 0, 1 },
	{ "two legs", 2, 65536, 1024, 0, 0, 2048 },
	{ "rounded down to chunks", 2, 65536, 1151, 0, 0, 2048 },
	{ "three legs, offset", 3, 4096, 80, 2048, 0, 240 },
	{ "smallest chunk", 64, 4096, 8, 0, 0, 512 },
	{ "largest chunk", 64, 4 << 20, 8192, 0, 0, 524288 },
	{ "largest leg", 1, 4096, LOFF_SECTORS, 0, 0, LOFF_SECTORS },
	{ "no leg", 0, 65536, 1024, 0, -EINVAL, 0 },
	{ "too many legs", 65, 65536, 1024, 0, -EINVAL, 0 },
	{ "legs of all ones", U32_MAX, 65536, 1024, 0, -EINVAL, 0 },
	{ "chunk zero", 2, 0, 1024, 0, -EINVAL, 0 },
	{ "chunk too small", 2, 2048, 1024, 0, -EINVAL, 0 },
	{ "chunk too large", 2, 8 << 20, 1 << 20, 0, -EINVAL, 0 },
	{ "chunk not a power of two", 2, 3 * 4096, 1024, 0, -EINVAL, 0 },
	{ "chunk with a stray bit", 2, 65537, 1024, 0, -EINVAL, 0 },
	{ "chunk also for one leg", 1, 5000, 1024, 0, -EINVAL, 0 },
	{ "empty leg", 1, 65536, 0, 0, -ERANGE, 0 },
	{ "less than a chunk", 2, 65536, 127, 0, -ERANGE, 0 },
	{ "leg beyond loff_t", 1, 4096, LOFF_SECTORS + 1, 0, -ERANGE, 0 },
	{ "offset beyond loff_t", 1, 4096, 8, LOFF_SECTORS, -ERANGE, 0 },
	{ "offset wraps", 1, 4096, 16, U64_MAX - 7, -ERANGE, 0 },
	{ "volume beyond loff_t", 64, 4096, LOFF_SECTORS / 32, 0, -ERANGE, 0 },
	{ "volume wraps", 64, 4096, 1ull << 58, 0, -ERANGE, 0 },
};

static void stripe_init_table(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(init_rows); i++) {
		const struct init_row *row = &init_rows[i];
		struct istripe_stripe s = { .legs = 4711 };
		int ret = istripe_stripe_init(&s, row->legs, row->chunk_bytes, row->leg_sectors,
					      row->offset);

		KUNIT_EXPECT_EQ_MSG(test, ret, row->ret, "%s", row->name);
		if (ret) {
			KUNIT_EXPECT_EQ_MSG(test, s.legs, 4711u, "%s", row->name);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, istripe_stripe_capacity_sectors(&s), row->capacity,
				    "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, s.chunk_sectors << 9, row->chunk_bytes, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, 1u << s.chunk_shift, s.chunk_sectors, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, s.leg_offset_sectors, row->offset, "%s", row->name);
	}
}

static const struct map_row {
	u32 legs;
	u64 sector;
	u32 sectors;
	u32 count;
	struct istripe_extent e[3];
} map_rows[] = {
	/* chunk of 8 sectors, data offset 100; fields as in the structure */
	{ 3, 5, 26, 3, { { 105, 0, 10, 0, 3, 8, 24 }, { 100, 1, 8, 3, 8, 8, 24 },
			 { 100, 2, 8, 11, 8, 8, 24 } } },
	{ 3, 0, 8, 1, { { 100, 0, 8, 0, 8, 8, 24 } } },
	{ 3, 3, 2, 1, { { 103, 0, 2, 0, 2, 8, 24 } } },
	{ 3, 22, 4, 2, { { 106, 2, 2, 0, 2, 8, 24 }, { 108, 0, 2, 2, 2, 8, 24 } } },
	{ 2, 12, 24, 2, { { 104, 1, 12, 0, 4, 8, 16 }, { 108, 0, 12, 4, 8, 8, 16 } } },
	{ 1, 13, 29, 1, { { 113, 0, 29, 0, 29, 8, 8 } } },
};

static void stripe_map_table(struct kunit *test)
{
	struct istripe_stripe s;
	u32 i, j, count;

	for (i = 0; i < ARRAY_SIZE(map_rows); i++) {
		const struct map_row *row = &map_rows[i];

		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, row->legs, 4096, 80, 100), 0);
		count = istripe_stripe_map(&s, row->sector, row->sectors, extents);
		KUNIT_ASSERT_EQ_MSG(test, count, row->count, "row %u", i);
		for (j = 0; j < count; j++)
			KUNIT_EXPECT_MEMEQ_MSG(test, &extents[j], &row->e[j], sizeof(extents[j]),
					       "row %u extent %u", i, j);
	}
}

static void stripe_map_range(struct kunit *test)
{
	struct istripe_stripe s;
	u32 legs;

	for (legs = 1; legs <= 5; legs++) {
		u64 capacity = 80 * legs;

		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096, 80, 7), 0);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, 0, 0, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, capacity, 1, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, capacity - 1, 2, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, capacity - 1, 1, extents), 1u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, 0, capacity + 1, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, 0, U32_MAX, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, U64_MAX, 1, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, U64_MAX - 3, 8, extents), 0u);
		KUNIT_EXPECT_EQ(test, istripe_stripe_map(&s, 0, capacity, extents), legs);
	}
}

/* Every request that small volumes can see, each of its sectors. */
static void stripe_map_exhaustive(struct kunit *test)
{
	struct istripe_stripe s;
	u32 legs, sector, sectors;

	for (legs = 1; legs <= 5; legs++) {
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096, 24, 3), 0);
		for (sector = 0; sector < 24 * legs; sector++)
			for (sectors = 1; sectors <= 24 * legs - sector; sectors++)
				check_request(test, &s, sector, sectors);
	}
}

/* Where in the request sector @n of an extent is. */
static u32 extent_sector(const struct istripe_extent *e, u32 n)
{
	u32 beyond;

	if (n < e->first_piece_sectors)
		return e->first_sector + n;
	beyond = n - e->first_piece_sectors;
	return e->first_sector + e->first_piece_sectors + e->stride_sectors - e->piece_sectors +
	       beyond / e->piece_sectors * e->stride_sectors + beyond % e->piece_sectors;
}

/* All parts of an extent are where they are in the whole. */
static void check_cuts(struct kunit *test, const struct istripe_extent *e)
{
	struct istripe_extent part;
	u32 skip, sectors, n;

	for (skip = 0; skip < e->sectors; skip++) {
		for (sectors = 1; sectors <= e->sectors - skip; sectors++) {
			istripe_extent_cut(e, skip, sectors, &part);
			KUNIT_ASSERT_EQ(test, part.leg, e->leg);
			KUNIT_ASSERT_EQ(test, part.sectors, sectors);
			KUNIT_ASSERT_EQ(test, part.leg_sector, e->leg_sector + skip);
			for (n = 0; n < sectors; n++)
				KUNIT_ASSERT_EQ(test, extent_sector(&part, n),
						extent_sector(e, skip + n));
		}
	}
}

static void stripe_cut(struct kunit *test)
{
	struct istripe_stripe s;
	u32 legs, sector, count, i;

	for (legs = 1; legs <= 3; legs++) {
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096, 32, 0), 0);
		for (sector = 0; sector < 10; sector++) {
			count = istripe_stripe_map(&s, sector, 32 * legs - 2 * sector, extents);
			for (i = 0; i < count; i++)
				check_cuts(test, &extents[i]);
		}
	}
}

/* Every sector of the volume has a sector of its own, and none is left over. */
static void stripe_bijection(struct kunit *test)
{
	struct test_random r = { 1 };
	struct istripe_stripe s;
	u32 i, chunk, rows, sector, leg_sectors;
	u8 *owned = kunit_kzalloc(test, 64 * 256, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, owned);
	for (i = 0; i < 60; i++) {
		chunk = 8u << test_random_below(&r, 4);
		rows = 1 + test_random_below(&r, 256 / chunk);
		leg_sectors = rows * chunk;
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, 1 + test_random_below(&r, 64),
							  chunk << 9, leg_sectors, 0), 0);
		memset(owned, 0, 64 * 256);
		for (sector = 0; sector < leg_sectors * s.legs; sector++) {
			KUNIT_ASSERT_EQ(test, istripe_stripe_map(&s, sector, 1, extents), 1u);
			KUNIT_ASSERT_LT(test, extents[0].leg, s.legs);
			KUNIT_ASSERT_LT(test, extents[0].leg_sector, (u64)leg_sectors);
			owned[extents[0].leg * leg_sectors + extents[0].leg_sector]++;
		}
		for (sector = 0; sector < leg_sectors * s.legs; sector++)
			KUNIT_ASSERT_EQ(test, owned[sector], 1);
	}
}

static u32 random_sectors(struct test_random *r, u64 most)
{
	u32 sectors = test_random_u32(r) >> (12 + test_random_below(r, 20));

	return min((u64)sectors + 1, most);
}

/* Any geometry, anywhere in the volume, its last sectors more often than others. */
static void stripe_map_random(struct kunit *test)
{
	struct test_random r = { 20050 };
	struct istripe_stripe s;
	u64 capacity, sector;
	u32 i, sectors;

	for (i = 0; i < 3000; i++) {
		u64 leg_sectors = test_random_u64(&r) >> (16 + test_random_below(&r, 32));
		int ret = istripe_stripe_init(&s, 1 + test_random_below(&r, 64),
					      4096u << test_random_below(&r, 11), leg_sectors,
					      test_random_u32(&r));

		if (ret) {
			KUNIT_ASSERT_EQ(test, ret, -ERANGE);
			continue;
		}
		capacity = istripe_stripe_capacity_sectors(&s);
		sectors = random_sectors(&r, capacity);
		sector = capacity - sectors;
		if (i % 3)
			div64_u64_rem(test_random_u64(&r), sector + 1, &sector);
		check_request(test, &s, sector, sectors);
	}
}

/* A discard of 2 TiB: the sums of a u32's worth of sectors. */
static void stripe_map_huge(struct kunit *test)
{
	struct test_random r = { 42 };
	struct istripe_stripe s;
	u32 i, j, count, legs;
	u64 total, sector;

	for (i = 0; i < 200; i++) {
		legs = 1 + test_random_below(&r, 64);
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096u << i % 11, 1ull << 40, 0),
				0);
		sector = test_random_u32(&r);
		count = istripe_stripe_map(&s, sector, U32_MAX, extents);
		KUNIT_ASSERT_EQ(test, count, legs);
		for (total = 0, j = 0; j < count; j++) {
			struct place first = naive_map(&s, sector + extents[j].first_sector);

			KUNIT_ASSERT_EQ(test, first.leg, extents[j].leg);
			KUNIT_ASSERT_EQ(test, first.leg_sector, extents[j].leg_sector);
			total += extents[j].sectors;
		}
		KUNIT_ASSERT_EQ(test, total, (u64)U32_MAX);
	}
}

static u32 largest_share(const struct istripe_stripe *s, u64 sector, u32 sectors)
{
	u32 i, share = 0, count = istripe_stripe_map(s, sector, sectors, extents);

	for (i = 0; i < count; i++)
		share = max(share, extents[i].sectors);
	return share;
}

/* No request of that length asks a leg for more, and some longer one does. */
static void stripe_request_sectors(struct kunit *test)
{
	struct istripe_stripe s;
	u32 legs, limit, sector, length, worst;

	for (legs = 1; legs <= 5; legs++) {
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096, 160, 0), 0);
		KUNIT_EXPECT_EQ(test, istripe_stripe_request_sectors(&s, 0), 0u);
		for (limit = 1; limit <= 40; limit++) {
			length = istripe_stripe_request_sectors(&s, limit);
			worst = 0;
			for (sector = 0; sector < 16 * legs; sector++) {
				KUNIT_ASSERT_LE(test, largest_share(&s, sector, length), limit);
				worst = max(worst, largest_share(&s, sector, length + 1));
			}
			KUNIT_ASSERT_GT(test, worst, limit);
		}
	}
	KUNIT_EXPECT_EQ(test, istripe_stripe_request_sectors(&s, U32_MAX), U32_MAX);
}

static void stripe_limits(struct kunit *test)
{
	struct istripe_stripe s;

	KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, 1, 65536, 1024, 0), 0);
	KUNIT_EXPECT_EQ(test, istripe_stripe_io_min_bytes(&s), 0u);
	KUNIT_EXPECT_EQ(test, istripe_stripe_io_opt_bytes(&s), 0u);
	KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, 3, 65536, 1024, 0), 0);
	KUNIT_EXPECT_EQ(test, istripe_stripe_io_min_bytes(&s), 65536u);
	KUNIT_EXPECT_EQ(test, istripe_stripe_io_opt_bytes(&s), 196608u);
	KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, 64, 4 << 20, 8192, 0), 0);
	KUNIT_EXPECT_EQ(test, istripe_stripe_io_opt_bytes(&s), 256u << 20);
}

static const struct {
	const char *name;
	u32 legs;
	u64 before;		/* sectors of each leg; the chunk has 128 */
	u64 now;
	int ret;
	u64 capacity;		/* afterwards */
} grow_rows[] = {
	{ "as it was", 3, 1280, 1280, 0, 3840 },
	{ "by a chunk", 3, 1280, 1408, 0, 4224 },
	{ "by less than a chunk", 3, 1280, 1407, 0, 3840 },
	{ "one leg, by a block", 1, 1280, 1288, 0, 1288 },
	{ "shrinks", 3, 1280, 1279, -EINVAL, 3840 },
	{ "one leg shrinks", 1, 1280, 1272, -EINVAL, 1280 },
	{ "to nothing", 3, 1280, 0, -ERANGE, 3840 },
	{ "beyond loff_t", 2, 1280, LOFF_SECTORS, -ERANGE, 2560 },
	{ "wraps", 64, 1280, 1ull << 58, -ERANGE, 81920 },
};

static void stripe_grow_table(struct kunit *test)
{
	struct istripe_stripe s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(grow_rows); i++) {
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, grow_rows[i].legs, 65536,
							  grow_rows[i].before, 2048), 0);
		KUNIT_EXPECT_EQ_MSG(test, istripe_stripe_grow(&s, grow_rows[i].now),
				    grow_rows[i].ret, "%s", grow_rows[i].name);
		KUNIT_EXPECT_EQ_MSG(test, istripe_stripe_capacity_sectors(&s),
				    grow_rows[i].capacity, "%s", grow_rows[i].name);
	}
}

static void expect_same_extents(struct kunit *test, const struct istripe_extent *a,
				const struct istripe_extent *b, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_ASSERT_EQ(test, a[i].leg, b[i].leg);
		KUNIT_ASSERT_EQ(test, a[i].leg_sector, b[i].leg_sector);
		KUNIT_ASSERT_EQ(test, a[i].sectors, b[i].sectors);
		KUNIT_ASSERT_EQ(test, a[i].first_sector, b[i].first_sector);
	}
}

/* Old sectors are where they were, and the new part is where a new volume has it. */
static void stripe_grow_moves_nothing(struct kunit *test)
{
	static struct istripe_extent before[ISTRIPE_STRIPE_LEGS_MAX], now[ISTRIPE_STRIPE_LEGS_MAX];
	struct istripe_stripe s, fresh;
	struct test_random random = { 4711 };
	u32 turn, sectors, count;
	u64 sector;

	for (turn = 0; turn < 200; turn++) {
		u32 legs = 1 + test_random_below(&random, ISTRIPE_STRIPE_LEGS_MAX);

		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, legs, 4096, 800, 2048), 0);
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&fresh, legs, 4096, 1600, 2048), 0);
		sectors = 1 + test_random_below(&random, 700);
		sector = test_random_below(&random, 800 * legs - sectors + 1);
		count = istripe_stripe_map(&s, sector, sectors, before);
		KUNIT_ASSERT_EQ(test, istripe_stripe_grow(&s, 1600), 0);
		KUNIT_ASSERT_EQ(test, istripe_stripe_map(&s, sector, sectors, now), count);
		expect_same_extents(test, before, now, count);
		sector += 800 * legs;
		count = istripe_stripe_map(&fresh, sector, sectors, before);
		KUNIT_ASSERT_GT(test, count, 0u);
		KUNIT_ASSERT_EQ(test, istripe_stripe_map(&s, sector, sectors, now), count);
		expect_same_extents(test, before, now, count);
	}
}

static struct kunit_case stripe_cases[] = {
	KUNIT_CASE(stripe_init_table),
	KUNIT_CASE(stripe_map_table),
	KUNIT_CASE(stripe_map_range),
	KUNIT_CASE(stripe_map_exhaustive),
	KUNIT_CASE(stripe_cut),
	KUNIT_CASE(stripe_bijection),
	KUNIT_CASE(stripe_map_random),
	KUNIT_CASE(stripe_map_huge),
	KUNIT_CASE(stripe_request_sectors),
	KUNIT_CASE(stripe_limits),
	KUNIT_CASE(stripe_grow_table),
	KUNIT_CASE(stripe_grow_moves_nothing),
	{}
};

static struct kunit_suite istripe_stripe_suite = {
	.name = "istripe_stripe",
	.test_cases = stripe_cases,
};

kunit_test_suite(istripe_stripe_suite);
