// SPDX-License-Identifier: GPL-2.0
#include "block/alua.h"
#include "block/attention.h"
#include "block/carrier.h"
#include "block/fence.h"
#include "block/handover.h"
#include "block/hotplug.h"
#include "block/identify.h"
#include "block/leg.h"
#include "block/lun_io.h"
#include "block/lun_reset.h"
#include "block/metadata.h"
#include "block/nexus.h"
#include "block/nexus_ops.h"
#include "block/overlay_write.h"
#include "block/policy.h"
#include "block/pr_key.h"
#include "block/proof.h"
#include "block/trial.h"

/* For a cache that may be large. */
#define FLUSH_MS	30000
/* Until a LUN that another host had reserved is asked again. */
#define RESERVED_POLL_MS	30000U

/* With a session that is live more writes are queued, unless its port has taken no I/O. */
static bool nexus_may_flush(const struct istripe_nexus *nexus)
{
	return !rcu_access_pointer(nexus->session) ||
	       (!istripe_alua_usable(READ_ONCE(nexus->access.state)) &&
		istripe_session_is_idle(nexus->owned));
}

/* While it was thought to have none, writes without FUA were taken as durable, over any nexus. */
static bool nexus_has_cache_again(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->leg->uncached) && nexus->found.caching.write_cache &&
	       !nexus->found.reserved;
}

/*
 * A LUN that has got a write cache may have writes of the last session in it, sent without FUA,
 * which nobody else flushes. A port that takes no I/O refuses that: it is done when it does.
 */
static int nexus_op_flush(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	bool again = nexus_has_cache_again(nexus);
	struct istripe_lun_io io;
	int ret;

	if (!again && (!READ_ONCE(nexus->leg->write_through) || !nexus_may_flush(nexus)))
		return 0;
	nexus->flushed = false;
	if (!istripe_alua_usable(nexus->found.access.state))
		return 0;
	istripe_lun_io_begin(&io, nexus, FLUSH_MS, why);
	ret = istripe_lun_io_flush(&io);
	nexus->flushed = !ret;
	if (!ret && again)
		istripe_identify_flushed(nexus);
	return ret;
}

static int nexus_op_check(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	int ret = istripe_identify(nexus, why);

	/* -EAGAIN: it has not said all. */
	nexus->mismatch = ret == -EAGAIN ? 0 : ret;
	if (!ret)
		istripe_pr_key_found(nexus);
	/* Before the superblock is read: a path that carries no data is to be told as such. */
	if (!ret && nexus->trial.due)
		ret = istripe_trial(nexus, why);
	ret = ret ?: istripe_metadata_check(nexus, why);
	ret = ret ?: nexus_op_flush(nexus, why);
	if (ret)
		return istripe_lun_io_result(ret);
	istripe_alua_found(nexus);
	if (!READ_ONCE(nexus->live))
		return 0;
	/* The superblocks became known while this port began to take I/O: once more. */
	return istripe_metadata_admits(nexus) ? istripe_handover_ask(nexus) : -ESTALE;
}

static bool nexus_op_admit(const struct istripe_nexus *nexus)
{
	return istripe_metadata_admits(nexus) && istripe_pr_key_admits(nexus);
}

static void nexus_op_live(struct istripe_nexus *nexus)
{
	istripe_lun_reset_live(nexus);
	istripe_proof_live(nexus);
	istripe_leg_nexus_live(nexus);
	/* A nexus without a link that was kept, being the only one, may be given up now. */
	istripe_carrier_check(nexus->leg);
	istripe_proof_schedule(nexus->leg);
	if (nexus->reconnects && READ_ONCE(nexus->access.known))
		istripe_alua_back(nexus);
	if (!nexus->index)
		istripe_path_granted(nexus->path, istripe_session_connections_may(nexus->owned));
	else
		istripe_path_spare(nexus);
}

static void nexus_op_lost(struct istripe_nexus *nexus)
{
	istripe_leg_nexus_lost(nexus);
	istripe_alua_lost(nexus);
}

static void nexus_op_released(struct istripe_nexus *nexus, bool released)
{
	istripe_leg_nexus_released(nexus, released);
	istripe_fence_say(nexus);
}

/* Nobody tells that another host's reservation has ended. */
static u32 nexus_op_poll_ms(const struct istripe_nexus *nexus)
{
	return min_not_zero(istripe_alua_poll_ms(nexus),
			    READ_ONCE(nexus->reserved) ? RESERVED_POLL_MS : 0U);
}

static void nexus_op_probe_begin(struct istripe_nexus *nexus, struct istripe_lun_before *before)
{
	if (!rcu_access_pointer(nexus->resettable))
		istripe_lun_reset_expect(nexus);
	istripe_identify_recall(nexus, before);
}

const struct istripe_nexus_ops istripe_nexus_ops_table = {
	.init = istripe_lun_reset_init_nexus,
	.probe_begin = nexus_op_probe_begin,
	.drain = istripe_fence_drain,
	.join = istripe_pr_key_join,
	.leave = istripe_pr_key_leave,
	.check = nexus_op_check,
	.admit = nexus_op_admit,
	.own_sense = istripe_attention_own_sense,
	.async_sense = istripe_attention_async_sense,
	.live = nexus_op_live,
	.lost = nexus_op_lost,
	.closed = istripe_identify_forget,
	.released = nexus_op_released,
	.waits = istripe_leg_nexus_waits,
	.urgent = istripe_leg_nexus_is_urgent,
	.alone = istripe_policy_alone,
	.fence = istripe_fence,
	.fence_wanted = istripe_fence_wanted,
	.reset_lun = istripe_lun_reset_recover,
	.carries_nothing = istripe_trial_carries_nothing,
	.access_poll_ms = nexus_op_poll_ms,
	.keys_poll_ms = istripe_pr_key_poll_ms,
	.ask_keys = istripe_pr_key_ask,
	.stop = istripe_proof_stop_nexus,
};

void istripe_nexus_ops_init_leg(struct istripe_leg *leg)
{
	istripe_proof_init(leg);
	istripe_lun_reset_init(leg);
	istripe_pr_key_init(leg);
	istripe_overlay_write_init(leg);
}

void istripe_unfenced_save(struct istripe_nexus *nexus, struct istripe_unfenced *saved)
{
	struct istripe_leg *leg = nexus->leg;

	*saved = (struct istripe_unfenced) {};
	spin_lock_bh(&leg->lock);
	saved->unfenced = nexus->unfenced || nexus->ghosts.count ||
			  (nexus->super_unfenced &&
			   istripe_metadata_late_write_harms(leg->volume));
	/* A login in the same portal group may drain, without a reset of the LUN. */
	if (saved->unfenced)
		saved->tpgt = nexus->tpgt;
	saved->undrained = nexus->undrained;
	/* A superblock that is written after another growth does harm: the next login ends it. */
	if (nexus->super_unfenced && !saved->unfenced)
		saved->undrained = (struct istripe_undrained) {
			.any = true,
			.super = true,
			.tpgt = nexus->tpgt,
		};
	spin_unlock_bh(&leg->lock);
}
