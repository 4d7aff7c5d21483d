// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic writes: what is left of the figures of VPD B0h, sensible and hostile ones, and what
 * of that when several LUNs are striped. Whatever a LUN says, what is passed on keeps each
 * promise of struct istripe_atomic, and each write that it allows, wherever it is, is one
 * command that the LUN has said it takes.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "scsi/atomic.h"
#include "test_random.h"

#define KIB		1024u
#define LEG_SECTORS	0x100000u

/* In the order of the fields: shortest and longest write, longest command, alignment. */
struct want {
	u32 unit_min_bytes;
	u32 unit_max_bytes;
	u32 max_bytes;
	u32 alignment_bytes;
};

static const struct {
	const char *name;
	u32 block_bytes;
	u32 physical_bytes;
	u32 max_transfer;
	u32 max_atomic;
	u32 alignment;
	u32 granularity;
	struct want want;
} luns[] = {
	/* Sensible ones. */
	{ "says nothing", 512, 4096, 0, 0, 0, 0, { } },
	{ "any length", 512, 512, 0, 128, 0, 0, { 512, 64 * KIB, 64 * KIB, 512 } },
	{ "physical blocks", 512, 4096, 0, 128, 0, 0, { 4096, 64 * KIB, 64 * KIB, 512 } },
	{ "less than physical blocks", 512, 4096, 0, 128, 0, 1, { 512, 64 * KIB, 64 * KIB, 512 } },
	{ "both grains", 512, 512, 0, 128, 8, 8, { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "alignment of longer ones", 512, 512, 0, 128, 8, 1,
	  { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "granularity of longer ones", 512, 512, 0, 128, 1, 8,
	  { 4096, 64 * KIB, 64 * KIB, 512 } },
	{ "blocks of 4096", 4096, 4096, 0, 16, 1, 1, { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "no power of two", 512, 512, 0, 100, 0, 8, { 4096, 32 * KIB, 48 * KIB, 512 } },
	{ "one length only", 512, 512, 0, 8, 8, 8, { 4096, 4096, 4096, 4096 } },
	{ "one block", 512, 512, 0, 1, 0, 0, { 512, 512, 512, 512 } },
	/* More than a command takes. */
	{ "more than a transfer", 512, 512, 64, 128, 0, 0, { 512, 32 * KIB, 32 * KIB, 512 } },
	{ "more than a CDB says", 512, 512, 0, 0x10000, 0, 0,
	  { 512, 0x8000 * 512, 0xffff * 512, 512 } },
	{ "4 Gi blocks of 4096", 4096, 4096, 0, U32_MAX, 0, 0,
	  { 4096, 0x8000 * 4096, 0xffff * 4096u, 4096 } },
	/* Values that make no sense. */
	{ "granularity of three", 512, 512, 0, 128, 0, 3, { } },
	{ "alignment of three", 512, 512, 0, 128, 3, 0, { } },
	{ "granularity above the most", 512, 512, 0, 128, 0, 256, { } },
	{ "alignment above the most", 512, 512, 0, 128, 256, 0, { } },
	{ "granularity above a transfer", 512, 512, 4, 128, 0, 8, { } },
	{ "physical blocks above the most", 512, 4096, 0, 4, 0, 0, { } },
	{ "granularity of all ones", 512, 512, 0, U32_MAX, 0, U32_MAX, { } },
	{ "granularity whose bytes are 2^32", 512, 512, 0, U32_MAX, 0, 1u << 23, { } },
	{ "alignment whose bytes are 2^32", 4096, 4096, 0, U32_MAX, 1u << 20, 1, { } },
	{ "grains, and no length", 512, 512, 0, 0, 8, 8, { } },
};

static struct istripe_atomic of_lun(u32 block_bytes, u32 physical_bytes, u32 max_transfer,
				    u32 max_atomic, u32 alignment, u32 granularity)
{
	struct istripe_vpd_block_limits limits = {
		.max_transfer = max_transfer,
		.max_atomic = max_atomic,
		.atomic_alignment = alignment,
		.atomic_granularity = granularity,
	};
	struct istripe_vpd_capacity capacity = {
		.block_bytes = block_bytes,
		.physical_block_bytes = physical_bytes,
	};
	struct istripe_atomic offer;

	istripe_atomic_of_lun(&limits, &capacity, &offer);
	return offer;
}

static void expect_offer(struct kunit *test, const struct istripe_atomic *offer,
			 const struct want *want, u32 boundary_bytes, const char *name)
{
	KUNIT_EXPECT_EQ_MSG(test, offer->unit_min_bytes, want->unit_min_bytes, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, offer->unit_max_bytes, want->unit_max_bytes, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, offer->max_bytes, want->max_bytes, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, offer->alignment_bytes, want->alignment_bytes, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, offer->boundary_bytes, boundary_bytes, "%s", name);
}

static void atomic_luns(struct kunit *test)
{
	struct istripe_atomic offer;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(luns); i++) {
		offer = of_lun(luns[i].block_bytes, luns[i].physical_bytes, luns[i].max_transfer,
			       luns[i].max_atomic, luns[i].alignment, luns[i].granularity);
		expect_offer(test, &offer, &luns[i].want, 0, luns[i].name);
	}
}

static const struct {
	const char *name;
	u32 first[2];		/* blocks: most, grain */
	u32 second[2];
	struct want want;
} pairs[] = {
	{ "the same", { 128, 8 }, { 128, 8 }, { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "less", { 128, 8 }, { 32, 8 }, { 4096, 16 * KIB, 16 * KIB, 4096 } },
	{ "coarser", { 128, 1 }, { 128, 16 }, { 8192, 64 * KIB, 64 * KIB, 8192 } },
	{ "less, coarser", { 100, 1 }, { 120, 16 }, { 8192, 32 * KIB, 48 * KIB, 8192 } },
	{ "nothing", { 128, 8 }, { 0, 0 }, { } },
	{ "neither", { 0, 0 }, { 0, 0 }, { } },
	{ "too coarse for the other", { 8, 1 }, { 128, 64 }, { } },
};

/* In either order. */
static void atomic_narrow(struct kunit *test)
{
	struct istripe_atomic first, second, offer;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		first = of_lun(512, 512, 0, pairs[i].first[0], pairs[i].first[1],
			       pairs[i].first[1]);
		second = of_lun(512, 512, 0, pairs[i].second[0], pairs[i].second[1],
				pairs[i].second[1]);
		offer = first;
		istripe_atomic_narrow(&offer, &second);
		expect_offer(test, &offer, &pairs[i].want, 0, pairs[i].name);
		offer = second;
		istripe_atomic_narrow(&offer, &first);
		expect_offer(test, &offer, &pairs[i].want, 0, pairs[i].name);
	}
}

static const struct {
	const char *name;
	u32 legs;
	u32 chunk_bytes;
	u64 offset_sectors;
	u32 most;		/* blocks of 512 */
	u32 grain;
	u32 boundary_bytes;
	struct want want;
} places[] = {
	{ "one leg", 1, 64 * KIB, 0, 1024, 8, 0, { 4096, 512 * KIB, 512 * KIB, 4096 } },
	{ "one leg, data at 1 MiB", 1, 64 * KIB, 2048, 1024, 8, 0,
	  { 4096, 512 * KIB, 512 * KIB, 4096 } },
	{ "one leg, data beside the grain", 1, 64 * KIB, 2044, 1024, 8, 0, { } },
	{ "one leg, data anywhere", 1, 64 * KIB, 2047, 1024, 1, 0,
	  { 512, 512 * KIB, 512 * KIB, 512 } },
	{ "more than a chunk", 4, 64 * KIB, 0, 1024, 8, 64 * KIB,
	  { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "a chunk", 4, 64 * KIB, 0, 128, 8, 64 * KIB, { 4096, 64 * KIB, 64 * KIB, 4096 } },
	{ "less than a chunk", 4, 64 * KIB, 0, 48, 8, 64 * KIB,
	  { 4096, 16 * KIB, 24 * KIB, 4096 } },
	{ "chunks of the grain", 3, 4 * KIB, 0, 128, 8, 4 * KIB, { 4096, 4096, 4096, 4096 } },
	{ "chunks below the grain", 3, 4 * KIB, 0, 128, 16, 0, { } },
	{ "data at 1 MiB", 3, 64 * KIB, 2048, 128, 128, 64 * KIB,
	  { 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB } },
	{ "data beside the grain", 3, 64 * KIB, 2048 + 64, 128, 128, 0, { } },
	{ "data beyond 2 TiB, beside the grain", 3, 64 * KIB, (1ull << 40) + 4, 128, 8, 0, { } },
	{ "nothing", 3, 64 * KIB, 0, 0, 0, 0, { } },
};

static void atomic_place(struct kunit *test)
{
	struct istripe_atomic offer;
	struct istripe_stripe s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, places[i].legs,
							  places[i].chunk_bytes, LEG_SECTORS,
							  places[i].offset_sectors), 0);
		offer = of_lun(512, 512, 0, places[i].most, places[i].grain, places[i].grain);
		istripe_atomic_place(&offer, &s);
		expect_offer(test, &offer, &places[i].want, places[i].boundary_bytes,
			     places[i].name);
	}
}

