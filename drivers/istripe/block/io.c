// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <compat/disk.h>

#include "block/allowance.h"
#include "block/alua.h"
#include "block/attention.h"
#include "block/busy.h"
#include "block/delay.h"
#include "block/io.h"
#include "block/io_prepare.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/limits.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/requeue.h"
#include "block/trial.h"
#include "block/unserved.h"
#include "block/volume.h"
#include "block/write_protect.h"
#include "block/write_through.h"
#include "block/writeback.h"
#include "scsi/cdb.h"
#include "scsi/sense.h"

/* Answers "again" of a target before no path serves the command (SAM allows 5). */
#define RETRIES_MAX	5
/* The same for transient failures: first at once, then after these pauses, 2.5 s in all. */
#define FAILURES_MAX		8
#define FAILURE_PAUSE_MS	20	/* doubled each time */
/* Between two tries while no path serves it. */
#define UNSERVED_PAUSE_MS	500
/* With the failover policy a command stays with a busy path for so many refusals, and so long. */
#define FAILOVER_REFUSALS	4
#define FAILOVER_BUSY_MS	500
/* Rejects of a command, before it fails if no other path is left. */
#define REJECTIONS_MAX	2

static struct istripe_volume *io_volume(const struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu((void *)io);

	return rq->q->queuedata;
}

static void io_put(struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu(io);

	if (atomic_dec_and_test(&io->pending))
		blk_mq_complete_request(rq);
}

static void io_task_end(struct istripe_leg_task *leg_task)
{
	if (unlikely(leg_task->unserved))
		istripe_unserved_end(leg_task);
	if (leg_task->leg->volume->leg_count > 1)
		istripe_requeue_task_end(leg_task->leg);
	io_put(leg_task->io);
}

/* Other blocks of the leg may be good. */
static bool status_is_of_blocks(blk_status_t status)
{
	return status == BLK_STS_MEDIUM || status == BLK_STS_PROTECTION ||
	       status == BLK_STS_TARGET;
}

/* Tasks of a leg follow each other. */
static bool io_is_of_several_legs(const struct istripe_io *io)
{
	return io->task_count > 1 && io->tasks[0].leg != io->tasks[io->task_count - 1].leg;
}

static void io_task_failed(struct istripe_leg_task *leg_task, blk_status_t status)
{
	struct istripe_io *io = leg_task->io;

	if (unlikely(leg_task->flushes))
		istripe_write_through_write(leg_task);
	if (leg_task->resent)
		istripe_ghosts_fail(leg_task);
	if (!status_is_of_blocks(status) && io_is_of_several_legs(io)) {
		WRITE_ONCE(io->leg_status, status);
		set_bit(leg_task->leg->index, io->failed_legs);
	}
	/* Any of several errors will do; BLK_STS_OK never overwrites one. */
	WRITE_ONCE(io->status, status);
	io_task_end(leg_task);
}

static void io_task_again(struct istripe_leg_task *leg_task)
{
	istripe_leg_submit(leg_task, ISTRIPE_SUBMIT_LATER);
}

static void io_task_pause(struct istripe_leg_task *leg_task, u32 pause_ms)
{
	/* It is not in flight any more. */
	istripe_requeue_kick(leg_task->leg);
	istripe_delay_task(leg_task, pause_ms);
}

/* Is recovery_timeout_ms over, if it began at @since? */
static bool io_too_old(const struct istripe_io *io, unsigned long since)
{
	s32 recovery_ms = READ_ONCE(io_volume(io)->recovery_timeout_ms);

	return recovery_ms >= 0 && time_after(jiffies, since + msecs_to_jiffies(recovery_ms));
}

/*
 * May the task be sent over another nexus, although the target may still be carrying it out? A
 * read, a flush, or a task that was never sent; no task that changes data (P25).
 */
static bool io_task_may_repeat(const struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	return !test_bit(ISTRIPE_TASK_SENT, &task->flags) || !task->write;
}

static u16 io_task_path_bit(const struct istripe_leg_task *leg_task)
{
	return BIT(leg_task->nexus->path->index);
}

/* Is there a path that gets I/O, but for those of @bits? */
static bool leg_has_other_path(struct istripe_leg *leg, u16 bits)
{
	int section = srcu_read_lock(&leg->srcu);
	bool has = istripe_policy_pick_other(leg, 0, bits);

	srcu_read_unlock(&leg->srcu, section);
	return has;
}

