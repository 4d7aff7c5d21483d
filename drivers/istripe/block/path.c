// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include "block/backoff.h"
#include "block/last_error.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "transport/socket.h"

/* For so long after a small request large ones leave the last connection alone. */
#define BESIDE_MS	1000

/*
 * N sessions have N command windows and fail one by one; one session of N connections has one
 * window, and Linux's own target may not survive its loss.
 */
static enum istripe_multi path_multi(const struct istripe_path_params *params)
{
	return params->multi == ISTRIPE_MULTI_AUTO ? ISTRIPE_MULTI_SESSIONS : params->multi;
}

/* A session of an earlier start may still carry out writes. */
static void path_restore_unfenced(struct istripe_nexus *nexus, const struct istripe_unfenced *saved)
{
	nexus->unfenced = saved->unfenced;
	nexus->undrained = saved->undrained;
	nexus->tpgt = saved->tpgt;
}

static int path_create_nexuses(struct istripe_path *path)
{
	int ret = istripe_chap_hashes_add(&path->hashes, &path->params.chap);
	u32 connections = istripe_path_connections(&path->params);
	bool mcs = path->params.multi == ISTRIPE_MULTI_MCS;
	struct istripe_nexus *nexus;
	u32 i;

	for (i = 0; !ret && i < connections; i++) {
		nexus = istripe_nexus_create(path, i);
		if (IS_ERR(nexus))
			return PTR_ERR(nexus);
		path_restore_unfenced(nexus, &path->params.saved[i]);
		/* Also a reserve nexus with saved unfenced writes: only its own login ends them. */
		nexus->wanted = !mcs || !i || nexus->unfenced || nexus->undrained.super;
		/* An attempt that nobody remembers may have left zeroes, see super_wipe(). */
		if (nexus->wanted && !nexus->undrained.any &&
		    READ_ONCE(path->leg->volume->metadata.wipes))
			nexus->undrained = (struct istripe_undrained) { .any = true };
		path->nexuses[path->nexus_count++] = nexus;
	}
	return ret;
}

static void path_hold_congestion_control(struct istripe_path *path)
{
	char name[ISTRIPE_CONGESTION_CONTROL_BYTES];

	istripe_params_read(name, path->params.socket.congestion_control, sizeof(name));
	istripe_socket_hold_congestion_control(path->leg->volume->net, name,
					       &path->congestion_holder);
}

struct istripe_path *istripe_path_create(struct istripe_leg *leg,
					 const struct istripe_path_params *params)
{
	struct istripe_path *path = kvzalloc(sizeof(*path), GFP_KERNEL);
	int ret;

	if (!path)
		return ERR_PTR(-ENOMEM);
	path->leg = leg;
	path->index = params->index;
	path->params = *params;
	path->params.multi = path_multi(params);
	path->kept = ISTRIPE_CONNECTIONS_MAX;
	path->small_at = jiffies - msecs_to_jiffies(BESIDE_MS);
	spin_lock_init(&path->login_lock);
	INIT_LIST_HEAD(&path->sysfs_dirs);
	INIT_LIST_HEAD(&path->sysfs_session_dirs);
	path->latencies = alloc_percpu(struct istripe_latencies);
	ret = path->latencies ? path_create_nexuses(path) : -ENOMEM;
	if (!ret) {
		path_hold_congestion_control(path);
		return path;
	}
	istripe_path_destroy(path);
	return ERR_PTR(ret);
}

void istripe_path_destroy(struct istripe_path *path)
{
	u32 i;

	if (IS_ERR_OR_NULL(path))
		return;
	/* No reader of the nexuses, or of the path, is left: see istripe_nexus_destroy(). */
	for (i = 0; i < path->nexus_count; i++)
		istripe_nexus_destroy(path->nexuses[i]);
	istripe_chap_hashes_free(&path->hashes);
	istripe_socket_hold_congestion_control(path->leg->volume->net, "",
					       &path->congestion_holder);
	free_percpu(path->latencies);
	kvfree_sensitive(path, sizeof(*path));
}

u32 istripe_path_unfenced(const struct istripe_path *path)
{
	u32 i, count = 0;

	for (i = 0; i < path->nexus_count; i++)
		count += path->nexuses[i]->unfenced;
	return count;
}

static void path_tell_nexus(struct istripe_nexus *nexus,
			    void (*tell)(struct istripe_session *session))
{
	struct istripe_session *session;

	mutex_lock(&nexus->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&nexus->owned);
	if (session)
		tell(session);
	mutex_unlock(&nexus->session_lock);
}