static const struct {
	const char *name;
	u32 offer[3];		/* blocks: most, alignment, granularity */
	u32 needed[3];
	bool enough;
} comparisons[] = {
	{ "the same", { 128, 8, 8 }, { 128, 8, 8 }, true },
	{ "more", { 256, 1, 1 }, { 128, 8, 8 }, true },
	{ "nothing is needed", { 0, 0, 0 }, { 0, 0, 0 }, true },
	{ "more than nothing", { 128, 8, 8 }, { 0, 0, 0 }, true },
	{ "nothing", { 0, 0, 0 }, { 128, 8, 8 }, false },
	{ "shorter", { 64, 8, 8 }, { 128, 8, 8 }, false },
	{ "coarser", { 128, 8, 16 }, { 128, 8, 8 }, false },
	{ "aligned more coarsely", { 128, 8, 8 }, { 128, 1, 8 }, false },
	{ "nonsense", { 128, 3, 8 }, { 128, 8, 8 }, false },
};

static void atomic_at_least(struct kunit *test)
{
	struct istripe_atomic offer, needed;
	const u32 *f;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(comparisons); i++) {
		f = comparisons[i].offer;
		offer = of_lun(512, 512, 0, f[0], f[1], f[2]);
		f = comparisons[i].needed;
		needed = of_lun(512, 512, 0, f[0], f[1], f[2]);
		KUNIT_EXPECT_EQ_MSG(test, istripe_atomic_at_least(&offer, &needed),
				    comparisons[i].enough, "%s", comparisons[i].name);
	}
}

