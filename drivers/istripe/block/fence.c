// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/printk.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/ask_lun.h"
#include "block/fence.h"
#include "block/ghost.h"
#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/proof.h"
#include "block/volume.h"
#include "iscsi/error.h"

/* A copy: the sibling may be freed while its way is used. */
struct fence_sibling {
	struct istripe_way way;
	u32 generation;
	char label[ISTRIPE_LABEL_BYTES];
};

static struct istripe_nexus *fence_find(const struct istripe_nexus *nexus,
					const struct fence_sibling *sibling)
{
	struct istripe_nexus *other, *found = NULL;
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, other)
		if (other->live && other->generation == sibling->generation &&
		    istripe_fence_may(nexus, other))
			found = other;
	spin_unlock_bh(&leg->lock);
	return found;
}

/*
 * The login went through the sibling's way, but another target may have that address by now. So the
 * sibling's session must answer a ping after the login; then the new session must, in case the
 * address has come back meanwhile.
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
 * Linux's own target: then no reset is sent (P100). Not after a session of several connections, nor
 * in another portal group than that of the old session, if that is known or something waits.
 * @waits: that session is the last one.
 */
static bool fence_login_drains(const struct istripe_nexus *nexus, bool waits)
{
	const struct istripe_session *session = nexus->owned;
	const struct istripe_tpgt *tpgt = waits ? &nexus->tpgt : &nexus->undrained.tpgt;

	return session->quirks.login_drains && !nexus->several &&
	       (tpgt->known ? session->tpgt.known && session->tpgt.tag == tpgt->tag : !waits);
}

/*
 * For what does not wait no LUN is reset in vain, nor one that may hang of it. A superblock of
 * another portal group keeps the record: what was lost since is not in it.
 */
static bool fence_drains_unasked(const struct istripe_nexus *nexus)
{
	return (nexus->undrained.super || istripe_nexus_ends_undrained(nexus)) &&
	       (fence_login_drains(nexus, false) || !nexus->owned->quirks.no_lun_reset);
}

static int fence_end_old_commands(struct istripe_nexus *nexus, bool waits)
{
	if (!fence_login_drains(nexus, waits))
		return istripe_lun_reset_drain(nexus);
	WRITE_ONCE(nexus->leg->lun_reset, ISTRIPE_LUN_RESET_UNNEEDED);
	return 0;
}

static void fence_undrained_why(const struct istripe_nexus *nexus, bool waits,
				struct istripe_reason *why)
{
	const char *result = istripe_lun_reset_results[READ_ONCE(nexus->leg->lun_reset)];

	if (waits)
		istripe_reason_set(why,
				   "writes wait, the target may still carry out those of the lost session: LOGICAL UNIT RESET is %s; it is asked again",
				   result);
	else
		istripe_reason_set(why,
				   "the target may still carry out writes of an earlier attempt: LOGICAL UNIT RESET is %s",
				   result);
}

/* Over a port that takes I/O nothing is wiped before the target has answered. */
static bool fence_wipes(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->leg->volume->metadata.wipes) &&
	       istripe_alua_usable(nexus->found.access.state);
}

static int fence_drain(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	bool waits = istripe_leg_nexus_waits(nexus);
	int ret;

	/* Another LUN does not have these commands; its nexus is about to be refused. */
	if ((!waits && !fence_drains_unasked(nexus)) || !istripe_leg_nexus_leads_here(nexus))
		return 0;
	ret = fence_end_old_commands(nexus, waits);
	/* Their writes have been sent again by fence_confirm or fence_timeout_ms: I/O goes on. */
	if (!waits && !fence_wipes(nexus) && (ret == -ETIMEDOUT || ret == -EIO))
		return 0;
	if (ret && ret != -EOPNOTSUPP) {
		fence_undrained_why(nexus, waits, why);
		return ret;
	}
	istripe_leg_nexus_fenced(nexus);
	return 0;
}

int istripe_fence_drain(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	int ret = fence_drain(nexus, why);

	if (ret) {
		WRITE_ONCE(nexus->barred, true);
		istripe_leg_set_fence_timeout(nexus->leg);
	}
	return ret;
}

/* After the cut: the drain over the same session. */
static int fence_end_commands(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_lun_time time = istripe_nexus_login_time(nexus);
	int ret = istripe_nexus_probe(nexus, &time, why);

	if (ret)
		return ret;
	if (!istripe_leg_nexus_leads_here(nexus))
		return istripe_reason_fail(why, -ENODEV, "it shows another LUN, %s",
					   nexus->found.designator);
	nexus->owned->lun = nexus->found.address;
	return fence_drain(nexus, why);
}

static int fence_log_in(struct istripe_nexus *nexus, const struct fence_sibling *sibling,
			struct istripe_reason *why)
{
	struct istripe_session_params params;
	int ret;

	istripe_nexus_login_params(nexus, &params);
	params.way = sibling->way;
	params.no_redirects = true;
	ret = istripe_nexus_open_session(nexus, &params, why);
	if (ret)
		return ret;
	ret = fence_check_way(nexus, sibling);
	if (ret)
		istripe_reason_set(why,
				   "it does not answer itself, another may have its address: %s (%pe)",
				   istripe_error_words(ret), ERR_PTR(ret));
	else
		ret = fence_end_commands(nexus, why);
	istripe_nexus_logout(nexus);
	/* All siblings lead to one target; errors other than a time-out may be due to the way. */
	return ret && ret != -ETIMEDOUT ? -EHOSTDOWN : ret;
}