/* When all paths are to be avoided, the turn of those comes again that have not failed. */
static void io_task_avoid(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	u16 bit = io_task_path_bit(leg_task);

	leg_task->avoid |= bit;
	if (leg_has_other_path(leg, leg_task->avoid))
		return;
	leg_task->avoid = leg_task->failed_over | bit;
	if (!leg_has_other_path(leg, leg_task->avoid) &&
	    leg_has_other_path(leg, leg_task->failed_over))
		leg_task->avoid = leg_task->failed_over;
}

static bool io_task_is_rejected(const struct istripe_leg_task *leg_task)
{
	return test_bit(ISTRIPE_TASK_REJECTED, &leg_task->task.flags);
}

static bool io_task_is_rejected_once(const struct istripe_leg_task *leg_task)
{
	return test_bit(ISTRIPE_TASK_REJECTED_ONCE, &leg_task->task.flags);
}

/* True: it is given up, for it might end all sessions, one after the other. */
static bool io_task_count_rejection(struct istripe_leg_task *leg_task)
{
	if (!io_task_is_rejected(leg_task))
		return false;
	if (io_task_is_rejected_once(leg_task))
		return ++leg_task->retries > FAILURES_MAX;
	return ++leg_task->rejections >= REJECTIONS_MAX;
}

/* @what follows the target's words, if it has answered. */
static void io_describe(const struct istripe_leg_task *leg_task, const char *what,
			struct istripe_reason *why)
{
	const struct istripe_task *task = &leg_task->task;

	if (task->error && io_task_is_rejected(leg_task)) {
		istripe_reason_set(why, "command 0x%02x: the target rejects it: %s", task->cdb[0],
				   what);
		return;
	}
	if (task->response) {
		istripe_reason_set(why,
				   "command 0x%02x: the target has dropped it, response 0x%02x: %s",
				   task->cdb[0], task->response, what);
		return;
	}
	if (task->error) {
		istripe_reason_set(why, "command 0x%02x: not answered in time, aborted: %s",
				   task->cdb[0], what);
		return;
	}
	istripe_reason_set(why, "command 0x%02x: status 0x%02x, sense %x/%02x/%02x: %s",
			   task->cdb[0], task->status, task->sense.sense_key, task->sense.asc,
			   task->sense.ascq, what);
}

static void io_say_failed(const struct istripe_leg_task *leg_task, const char *what)
{
	struct istripe_reason why;

	io_describe(leg_task, what, &why);
	pr_warn_ratelimited("%s/%u: %s\n", leg_task->leg->volume->name, leg_task->leg->index,
			    why.text);
}

/* A path that takes I/O, but gets none, and is not of @bits: others have optimized ports. */
static bool leg_has_unchosen(struct istripe_leg *leg, u16 bits)
{
	int section = srcu_read_lock(&leg->srcu);
	bool has = istripe_policy_pick_unchosen(leg, bits);

	srcu_read_unlock(&leg->srcu, section);
	return has;
}

/* Another command: failures count on, or it and its flush could fail in turn for ever. */
static void io_task_begin_next(struct istripe_leg_task *leg_task)
{
	leg_task->refusals = 0;
	leg_task->busy = false;
	leg_task->busy_for = 0;
}

static void io_task_begin_anew(struct istripe_leg_task *leg_task)
{
	leg_task->avoid = 0;
	leg_task->failed_over = 0;
	leg_task->retries = 0;
	leg_task->attentions = 0;
	io_task_begin_next(leg_task);
}

/* Not for longer than recovery_timeout_ms. After a time-out each path has been tried anyway. */
static bool io_task_may_give_up_session(struct istripe_leg_task *leg_task)
{
	if (leg_task->late_over)
		return false;
	return leg_task->given_up_sessions < leg_task->leg->nexus_count ||
	       (istripe_unserved_may_wait(leg_task) &&
		istripe_unserved_may_give_up_session(leg_task));
}

static void io_task_wait(struct istripe_leg_task *leg_task, const struct istripe_reason *why)
{
	struct istripe_leg *leg = leg_task->leg;

	if (!istripe_unserved_begin(leg_task, why))
		return;
	istripe_leg_wake(leg);
	istripe_alua_ask_all(leg);
}

