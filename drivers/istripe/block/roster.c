// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel.h>

#include "block/bundle.h"
#include "block/capacity.h"
#include "block/leg.h"
#include "block/path.h"
#include "block/reservation.h"
#include "block/roster.h"
#include "block/volume.h"

void istripe_roster_enter(struct istripe_leg *leg, struct istripe_bundle *bundle)
{
	lockdep_assert_held(&leg->roster_lock);
	spin_lock_bh(&leg->lock);
	/* Whole before anybody finds it. */
	smp_store_release(&leg->bundles[bundle->index], bundle);
	WRITE_ONCE(leg->bundle_end, max(leg->bundle_end, bundle->index + 1));
	WRITE_ONCE(leg->bundle_count, leg->bundle_count + 1);
	WRITE_ONCE(leg->path_count, leg->path_count + bundle->member_count);
	/* Whoever has left writes in the life before: nothing is served until they are dead. */
	WRITE_ONCE(leg->unfenced_paths, leg->unfenced_paths + istripe_bundle_unfenced(bundle));
	spin_unlock_bh(&leg->lock);
}

/* Coming */

/*
 * Each session is an initiator port of its own to the target (SPC-4 5.12). After those that
 * come are in the roster, before they start: who registers keys from then on finds them.
 */
static int roster_check_keys(const struct istripe_leg *leg, char *why, size_t why_bytes)
{
	if (istripe_reservation_knows_paths(leg->volume))
		return 0;
	scnprintf(why, why_bytes,
		  "keys of persistent reservations are registered: the path would have none");
	return -EBUSY;
}

static int roster_may_add(const struct istripe_leg *leg, const struct istripe_path_params *params,
			  char *why, size_t why_bytes)
{
	struct gendisk *disk = leg->volume->disk;

	if (params->offer.value[ISTRIPE_KEY_DATA_DIGEST] != ISTRIPE_DIGEST_NONE &&
	    !bdev_stable_writes(disk->part0)) {
		scnprintf(why, why_bytes,
			  "data_digest: the volume was enabled without any, its pages are not stable");
		return -EINVAL;
	}
	return 0;
}

/* One live member is enough; the others go on trying. */
static int bundle_wait(struct istripe_bundle *bundle, char *why, size_t why_bytes)
{
	struct istripe_path *path, *failed = NULL;
	u32 i, live = 0;

	for (i = 0; i < bundle->member_count; i++) {
		path = bundle->members[i];
		if (!READ_ONCE(path->wanted))
			continue;
		if (wait_for_completion_killable(&path->first_result)) {
			scnprintf(why, why_bytes, "interrupted while %s was connecting",
				  path->label);
			return -EINTR;
		}
		if (path->first_error)
			failed = failed ?: path;
		else
			live++;
	}
	if (!live)
		return istripe_leg_path_error(failed, why, why_bytes);
	for (i = 0; i < bundle->member_count; i++)
		if (bundle->members[i]->first_error)
			istripe_path_persist(bundle->members[i]);
	return 0;
}

static int bundle_start(struct istripe_bundle *bundle, char *why, size_t why_bytes)
{
	struct istripe_leg *leg = bundle->leg;
	u32 i;
	int ret;

	mutex_lock(&leg->roster_lock);
	istripe_roster_enter(leg, bundle);
	ret = roster_check_keys(leg, why, why_bytes);
	for (i = 0; !ret && i < bundle->member_count; i++)
		if (bundle->members[i]->wanted)
			istripe_path_start(bundle->members[i]);
	if (!ret)
		ret = bundle_wait(bundle, why, why_bytes);
	mutex_unlock(&leg->roster_lock);
	return ret;
}

/*
 * With the settings that the first one has now. They inherit nothing: what a member of the
 * same number has left in the life before is dead, or the volume would not have come up.
 */
