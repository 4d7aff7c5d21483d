// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "block/bundle.h"
#include "block/leg.h"
#include "block/past.h"
#include "block/path.h"
#include "block/reservation.h"
#include "block/volume.h"

/*
 * N sessions have N command windows and are N domains of failure; one session of N
 * connections has one of each, and Linux's own target may not survive its loss.
 */
static enum istripe_multi bundle_multi(const struct istripe_path_params *params)
{
	return params->multi == ISTRIPE_MULTI_AUTO ? ISTRIPE_MULTI_SESSIONS : params->multi;
}

static int bundle_create_members(struct istripe_bundle *bundle,
				 const struct istripe_path_params *params)
{
	u32 connections = istripe_path_connections(params);
	bool mcs = bundle->multi == ISTRIPE_MULTI_MCS;
	struct istripe_path *path;
	u32 i;

	for (i = 0; i < connections; i++) {
		path = istripe_path_create(bundle, i, params, mcs && !i ? connections : 1);
		if (IS_ERR(path))
			return PTR_ERR(path);
		istripe_past_inherit(path, &params->past[i]);
		/* A spare that has left writes, too: only its own login ends them for sure. */
		path->wanted = !mcs || !i || path->unfenced;
		bundle->members[bundle->member_count++] = path;
	}
	return 0;
}

struct istripe_bundle *istripe_bundle_create(struct istripe_leg *leg,
					     const struct istripe_path_params *params)
{
	struct istripe_bundle *bundle = kzalloc(sizeof(*bundle), GFP_KERNEL);
	int ret;

	if (!bundle)
		return ERR_PTR(-ENOMEM);
	bundle->leg = leg;
	bundle->index = params->index;
	bundle->multi = bundle_multi(params);
	bundle->staying = ISTRIPE_CONNECTIONS_MAX;
	mutex_init(&bundle->settings_lock);
	INIT_LIST_HEAD(&bundle->nodes);
	INIT_LIST_HEAD(&bundle->session_nodes);
	ret = bundle_create_members(bundle, params);
	if (!ret)
		return bundle;
	istripe_bundle_destroy(bundle);
	return ERR_PTR(ret);
}

void istripe_bundle_destroy(struct istripe_bundle *bundle)
{
	u32 i;

	if (IS_ERR_OR_NULL(bundle))
		return;
	/* See istripe_path_destroy(): nobody can hold a member, nor the bundle through it. */
	for (i = 0; i < bundle->member_count; i++)
		istripe_path_destroy(bundle->members[i]);
	kfree(bundle);
}

u32 istripe_bundle_unfenced(const struct istripe_bundle *bundle)
{
	u32 i, count = 0;

	for (i = 0; i < bundle->member_count; i++)
		count += bundle->members[i]->unfenced;
	return count;
}

struct istripe_path *istripe_bundle_pick(const struct istripe_bundle *bundle, u32 lane)
{
	u32 count = READ_ONCE(bundle->member_count);
	u32 lanes = READ_ONCE(bundle->lanes);
	struct istripe_path *path;
	u32 i, of_member;

	lockdep_assert(srcu_read_lock_held(&bundle->leg->srcu));
	if (!lanes)
		return NULL;
	if (count == 1)
		return bundle->members[0];
	lane %= lanes;
	for (i = 0; i < count; i++) {
		path = READ_ONCE(bundle->members[i]);
		of_member = path ? READ_ONCE(path->lanes) : 0;
		if (lane < of_member)
			return path;
		lane -= of_member;
	}
	return NULL;
}

/* A session that comes now would not have them: its tasks would fail. */
static bool bundle_has_keys(const struct istripe_bundle *bundle)
{
	return READ_ONCE(bundle->leg->volume->has_keys);
}

void istripe_bundle_granted(struct istripe_bundle *bundle, u32 granted)
{
	struct istripe_path *path;
	bool wanted;
	int section;
	u32 i;

	if (bundle->multi != ISTRIPE_MULTI_MCS)
		return;
	WRITE_ONCE(bundle->granted, granted);
	section = srcu_read_lock(&bundle->leg->srcu);
	for (i = 1; i < READ_ONCE(bundle->member_count); i++) {
		path = READ_ONCE(bundle->members[i]);
		wanted = i >= granted;
		if (!path || wanted == path->wanted || (wanted && bundle_has_keys(bundle)))
			continue;
		istripe_leg_path_want(bundle->leg, path, wanted);
		/* Who sets keys just now sees the path, or we see the keys. */
		smp_mb();
		if (wanted && bundle_has_keys(bundle)) {
			istripe_leg_path_want(bundle->leg, path, false);
			wanted = false;
		}
		if (wanted)
			istripe_path_persist(path);
		else
			istripe_path_leave(path);
	}
	srcu_read_unlock(&bundle->leg->srcu, section);
}

struct istripe_path *istripe_bundle_next_member(const struct istripe_bundle *bundle, u32 *at)
{
	struct istripe_path *path = NULL;

	while (!path && *at < ISTRIPE_CONNECTIONS_MAX)
		path = READ_ONCE(bundle->members[(*at)++]);
	return path;
}

const char *istripe_bundle_state(const struct istripe_bundle *bundle)
{
	u32 at, wanted = 0, live = 0;
	struct istripe_path *path;

	istripe_bundle_for_each_member(bundle, path, at) {
		if (!READ_ONCE(path->wanted))
			continue;
		wanted++;
		live += READ_ONCE(path->state) == ISTRIPE_PATH_LIVE;
	}
	if (live && live < wanted)
		return "degraded";
	return istripe_path_state_name(READ_ONCE(bundle->members[0]->state));
}

void istripe_bundle_last_error(const struct istripe_bundle *bundle, char *why, size_t why_bytes)
{
	struct istripe_path *path, *last = bundle->members[0];
	u32 at;

	istripe_bundle_for_each_member(bundle, path, at)
		if (ktime_after(READ_ONCE(path->error_time), READ_ONCE(last->error_time)))
			last = path;
	istripe_path_last_error(last, why, why_bytes);
}
