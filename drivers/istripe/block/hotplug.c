// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel.h>

#include <istripe/reason.h>
#include "block/hotplug.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/leg_life.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/reservation.h"
#include "block/resize.h"
#include "block/volume.h"

static int leg_pause_reservations(const struct istripe_leg *leg, bool killable,
				  struct istripe_reason *why)
{
	if (!istripe_reservation_pause(leg->volume, killable))
		return 0;
	return istripe_reason_fail(why, -EINTR, "interrupted");
}

/*
 * A session is an initiator port (SPC-4 5.12), to be registered. Keys that change from now on go to
 * nexuses that are in the leg, or are seen by their logins: pr_key.h.
 */
static int leg_check_keys(const struct istripe_leg *leg, struct istripe_reason *why)
{
	int ret = leg_pause_reservations(leg, true, why);

	if (ret)
		return ret;
	ret = istripe_reservation_may_join(leg, why);
	istripe_reservation_resume(leg->volume);
	return ret;
}

static int path_may_add(const struct istripe_leg *leg, const struct istripe_path_params *params,
			struct istripe_reason *why)
{
	struct gendisk *disk = leg->volume->disk;

	if (params->offer.value[ISTRIPE_KEY_DATA_DIGEST] != ISTRIPE_DIGEST_NONE &&
	    !bdev_stable_writes(disk->part0))
		return istripe_reason_fail(why, -EINVAL,
					   "data_digest: the volume was enabled without any, its pages are not stable");
	return 0;
}

/* One live nexus is enough; the others go on trying. */
static int path_wait(struct istripe_path *path, struct istripe_reason *why)
{
	struct istripe_nexus *nexus, *failed = NULL;
	u32 i, live = 0;

	for (i = 0; i < path->nexus_count; i++) {
		nexus = path->nexuses[i];
		if (!READ_ONCE(nexus->wanted))
			continue;
		if (wait_for_completion_killable(&nexus->first_result))
			return istripe_reason_fail(why, -EINTR,
						   "interrupted while %s was connecting",
						   nexus->label);
		if (nexus->first_error)
			failed = failed ?: nexus;
		else
			live++;
	}
	if (!live)
		return istripe_leg_nexus_error(failed, why);
	for (i = 0; i < path->nexus_count; i++)
		if (path->nexuses[i]->first_error)
			istripe_nexus_persist(path->nexuses[i]);
	return 0;
}

/* Its holder may wait as long as a command takes, so a fatal signal ends this. */
static int leg_lock_paths(struct istripe_leg *leg, struct istripe_reason *why)
{
	if (!mutex_lock_killable(&leg->paths_lock))
		return 0;
	return istripe_reason_fail(why, -EINTR, "interrupted");
}

static int path_start(struct istripe_path *path, struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	u32 i;

	lockdep_assert_held(&leg->paths_lock);
	istripe_leg_add_path(leg, path);
	for (i = 0; i < path->nexus_count; i++)
		if (path->nexuses[i]->wanted)
			istripe_nexus_event(path->nexuses[i], ISTRIPE_NEXUS_START);
	return path_wait(path, why);
}

/* No unfenced state is restored: the volume came up, so earlier writes of this number are dead. */
static int path_make_nexuses(struct istripe_path *path, u32 count, struct istripe_nexus **more)
{
	u32 i, before = path->nexus_count;

	lockdep_assert_held(&path->leg->paths_lock);
	for (i = before; i < count; i++) {
		more[i] = istripe_nexus_create(path, i);
		if (IS_ERR(more[i])) {
			while (i-- > before)
				istripe_nexus_destroy(more[i]);
			return -ENOMEM;
		}
		more[i]->wanted = path->params.multi != ISTRIPE_MULTI_MCS;
		more[i]->undrained = path->params.saved[i].undrained;
	}
	return 0;
}

static void path_add_nexuses(struct istripe_path *path, u32 count, struct istripe_nexus **more)
{
	u32 i, before = path->nexus_count;
	struct istripe_leg *leg = path->leg;

	lockdep_assert_held(&leg->paths_lock);
	spin_lock_bh(&leg->lock);
	for (i = before; i < count; i++) {
		/* Complete first: readers take no lock. */
		smp_store_release(&path->nexuses[i], more[i]);
	}
	WRITE_ONCE(path->nexus_count, count);
	WRITE_ONCE(leg->nexus_count, leg->nexus_count + count - before);
	spin_unlock_bh(&leg->lock);
}