static void io_task_give_up(struct istripe_leg_task *leg_task, const struct istripe_reason *why,
			    blk_status_t status)
{
	struct istripe_leg *leg = leg_task->leg;

	pr_warn_ratelimited("%s/%u: %s: given up\n", leg->volume->name, leg->index, why->text);
	io_task_failed(leg_task, status);
}

/* Failed on this path. Is one left to try? After a time-out those count that get no I/O (leg.c). */
static bool io_task_goes_on(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;

	leg_task->failed_over |= io_task_path_bit(leg_task);
	io_task_avoid(leg_task);
	return leg_has_other_path(leg, leg_task->failed_over) ||
	       (leg_task->late_over && leg_has_unchosen(leg, leg_task->failed_over));
}

/* The same, after more than one answer over this path. */
static bool io_task_goes_on_anew(struct istripe_leg_task *leg_task)
{
	if (!leg_task->late_over || !io_task_goes_on(leg_task))
		return false;
	leg_task->retries = 0;
	leg_task->attentions = 0;
	io_task_begin_next(leg_task);
	return true;
}

/*
 * No path that gets I/O serves the task. One that gets none yet takes over: the session of the last
 * one ends, and comes back when it serves a read (trial.c). If there is none the task waits, or
 * fails.
 */
static void io_task_unserved(struct istripe_leg_task *leg_task, const char *why,
			     blk_status_t status)
{
	struct istripe_leg *leg = leg_task->leg;
	bool chosen = READ_ONCE(leg_task->nexus->lanes);
	struct istripe_reason words;

	if (io_task_goes_on_anew(leg_task)) {
		io_task_again(leg_task);
		return;
	}
	if (io_task_may_give_up_session(leg_task) && (!chosen || leg_has_unchosen(leg, 0))) {
		leg_task->given_up_sessions = min(leg_task->given_up_sessions + 1, U8_MAX);
		io_task_begin_anew(leg_task);
		if (chosen)
			istripe_task_session_fault(&leg_task->task, why);
		io_task_again(leg_task);
		return;
	}
	io_describe(leg_task, why, &words);
	if (istripe_unserved_may_wait(leg_task)) {
		io_task_begin_anew(leg_task);
		io_task_wait(leg_task, &words);
		io_task_pause(leg_task, UNSERVED_PAUSE_MS);
	} else {
		io_task_give_up(leg_task, &words, status);
	}
}

/* The target was short of something, or has dropped the command: the failure may be transient. */
static void io_task_back_off(struct istripe_leg_task *leg_task, blk_status_t status)
{
	u32 retries = ++leg_task->retries;

	io_task_avoid(leg_task);
	if (retries > FAILURES_MAX)
		io_task_unserved(leg_task, "again and again", status);
	else if (retries == 1)
		io_task_again(leg_task);
	else
		io_task_pause(leg_task, FAILURE_PAUSE_MS << (retries - 2));
}

/*
 * The session is gone without an answer. Age counts only when the command was lost before, as often
 * as there are sessions: it has no other one to go to, or may itself be what ends them.
 */
static void io_task_lost(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	u32 sessions = READ_ONCE(leg->nexus_count);
	bool old = io_too_old(leg_task->io, leg_task->io->started) && leg_task->losses >= sessions;
	bool rejected = io_task_count_rejection(leg_task);
	blk_status_t given_up = rejected ? BLK_STS_IOERR : old ? BLK_STS_TRANSPORT : BLK_STS_OK;

	if (rejected)
		io_say_failed(leg_task, "given up");
	if (test_bit(ISTRIPE_TASK_SENT, &leg_task->task.flags))
		leg_task->again = &leg->redriven;
	leg_task->busy = false;
	leg_task->losses = min(leg_task->losses + 1, U8_MAX);
	if (!io_task_may_repeat(leg_task)) {
		leg_task->given_up = given_up;
		istripe_leg_await_fence(leg_task);
	} else if (given_up != BLK_STS_OK) {
		io_task_failed(leg_task, given_up);
	} else {
		io_task_again(leg_task);
	}
}

/*
 * Over this path it has taken too long. Each time-out is one of command_timeout_ms, so the task
 * counts as one that no path serves as soon as it has failed over each path, late or not. No
 * session ends before a path has served it (io_task_good()): perhaps the LUN does not answer.
 */
