// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "block/leg.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/volume.h"

static bool path_is_live(const struct istripe_path *path)
{
	return READ_ONCE(path->live);
}

/* The @turn-th live path, counted round. */
static struct istripe_path *pick_turn(const struct istripe_leg *leg, u32 turn)
{
	u32 live = READ_ONCE(leg->live_paths);
	u32 i;

	if (!live)
		return NULL;
	turn %= live;
	for (i = 0; i < leg->path_count; i++)
		if (path_is_live(leg->paths[i]) && !turn--)
			return leg->paths[i];
	return NULL;
}

static struct istripe_path *pick_failover(struct istripe_leg *leg, u32 bytes)
{
	return pick_turn(leg, 0);
}

static struct istripe_path *pick_round_robin(struct istripe_leg *leg, u32 bytes)
{
	return pick_turn(leg, atomic_inc_return(&leg->turn));
}

static u64 cost_queue_depth(const struct istripe_path *path, u32 bytes)
{
	return atomic_read(&path->in_flight);
}

/* How long until it is done, if a path moves bytes as fast as its weight says. */
static u64 cost_service_time(const struct istripe_path *path, u32 bytes)
{
	u64 queued = atomic_long_read(&path->in_flight_bytes);

	return div_u64((queued + bytes) * ISTRIPE_WEIGHT_MAX, READ_ONCE(path->params.weight));
}

/* The cheapest path; among equals they take turns. */
static struct istripe_path *pick_cheapest(struct istripe_leg *leg, u32 bytes,
					  u64 (*cost)(const struct istripe_path *path, u32 bytes))
{
	u32 start = atomic_inc_return(&leg->turn) % leg->path_count;
	struct istripe_path *best = NULL;
	u64 best_cost = U64_MAX;
	u32 i;

	for (i = 0; i < leg->path_count; i++) {
		struct istripe_path *path = leg->paths[(start + i) % leg->path_count];
		u64 now;

		if (!path_is_live(path))
			continue;
		now = cost(path, bytes);
		if (best && now >= best_cost)
			continue;
		best = path;
		best_cost = now;
	}
	return best;
}

static struct istripe_path *pick_queue_depth(struct istripe_leg *leg, u32 bytes)
{
	return pick_cheapest(leg, bytes, cost_queue_depth);
}

static struct istripe_path *pick_service_time(struct istripe_leg *leg, u32 bytes)
{
	return pick_cheapest(leg, bytes, cost_service_time);
}

/* Each path gets as many turns as its weight. */
static struct istripe_path *pick_weighted(struct istripe_leg *leg, u32 bytes)
{
	struct istripe_path *last = NULL;
	u32 turn, total = 0;
	u32 i;

	for (i = 0; i < leg->path_count; i++)
		if (path_is_live(leg->paths[i]))
			total += READ_ONCE(leg->paths[i]->params.weight);
	if (!total)
		return NULL;
	turn = (u32)atomic_inc_return(&leg->turn) % total;
	for (i = 0; i < leg->path_count; i++) {
		u32 weight = READ_ONCE(leg->paths[i]->params.weight);

		if (!path_is_live(leg->paths[i]))
			continue;
		last = leg->paths[i];
		if (turn < weight)
			break;
		turn -= weight;
	}
	return last;
}

static struct istripe_path *(*const picks[])(struct istripe_leg *leg, u32 bytes) = {
	[ISTRIPE_POLICY_INTERLEAVE] = pick_service_time,
	[ISTRIPE_POLICY_ROUND_ROBIN] = pick_round_robin,
	[ISTRIPE_POLICY_QUEUE_DEPTH] = pick_queue_depth,
	[ISTRIPE_POLICY_SERVICE_TIME] = pick_service_time,
	[ISTRIPE_POLICY_FAILOVER] = pick_failover,
	[ISTRIPE_POLICY_WEIGHTED] = pick_weighted,
};

struct istripe_path *istripe_policy_pick(struct istripe_leg *leg, u32 bytes, u32 turn)
{
	if (READ_ONCE(leg->unfenced_paths))
		return NULL;
	if (leg->path_count == 1)
		return path_is_live(leg->paths[0]) ? leg->paths[0] : NULL;
	if (turn)
		return pick_turn(leg, turn - 1);
	return picks[READ_ONCE(leg->policy)](leg, bytes);
}

u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors)
{
	u32 chunk = leg->volume->chunk_bytes >> SECTOR_SHIFT;
	u32 live = READ_ONCE(leg->live_paths);

	*part_sectors = sectors;
	if (live < 2 || sectors <= chunk || READ_ONCE(leg->policy) != ISTRIPE_POLICY_INTERLEAVE)
		return 1;
	*part_sectors = round_up(DIV_ROUND_UP(sectors, min(live, leg->volume->parts)), chunk);
	return DIV_ROUND_UP(sectors, *part_sectors);
}