int istripe_path_check_renew(const struct istripe_path *path, struct istripe_reason *why)
{
	const struct istripe_leg *leg = path->leg;
	u32 gap_ms = ISTRIPE_SEVERAL_WAIT_MS + READ_ONCE(path->params.timers.login_timeout_ms);
	int recovery_ms = READ_ONCE(leg->volume->recovery_timeout_ms);

	if (path->params.multi != ISTRIPE_MULTI_MCS ||
	    READ_ONCE(leg->usable_nexuses) > istripe_nexus_usable(path->nexuses[0]) ||
	    recovery_ms < 0 || recovery_ms >= gap_ms)
		return 0;
	return istripe_reason_fail(why, -EBUSY,
				   "its session would log in anew, and no other path is live: recovery_timeout_ms must be at least %u for that, or -1",
				   gap_ms);
}

void istripe_path_renew(struct istripe_path *path)
{
	istripe_nexus_event(path->nexuses[0], ISTRIPE_NEXUS_LOGOUT);
}

struct retired {
	unsigned long wanted;	/* a bit for each that was wanted */
	u32 live;		/* how many were live */
	u32 usable;		/* those of them whose ports took I/O */
};

/* Will anything of the leg be live without the nexuses from @from on? Counts these. */
static int path_check_others(const struct istripe_path *path, u32 from, struct retired *retired,
			     struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	struct istripe_nexus *nexus;
	u32 i, all = 0;

	lockdep_assert_held(&leg->lock);
	*retired = (struct retired) {};
	for (i = from; i < path->nexus_count; i++) {
		retired->live += path->nexuses[i]->live;
		retired->usable += istripe_nexus_usable(path->nexuses[i]);
	}
	istripe_leg_for_each_nexus(leg, nexus)
		all += nexus->live;
	if ((!retired->live || retired->live < all) &&
	    (!retired->usable || retired->usable < leg->usable_nexuses))
		return 0;
	return istripe_reason_fail(why, -EBUSY, "nothing else of leg %u is live", leg->index);
}

/* @leaves: they are to be taken out, and end their registrations. */
static void path_retire_nexuses(struct istripe_path *path, u32 from, bool leaves,
				struct retired *retired)
{
	u32 i;

	lockdep_assert_held(&path->leg->lock);
	path->kept = from;
	for (i = from; i < path->nexus_count; i++) {
		if (path->nexuses[i]->wanted)
			retired->wanted |= BIT(i);
		path->nexuses[i]->leaves = leaves;
		istripe_leg_nexus_want(path->nexuses[i], false);
		/* Not earlier: an idle reserve nexus could have been wanted again. */
		reinit_completion(&path->nexuses[i]->idled);
	}
}

/* Check and change under one lock: no other nexus is lost or retired in between. */
static int path_retire_wanted(struct istripe_path *path, u32 from, struct retired *retired,
			      struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	int ret;

	spin_lock_bh(&leg->lock);
	if (!from && leg->path_count == 1)
		ret = istripe_reason_fail(why, -EBUSY, "leg %u has no other path", leg->index);
	else
		ret = path_check_others(path, from, retired, why);
	if (!ret)
		path_retire_nexuses(path, from, true, retired);
	spin_unlock_bh(&leg->lock);
	return ret;
}

/* Without the nexus nobody would know of it when superblocks are written next. */
static int path_check_supers(const struct istripe_path *path, u32 from, struct istripe_reason *why)
{
	bool left = false;
	u32 i;

	spin_lock_bh(&path->leg->lock);
	for (i = from; i < path->nexus_count; i++)
		left |= path->nexuses[i]->undrained.super;
	spin_unlock_bh(&path->leg->lock);
	if (!left)
		return 0;
	return istripe_reason_fail(why, -EBUSY,
				   "a session of it was lost with a superblock that may still be written: see reconnect, fence_confirm and unfenced");
}

/* @asked: see path_retire_end(). A reservation that is made afterwards is held elsewhere. */
static int path_retire_begin(struct istripe_path *path, u32 from, bool asked,
			     struct retired *retired, struct istripe_reason *why)
{
	struct istripe_volume *volume = path->leg->volume;
	int ret = asked ? path_check_supers(path, from, why) : 0;

	ret = ret ?: leg_pause_reservations(path->leg, asked, why);
	if (ret)
		return ret;
	ret = istripe_reservation_may_leave(path, from, asked, why) ?:
	      path_retire_wanted(path, from, retired, why);
	istripe_reservation_resume(volume);
	return ret;
}