static void io_task_late(struct istripe_leg_task *leg_task)
{
	struct istripe_reason words;

	leg_task->late_over |= io_task_path_bit(leg_task);
	if (!leg_task->timeouts) {
		io_task_back_off(leg_task, BLK_STS_TIMEOUT);
		return;
	}
	io_describe(leg_task, "over each path", &words);
	if (leg_task->unserved && !istripe_unserved_may_wait(leg_task)) {
		io_task_give_up(leg_task, &words, BLK_STS_TIMEOUT);
		return;
	}
	if (!io_task_goes_on(leg_task)) {
		io_task_wait(leg_task, &words);
		/* They take turns from now on. */
		leg_task->failed_over = 0;
		leg_task->avoid = io_task_path_bit(leg_task);
	}
	io_task_again(leg_task);
}

/* Each other path that gets I/O is tried, or this one once more. */
static void io_task_rejected(struct istripe_leg_task *leg_task)
{
	bool for_good;

	if (io_task_is_rejected_once(leg_task)) {
		io_task_back_off(leg_task, BLK_STS_IOERR);
		return;
	}
	for_good = io_task_count_rejection(leg_task);
	leg_task->failed_over |= io_task_path_bit(leg_task);
	io_task_avoid(leg_task);
	if (!for_good ||
	    leg_has_other_path(leg_task->leg, leg_task->failed_over | leg_task->late_over)) {
		io_task_again(leg_task);
		return;
	}
	io_say_failed(leg_task, "given up");
	io_task_failed(leg_task, BLK_STS_IOERR);
}

/* The target has dropped the task and carries out nothing of it any more. */
static void io_task_aborted(struct istripe_leg_task *leg_task)
{
	if (READ_ONCE(leg_task->leg->stopping))
		io_task_failed(leg_task, BLK_STS_TIMEOUT);
	else if (io_task_is_rejected(leg_task))
		io_task_rejected(leg_task);
	else if (leg_task->task.error == -EAGAIN)
		/* A reset over another nexus has ended it, because of another command. */
		io_task_again(leg_task);
	else if (leg_task->task.response)
		/* Not late: this was an answer. */
		io_task_back_off(leg_task, BLK_STS_IOERR);
	else
		io_task_late(leg_task);
}

static void io_count_retry(struct istripe_leg_task *leg_task)
{
	leg_task->again = &leg_task->leg->retried;
	atomic64_inc(&leg_task->nexus->path->retries);
}

/* Each nexus may report a unit attention of its own. */
static void io_task_retry(struct istripe_leg_task *leg_task)
{
	io_count_retry(leg_task);
	leg_task->attentions = min(leg_task->attentions + 1, U8_MAX);
	if (leg_task->attentions <= RETRIES_MAX + leg_task->leg->nexus_count)
		io_task_again(leg_task);
	else
		io_task_unserved(leg_task, "again and again", BLK_STS_IOERR);
}

/*
 * Not served on this path: another one may, or this one later. A target that says that it serves,
 * and refuses all the same, must not keep the request for ever.
 */
static void io_task_elsewhere(struct istripe_leg_task *leg_task)
{
	io_count_retry(leg_task);
	if (!leg_task->not_served)
		leg_task->not_served_at = jiffies;
	leg_task->not_served = min(leg_task->not_served + 1, U8_MAX);
	if (leg_task->not_served <= RETRIES_MAX + leg_task->leg->nexus_count ||
	    !io_too_old(leg_task->io, leg_task->not_served_at)) {
		io_task_again(leg_task);
		return;
	}
	io_say_failed(leg_task, "not served on any path: given up");
	io_task_failed(leg_task, BLK_STS_TRANSPORT);
}

/* Failed, but perhaps because of this path: each other one that gets I/O is tried once. */
static void io_task_path_error(struct istripe_leg_task *leg_task)
{
	io_count_retry(leg_task);
	if (io_task_goes_on(leg_task))
		io_task_again(leg_task);
	else
		io_task_unserved(leg_task, istripe_scsi_verdict_name(ISTRIPE_SCSI_PATH_ERROR),
				 BLK_STS_IOERR);
}

/*
 * Perhaps on this path only: each other one that gets I/O is tried once before the task waits. With
 * failover the others are not to be used needlessly.
 */