static int bundle_make_more(struct istripe_bundle *bundle, u32 count, struct istripe_path **more)
{
	u32 i, before = bundle->member_count;

	lockdep_assert_held(&bundle->settings_lock);
	for (i = before; i < count; i++) {
		more[i] = istripe_path_create(bundle, i, &bundle->members[0]->params, 1);
		if (IS_ERR(more[i])) {
			while (i-- > before)
				istripe_path_destroy(more[i]);
			return -ENOMEM;
		}
		more[i]->wanted = bundle->multi != ISTRIPE_MULTI_MCS;
	}
	return 0;
}

static void bundle_enter_more(struct istripe_bundle *bundle, u32 count, struct istripe_path **more)
{
	u32 i, before = bundle->member_count;
	struct istripe_leg *leg = bundle->leg;

	lockdep_assert_held(&leg->roster_lock);
	spin_lock_bh(&leg->lock);
	for (i = before; i < count; i++) {
		/* Whole before anybody finds it. */
		smp_store_release(&bundle->members[i], more[i]);
	}
	WRITE_ONCE(bundle->member_count, count);
	WRITE_ONCE(leg->path_count, leg->path_count + count - before);
	spin_unlock_bh(&leg->lock);
}

int istripe_roster_check_renew(const struct istripe_bundle *bundle, char *why, size_t why_bytes)
{
	const struct istripe_leg *leg = bundle->leg;
	u32 gap_ms = ISTRIPE_SEVERAL_WAIT_MS + bundle->members[0]->params.timers.login_timeout_ms;
	int hold_ms = READ_ONCE(leg->volume->recovery_timeout_ms);

	if (bundle->multi != ISTRIPE_MULTI_MCS || READ_ONCE(leg->live_bundles) > 1 || hold_ms < 0 ||
	    hold_ms >= gap_ms)
		return 0;
	scnprintf(why, why_bytes,
		  "its session would log in anew, and no other path is live: recovery_timeout_ms must be at least %u for that, or -1",
		  gap_ms);
	return -EBUSY;
}

void istripe_roster_renew(struct istripe_bundle *bundle, u32 connections)
{
	struct istripe_path *path = bundle->members[0];

	/* Read by the worker, at a login. */
	WRITE_ONCE(path->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS], connections);
	istripe_path_event(path, ISTRIPE_PATH_LOGOUT);
}

/* Going */

/* Who goes. */
struct leavers {
	unsigned long wanted;	/* a bit for each that was */
	u32 live;		/* how many were */
};

/* Checked and done in one: nobody else goes meanwhile. */
static int roster_let_go(struct istripe_bundle *bundle, u32 from, struct leavers *leavers,
			 char *why, size_t why_bytes)
{
	struct istripe_leg *leg = bundle->leg;
	u32 i, live = 0;

	lockdep_assert_held(&leg->lock);
	for (i = from; i < bundle->member_count; i++)
		live += bundle->members[i]->live;
	if (!from && leg->bundle_count == 1) {
		scnprintf(why, why_bytes, "leg %u has no other path", leg->index);
		return -EBUSY;
	}
	if (live && live == leg->live_paths) {
		scnprintf(why, why_bytes, "nothing else of leg %u is live", leg->index);
		return -EBUSY;
	}
	bundle->staying = from;
	*leavers = (struct leavers) { .live = live };
	for (i = from; i < bundle->member_count; i++) {
		if (bundle->members[i]->wanted)
			leavers->wanted |= BIT(i);
		WRITE_ONCE(bundle->members[i]->wanted, false);
		/* Not before: a spare that rests could be wanted again, and rest no more. */
		reinit_completion(&bundle->members[i]->rested);
		istripe_leg_path_off(leg, bundle->members[i]);
	}
	return 0;
}