static void path_take_back(struct istripe_path *path, const struct retired *retired)
{
	struct istripe_leg *leg = path->leg;
	u32 i, granted;

	spin_lock_bh(&leg->lock);
	/* At once: a registration of keys asks the wanted nexuses, and waits for no other. */
	path->kept = ISTRIPE_CONNECTIONS_MAX;
	for (i = 0; i < path->nexus_count; i++)
		path->nexuses[i]->leaves = false;
	for_each_set_bit(i, &retired->wanted, ISTRIPE_CONNECTIONS_MAX)
		WRITE_ONCE(path->nexuses[i]->wanted, true);
	istripe_announce(&leg->volume->announce);
	spin_unlock_bh(&leg->lock);
	for_each_set_bit(i, &retired->wanted, ISTRIPE_CONNECTIONS_MAX)
		istripe_nexus_persist(path->nexuses[i]);
	/* Nexus 0 may have logged in again meanwhile, without effect on its reserve. */
	granted = READ_ONCE(path->granted);
	if (granted)
		istripe_path_granted(path, granted);
}

/*
 * Waits in slices: when all nexuses that were to carry on are lost, those that still work must
 * stay; a volume that is about to stop waits for us. With @killable a fatal signal ends the wait.
 * Returns the rest of @left.
 */
static long nexus_wait_idle(struct istripe_nexus *nexus, const struct retired *retired, long left,
			    bool killable)
{
	const struct istripe_leg *leg = nexus->leg;

	while (left > 0) {
		long slice = min_t(long, left, HZ);
		long ret = killable ? wait_for_completion_killable_timeout(&nexus->idled, slice) :
				      wait_for_completion_timeout(&nexus->idled, slice);

		if (istripe_resize_is_ending(leg->volume))
			return -EBUSY;
		if (retired->live && !READ_ONCE(leg->live_paths))
			return -EBUSY;
		if (retired->usable && !READ_ONCE(leg->usable_nexuses))
			return -EBUSY;
		if (ret)
			return ret < 0 ? ret : left - slice + ret;
		left -= slice;
	}
	return 0;
}

static int path_wait_idle(struct istripe_path *path, u32 from, const struct retired *retired,
			  bool killable, struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	const struct istripe_path_params *params = &path->params;
	long left = msecs_to_jiffies(READ_ONCE(leg->volume->command_timeout_ms)) +
		    msecs_to_jiffies(READ_ONCE(params->timers.login_timeout_ms));
	struct istripe_nexus *nexus;
	u32 i;

	for (i = from; i < path->nexus_count; i++) {
		nexus = path->nexuses[i];
		left = nexus_wait_idle(nexus, retired, max(left, 1L), killable);
		if (left > 0)
			continue;
		if (left == -EBUSY)
			istripe_reason_set(why, "nothing else of leg %u is live any more",
					   leg->index);
		else if (left < 0)
			istripe_reason_set(why, "interrupted");
		else if (istripe_leg_nexus_waits(nexus))
			istripe_reason_set(why,
					   "its session was lost, and its writes wait for the end of it, or keep their blocks from others: see fence_confirm");
		else
			istripe_reason_set(why, "its tasks take too long");
		return left < 0 && left != -EBUSY ? -EINTR : -EBUSY;
	}
	return 0;
}

/* After path_retire_nexuses(). @asked: by a user, killable; else it undoes istripe_path_add(). */
static int path_retire_end(struct istripe_path *path, u32 from, const struct retired *retired,
			   bool asked, struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	u32 i;

	lockdep_assert_held(&leg->paths_lock);
	/* Submitters that have picked one of them have handed their tasks over. */
	synchronize_srcu(&leg->srcu);
	for (i = from; i < path->nexus_count; i++)
		istripe_nexus_retire(path->nexuses[i]);
	return path_wait_idle(path, from, retired, asked, why);
}

/* Its writes have been let go, and its next login is to end what the target has of them. */
static bool path_owes_drain(const struct istripe_path *path)
{
	const struct istripe_nexus *nexus;
	bool owes = false;
	u32 i;

	spin_lock_bh(&path->leg->lock);
	for (i = 0; i < path->nexus_count; i++) {
		nexus = path->nexuses[i];
		/* Of one that was not live it has been saved before. */
		owes |= nexus->generation && nexus->undrained.any;
	}
	spin_unlock_bh(&path->leg->lock);
	return owes;
}

