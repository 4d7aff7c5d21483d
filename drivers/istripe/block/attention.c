// SPDX-License-Identifier: GPL-2.0
#include <linux/printk.h>
#include <scsi/scsi_proto.h>

#include "block/alua.h"
#include "block/attention.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/pr_key.h"
#include "block/volume.h"
#include "scsi/alua.h"
#include "scsi/sense.h"
#include "transport/session.h"

static enum istripe_scsi_verdict attention_verdict(const struct scsi_sense_hdr *sense)
{
	return istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, sense);
}

/* An earlier command that was answered with GOOD has failed; its request has ended. */
static void attention_say_deferred(const struct istripe_leg *leg,
				   const struct scsi_sense_hdr *sense)
{
	pr_err_ratelimited("%s/%u: the target reports a deferred error, sense %x/%02x/%02x: data that were written earlier may be lost\n",
			   leg->volume->name, leg->index, sense->sense_key, sense->asc,
			   sense->ascq);
}

static void attention_say_warning(const struct istripe_leg *leg, const struct scsi_sense_hdr *sense)
{
	if (sense->asc == ISTRIPE_ASC_THIN_PROVISIONING &&
	    sense->ascq == ISTRIPE_ASCQ_SOFT_THRESHOLD_REACHED)
		pr_warn_ratelimited("%s/%u: the thin LUN has reached its soft threshold: give its pool space before writes fail\n",
				    leg->volume->name, leg->index);
	else if (sense->asc == ISTRIPE_ASC_FAILURE_PREDICTED)
		pr_warn_ratelimited("%s/%u: the target predicts a failure, sense %x/5d/%02x: see the log of the array\n",
				    leg->volume->name, leg->index, sense->sense_key, sense->ascq);
}

/* @cache_lost: the leg's, or a nexus's. */
static void attention_note_lost(struct istripe_leg *leg, u32 *cache_lost)
{
	spin_lock_bh(&leg->lock);
	WRITE_ONCE(*cache_lost, istripe_leg_next_generation(leg));
	spin_unlock_bh(&leg->lock);
}

/* Of an answer, or told asynchronously. */
static void attention_note_sense(struct istripe_nexus *nexus, const struct scsi_sense_hdr *sense)
{
	struct istripe_leg *leg = nexus->leg;

	/* POWER ON, RESET, OR BUS DEVICE RESET: what is only in a cache may be gone. */
	if (istripe_sense_was_reset(sense))
		attention_note_lost(leg, &nexus->cache_lost);
	if (istripe_sense_preempted(sense))
		istripe_pr_key_preempted(nexus);
	if (attention_verdict(sense) == ISTRIPE_SCSI_DEFERRED) {
		attention_say_deferred(leg, sense);
		/* The target will not tell of it again: what is flushed later is good. */
		attention_note_lost(leg, &leg->cache_lost);
	}
	attention_say_warning(leg, sense);
	/* This nexus may be about to ask; other ports have changed, too. */
	if (istripe_alua_sense_changed(sense))
		istripe_alua_ask_all(leg);
}

void istripe_attention_note(struct istripe_nexus *nexus, const struct istripe_task *task)
{
	attention_note_sense(nexus, &task->sense);
	if (istripe_sense_flush_may_lose(task->cdb[0], &task->sense))
		attention_note_lost(nexus->leg, &nexus->leg->cache_lost);
}

/* So may one that is being asked: the port may take I/O before its message is looked at. */
static bool nexus_may_carry_soon(const struct istripe_nexus *nexus)
{
	/* Pairs with nexus_revalidate_ask(). */
	bool asking = smp_load_acquire(&nexus->asking);

	return asking || !rcu_access_pointer(nexus->session) ||
	       istripe_alua_usable(READ_ONCE(nexus->access.state));
}

void istripe_attention_ask(struct istripe_nexus *nexus, const char *what)
{
	pr_info_ratelimited("%s: the LUN says: %s: asking what it is\n", nexus->label, what);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE);
}

void istripe_attention_async_sense(struct istripe_nexus *nexus, struct istripe_session *session,
				   const struct scsi_sense_hdr *sense)
{
	bool changed = attention_verdict(sense) == ISTRIPE_SCSI_CHANGED;

	/* As in istripe_attention_own_sense(). */
	if (rcu_access_pointer(nexus->session) || !istripe_sense_preempted(sense))
		attention_note_sense(nexus, sense);
	/* Unlike answers, a target may send these for ever. */
	if (changed && nexus_may_carry_soon(nexus) && !istripe_session_is_tolerant(session))
		istripe_session_invalidate(session);
	istripe_attention_ask(nexus, changed ? istripe_sense_change_name(sense) : "a SCSI event");
}

void istripe_attention_own_sense(struct istripe_nexus *nexus, struct istripe_session *session,
				 bool known)
{
	const struct istripe_task *task = &session->internal.task;
	const struct scsi_sense_hdr *sense = &task->sense;

	/* A login may be told first of something that is older than the key. */
	if (known || rcu_access_pointer(nexus->session) || !istripe_sense_preempted(sense))
		istripe_attention_note(nexus, task);
	if (attention_verdict(sense) != ISTRIPE_SCSI_CHANGED || !istripe_nexus_may_carry(nexus))
		return;
	istripe_session_invalidate(session);
	if (nexus->asking)
		nexus->told_changes++;
	else
		istripe_attention_ask(nexus, istripe_sense_change_name(sense));
}