static void path_tell(struct istripe_path *path, void (*tell)(struct istripe_session *session))
{
	/* The worker waits for session_lock: no memory may be waited for. */
	unsigned int noreclaim = memalloc_noreclaim_save();
	int section = srcu_read_lock(&path->leg->srcu);
	struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus)
		path_tell_nexus(nexus, tell);
	srcu_read_unlock(&path->leg->srcu, section);
	memalloc_noreclaim_restore(noreclaim);
}

void istripe_path_tune(struct istripe_path *path)
{
	unsigned int noreclaim = memalloc_noreclaim_save();

	path_hold_congestion_control(path);
	memalloc_noreclaim_restore(noreclaim);
	path_tell(path, istripe_session_tune);
}

void istripe_path_keepalive_anew(struct istripe_path *path)
{
	path_tell(path, istripe_session_keepalive_anew);
}

void istripe_path_wake(const struct istripe_path *path)
{
	int section = srcu_read_lock(&path->leg->srcu);
	struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus)
		if (istripe_backoff_next_ms(nexus) / 9 * 8 > path->params.timers.login_retry_max_ms)
			istripe_nexus_wake(nexus);
	srcu_read_unlock(&path->leg->srcu, section);
}

/* False: there is a session, or no login will come. */
static bool path_takes_login(const struct istripe_path *path, struct istripe_reason *why)
{
	struct istripe_nexus *nexus;
	const char *but;

	lockdep_assert_held(&path->login_lock);
	istripe_path_for_each_nexus(path, nexus) {
		if (rcu_access_pointer(nexus->session))
			but = "and a session of the path is live";
		else if (READ_ONCE(nexus->state) == ISTRIPE_NEXUS_DEAD)
			but = "and the path is dead";
		else
			continue;
		istripe_reason_set(why,
				   "it is for the next login, %s: write 0 to its enable first, and 1 afterwards, as istripectl apply does",
				   but);
		return false;
	}
	return true;
}

int istripe_path_relogin(struct istripe_path *path, const struct istripe_path_params *wanted,
			 bool chap, struct istripe_reason *why)
{
	/* As in path_tell(). */
	unsigned int noreclaim = memalloc_noreclaim_save();
	int ret = chap ? istripe_chap_hashes_add(&path->hashes, &wanted->chap) : 0;
	int section = srcu_read_lock(&path->leg->srcu);
	struct istripe_path_params *its = &path->params;
	struct istripe_nexus *nexus;

	spin_lock(&path->login_lock);
	if (!ret && !path_takes_login(path, why))
		ret = -EBUSY;
	if (!ret) {
		istripe_params_write(&its->source_address, &wanted->source_address,
				     sizeof(its->source_address));
		istripe_params_write(its->nic, wanted->nic, sizeof(its->nic));
		if (chap)
			istripe_params_write(&its->chap, &wanted->chap, sizeof(its->chap));
		/* Pairs with the acquire in nexus_attempt(). */
		smp_store_release(&path->login_changes, path->login_changes + 1);
	}
	spin_unlock(&path->login_lock);
	if (!ret)
		istripe_path_for_each_nexus(path, nexus)
			istripe_nexus_relogin(nexus);
	srcu_read_unlock(&path->leg->srcu, section);
	memalloc_noreclaim_restore(noreclaim);
	return ret;
}

static void path_note_small(struct istripe_path *path)
{
	unsigned long now = jiffies;

	if (READ_ONCE(path->small_at) != now)
		WRITE_ONCE(path->small_at, now);
}

static bool path_has_small(const struct istripe_path *path)
{
	return time_before(jiffies, READ_ONCE(path->small_at) + msecs_to_jiffies(BESIDE_MS));
}

static bool path_lane_is_free(const struct istripe_path *path, u32 lane)
{
	const struct istripe_nexus *nexus = istripe_path_pick(path, lane);

	return !nexus || !atomic_read(&nexus->large_tasks);
}

/*
 * A target sends the data of reads one after the other, and no order of ours helps a small request
 * that is asked for last. So it goes over a TCP connection on which there are no large ones.
 */