/* A figure as a LUN may say it: nothing, a power of two, one beside it, anything. */
static u32 random_figure(struct test_random *r)
{
	u32 power = 1u << test_random_below(r, 32);

	switch (test_random_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return test_random_u32(r);
	case 2:
		return power + 1;
	default:
		return power >> test_random_below(r, 20);
	}
}

static void expect_promises(struct kunit *test, const struct istripe_atomic *offer)
{
	KUNIT_ASSERT_TRUE(test, is_power_of_2(offer->unit_min_bytes));
	KUNIT_ASSERT_TRUE(test, is_power_of_2(offer->unit_max_bytes));
	KUNIT_ASSERT_TRUE(test, is_power_of_2(offer->alignment_bytes));
	KUNIT_ASSERT_LE(test, offer->unit_min_bytes, offer->unit_max_bytes);
	KUNIT_ASSERT_LE(test, offer->unit_max_bytes, offer->max_bytes);
	KUNIT_ASSERT_LE(test, offer->alignment_bytes, offer->unit_min_bytes);
	KUNIT_ASSERT_EQ(test, offer->max_bytes % offer->unit_min_bytes, 0u);
	if (offer->boundary_bytes)
		KUNIT_ASSERT_LE(test, offer->max_bytes, offer->boundary_bytes);
}