static int path_retire(struct istripe_path *path, u32 from, bool asked, struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	struct retired retired;
	int ret = 0;

	if (asked)
		ret = leg_lock_paths(leg, why);
	else
		mutex_lock(&leg->paths_lock);
	if (ret)
		return ret;
	ret = path_retire_begin(path, from, asked, &retired, why);
	if (ret)
		goto unlock;
	ret = path_retire_end(path, from, &retired, asked, why);
	/* Unless a user asks nobody remembers what it owes. */
	if (!ret && !asked && path_owes_drain(path))
		ret = -EBUSY;
	if (ret)
		path_take_back(path, &retired);
unlock:
	mutex_unlock(&leg->paths_lock);
	return ret;
}

int istripe_path_retire(struct istripe_path *path, u32 from, struct istripe_reason *why)
{
	return path_retire(path, from, true, why);
}

/* As path_retire_wanted(), for all nexuses. */
static int path_reconnect_begin(struct istripe_path *path, bool alone, struct retired *retired,
				struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	int ret;

	spin_lock_bh(&leg->lock);
	ret = path_check_others(path, 0, retired, why);
	if (alone) {
		/* The wait does not mind either. */
		*retired = (struct retired) {};
		ret = 0;
	}
	/* istripe_path_retire() was before us, istripe_path_drop() follows. */
	if (path->kept != ISTRIPE_CONNECTIONS_MAX)
		ret = istripe_reason_fail(why, -EBUSY,
					  "the path, or a connection of it, is being removed");
	if (!ret)
		path_retire_nexuses(path, 0, false, retired);
	spin_unlock_bh(&leg->lock);
	return ret;
}

int istripe_path_reconnect(struct istripe_path *path, bool alone, struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	struct retired retired;
	int ret = leg_lock_paths(leg, why);

	if (ret)
		return ret;
	/* Meanwhile registrations find the path leaving, as nexus->path->kept says. */
	ret = leg_check_keys(leg, why) ?: path_reconnect_begin(path, alone, &retired, why);
	if (ret)
		goto unlock;
	ret = path_retire_end(path, 0, &retired, true, why);
	path_take_back(path, &retired);
unlock:
	mutex_unlock(&leg->paths_lock);
	return ret;
}

/* Of the nexuses from @from on: they are idle, and count nothing any more. */
static void path_keep_counts(struct istripe_path *path, u32 from)
{
	u32 i;

	lockdep_assert_held(&path->leg->lock);
	for (i = from; i < path->nexus_count; i++) {
		path->gone_reconnects += path->nexuses[i]->reconnects;
		path->gone_faults += path->nexuses[i]->faults;
	}
}

static void path_take_out(struct istripe_path *path, u32 from)
{
	struct istripe_latency gone[ISTRIPE_LATENCY_KINDS];
	struct istripe_leg *leg = path->leg;
	u32 i;

	lockdep_assert_held(&leg->paths_lock);
	/* Its only writer. Summed up before the spinlock: there may be many processors. */
	memcpy(gone, leg->gone, sizeof(gone));
	for (i = 0; !from && i < ISTRIPE_LATENCY_KINDS; i++)
		istripe_latency_add(path->latencies, i, &gone[i]);
	spin_lock_bh(&leg->lock);
	memcpy(leg->gone, gone, sizeof(gone));
	path_keep_counts(path, from);
	WRITE_ONCE(leg->nexus_count, leg->nexus_count - (path->nexus_count - from));
	if (from) {
		WRITE_ONCE(path->nexus_count, from);
		path->kept = ISTRIPE_CONNECTIONS_MAX;
		for (i = from; i < ISTRIPE_CONNECTIONS_MAX; i++)
			WRITE_ONCE(path->nexuses[i], NULL);
	} else {
		WRITE_ONCE(leg->path_count, leg->path_count - 1);
		WRITE_ONCE(leg->paths[path->index], NULL);
	}
	spin_unlock_bh(&leg->lock);
}

void istripe_path_drop(struct istripe_path *path, u32 from)
{
	struct istripe_nexus *gone[ISTRIPE_CONNECTIONS_MAX];
	struct istripe_leg *leg = path->leg;
	u32 i, end = path->nexus_count;

	mutex_lock(&leg->paths_lock);
	memcpy(gone, path->nexuses, sizeof(gone));
	path_take_out(path, from);
	synchronize_srcu(&leg->srcu);
	for (i = from; i < end; i++)
		istripe_nexus_stop(gone[i]);
	/* For timeouts that found a task in flight over one of them before it stopped. */
	synchronize_srcu(&leg->srcu);
	mutex_unlock(&leg->paths_lock);
	if (!from)
		istripe_path_destroy(path);
	for (i = from; from && i < end; i++) {
		path->params.saved[i] = (struct istripe_unfenced) {
			.undrained = gone[i]->undrained,
		};
		istripe_nexus_destroy(gone[i]);
	}
	/* The path may have found fewer blocks than the others. */
	istripe_resize_check(leg->volume);
}