u32 istripe_path_lane(struct istripe_path *path, const struct istripe_task *task)
{
	u32 bytes = task->data.length_bytes;
	u32 lanes = READ_ONCE(path->lanes);

	/* The connections of one session are its own to choose from. */
	if (lanes < 2 || READ_ONCE(path->nexus_count) < 2 || task->polled)
		return task->lane;
	/* Of large writes tx.c gives TCP little at a time, and sends small commands ahead. */
	if (task->read && bytes >= ISTRIPE_PATH_LARGE_BYTES && path_has_small(path))
		return task->lane % (lanes - 1);
	if (bytes > ISTRIPE_TASK_SMALL_BYTES)
		return task->lane;
	/* A flush alone keeps no lane free: file systems flush while they write. */
	if (bytes)
		path_note_small(path);
	return path_lane_is_free(path, task->lane) ? task->lane : lanes - 1;
}

struct istripe_nexus *istripe_path_pick(const struct istripe_path *path, u32 lane)
{
	u32 count = READ_ONCE(path->nexus_count);
	u32 lanes = READ_ONCE(path->lanes);
	struct istripe_nexus *nexus;
	u32 i, of_nexus;

	lockdep_assert(srcu_read_lock_held(&path->leg->srcu));
	if (!lanes)
		return NULL;
	if (count == 1)
		return path->nexuses[0];
	lane %= lanes;
	for (i = 0; i < count; i++) {
		nexus = READ_ONCE(path->nexuses[i]);
		of_nexus = nexus ? READ_ONCE(nexus->lanes) : 0;
		if (lane < of_nexus)
			return nexus;
		lane -= of_nexus;
	}
	return NULL;
}

struct istripe_nexus *istripe_path_next_nexus(const struct istripe_path *path, u32 *at)
{
	struct istripe_nexus *nexus = NULL;

	while (!nexus && *at < ISTRIPE_CONNECTIONS_MAX)
		nexus = READ_ONCE(path->nexuses[(*at)++]);
	return nexus;
}

u32 istripe_path_state(const struct istripe_path *path)
{
	u32 state, wanted = 0, live = 0;
	struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus) {
		/* One that is being added has not failed. */
		if (!READ_ONCE(nexus->wanted) || !completion_done(&nexus->first_result))
			continue;
		wanted++;
		live += READ_ONCE(nexus->state) == ISTRIPE_NEXUS_LIVE;
	}
	if (live)
		return live < wanted ? ISTRIPE_PATH_DEGRADED : ISTRIPE_NEXUS_LIVE;
	state = READ_ONCE(path->nexuses[0]->state);
	/* A path that is given up on purpose is not lost. */
	if (state != ISTRIPE_NEXUS_LIVE && !READ_ONCE(path->nexuses[0]->wanted))
		return ISTRIPE_NEXUS_IDLE;
	return state;
}

const char *istripe_path_state_name(u32 state)
{
	return state == ISTRIPE_PATH_DEGRADED ? "degraded" :
						istripe_state_name(&istripe_nexus_states, state);
}

u64 istripe_path_reconnects(const struct istripe_path *path)
{
	u64 sum = path->gone_reconnects;
	const struct istripe_nexus *nexus;

	lockdep_assert_held(&path->leg->lock);
	istripe_path_for_each_nexus(path, nexus)
		sum += READ_ONCE(nexus->reconnects);
	return sum;
}

u64 istripe_path_faults(const struct istripe_path *path)
{
	const struct istripe_nexus *nexus;
	u64 sum = path->gone_faults;

	lockdep_assert_held(&path->leg->lock);
	istripe_path_for_each_nexus(path, nexus)
		sum += READ_ONCE(nexus->faults);
	return sum;
}

static const char *nexus_holding(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	const struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	const char *holding = NULL;

	if (session && READ_ONCE(nexus->state) == ISTRIPE_NEXUS_LIVE)
		holding = READ_ONCE(nexus->leg->unfenced_nexuses) ?
			  "fence" : istripe_session_holding(session);
	srcu_read_unlock(&nexus->srcu, section);
	return holding;
}

const char *istripe_path_holding(const struct istripe_path *path)
{
	const char *holding = NULL;
	struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus)
		holding = holding ?: nexus_holding(nexus);
	return holding ?: "none";
}

void istripe_path_last_error(const struct istripe_path *path, struct istripe_reason *why)
{
	struct istripe_nexus *nexus, *last = path->nexuses[0];

	istripe_path_for_each_nexus(path, nexus)
		if (ktime_after(READ_ONCE(nexus->error_time), READ_ONCE(last->error_time)))
			last = nexus;
	istripe_last_error_read(last, why);
}
