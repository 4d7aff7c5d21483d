// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <scsi/scsi_proto.h>

#include <istripe/reason.h>
#include "block/attention.h"
#include "block/last_error.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/trial.h"
#include "block/volume.h"
#include "scsi/cdb.h"
#include "scsi/sense.h"
#include "transport/control_req.h"

#define SLICE_MS		200
#define BUSY_TRIES		5
#define LARGE_PING_MS		5000
/* A target that ends so many sessions with a large ping does not bear it. */
#define LARGE_PINGS_LOST_MAX	2

#define SOON_MS			1000
/* So many time-outs over a path that gets I/O, each served over one that gets none. */
#define ELSEWHERE_MAX		6

/* No answer since a command was sent that has timed out: it must not count as one that serves. */
static bool trial_is_silent(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->trial.timed_out) &&
	       !istripe_latency_answered(nexus->path->latencies,
					 READ_ONCE(nexus->trial.silent_since), false);
}

typedef bool (*trial_test_t)(const struct istripe_nexus *nexus, const struct istripe_nexus *other,
			     unsigned long since);

/* Is @test true of a usable nexus of the leg? */
static bool trial_any(const struct istripe_nexus *nexus, trial_test_t test, unsigned long since)
{
	struct istripe_leg *leg = nexus->leg;
	const struct istripe_nexus *other;
	bool found = false;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, other)
		found = found || (istripe_nexus_usable(other) && test(nexus, other, since));
	spin_unlock_bh(&leg->lock);
	return found;
}

static bool trial_serves(const struct istripe_nexus *nexus, const struct istripe_nexus *other,
			 unsigned long since)
{
	return other->path != nexus->path && !trial_is_silent(other);
}

/* Has the other path answered a command that was sent at @since or later? */
static bool trial_answers(const struct istripe_nexus *nexus, const struct istripe_nexus *other,
			  unsigned long since)
{
	return other->path != nexus->path &&
	       istripe_latency_answered(other->path->latencies, since, true);
}

static bool trial_comes_first(const struct istripe_nexus *nexus, const struct istripe_nexus *other,
			      unsigned long since)
{
	bool worse = READ_ONCE(other->access.state) == SCSI_ACCESS_STATE_ACTIVE &&
		     nexus->found.access.state == SCSI_ACCESS_STATE_OPTIMAL;

	return other->path->index < nexus->path->index && !worse;
}

static bool trial_other_serves(const struct istripe_nexus *nexus)
{
	return trial_any(nexus, trial_serves, 0);
}

bool istripe_trial_carries_nothing(struct istripe_nexus *nexus, unsigned long since)
{
	/* When a LUN stops to answer, commands of that moment may still be answered. */
	u32 moment_ms = READ_ONCE(nexus->leg->volume->command_timeout_ms) / 4;

	/* Kept: one command at a time is answered over the other path only after its time-out. */
	if (!trial_is_silent(nexus))
		WRITE_ONCE(nexus->trial.silent_since, since);
	WRITE_ONCE(nexus->trial.timed_out, true);
	return trial_is_silent(nexus) &&
	       trial_any(nexus, trial_answers,
			 nexus->trial.silent_since + msecs_to_jiffies(moment_ms));
}

static void trial_note_elsewhere(struct istripe_nexus *nexus, bool soon)
{
	u32 elsewhere = READ_ONCE(nexus->trial.elsewhere) + 1;
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);

	WRITE_ONCE(nexus->trial.elsewhere, elsewhere);
	if (session && READ_ONCE(nexus->lanes) &&
	    ((soon && trial_is_silent(nexus)) || elsewhere >= ELSEWHERE_MAX))
		istripe_session_fault(session, -ETIMEDOUT,
				      "commands time out over this path, while another one has answers");
	srcu_read_unlock(&nexus->srcu, section);
}

void istripe_trial_served(const struct istripe_nexus *nexus, u16 late_over, unsigned long started,
			  unsigned long since)
{
	/* Later it may be that the LUN has just come back. */
	bool soon = time_before(jiffies, since + msecs_to_jiffies(SOON_MS));
	struct istripe_leg *leg = nexus->leg;
	struct istripe_nexus *other;
	int section;

	if (READ_ONCE(nexus->lanes))
		return;
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, other)
		/* An earlier session of the path may have had it. */
		if (late_over & BIT(other->path->index) &&
		    time_after(started, READ_ONCE(other->live_since)))
			trial_note_elsewhere(other, soon);
	srcu_read_unlock(&leg->srcu, section);
}

/* It would get nothing: an array without ALUA may move the LUN for a read over the other port. */
static bool trial_stands_by(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->leg->policy) == ISTRIPE_POLICY_FAILOVER &&
	       trial_any(nexus, trial_comes_first, 0);
}

/* Somewhere: a block that is read often may come from a cache. */
static void trial_read_cdb(const struct istripe_nexus *nexus, u8 *cdb)
{
	const struct istripe_vpd_capacity *capacity = &nexus->found.capacity;
	u32 blocks = ISTRIPE_INTERNAL_BYTES / capacity->block_bytes;
	u64 places = max_t(u64, div_u64(capacity->blocks, blocks), 1);
	u64 place;

	div64_u64_rem(get_random_u64(), places, &place);
	istripe_cdb_transfer16(cdb, false, place * blocks, blocks);
}