/* One command of one leg, as that leg's page says that it must be. */
static void expect_command(struct kunit *test, const struct istripe_stripe *s, u64 at_bytes,
			   u32 bytes, const struct istripe_vpd_block_limits *leg, u32 block_bytes)
{
	static struct istripe_extent extents[ISTRIPE_STRIPE_LEGS_MAX];
	u32 blocks = bytes / block_bytes;
	u64 lba;

	KUNIT_ASSERT_EQ(test, istripe_stripe_map(s, at_bytes >> 9, bytes >> 9, extents), 1u);
	lba = extents[0].leg_sector >> (ilog2(block_bytes) - 9);
	KUNIT_ASSERT_EQ(test, extents[0].sectors, bytes >> 9);
	KUNIT_ASSERT_LE(test, blocks, min_t(u32, leg->max_atomic, U16_MAX));
	if (leg->max_transfer)
		KUNIT_ASSERT_LE(test, blocks, leg->max_transfer);
	if (leg->atomic_alignment)
		KUNIT_ASSERT_EQ(test, (u32)(lba & (leg->atomic_alignment - 1)), 0u);
	if (leg->atomic_granularity)
		KUNIT_ASSERT_EQ(test, blocks % leg->atomic_granularity, 0u);
}

/* A write of each length, somewhere. */
static void expect_writes(struct kunit *test, struct test_random *r,
			  const struct istripe_atomic *offer, const struct istripe_stripe *s,
			  const struct istripe_vpd_block_limits *leg, u32 block_bytes)
{
	u64 capacity_bytes = istripe_stripe_capacity_sectors(s) << 9;
	u64 bytes;
	u32 room;

	for (bytes = offer->unit_min_bytes; bytes <= offer->unit_max_bytes; bytes *= 2) {
		room = capacity_bytes >> ilog2(bytes);
		if (room)
			expect_command(test, s, test_random_below(r, room) * bytes, bytes, leg,
				       block_bytes);
	}
}

static void atomic_random(struct kunit *test)
{
	struct test_random r = { .s = 0x9c };
	struct istripe_vpd_capacity capacity = {};
	struct istripe_vpd_block_limits leg;
	struct istripe_atomic offer;
	struct istripe_stripe s;
	u32 round, offers = 0;

	for (round = 0; round < 50000; round++) {
		leg = (struct istripe_vpd_block_limits) {
			.max_transfer = random_figure(&r),
			.max_atomic = random_figure(&r),
			.atomic_alignment = random_figure(&r),
			.atomic_granularity = random_figure(&r),
		};
		capacity.block_bytes = 512 << test_random_below(&r, 4);
		capacity.physical_block_bytes = capacity.block_bytes << test_random_below(&r, 4);
		KUNIT_ASSERT_EQ(test, istripe_stripe_init(&s, 1 + test_random_below(&r, 5),
							  4096u << test_random_below(&r, 11),
							  LEG_SECTORS,
							  test_random_below(&r, 64) * 8), 0);
		istripe_atomic_of_lun(&leg, &capacity, &offer);
		istripe_atomic_place(&offer, &s);
		if (!offer.unit_min_bytes) {
			KUNIT_ASSERT_EQ(test, offer.max_bytes | offer.unit_max_bytes |
					offer.boundary_bytes, 0u);
			continue;
		}
		offers++;
		expect_promises(test, &offer);
		expect_writes(test, &r, &offer, &s, &leg, capacity.block_bytes);
	}
	/* Else all of this has looked at nothing. */
	KUNIT_EXPECT_GT(test, offers, 1000u);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(atomic_luns),
	KUNIT_CASE(atomic_narrow),
	KUNIT_CASE(atomic_place),
	KUNIT_CASE(atomic_at_least),
	KUNIT_CASE(atomic_random),
	{}
};

static struct kunit_suite istripe_atomic_suite = {
	.name = "istripe_atomic",
	.test_cases = atomic_cases,
};

kunit_test_suite(istripe_atomic_suite);