static bool io_task_leaves_busy_path(struct istripe_leg_task *leg_task)
{
	u16 bit = io_task_path_bit(leg_task), tried = leg_task->avoid | bit;
	struct istripe_leg *leg = leg_task->leg;
	int section = srcu_read_lock(&leg->srcu);
	u16 busy = istripe_busy_paths(leg);
	bool leaves;

	leaves = (READ_ONCE(leg->policy) != ISTRIPE_POLICY_FAILOVER || (busy & bit)) &&
		 istripe_policy_pick_other(leg, 0, tried | busy);
	srcu_read_unlock(&leg->srcu, section);
	if (leaves)
		leg_task->avoid = tried;
	return leaves;
}

/* True: the task does not wait for the path. */
static bool io_task_busy_path(struct istripe_leg_task *leg_task)
{
	struct istripe_path *path = leg_task->nexus->path;
	struct istripe_leg *leg = leg_task->leg;

	/* That is the LUN's flow control. */
	if (leg_task->task.status == SAM_STAT_TASK_SET_FULL)
		return false;
	istripe_busy_refused(path);
	if (io_task_leaves_busy_path(leg_task)) {
		istripe_allowance_give(leg_task, false);
		io_task_again(leg_task);
		return true;
	}
	if (!istripe_busy_for_long(path) || !leg_has_unchosen(leg, 0))
		return false;
	istripe_allowance_give(leg_task, false);
	io_task_unserved(leg_task, "busy for too long", BLK_STS_IOERR);
	return true;
}

static void io_task_busy(struct istripe_leg_task *leg_task)
{
	io_count_retry(leg_task);
	if (io_task_busy_path(leg_task))
		return;
	if (READ_ONCE(leg_task->leg->policy) != ISTRIPE_POLICY_FAILOVER ||
	    (leg_task->refusals >= FAILOVER_REFUSALS &&
	     leg_task->busy_for >= msecs_to_jiffies(FAILOVER_BUSY_MS)))
		io_task_avoid(leg_task);
	if (!istripe_allowance_refused(leg_task))
		io_task_unserved(leg_task, "busy for too long", BLK_STS_IOERR);
}

static blk_status_t io_verdict_status(enum istripe_scsi_verdict verdict)
{
	static const blk_status_t statuses[ISTRIPE_SCSI_VERDICT_COUNT] = {
		[ISTRIPE_SCSI_MEDIUM] = BLK_STS_MEDIUM,
		[ISTRIPE_SCSI_CORRUPT] = BLK_STS_PROTECTION,
		[ISTRIPE_SCSI_NOSPC] = BLK_STS_NOSPC,
		/* For "not supported" fsync() and discards would succeed. */
		[ISTRIPE_SCSI_UNSUPPORTED] = BLK_STS_TARGET,
		[ISTRIPE_SCSI_RESERVATION] = BLK_STS_RESV_CONFLICT,
		[ISTRIPE_SCSI_TARGET] = BLK_STS_TARGET,
		[ISTRIPE_SCSI_PROTECT] = BLK_STS_TARGET,
	};

	return statuses[verdict] ?: BLK_STS_IOERR;
}

/* Some targets do not count a parameter. */
static bool io_task_is_whole(const struct istripe_task *task)
{
	return task->transferred_bytes == task->data.length_bytes ||
	       istripe_cdb_writes_by_parameter(task->cdb);
}

/* GOOD for fewer or more data than were asked for is a failure (P1). */
static void io_task_not_whole(struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	pr_warn_ratelimited("%s/%u: command 0x%02x: GOOD, but the target says that it has not transferred just the %llu bytes asked for\n",
			    leg_task->leg->volume->name, leg_task->leg->index, task->cdb[0],
			    (u64)task->data.length_bytes);
	io_count_retry(leg_task);
	io_task_back_off(leg_task, BLK_STS_IOERR);
}

/* True: it goes on, with a flush or with its data again. */
static bool io_task_writes_through(struct istripe_leg_task *leg_task)
{
	if (leg_task->flushes) {
		if (istripe_write_through_is_done(leg_task))
			return false;
		istripe_write_through_write(leg_task);
		io_task_begin_next(leg_task);
		/* A target that loses its cache again and again must not keep it for ever. */
		io_task_back_off(leg_task, BLK_STS_IOERR);
		return true;
	}
	if (!istripe_write_through_wanted(leg_task))
		return false;
	istripe_write_through_flush(leg_task);
	atomic64_inc(&leg_task->leg->commands);
	io_task_begin_next(leg_task);
	io_task_again(leg_task);
	return true;
}