static int fence_through(struct istripe_nexus *nexus, const struct fence_sibling *sibling)
{
	struct istripe_reason why = {};
	int ret = fence_log_in(nexus, sibling, &why);

	if (ret)
		pr_info_ratelimited("%s: cannot end the old session through %s: %s\n", nexus->label,
				    sibling->label, why.text);
	else
		pr_info_ratelimited("%s: the old session is ended through %s\n", nexus->label,
				    sibling->label);
	istripe_nexus_close_session(nexus);
	return ret;
}

bool istripe_fence_may(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling)
{
	lockdep_assert_held(&nexus->leg->lock);
	/* A nexus of the same path is no other way: the nexus's own login does as well. */
	return READ_ONCE(nexus->leg->fence) != ISTRIPE_FENCE_PATH &&
	       sibling->path != nexus->path && istripe_proof_same(nexus, sibling);
}

/* Finds a sibling from @at on. Returns where to go on, behind its path; 0 when there is none. */
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

	if (READ_ONCE(nexus->barred))
		istripe_leg_set_fence_timeout(nexus->leg);
	while (istripe_leg_nexus_waits(nexus) &&
	       !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events)) {
		next = fence_next(nexus, next, &sibling);
		if (!next)
			return;
		ret = fence_through(nexus, &sibling);
		/* After a sibling without an answer no other is tried: it has taken long enough. */
		if (!ret || ret == -ETIMEDOUT)
			return;
	}
}

bool istripe_fence_wanted(const struct istripe_nexus *nexus)
{
	struct fence_sibling sibling;

	return istripe_leg_nexus_waits(nexus) && fence_next(nexus, 0, &sibling);
}

u32 istripe_fence_why_waiting(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_leg *leg = nexus->leg;
	u32 writes;

	istripe_reason_set(why, "a login through this path ends its lost session");
	spin_lock_bh(&leg->lock);
	writes = istripe_leg_nexus_waiting_writes(nexus);
	if (READ_ONCE(leg->fence) == ISTRIPE_FENCE_PATH && leg->path_count > 1)
		istripe_reason_add(why, ", as its fence is \"path\"");
	else if (nexus->unproven[0])
		istripe_reason_add(why, ", as no other path can: %s", nexus->unproven);
	istripe_reason_add(why, ", or %sfence_confirm is written",
			   READ_ONCE(leg->fence_timeout_ms) >= 0 ? "fence_timeout_ms is over, or " :
								   "");
	if (istripe_ghosts_time_out(nexus))
		istripe_reason_add(why, ", or ghost_timeout_ms is over");
	else if (READ_ONCE(leg->volume->recovery_timeout_ms) >= 0)
		istripe_reason_add(why, ", or they fail after recovery_timeout_ms");
	spin_unlock_bh(&leg->lock);
	return writes;
}

void istripe_fence_say(const struct istripe_nexus *nexus)
{
	struct istripe_reason why;
	u32 writes = istripe_fence_why_waiting(nexus, &why);
	u32 ghosts;

	spin_lock_bh(&nexus->leg->lock);
	ghosts = istripe_ghosts_writes(nexus);
	spin_unlock_bh(&nexus->leg->lock);
	if (writes)
		pr_warn_ratelimited("%s: %u write(s) wait until %s\n", nexus->label, writes,
				    why.text);
	else if (ghosts)
		pr_warn_ratelimited("%s: %u write(s) were sent again over another path, and the target may still carry them out over this one: writes of other data to the same blocks wait until %s\n",
				    nexus->label, ghosts, why.text);
}

int istripe_fence_confirm(struct istripe_path *path)
{
	struct istripe_leg *leg = path->leg;
	bool live = false, held = false, super = false;
	struct istripe_nexus *nexus;
	u32 writes;
	int section;

	spin_lock_bh(&leg->lock);
	istripe_path_for_each_nexus(path, nexus) {
		/* One that is being taken out serves its last tasks. */
		live |= nexus->live || READ_ONCE(nexus->state) == ISTRIPE_NEXUS_LIVE;
		held |= nexus->tcp_has_pages;
		super |= nexus->undrained.super;
	}
	/* An earlier session has left it: that is over, also when this one is live. */
	if (live)
		istripe_path_for_each_nexus(path, nexus)
			nexus->undrained.super = false;
	spin_unlock_bh(&leg->lock);
	if (live && super) {
		pr_warn("%s: the administrator says that its target carries out nothing that an earlier session has sent\n",
			path->nexuses[0]->label);
		return 0;
	}
	if (live || held) {
		pr_warn("%s: fence_confirm: is refused, %s\n", path->nexuses[0]->label,
			live ? "the path is live" : "its session is still being closed: try again");
		return -EBUSY;
	}
	writes = istripe_leg_path_fenced(path);
	pr_warn("%s: the administrator says that its target carries out nothing that was sent before: %u write(s) are sent\n",
		path->nexuses[0]->label, writes);
	/* An attempt may wait for the answer to a reset for long, in vain now. */
	section = srcu_read_lock(&leg->srcu);
	istripe_path_for_each_nexus(path, nexus)
		istripe_nexus_relogin(nexus);
	srcu_read_unlock(&leg->srcu, section);
	return 0;
}