static void roster_call_back(struct istripe_bundle *bundle, const struct leavers *leavers)
{
	struct istripe_leg *leg = bundle->leg;
	u32 i, granted;

	spin_lock_bh(&leg->lock);
	/* At once: whoever registers keys asks those that are wanted, and waits for no leaver. */
	bundle->staying = ISTRIPE_CONNECTIONS_MAX;
	for_each_set_bit(i, &leavers->wanted, ISTRIPE_CONNECTIONS_MAX)
		WRITE_ONCE(bundle->members[i]->wanted, true);
	spin_unlock_bh(&leg->lock);
	for_each_set_bit(i, &leavers->wanted, ISTRIPE_CONNECTIONS_MAX)
		istripe_path_persist(bundle->members[i]);
	/* Member 0 may have logged in again meanwhile, and its wish come to nothing. */
	granted = READ_ONCE(bundle->granted);
	if (granted)
		istripe_bundle_granted(bundle, granted);
}

/*
 * @killable: else whoever is being killed waits, too. In slices: when what was to carry on
 * is lost, those that are still good are not to go. Returns what is left of @left.
 */
static long roster_wait_one(struct istripe_path *path, const struct leavers *leavers, long left,
			    bool killable)
{
	while (left > 0) {
		long slice = min_t(long, left, HZ);
		long ret = killable ? wait_for_completion_killable_timeout(&path->rested, slice) :
				      wait_for_completion_timeout(&path->rested, slice);

		if (leavers->live && !READ_ONCE(path->leg->live_paths))
			return -EBUSY;
		if (ret)
			return ret < 0 ? ret : left - slice + ret;
		left -= slice;
	}
	return 0;
}

static int roster_wait(struct istripe_bundle *bundle, u32 from, const struct leavers *leavers,
		       bool killable, char *why, size_t why_bytes)
{
	struct istripe_leg *leg = bundle->leg;
	const struct istripe_path_params *params = &bundle->members[0]->params;
	long left = msecs_to_jiffies(READ_ONCE(leg->volume->command_timeout_ms)) +
		    msecs_to_jiffies(READ_ONCE(params->timers.login_timeout_ms));
	struct istripe_path *path;
	u32 i;

	for (i = from; i < bundle->member_count; i++) {
		path = bundle->members[i];
		left = roster_wait_one(path, leavers, max(left, 1L), killable);
		if (left > 0)
			continue;
		if (left == -EBUSY)
			scnprintf(why, why_bytes, "nothing else of leg %u is live any more",
				  leg->index);
		else if (left < 0)
			scnprintf(why, why_bytes, "interrupted");
		else if (istripe_leg_path_waits(leg, path))
			scnprintf(why, why_bytes,
				  "its session was lost, and its writes wait for the end of it");
		else
			scnprintf(why, why_bytes, "its tasks take too long");
		return left < 0 && left != -EBUSY ? -EINTR : -EBUSY;
	}
	return 0;
}

/* The target would keep them, and a reservation that only this path can release. */
static int roster_check_kept_keys(const struct istripe_leg *leg, char *why, size_t why_bytes)
{
	if (!READ_ONCE(leg->volume->has_keys))
		return 0;
	scnprintf(why, why_bytes,
		  "keys of persistent reservations are registered, also over this path");
	return -EBUSY;
}

/* @asked: by a user, who may be killed; else it undoes a coming. */
static int roster_leave(struct istripe_bundle *bundle, u32 from, bool asked, char *why,
			size_t why_bytes)
{
	struct istripe_leg *leg = bundle->leg;
	struct leavers leavers;
	u32 i;
	int ret;

	mutex_lock(&leg->roster_lock);
	spin_lock_bh(&leg->lock);
	ret = roster_let_go(bundle, from, &leavers, why, why_bytes);
	spin_unlock_bh(&leg->lock);
	if (ret)
		goto unlock;
	/* Whoever has picked one of them has handed its task over. */
	synchronize_srcu(&leg->srcu);
	for (i = from; i < bundle->member_count; i++)
		istripe_path_leave(bundle->members[i]);
	/* Who registers keys just now sees that the path leaves, or we see the keys. */
	smp_mb();
	if (asked)
		ret = roster_check_kept_keys(leg, why, why_bytes);
	if (!ret)
		ret = roster_wait(bundle, from, &leavers, asked, why, why_bytes);
	if (ret)
		roster_call_back(bundle, &leavers);
unlock:
	mutex_unlock(&leg->roster_lock);
	return ret;
}