/* True: unmapped blocks need not read as zeroes, as the LUN says by now, or may be about to say. */
static bool io_task_zeroes_again(struct istripe_leg_task *leg_task)
{
	bool invalid = istripe_task_session_is_invalid(&leg_task->task);

	if (leg_task->flushes ||
	    (!invalid && READ_ONCE(leg_task->leg->lun.capacity.reads_zeroes)))
		return false;
	leg_task->zeroes = false;
	leg_task->unlike = leg_task->resent;
	istripe_cdb_write_same_keep(leg_task->task.cdb);
	io_task_begin_anew(leg_task);
	io_task_again(leg_task);
	return true;
}

static void io_task_good(struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	if (unlikely(!io_task_is_whole(task))) {
		io_task_not_whole(leg_task);
		return;
	}
	istripe_leg_note_good(leg_task->leg);
	istripe_latency_stamp(&leg_task->nexus->path->latencies->good, leg_task->since);
	if (unlikely(leg_task->late_over))
		istripe_trial_served(leg_task->nexus, leg_task->late_over, leg_task->io->started,
				     leg_task->since);
	if (unlikely(leg_task->zeroes) && io_task_zeroes_again(leg_task))
		return;
	if (unlikely(leg_task->through || leg_task->fua ||
		     READ_ONCE(leg_task->leg->write_through)) &&
	    io_task_writes_through(leg_task))
		return;
	istripe_latency_count(leg_task->nexus->path->latencies, blk_mq_rq_from_pdu(leg_task->io));
	if (likely(!leg_task->overlay_epoch) || istripe_overlays_patch(leg_task))
		io_task_end(leg_task);
	else
		io_task_again(leg_task);
}

static void io_task_refused(struct istripe_leg_task *leg_task, enum istripe_scsi_verdict verdict)
{
	bool keyless = verdict == ISTRIPE_SCSI_RESERVATION && !READ_ONCE(leg_task->leg->pr_key.key);

	io_say_failed(leg_task, keyless ?
		      "reserved for another initiator, and no key of this host is known" :
		      istripe_scsi_verdict_name(verdict));
	if (leg_task->task.write && istripe_sense_write_protected(&leg_task->task.sense))
		istripe_write_protect_refused(leg_task->nexus);
	io_task_failed(leg_task, io_verdict_status(verdict));
}

static void io_task_transient(struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	if (istripe_sense_flush_is_lost(task->cdb[0], &task->sense)) {
		io_task_refused(leg_task, ISTRIPE_SCSI_MEDIUM);
		return;
	}
	if (leg_task->flushes)
		istripe_write_through_write(leg_task);
	/* All paths lead to the same medium: the command alone fails, as with sd. */
	if (leg_task->retries >= FAILURES_MAX && istripe_sense_of_medium(&task->sense)) {
		io_task_refused(leg_task, ISTRIPE_SCSI_MEDIUM);
		return;
	}
	io_count_retry(leg_task);
	io_task_back_off(leg_task, BLK_STS_IOERR);
}

/* A LUN that has no caching page, and cannot flush: sd, without a page, assumes no cache, too. */
static void io_task_no_cache(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;

	if (!READ_ONCE(leg->no_flush))
		pr_warn("%s/%u: the LUN does not say whether it has a write cache, and cannot flush one: it is not flushed\n",
			leg->volume->name, leg->index);
	WRITE_ONCE(leg->no_flush, true);
	io_task_end(leg_task);
}

/* True: the disk was too slow to learn that the LUN takes less, or has forgotten it. */
static bool io_discard_is_long(const struct istripe_leg_task *leg_task)
{
	u8 asc = leg_task->task.sense.asc;
	struct istripe_range range;

	istripe_leg_task_range(leg_task, &range);
	return (asc == ISTRIPE_ASC_INVALID_FIELD_IN_CDB ||
		asc == ISTRIPE_ASC_INVALID_FIELD_IN_LIST) &&
	       istripe_limits_discard_is_long(leg_task->leg, istripe_range_blocks(&range));
}

