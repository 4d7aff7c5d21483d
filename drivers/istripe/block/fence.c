// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/printk.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include "block/fence.h"
#include "block/leg.h"
#include "block/lun.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/proof.h"
#include "iscsi/error.h"

/* A sibling, copied: it may go while its way is used. */
struct fence_sibling {
	struct istripe_way way;
	u32 generation;
	char label[ISTRIPE_LABEL_BYTES];
};

/* The nexus whose session the way is that of. */
static struct istripe_nexus *fence_find(const struct istripe_nexus *nexus,
					const struct fence_sibling *sibling)
{
	struct istripe_nexus *other, *found = NULL;
	struct istripe_leg *leg = nexus->leg;
	u32 at;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, other, at)
		if (other->live && other->generation == sibling->generation &&
		    istripe_fence_may(nexus, other))
			found = other;
	spin_unlock_bh(&leg->lock);
	return found;
}

/*
 * We have logged in through the sibling's way: was that where its session is? Another node
 * may have its address by now, and nobody has noticed. A session that answers after the
 * login says no; and ours, that the address has not come back meanwhile.
 */
static int fence_check_way(const struct istripe_nexus *nexus, const struct fence_sibling *sibling)
{
	int section = srcu_read_lock(&nexus->leg->srcu);
	struct istripe_nexus *other = fence_find(nexus, sibling);
	int ret = other ? istripe_proof_ask(other, sibling->generation) : -ENOTCONN;

	srcu_read_unlock(&nexus->leg->srcu, section);
	return ret ?: istripe_session_ping(nexus->owned, ISTRIPE_PING_TIMEOUT_MS);
}

/*
 * Linux's own target (LIO), known by its TargetAlias, answers a login when the old session and all
 * of its commands are over (iscsit_stop_session()). It must be spared resets: one that meets the
 * end of another connection, as when both paths of a host come back, aborts a command twice, and
 * then the LUN hangs for all hosts (P100; seen with 6.12). Its login proves nothing when
 * - one before it began to end the old session and was not answered: the second does not wait
 * - the old session had several connections: it waits for the first of them only
 * - aborts of the old session were not answered
 */
static bool fence_login_drains(const struct istripe_nexus *nexus)
{
	return !strcmp(nexus->owned->target_alias, "LIO Target") && !nexus->login_unsure &&
	       !nexus->several;
}

static int fence_end_old_commands(struct istripe_nexus *nexus)
{
	if (!fence_login_drains(nexus))
		return istripe_lun_reset(nexus);
	WRITE_ONCE(nexus->leg->lun_reset, ISTRIPE_LUN_RESET_UNNEEDED);
	return 0;
}

int istripe_fence_drain(struct istripe_nexus *nexus, char *why, size_t why_bytes)
{
	struct istripe_leg *leg = nexus->leg;
	int ret;

	/* Another LUN has not got them; the nexus is about to be refused for that. */
	if (!istripe_leg_nexus_waits(leg, nexus) || !istripe_leg_is(leg, &nexus->found))
		return 0;
	ret = fence_end_old_commands(nexus);
	if (ret && ret != -EOPNOTSUPP) {
		scnprintf(why, why_bytes,
			  "writes of the lost session wait, the target may still carry them out: LOGICAL UNIT RESET is %s; it is asked again",
			  istripe_lun_reset_result_name(READ_ONCE(leg->lun_reset)));
		return ret;
	}
	nexus->login_unsure = false;
	istripe_leg_nexus_fenced(leg, nexus);
	return 0;
}

/* The login has ended the old session: now what the target had taken of it. */
static int fence_end_commands(struct istripe_nexus *nexus, char *why, size_t why_bytes)
{
	u32 timeout_ms = READ_ONCE(nexus->params.timers.login_timeout_ms);
	int ret = istripe_lun_probe(nexus->owned, nexus->params.lun, timeout_ms, &nexus->found, why,
				    why_bytes);

	if (ret)
		return ret;
	if (!istripe_leg_is(nexus->leg, &nexus->found)) {
		scnprintf(why, why_bytes, "it shows another LUN, %s", nexus->found.designator);
		return -ENODEV;
	}
	nexus->owned->lun = nexus->found.address;
	return istripe_fence_drain(nexus, why, why_bytes);
}