/* The session's fault says why, or nothing came in time. */
static int trial_failed(struct istripe_nexus *nexus, int error, struct istripe_reason *fault)
{
	if (error == -ENOTCONN)
		istripe_last_error_read(nexus, fault);
	else
		istripe_reason_set(fault, "no answer");
	return -ETIMEDOUT;
}

/* TASK SET FULL may be because of other hosts, and over each path. */
static bool trial_is_busy(const struct istripe_nexus *nexus, enum istripe_scsi_verdict verdict)
{
	return verdict == ISTRIPE_SCSI_BUSY &&
	       nexus->owned->internal.task.status != SAM_STAT_TASK_SET_FULL;
}

static int trial_verdict(struct istripe_nexus *nexus, enum istripe_scsi_verdict verdict,
			 struct istripe_reason *fault)
{
	const struct istripe_task *task = &nexus->owned->internal.task;

	if (task->status == SAM_STAT_CHECK_CONDITION) {
		istripe_attention_own_sense(nexus, nexus->owned, true);
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE);
	}
	/* A change: another login identifies the LUN before its superblock is compared. */
	if (verdict != ISTRIPE_SCSI_NOT_SERVED && verdict != ISTRIPE_SCSI_PATH_ERROR &&
	    verdict != ISTRIPE_SCSI_TRANSIENT && verdict != ISTRIPE_SCSI_CHANGED &&
	    !trial_is_busy(nexus, verdict))
		return 0;
	return istripe_reason_fail(fault, -ENOLINK, "%s", istripe_scsi_verdict_name(verdict));
}

/* The LUN may take its time; the network has keepalive. */
static int trial_ask(struct istripe_nexus *nexus, enum istripe_scsi_verdict *verdict)
{
	u32 timeout_ms = READ_ONCE(nexus->leg->volume->command_timeout_ms);
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	struct istripe_session *session = nexus->owned;
	const struct istripe_task *task = &session->internal.task;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	trial_read_cdb(nexus, cdb);
	ret = istripe_session_execute(session, cdb, &nexus->found.address, ISTRIPE_INTERNAL_BYTES,
				      false, SLICE_MS);
	while (ret == -ETIMEDOUT && time_before(jiffies, end) && trial_other_serves(nexus))
		ret = istripe_session_await(session, SLICE_MS);
	if (!ret)
		*verdict = istripe_sense_verdict(task->status, &task->sense);
	return ret;
}

/* Any other answer will do. */
static int trial_read(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	enum istripe_scsi_verdict verdict;
	struct istripe_reason fault;
	u32 tries = BUSY_TRIES;
	int ret;

	/* -EAGAIN: a reset of the LUN over another nexus has ended the read. */
	while (((ret = trial_ask(nexus, &verdict)) == -EAGAIN ||
		(!ret && trial_is_busy(nexus, verdict))) && --tries)
		msleep(SLICE_MS);
	if (!ret)
		ret = trial_verdict(nexus, verdict, &fault);
	else if (ret == -ETIMEDOUT || ret == -ENOTCONN)
		ret = trial_failed(nexus, ret, &fault);
	else
		ret = 0;
	if (ret)
		istripe_reason_set(why,
				   "it has carried no I/O, and another path serves the LUN: a read on trial: %s",
				   fault.text);
	return ret;
}

static int trial_ask_ping(struct istripe_nexus *nexus)
{
	u32 timeout_ms = max_t(u32, READ_ONCE(nexus->path->params.timers.ping_timeout_ms),
			       LARGE_PING_MS);
	u32 tries = BUSY_TRIES;
	int ret;

	while ((ret = istripe_session_ping_large(nexus->owned, timeout_ms)) == -ENOMEM && --tries)
		msleep(SLICE_MS);
	return ret;
}

/* The other direction: the read has sent small packets only. */
static int trial_ping(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	int ret = trial_ask_ping(nexus);
	struct istripe_reason fault;

	if (ret == -ENOMEM)
		return istripe_reason_fail(why, ret, "no memory");
	/* Not because of the network: the target does not like it, or does not know it. */
	if (ret == -EBADE || (ret == -ENOTCONN && READ_ONCE(nexus->last_errno) != -ETIMEDOUT))
		nexus->trial.pings_lost++;
	else
		nexus->trial.pings_lost = 0;
	if (ret != -ENOTCONN && (ret != -ETIMEDOUT || !trial_other_serves(nexus)))
		return 0;
	ret = trial_failed(nexus, ret, &fault);
	return istripe_reason_fail(why, ret,
				   "it carries no large packets to the target, compare the MTU of NIC, switches and target: a ping with data on trial: %s",
				   fault.text);
}

int istripe_trial(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	int ret;

	/* Another attempt with several connections is not without risk, see backoff.c. */
	if (!trial_other_serves(nexus) || trial_stands_by(nexus) || nexus->owned->conns[1] ||
	    !istripe_alua_usable(nexus->found.access.state))
		return 0;
	ret = trial_read(nexus, why);
	if (!ret && nexus->trial.pings_lost < LARGE_PINGS_LOST_MAX)
		ret = trial_ping(nexus, why);
	return ret;
}