int istripe_roster_leave(struct istripe_bundle *bundle, u32 from, char *why, size_t why_bytes)
{
	/* Also before anything is touched. */
	return roster_check_kept_keys(bundle->leg, why, why_bytes) ?:
	       roster_leave(bundle, from, true, why, why_bytes);
}

/* Out of everybody's sight. */
static void roster_take_out(struct istripe_bundle *bundle, u32 from)
{
	struct istripe_leg *leg = bundle->leg;
	u32 i;

	lockdep_assert_held(&leg->roster_lock);
	spin_lock_bh(&leg->lock);
	WRITE_ONCE(leg->path_count, leg->path_count - (bundle->member_count - from));
	if (from) {
		WRITE_ONCE(bundle->member_count, from);
		bundle->staying = ISTRIPE_CONNECTIONS_MAX;
		for (i = from; i < ISTRIPE_CONNECTIONS_MAX; i++)
			WRITE_ONCE(bundle->members[i], NULL);
	} else {
		WRITE_ONCE(leg->bundle_count, leg->bundle_count - 1);
		WRITE_ONCE(leg->bundles[bundle->index], NULL);
	}
	spin_unlock_bh(&leg->lock);
}

void istripe_roster_drop(struct istripe_bundle *bundle, u32 from)
{
	struct istripe_path *gone[ISTRIPE_CONNECTIONS_MAX];
	struct istripe_leg *leg = bundle->leg;
	u32 i, end = bundle->member_count;

	mutex_lock(&leg->roster_lock);
	memcpy(gone, bundle->members, sizeof(gone));
	roster_take_out(bundle, from);
	synchronize_srcu(&leg->srcu);
	for (i = from; i < end; i++)
		istripe_path_stop(gone[i]);
	/* Timeouts that have found a task in flight over one of them before that. */
	synchronize_srcu(&leg->srcu);
	mutex_unlock(&leg->roster_lock);
	if (!from)
		istripe_bundle_destroy(bundle);
	for (i = from; from && i < end; i++)
		istripe_path_destroy(gone[i]);
	/* It may have been the one that had less than the others. */
	istripe_capacity_look(leg->volume);
}

int istripe_roster_grow(struct istripe_bundle *bundle, u32 count, char *why, size_t why_bytes)
{
	struct istripe_path *more[ISTRIPE_CONNECTIONS_MAX];
	struct istripe_leg *leg = bundle->leg;
	u32 i, before = bundle->member_count;
	int ret;

	mutex_lock(&leg->roster_lock);
	mutex_lock(&bundle->settings_lock);
	ret = bundle_make_more(bundle, count, more);
	if (!ret)
		bundle_enter_more(bundle, count, more);
	mutex_unlock(&bundle->settings_lock);
	if (ret)
		goto unlock;
	ret = roster_check_keys(leg, why, why_bytes);
	for (i = before; !ret && i < count; i++)
		if (READ_ONCE(more[i]->wanted))
			istripe_path_persist(more[i]);
unlock:
	mutex_unlock(&leg->roster_lock);
	/* They have not been started. */
	if (ret == -EBUSY)
		istripe_roster_drop(bundle, before);
	return ret;
}

struct istripe_bundle *istripe_roster_add(struct istripe_leg *leg,
					  const struct istripe_path_params *params, char *why,
					  size_t why_bytes)
{
	struct istripe_bundle *bundle;
	char unused[ISTRIPE_WHY_BYTES];
	int ret;

	ret = roster_may_add(leg, params, why, why_bytes);
	if (ret)
		return ERR_PTR(ret);
	bundle = istripe_bundle_create(leg, params);
	if (IS_ERR(bundle))
		return bundle;
	ret = bundle_start(bundle, why, why_bytes);
	if (!ret)
		return bundle;
	/* When it cannot go it has been live, and has writes: then it is one of us. */
	if (roster_leave(bundle, 0, false, unused, sizeof(unused)))
		return bundle;
	istripe_roster_drop(bundle, 0);
	return ERR_PTR(ret);
}
