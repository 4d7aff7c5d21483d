// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/volume.h"
#include "transport/session.h"

static bool path_is_chosen(const struct istripe_path *path)
{
	return READ_ONCE(path->lanes);
}

static struct istripe_path *leg_chosen_path(const struct istripe_leg *leg, u32 index)
{
	struct istripe_path *path = READ_ONCE(leg->paths[index]);

	return path && path_is_chosen(path) ? path : NULL;
}

/* All nexuses of a path have the same weight. */
static u32 path_weight(const struct istripe_path *path)
{
	return READ_ONCE(path->params.weight);
}

/* The @nth path with lanes, modulo their number. */
static struct istripe_path *pick_nth(const struct istripe_leg *leg, u32 nth)
{
	u32 chosen = READ_ONCE(leg->chosen_paths);
	struct istripe_path *path;

	if (!chosen)
		return NULL;
	nth %= chosen;
	istripe_leg_for_each_path(leg, path)
		if (path_is_chosen(path) && !nth--)
			return path;
	return NULL;
}

/* The first one, if the target prefers none. */
static struct istripe_path *pick_failover(struct istripe_leg *leg, u32 bytes)
{
	struct istripe_path *path;

	istripe_leg_for_each_path(leg, path)
		if (path_is_chosen(path) && READ_ONCE(path->preferred))
			return path;
	return pick_nth(leg, 0);
}

static struct istripe_path *pick_round_robin(struct istripe_leg *leg, u32 bytes)
{
	return pick_nth(leg, atomic_inc_return(&leg->policy_counter));
}

static u64 cost_queue_depth(const struct istripe_path *path, u32 bytes)
{
	return atomic_read(&path->in_flight);
}

/* Time until it is done, if the path's throughput is in proportion to its weight. */
static u64 cost_service_time(const struct istripe_path *path, u32 bytes)
{
	u64 queued = atomic_long_read(&path->in_flight_bytes);

	return div_u64((queued + bytes) * ISTRIPE_WEIGHT_MAX, path_weight(path));
}

static struct istripe_path *pick_cheapest(struct istripe_leg *leg, u32 bytes,
					  u64 (*cost)(const struct istripe_path *path,
						      u32 bytes))
{
	u32 count = leg->path_end;
	u32 start = (u32)atomic_inc_return(&leg->policy_counter) % count;
	struct istripe_path *best = NULL;
	u64 best_cost = U64_MAX;
	u32 i;

	for (i = 0; i < count; i++) {
		struct istripe_path *path = leg_chosen_path(leg, (start + i) % count);
		u64 now;

		if (!path)
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

/* A path gets as many tasks of a round as its weight says. */
static struct istripe_path *pick_weighted(struct istripe_leg *leg, u32 bytes)
{
	struct istripe_path *path, *last = NULL;
	u32 nth, weight, total = 0;

	istripe_leg_for_each_path(leg, path)
		total += path_is_chosen(path) ? path_weight(path) : 0;
	if (!total)
		return NULL;
	nth = (u32)atomic_inc_return(&leg->policy_counter) % total;
	istripe_leg_for_each_path(leg, path) {
		if (!path_is_chosen(path))
			continue;
		last = path;
		weight = path_weight(path);
		if (nth < weight)
			break;
		nth -= weight;
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

static_assert(ARRAY_SIZE(picks) == ISTRIPE_POLICY_COUNT);

struct istripe_path *istripe_policy_pick(struct istripe_leg *leg, u32 bytes)
{
	if (READ_ONCE(leg->unfenced_nexuses))
		return NULL;
	if (leg->path_end == 1)
		return leg_chosen_path(leg, 0);
	return picks[READ_ONCE(leg->policy)](leg, bytes);
}

struct istripe_path *istripe_policy_pick_other(const struct istripe_leg *leg, u32 index, u16 avoid)
{
	struct istripe_path *path;
	u32 i, at;

	for (i = 0; i < leg->path_end; i++) {
		at = (index + i) % leg->path_end;
		path = avoid & BIT(at) ? NULL : leg_chosen_path(leg, at);
		if (path)
			return path;
	}
	return NULL;
}

struct istripe_nexus *istripe_policy_pick_unchosen(struct istripe_leg *leg, u16 avoid)
{
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (istripe_nexus_usable(nexus) && !READ_ONCE(nexus->lanes) &&
		    !(avoid & BIT(nexus->path->index)))
			return nexus;
	return NULL;
}

/* Tasks go over usable nexuses of the lowest rank only: optimized or LBA dependent, else others. */
static u32 access_rank(const struct istripe_nexus *nexus)
{
	return nexus->access.state == SCSI_ACCESS_STATE_ACTIVE ? 1 : 0;
}

/* The lowest rank of the leg's usable nexuses. */
static u32 leg_rank(struct istripe_leg *leg)
{
	const struct istripe_nexus *nexus;
	u32 rank = U32_MAX;

	istripe_leg_for_each_nexus(leg, nexus)
		if (istripe_nexus_usable(nexus))
			rank = min(rank, access_rank(nexus));
	return rank;
}

struct leg_count {
	u32 usable_nexuses;
	u32 live_paths;
	u32 chosen_paths;
};

static void path_choose(struct istripe_path *path, u32 rank, struct leg_count *count)
{
	bool chosen, live = false, preferred = false;
	struct istripe_nexus *nexus;
	u32 lanes = 0;

	istripe_path_for_each_nexus(path, nexus) {
		chosen = istripe_nexus_usable(nexus) && access_rank(nexus) == rank;
		WRITE_ONCE(nexus->lanes, chosen ? nexus->connections : 0);
		lanes += nexus->lanes;
		count->usable_nexuses += istripe_nexus_usable(nexus);
		live |= nexus->live;
		preferred |= chosen && nexus->access.preferred;
	}
	WRITE_ONCE(path->lanes, lanes);
	WRITE_ONCE(path->preferred, preferred);
	count->live_paths += live;
	count->chosen_paths += !!lanes;
}

void istripe_policy_choose(struct istripe_leg *leg)
{
	u32 rank = leg_rank(leg);
	struct leg_count count = {};
	struct istripe_path *path;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_path(leg, path)
		path_choose(path, rank, &count);
	WRITE_ONCE(leg->usable_nexuses, count.usable_nexuses);
	WRITE_ONCE(leg->live_paths, count.live_paths);
	WRITE_ONCE(leg->chosen_paths, count.chosen_paths);
}

u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors)
{
	u32 chunk = leg->volume->stripe.chunk_sectors;
	u32 chosen = READ_ONCE(leg->chosen_paths);

	*part_sectors = sectors;
	if (chosen < 2 || sectors <= chunk || READ_ONCE(leg->policy) != ISTRIPE_POLICY_INTERLEAVE)
		return 1;
	*part_sectors = round_up(DIV_ROUND_UP(sectors, min(chosen, leg->volume->parts)), chunk);
	return DIV_ROUND_UP(sectors, *part_sectors);
}

static bool nexus_serves(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	bool serves = session && READ_ONCE(nexus->lanes) && !istripe_session_is_invalid(session);

	srcu_read_unlock(&nexus->srcu, section);
	return serves;
}

bool istripe_policy_alone(const struct istripe_session *session)
{
	const struct istripe_nexus *nexus = session->owner;
	struct istripe_leg *leg = nexus->leg;
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *other;
	bool serves = false;

	istripe_leg_for_each_nexus(leg, other)
		serves |= other->path != nexus->path && nexus_serves(other);
	srcu_read_unlock(&leg->srcu, section);
	return !serves;
}
