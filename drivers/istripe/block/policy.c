// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "block/bundle.h"
#include "block/leg.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/volume.h"

/* The bundle of a number, if there is one and it is live. */
static struct istripe_bundle *leg_live_bundle(const struct istripe_leg *leg, u32 index)
{
	struct istripe_bundle *bundle = READ_ONCE(leg->bundles[index]);

	return bundle && READ_ONCE(bundle->lanes) ? bundle : NULL;
}

/* All members have the same; the first one stands for them. */
static u32 bundle_weight(const struct istripe_bundle *bundle)
{
	return READ_ONCE(bundle->members[0]->params.weight);
}

/* The @turn-th live path, counted round. */
static struct istripe_bundle *pick_turn(const struct istripe_leg *leg, u32 turn)
{
	u32 live = READ_ONCE(leg->live_bundles);
	u32 i;

	if (!live)
		return NULL;
	turn %= live;
	for (i = 0; i < leg->bundle_end; i++) {
		struct istripe_bundle *bundle = leg_live_bundle(leg, i);

		if (bundle && !turn--)
			return bundle;
	}
	return NULL;
}

static struct istripe_bundle *pick_failover(struct istripe_leg *leg, u32 bytes)
{
	return pick_turn(leg, 0);
}

static struct istripe_bundle *pick_round_robin(struct istripe_leg *leg, u32 bytes)
{
	return pick_turn(leg, atomic_inc_return(&leg->turn));
}

static u64 cost_queue_depth(const struct istripe_bundle *bundle, u32 bytes)
{
	return atomic_read(&bundle->in_flight);
}

/* How long until it is done, if a path moves bytes as fast as its weight says. */
static u64 cost_service_time(const struct istripe_bundle *bundle, u32 bytes)
{
	u64 queued = atomic_long_read(&bundle->in_flight_bytes);

	return div_u64((queued + bytes) * ISTRIPE_WEIGHT_MAX, bundle_weight(bundle));
}

/* The cheapest path; among equals they take turns. */
static struct istripe_bundle *pick_cheapest(struct istripe_leg *leg, u32 bytes,
					    u64 (*cost)(const struct istripe_bundle *bundle,
							u32 bytes))
{
	u32 count = leg->bundle_end;
	u32 start = (u32)atomic_inc_return(&leg->turn) % count;
	struct istripe_bundle *best = NULL;
	u64 best_cost = U64_MAX;
	u32 i;

	for (i = 0; i < count; i++) {
		struct istripe_bundle *bundle = leg_live_bundle(leg, (start + i) % count);
		u64 now;

		if (!bundle)
			continue;
		now = cost(bundle, bytes);
		if (best && now >= best_cost)
			continue;
		best = bundle;
		best_cost = now;
	}
	return best;
}

static struct istripe_bundle *pick_queue_depth(struct istripe_leg *leg, u32 bytes)
{
	return pick_cheapest(leg, bytes, cost_queue_depth);
}

static struct istripe_bundle *pick_service_time(struct istripe_leg *leg, u32 bytes)
{
	return pick_cheapest(leg, bytes, cost_service_time);
}

/* Each path gets as many turns as its weight. */
static struct istripe_bundle *pick_weighted(struct istripe_leg *leg, u32 bytes)
{
	struct istripe_bundle *last = NULL;
	u32 turn, total = 0;
	u32 i;

	for (i = 0; i < leg->bundle_end; i++) {
		struct istripe_bundle *bundle = leg_live_bundle(leg, i);

		total += bundle ? bundle_weight(bundle) : 0;
	}
	if (!total)
		return NULL;
	turn = (u32)atomic_inc_return(&leg->turn) % total;
	for (i = 0; i < leg->bundle_end; i++) {
		struct istripe_bundle *bundle = leg_live_bundle(leg, i);
		u32 weight;

		if (!bundle)
			continue;
		last = bundle;
		weight = bundle_weight(bundle);
		if (turn < weight)
			break;
		turn -= weight;
	}
	return last;
}

static struct istripe_bundle *(*const picks[])(struct istripe_leg *leg, u32 bytes) = {
	[ISTRIPE_POLICY_INTERLEAVE] = pick_service_time,
	[ISTRIPE_POLICY_ROUND_ROBIN] = pick_round_robin,
	[ISTRIPE_POLICY_QUEUE_DEPTH] = pick_queue_depth,
	[ISTRIPE_POLICY_SERVICE_TIME] = pick_service_time,
	[ISTRIPE_POLICY_FAILOVER] = pick_failover,
	[ISTRIPE_POLICY_WEIGHTED] = pick_weighted,
};

struct istripe_bundle *istripe_policy_pick(struct istripe_leg *leg, u32 bytes, u32 turn)
{
	if (READ_ONCE(leg->unfenced_paths))
		return NULL;
	if (leg->bundle_end == 1)
		return leg_live_bundle(leg, 0);
	if (turn)
		return pick_turn(leg, turn - 1);
	return picks[READ_ONCE(leg->policy)](leg, bytes);
}

u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors)
{
	u32 chunk = leg->volume->chunk_bytes >> SECTOR_SHIFT;
	u32 live = READ_ONCE(leg->live_bundles);

	*part_sectors = sectors;
	if (live < 2 || sectors <= chunk || READ_ONCE(leg->policy) != ISTRIPE_POLICY_INTERLEAVE)
		return 1;
	*part_sectors = round_up(DIV_ROUND_UP(sectors, min(live, leg->volume->parts)), chunk);
	return DIV_ROUND_UP(sectors, *part_sectors);
}