/*
 * As sd does: what a LUN does not know after all is not offered until the volume has been down.
 * Zeroes are written instead, which the kernel would not do if only their limit were lower.
 */
static void io_withdraw(struct istripe_leg_task *leg_task)
{
	struct request *rq = blk_mq_rq_from_pdu(leg_task->io);
	u8 asc = leg_task->task.sense.asc;

	if (req_op(rq) == REQ_OP_DISCARD && io_discard_is_long(leg_task))
		return;
	if (asc != ISTRIPE_ASC_INVALID_OPCODE && asc != ISTRIPE_ASC_ILLEGAL_FUNCTION &&
	    asc != ISTRIPE_ASC_INVALID_FIELD_IN_CDB)
		return;
	if (req_op(rq) == REQ_OP_DISCARD)
		istripe_compat_lower_discard(rq->q, 0);
	else if (req_op(rq) == REQ_OP_WRITE_ZEROES)
		istripe_compat_lower_write_zeroes(rq->q, 0);
}

/* Some LUNs with a cache know the shorter command only. */
static void io_task_unsupported(struct istripe_leg_task *leg_task)
{
	struct istripe_task *task = &leg_task->task;

	switch (task->cdb[0]) {
	case SYNCHRONIZE_CACHE_16:
		WRITE_ONCE(leg_task->leg->flush10, true);
		istripe_cdb_init(task->cdb, SYNCHRONIZE_CACHE);
		io_task_again(leg_task);
		break;
	case SYNCHRONIZE_CACHE:
		if (istripe_write_through_is_cacheless(leg_task->nexus))
			io_task_good(leg_task);
		else if (leg_task->leg->lun.caching.told)
			io_task_refused(leg_task, ISTRIPE_SCSI_UNSUPPORTED);
		else
			io_task_no_cache(leg_task);
		break;
	default:
		io_withdraw(leg_task);
		io_task_refused(leg_task, ISTRIPE_SCSI_UNSUPPORTED);
	}
}

/*
 * It may be another LUN now, or have other blocks: this nexus gets no command before the LUN is
 * revalidated. Over another nexus the target says so itself, to the first command (SPC-4 5.13).
 */
static void io_note_change(struct istripe_leg_task *leg_task)
{
	istripe_task_invalidate(&leg_task->task);
	istripe_attention_ask(leg_task->nexus,
			      istripe_sense_change_name(&leg_task->task.sense));
}

/* True: because of the access state of the port. */
static bool io_note_check_condition(const struct istripe_leg_task *leg_task)
{
	const struct scsi_sense_hdr *sense = &leg_task->task.sense;
	struct istripe_nexus *nexus = leg_task->nexus;

	istripe_attention_note(nexus, &leg_task->task);
	/* The other nexuses are told of it themselves. */
	if (istripe_alua_sense_obscures(sense) && READ_ONCE(nexus->access.tpgs))
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_ACCESS);
	return istripe_alua_note_refusal(nexus, sense);
}