int istripe_path_grow(struct istripe_path *path, u32 count, struct istripe_reason *why)
{
	struct istripe_nexus *more[ISTRIPE_CONNECTIONS_MAX];
	struct istripe_leg *leg = path->leg;
	u32 i, before = path->nexus_count;
	int ret;

	mutex_lock(&leg->paths_lock);
	ret = leg_check_keys(leg, why) ?: path_make_nexuses(path, count, more);
	if (ret)
		goto unlock;
	path_add_nexuses(path, count, more);
	for (i = before; i < count; i++)
		if (READ_ONCE(more[i]->wanted))
			istripe_nexus_persist(more[i]);
unlock:
	mutex_unlock(&leg->paths_lock);
	return ret;
}

struct istripe_path *istripe_path_add(struct istripe_leg *leg,
				      const struct istripe_path_params *params,
				      struct istripe_reason *why)
{
	struct istripe_path *path;
	struct istripe_reason unused;
	int ret;

	ret = path_may_add(leg, params, why);
	if (ret)
		return ERR_PTR(ret);
	path = istripe_path_create(leg, params);
	if (IS_ERR(path))
		return path;
	ret = leg_lock_paths(leg, why);
	if (ret)
		goto destroy;
	ret = leg_check_keys(leg, why);
	if (ret) {
		mutex_unlock(&leg->paths_lock);
		goto destroy;
	}
	ret = path_start(path, why);
	mutex_unlock(&leg->paths_lock);
	if (!ret)
		return path;
	/* A path that cannot be retired has been live and has, or had, writes: it stays. */
	if (path_retire(path, 0, false, &unused))
		return path;
	istripe_path_drop(path, 0);
	return ERR_PTR(ret);
destroy:
	istripe_path_destroy(path);
	return ERR_PTR(ret);
}

/* A new session could not be registered, and its tasks would fail. */
static bool path_lacks_key(const struct istripe_path *path)
{
	const struct istripe_leg *leg = path->leg;

	return READ_ONCE(leg->volume->has_keys) && !READ_ONCE(leg->pr_key.key);
}

/* A reserve, or it has left a superblock, which only its own login ends. */
static bool nexus_is_needed(const struct istripe_nexus *nexus)
{
	lockdep_assert_held(&nexus->leg->lock);
	return nexus->index >= READ_ONCE(nexus->path->granted) || nexus->undrained.super;
}

void istripe_path_spare(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool spare;

	if (!nexus->index || nexus->path->params.multi != ISTRIPE_MULTI_MCS)
		return;
	spin_lock_bh(&leg->lock);
	spare = nexus->wanted && !nexus_is_needed(nexus);
	if (spare)
		istripe_leg_nexus_want(nexus, false);
	spin_unlock_bh(&leg->lock);
	if (spare)
		istripe_nexus_retire(nexus);
}

static void path_start_reserve(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool needed;

	spin_lock_bh(&leg->lock);
	needed = !nexus->wanted && nexus_is_needed(nexus) && !path_lacks_key(nexus->path);
	if (needed)
		istripe_leg_nexus_want(nexus, true);
	spin_unlock_bh(&leg->lock);
	if (!needed)
		return;
	/* Pairs with reservation.c: a registration sees the nexus, or we see its keys. */
	smp_mb();
	if (!path_lacks_key(nexus->path)) {
		istripe_nexus_persist(nexus);
		return;
	}
	spin_lock_bh(&leg->lock);
	istripe_leg_nexus_want(nexus, false);
	spin_unlock_bh(&leg->lock);
	istripe_nexus_retire(nexus);
}

void istripe_path_granted(struct istripe_path *path, u32 granted)
{
	struct istripe_nexus *nexus;
	int section;
	u32 i;

	if (path->params.multi != ISTRIPE_MULTI_MCS)
		return;
	WRITE_ONCE(path->granted, granted);
	section = srcu_read_lock(&path->leg->srcu);
	for (i = 1; i < READ_ONCE(path->nexus_count); i++) {
		nexus = READ_ONCE(path->nexuses[i]);
		if (!nexus)
			continue;
		istripe_path_spare(nexus);
		path_start_reserve(nexus);
	}
	srcu_read_unlock(&path->leg->srcu, section);
}
