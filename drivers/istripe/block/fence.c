// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/printk.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include "block/bundle.h"
#include "block/fence.h"
#include "block/leg.h"
#include "block/lun.h"
#include "block/lun_reset.h"
#include "block/path.h"
#include "block/proof.h"
#include "proto/error.h"

/* A sibling, copied: it may go while its way is used. */
struct fence_sibling {
	struct istripe_way way;
	u32 generation;
	char label[ISTRIPE_LABEL_BYTES];
};

/* The path whose session the way is that of. */
static struct istripe_path *fence_find(const struct istripe_path *path,
				       const struct fence_sibling *sibling)
{
	struct istripe_path *other, *found = NULL;
	struct istripe_leg *leg = path->leg;
	u32 at;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_path(leg, other, at)
		if (other->live && other->generation == sibling->generation &&
		    istripe_fence_may(path, other))
			found = other;
	spin_unlock_bh(&leg->lock);
	return found;
}

/*
 * We have logged in through the sibling's way: was that where its session is? Another node
 * may have its address by now, and nobody has noticed. A session that answers after the
 * login says no; and ours, that the address has not come back meanwhile.
 */
static int fence_check_way(const struct istripe_path *path, const struct fence_sibling *sibling)
{
	int section = srcu_read_lock(&path->leg->srcu);
	struct istripe_path *other = fence_find(path, sibling);
	int ret = other ? istripe_proof_ask(other, sibling->generation) : -ENOTCONN;

	srcu_read_unlock(&path->leg->srcu, section);
	return ret ?: istripe_session_ping(path->owned, ISTRIPE_PING_TIMEOUT_MS);
}

int istripe_fence_drain(struct istripe_path *path, char *why, size_t why_bytes)
{
	struct istripe_leg *leg = path->leg;
	int ret;

	/* Another LUN has not got them; the path is about to be refused for that. */
	if (!istripe_leg_path_waits(leg, path) || !istripe_leg_is(leg, &path->found))
		return 0;
	ret = istripe_lun_reset(path);
	if (ret && ret != -EOPNOTSUPP) {
		scnprintf(why, why_bytes,
			  "writes of the lost session wait, the target may still carry them out: LOGICAL UNIT RESET is %s; it is asked again",
			  istripe_lun_reset_result_name(READ_ONCE(leg->lun_reset)));
		return ret;
	}
	istripe_leg_path_fenced(leg, path);
	return 0;
}

/* The login has ended the old session: now what the target had taken of it. */
static int fence_end_commands(struct istripe_path *path, char *why, size_t why_bytes)
{
	u32 timeout_ms = READ_ONCE(path->params.timers.login_timeout_ms);
	int ret = istripe_lun_probe(path->owned, path->params.lun, timeout_ms, &path->found, why,
				    why_bytes);

	if (ret)
		return ret;
	if (!istripe_leg_is(path->leg, &path->found)) {
		scnprintf(why, why_bytes, "it shows another LUN, %s", path->found.designator);
		return -ENODEV;
	}
	path->owned->lun = path->found.address;
	return istripe_fence_drain(path, why, why_bytes);
}

/* Log in through the sibling; the session is path->owned. */
static int fence_log_in(struct istripe_path *path, const struct fence_sibling *sibling, char *why,
			size_t why_bytes)
{
	struct istripe_session_params params;
	int ret;

	istripe_path_log_in(path, &params);
	params.way = sibling->way;
	params.fence = true;
	ret = istripe_path_open_session(path, &params, why, why_bytes);
	if (ret)
		return ret;
	ret = fence_check_way(path, sibling);
	if (ret)
		scnprintf(why, why_bytes,
			  "it does not answer itself, another may have its address: %s (%pe)",
			  istripe_error_words(ret), ERR_PTR(ret));
	else
		ret = fence_end_commands(path, why, why_bytes);
	istripe_session_logout(path->owned, ISTRIPE_LOGOUT_TIMEOUT_MS);
	/* The target of the next sibling is the same; but not everything is the target's fault. */
	return ret && ret != -ETIMEDOUT ? -EHOSTDOWN : ret;
}

static int fence_through(struct istripe_path *path, const struct fence_sibling *sibling)
{
	char why[ISTRIPE_WHY_BYTES] = "";
	int ret = fence_log_in(path, sibling, why, sizeof(why));

	if (ret)
		pr_info_ratelimited("%s: cannot end the old session through %s: %s\n",
				    path->label, sibling->label, why);
	else
		pr_info_ratelimited("%s: the old session is ended through %s\n", path->label,
				    sibling->label);
	istripe_path_close_session(path, -ECONNRESET);
	return ret;
}

bool istripe_fence_may(const struct istripe_path *path, const struct istripe_path *sibling)
{
	lockdep_assert_held(&path->leg->lock);
	/* What leads the same way as the path is no other way: its own login does as well. */
	return READ_ONCE(path->leg->fence) == ISTRIPE_FENCE_PORTAL_GROUP &&
	       sibling->bundle != path->bundle && istripe_proof_same(path, sibling);
}

/*
 * The first one from @at on, see istripe_leg_next_path(). Where the next one is to be looked
 * for, behind all that lead the same way; or 0 when there is none.
 */
static u32 fence_next(const struct istripe_path *path, u32 at, struct fence_sibling *sibling)
{
	const struct istripe_path *other;
	struct istripe_leg *leg = path->leg;
	u32 after = 0;

	spin_lock_bh(&leg->lock);
	while (!after && (other = istripe_leg_next_path(leg, &at))) {
		if (!other->live || !istripe_fence_may(path, other))
			continue;
		sibling->way = other->way;
		sibling->generation = other->generation;
		strscpy(sibling->label, other->label, sizeof(sibling->label));
		after = round_up(at, ISTRIPE_CONNECTIONS_MAX);
	}
	spin_unlock_bh(&leg->lock);
	return after;
}

void istripe_fence(struct istripe_path *path)
{
	struct fence_sibling sibling;
	u32 next = 0;
	int ret;

	while (istripe_leg_path_waits(path->leg, path) &&
	       !test_bit(ISTRIPE_PATH_STOP, &path->events)) {
		next = fence_next(path, next, &sibling);
		if (!next)
			return;
		ret = fence_through(path, &sibling);
		/* One that does not answer at all costs enough time. */
		if (!ret || ret == -ETIMEDOUT)
			return;
	}
}

bool istripe_fence_wanted(const struct istripe_path *path)
{
	struct fence_sibling sibling;

	return istripe_leg_path_waits(path->leg, path) && fence_next(path, 0, &sibling);
}