/* Log in through the sibling; the session is nexus->owned. */
static int fence_log_in(struct istripe_nexus *nexus, const struct fence_sibling *sibling, char *why,
			size_t why_bytes)
{
	struct istripe_session_params params;
	int ret;

	istripe_nexus_log_in(nexus, &params);
	params.way = sibling->way;
	params.fence = true;
	ret = istripe_nexus_open_session(nexus, &params, why, why_bytes);
	if (ret)
		return ret;
	ret = fence_check_way(nexus, sibling);
	if (ret)
		scnprintf(why, why_bytes,
			  "it does not answer itself, another may have its address: %s (%pe)",
			  istripe_error_words(ret), ERR_PTR(ret));
	else
		ret = fence_end_commands(nexus, why, why_bytes);
	istripe_session_logout(nexus->owned, ISTRIPE_LOGOUT_TIMEOUT_MS);
	/* The target of the next sibling is the same; but not everything is the target's fault. */
	return ret && ret != -ETIMEDOUT ? -EHOSTDOWN : ret;
}

static int fence_through(struct istripe_nexus *nexus, const struct fence_sibling *sibling)
{
	char why[ISTRIPE_WHY_BYTES] = "";
	int ret = fence_log_in(nexus, sibling, why, sizeof(why));

	if (ret)
		pr_info_ratelimited("%s: cannot end the old session through %s: %s\n",
				    nexus->label, sibling->label, why);
	else
		pr_info_ratelimited("%s: the old session is ended through %s\n", nexus->label,
				    sibling->label);
	istripe_nexus_close_session(nexus, -ECONNRESET);
	return ret;
}

bool istripe_fence_may(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling)
{
	lockdep_assert_held(&nexus->leg->lock);
	/* What leads the same way as the nexus is no other way: its own login does as well. */
	return READ_ONCE(nexus->leg->fence) == ISTRIPE_FENCE_PORTAL_GROUP &&
	       sibling->path != nexus->path && istripe_proof_same(nexus, sibling);
}

/*
 * The first one from @at on, see istripe_leg_next_nexus(). Where the next one is to be looked
 * for, behind all that lead the same way; or 0 when there is none.
 */
static u32 fence_next(const struct istripe_nexus *nexus, u32 at, struct fence_sibling *sibling)
{
	const struct istripe_nexus *other;
	struct istripe_leg *leg = nexus->leg;
	u32 after = 0;

	spin_lock_bh(&leg->lock);
	while (!after && (other = istripe_leg_next_nexus(leg, &at))) {
		if (!other->live || !istripe_fence_may(nexus, other))
			continue;
		sibling->way = other->way;
		sibling->generation = other->generation;
		strscpy(sibling->label, other->label, sizeof(sibling->label));
		after = round_up(at, ISTRIPE_CONNECTIONS_MAX);
	}
	spin_unlock_bh(&leg->lock);
	return after;
}

void istripe_fence(struct istripe_nexus *nexus)
{
	struct fence_sibling sibling;
	u32 next = 0;
	int ret;

	while (istripe_leg_nexus_waits(nexus->leg, nexus) &&
	       !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events)) {
		next = fence_next(nexus, next, &sibling);
		if (!next)
			return;
		ret = fence_through(nexus, &sibling);
		/* One that does not answer at all costs enough time. */
		if (!ret || ret == -ETIMEDOUT)
			return;
	}
}

bool istripe_fence_wanted(const struct istripe_nexus *nexus)
{
	struct fence_sibling sibling;

	return istripe_leg_nexus_waits(nexus->leg, nexus) && fence_next(nexus, 0, &sibling);
}