/* Context: see struct istripe_task, done. */
static void io_task_done(struct istripe_task *task)
{
	struct istripe_leg_task *leg_task = container_of(task, struct istripe_leg_task, task);
	enum istripe_scsi_verdict verdict;
	bool elsewhere = false;

	istripe_nexus_done(leg_task);
	if (task->error) {
		atomic64_inc(&leg_task->nexus->path->retries);
		if (task->response)
			leg_task->again = &leg_task->leg->retried;
		istripe_allowance_give(leg_task, false);
		if (task->error == -ECANCELED || task->error == -EAGAIN)
			io_task_aborted(leg_task);
		else
			io_task_lost(leg_task);
		return;
	}
	istripe_latency_stamp(&leg_task->nexus->path->latencies->answered, leg_task->since);
	verdict = istripe_sense_verdict(task->status, &task->sense);
	if (verdict == ISTRIPE_SCSI_CHANGED)
		io_note_change(leg_task);
	else if (task->status == SAM_STAT_CHECK_CONDITION)
		elsewhere = io_note_check_condition(leg_task);
	/* After these: a task that is let in now must find the session invalidated, or no lane. */
	if (verdict != ISTRIPE_SCSI_BUSY || elsewhere) {
		istripe_busy_answered(leg_task->nexus->path);
		istripe_allowance_give(leg_task, true);
	}
	if (elsewhere) {
		io_task_elsewhere(leg_task);
		return;
	}
	switch (verdict) {
	case ISTRIPE_SCSI_GOOD:
		io_task_good(leg_task);
		break;
	case ISTRIPE_SCSI_CHANGED:
	case ISTRIPE_SCSI_RETRY:
		io_task_retry(leg_task);
		break;
	case ISTRIPE_SCSI_NOT_SERVED:
		/* Another path may serve what this one does not, or this one after a login. */
		istripe_task_session_fault(task, istripe_scsi_verdict_name(verdict));
		io_task_elsewhere(leg_task);
		break;
	case ISTRIPE_SCSI_UNSUPPORTED:
		io_task_unsupported(leg_task);
		break;
	case ISTRIPE_SCSI_PATH_ERROR:
		io_task_path_error(leg_task);
		break;
	case ISTRIPE_SCSI_DEFERRED:
	case ISTRIPE_SCSI_TRANSIENT:
		io_task_transient(leg_task);
		break;
	case ISTRIPE_SCSI_BUSY:
		io_task_busy(leg_task);
		break;
	default:
		io_task_refused(leg_task, verdict);
	}
}

u64 istripe_io_start(struct istripe_volume *volume, struct request *rq, u32 lane, bool more)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	u64 legs = 0;
	u32 count, i;

	io->lane = lane;
	istripe_io_prepare(io, volume, rq);
	if (volume->leg_count > 1 && unlikely(istripe_requeue_begin(io)))
		return 0;
	count = io->task_count;
	/* One more, for the loop: the request must not end while it runs. */
	atomic_set(&io->pending, count + 1);
	for (i = 0; i < count; i++) {
		struct istripe_leg_task *leg_task = &io->tasks[i];
		struct istripe_leg *leg = leg_task->leg;

		leg_task->failed = io_task_failed;
		leg_task->task.done = io_task_done;
		if (unlikely(io->single_bio) && test_bit(leg->index, io->failed_legs)) {
			io_task_failed(leg_task, io->leg_status);
			continue;
		}
		legs |= BIT_ULL(leg->index);
		atomic64_inc(&leg->commands);
		istripe_leg_submit(leg_task, more ? ISTRIPE_SUBMIT_MORE : ISTRIPE_SUBMIT_NOW);
	}
	io_put(io);
	return legs;
}

/*
 * The block layer merges adjacent reads, of several processes perhaps. Blocks that cannot be read,
 * and legs that fail, are an error of those who have asked for them: each bio is read again for
 * itself, the first one first. A leg that has failed is not waited for again.
 */
static bool io_is_merged_read(const struct istripe_io *io, const struct request *rq)
{
	return io->status != BLK_STS_OK && req_op(rq) == REQ_OP_READ && rq->bio != rq->biotail &&
	       (status_is_of_blocks(io->status) || io_is_of_several_legs(io));
}

/* True: the request, or the next bio of it, is to be sent. False: it ends, or its last bio. */
static bool io_goes_on(const struct istripe_io *io, struct request *rq)
{
	if (likely(!io->single_bio))
		return unlikely(io_is_merged_read(io, rq));
	return blk_update_request(rq, io->status, bio_sectors(rq->bio) << SECTOR_SHIFT);
}

static void io_end(const struct istripe_io *io, struct request *rq)
{
	/* blk_update_request() has ended its last bio. */
	if (unlikely(io->single_bio))
		__blk_mq_end_request(rq, io->status);
	else
		blk_mq_end_request(rq, io->status);
}

void istripe_io_complete(struct request *rq)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	struct bio *bio;

	istripe_writeback_count(io_volume(io), rq, io->status);
	/*
	 * A polled request ends where its answer is received, mostly in softirq. Older kernels
	 * assume that polled bios never do, and keep freed ones in a cache without a lock.
	 */
	if (rq->cmd_flags & REQ_POLLED)
		__rq_for_each_bio(bio, rq)
			bio_clear_polled(bio);
	if (io_goes_on(io, rq)) {
		rq->rq_flags |= RQF_DONTPREP;
		blk_mq_requeue_request(rq, true);
	} else {
		io_end(io, rq);
	}
}
