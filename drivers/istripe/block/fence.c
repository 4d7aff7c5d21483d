// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "block/fence.h"
#include "block/leg.h"
#include "block/path.h"

static int fence_through(struct istripe_path *path, const struct istripe_path *sibling)
{
	struct istripe_session_params params;
	char why[ISTRIPE_WHY_BYTES] = "";
	int ret;

	istripe_path_log_in(path, &params);
	params.portal = sibling->params.portal;
	params.way = &sibling->params;
	params.fence = true;
	ret = istripe_path_open_session(path, &params, why, sizeof(why));
	if (ret) {
		pr_info_ratelimited("%s: cannot end the old session through %s: %s\n",
				    path->label, sibling->label, why);
	} else {
		pr_info_ratelimited("%s: the old session is ended through %s\n", path->label,
				    sibling->label);
		istripe_leg_path_fenced(path->leg, path);
		istripe_session_logout(path->owned, ISTRIPE_LOGOUT_TIMEOUT_MS);
	}
	istripe_path_close_session(path, -ECONNRESET);
	return ret;
}

/*
 * That the name and the tag are the same proves that it is the same portal group, unless
 * two targets have been given the same name: whether that is so only the administrator
 * knows.
 */
static bool fence_may(const struct istripe_path *path, const struct istripe_path *sibling)
{
	if (READ_ONCE(path->leg->fence) != ISTRIPE_FENCE_PORTAL_GROUP)
		return false;
	/* Without the tag nobody knows whether the sibling reaches the same portal group. */
	return sibling != path && READ_ONCE(sibling->live) && path->tpgt_known &&
	       !strcmp(sibling->params.target_name, path->params.target_name);
}

void istripe_fence(struct istripe_path *path)
{
	const struct istripe_leg *leg = path->leg;
	int ret = -ENOTCONN;
	u32 i;

	/* One that does not answer at all costs enough time. */
	for (i = 0; i < leg->path_count && ret && ret != -ETIMEDOUT; i++) {
		if (!istripe_leg_path_waits(path->leg, path) ||
		    test_bit(ISTRIPE_PATH_STOP, &path->events))
			return;
		if (fence_may(path, leg->paths[i]))
			ret = fence_through(path, leg->paths[i]);
	}
}

u32 istripe_fence_first(struct istripe_path *path)
{
	unsigned long begin = jiffies;
	u32 spent_ms;

	path->fence_first = false;
	istripe_fence(path);
	spent_ms = jiffies_to_msecs(jiffies - begin);
	return path->wait_ms - min(path->wait_ms, spent_ms);
}

bool istripe_fence_wanted(const struct istripe_path *path)
{
	struct istripe_leg *leg = path->leg;

	return READ_ONCE(leg->fence) == ISTRIPE_FENCE_PORTAL_GROUP &&
	       READ_ONCE(leg->live_paths) && istripe_leg_path_waits(leg, path);
}
