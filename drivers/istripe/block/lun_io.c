// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include <istripe/reason.h>
#include "block/alua.h"
#include "block/lun_io.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "block/write_through.h"
#include "iscsi/error.h"
#include "scsi/cdb.h"
#include "scsi/sense.h"

/* So often it asks again, and looks whether another command over the nexus is over. */
#define TURN_MS		20

void *istripe_lun_io_page(const struct istripe_lun_io *io)
{
	return page_address(io->session->internal.page);
}

void istripe_lun_io_begin(struct istripe_lun_io *io, struct istripe_nexus *nexus, u32 ms,
			  struct istripe_reason *why)
{
	*io = (struct istripe_lun_io) {
		.nexus = nexus,
		.session = nexus->owned,
		.lun = &nexus->found,
		.leg = nexus->leg->index,
		.deadline = jiffies + msecs_to_jiffies(ms),
		.why = why,
	};
}

/*
 * As io.c has it: another path may not have the error. A flush that has lost data is not repeated:
 * it would be GOOD.
 */
static bool lun_io_is_path_error(const struct istripe_task *task, u8 opcode)
{
	if (istripe_sense_flush_is_lost(opcode, &task->sense))
		return false;
	switch (istripe_sense_verdict(task->status, &task->sense)) {
	case ISTRIPE_SCSI_NOT_SERVED:
	case ISTRIPE_SCSI_PATH_ERROR:
		return true;
	case ISTRIPE_SCSI_TRANSIENT:
		return !istripe_sense_of_medium(&task->sense);
	default:
		return false;
	}
}

static int lun_io_ask(const struct istripe_lun_io *io, const u8 *cdb, u32 bytes, bool write,
		      const char *what)
{
	const struct istripe_task *task = &io->session->internal.task;
	const struct istripe_lun_command command = {
		.address = &io->session->lun,	/* the LUN's number may differ between nexuses */
		.cdb = cdb,
		.bytes = bytes,
		.write = write,
		.tpgs = READ_ONCE(io->nexus->access.known),
		.known = ISTRIPE_LUN_KNOWN,
		/* The worker has just asked the LUN that it has found. */
		.valid = io->lun == &io->nexus->leg->lun,
		.deadline = io->deadline,
	};
	u32 failures = 0;
	int ret = istripe_lun_ask(io->session, &command);

	/* Not in a walk: an @fn has its own -EAGAIN. A target may fail it for ever. */
	while (istripe_lun_has_dropped(ret) &&
	       time_before(jiffies + msecs_to_jiffies(TURN_MS), io->deadline) &&
	       (!task->response || failures++ < ISTRIPE_REVALIDATIONS_MAX)) {
		msleep(TURN_MS);
		ret = istripe_lun_ask(io->session, &command);
	}
	if (!ret && task->transferred_bytes != bytes)
		ret = -EPROTO;
	if (ret == -ENOLINK) {
		istripe_alua_note_refusal(io->nexus, &task->sense);
		istripe_reason_set(io->why, "leg %u: cannot %s: its target port takes no I/O",
				   io->leg, what);
	} else if (ret == -EIO) {
		istripe_reason_set(io->why, "leg %u: cannot %s: status 0x%02x, sense %x/%02x/%02x",
				   io->leg, what, task->status, task->sense.sense_key,
				   task->sense.asc, task->sense.ascq);
		if (lun_io_is_path_error(task, cdb[0]))
			ret = -EREMOTEIO;
	} else if (ret) {
		istripe_reason_set(io->why, "leg %u: cannot %s: %s (%pe)", io->leg, what,
				   istripe_error_words(ret), ERR_PTR(ret));
		if (istripe_lun_has_dropped(ret))
			ret = -EREMOTEIO;
	}
	return ret;
}

/* The nexus's session is lost or about to be; the leg is served. */
static void super_set_unfenced(struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	nexus->super_unfenced = true;
	spin_unlock_bh(&leg->lock);
}

/* Blocks are powers of two up to 4 KiB, so @at_bytes is a multiple of them. */
int istripe_lun_io_transfer(const struct istripe_lun_io *io, u64 at_bytes, bool write,
			    const char *what)
{
	u32 block_bytes = io->lun->capacity.block_bytes;
	u32 blocks = ISTRIPE_INTERNAL_BYTES / block_bytes;
	u64 lba = at_bytes >> ilog2(block_bytes);
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_transfer16(cdb, write, lba, blocks);
	ret = lun_io_ask(io, cdb, ISTRIPE_INTERNAL_BYTES, write, what);
	/* It may be carried out as long as its session lives in the target. */
	if (write && istripe_lun_is_lost(ret))
		super_set_unfenced(io->nexus);
	return ret;
}

static bool lun_io_unsupported(const struct istripe_lun_io *io, int ret)
{
	const struct istripe_task *task = &io->session->internal.task;

	return ret == -EIO &&
	       istripe_sense_verdict(task->status, &task->sense) == ISTRIPE_SCSI_UNSUPPORTED;
}

int istripe_lun_io_flush(const struct istripe_lun_io *io)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	if (!io->lun->caching.write_cache && !READ_ONCE(io->nexus->leg->write_through))
		return 0;
	istripe_cdb_init(cdb, SYNCHRONIZE_CACHE_16);
	ret = lun_io_ask(io, cdb, 0, false, "flush its cache");
	if (!lun_io_unsupported(io, ret))
		return ret;
	/* As io_task_unsupported() has it. */
	istripe_cdb_init(cdb, SYNCHRONIZE_CACHE);
	ret = lun_io_ask(io, cdb, 0, false, "flush its cache");
	return lun_io_unsupported(io, ret) &&
	       (!io->lun->caching.told || istripe_write_through_is_cacheless(io->nexus)) ? 0 : ret;
}

/* With nexus->ask_lock, over a published session. -EINPROGRESS: revalidate the LUN first. */
static int session_lun_io(struct istripe_nexus *nexus, struct istripe_session *session,
			  unsigned long deadline, struct istripe_lun_walk *walk,
			  istripe_lun_io_fn fn)
{
	const struct istripe_lun_io io = {
		.nexus = nexus,
		.session = session,
		.lun = &nexus->leg->lun,
		.leg = nexus->leg->index,
		.deadline = deadline,
		.why = walk->why,
	};
	int ret = istripe_session_is_invalid(session) ? -EINPROGRESS : fn(&io, walk);

	/* The command, and its page, may still be under way. */
	if (ret == -ETIMEDOUT)
		istripe_session_fault(session, ret, "%s", walk->why->text);
	/* It may be another LUN. */
	return ret == -ESTALE && !walk->mismatch ? -EINPROGRESS : ret;
}

/* May another nexus do what failed? It was lost, or its path does not serve it, or not soon. */
static bool lun_io_goes_elsewhere(int error)
{
	return istripe_lun_is_lost(error) || error == -ENOLINK || error == -EREMOTEIO ||
	       error == -EBUSY;
}

/* All the time has been spent on it: another nexus of its path would take as long. */
static bool lun_io_took_long(int error)
{
	return error == -ETIMEDOUT || error == -EBUSY;
}

static int lun_io_fail_lost(const struct istripe_leg *leg, struct istripe_reason *why)
{
	return istripe_reason_fail(why, -ENOTCONN, "leg %u: its path was lost", leg->index);
}

static int lun_io_fail_changing(const struct istripe_leg *leg, struct istripe_reason *why)
{
	return istripe_reason_fail(why, -ENOTCONN,
				   "leg %u: its LUN says again and again that it has changed",
				   leg->index);
}

/* Walks */

/* The worker waits for the end of the section before it closes the session. */
static int walk_nexus_once(struct istripe_nexus *nexus, struct istripe_lun_walk *walk,
			   istripe_lun_io_fn fn)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	int ret;

	if (!session) {
		ret = lun_io_fail_lost(nexus->leg, walk->why);
	} else if (fatal_signal_pending(current) || mutex_lock_killable(&nexus->ask_lock)) {
		ret = istripe_reason_fail(walk->why, -EINTR, "interrupted at leg %u",
					  nexus->leg->index);
	} else {
		ret = session_lun_io(nexus, session, jiffies + msecs_to_jiffies(walk->timeout_ms),
				     walk, fn);
		mutex_unlock(&nexus->ask_lock);
	}
	srcu_read_unlock(&nexus->srcu, section);
	return ret;
}

static int walk_nexus(struct istripe_nexus *nexus, struct istripe_lun_walk *walk,
		      istripe_lun_io_fn fn)
{
	u32 revalidations = 0;
	int ret;

	while ((ret = walk_nexus_once(nexus, walk, fn)) == -EINPROGRESS) {
		if (revalidations++ == ISTRIPE_REVALIDATIONS_MAX)
			return lun_io_fail_changing(nexus->leg, walk->why);
		istripe_nexus_revalidate(nexus);
	}
	return ret;
}

int istripe_lun_io_over_nexus(struct istripe_nexus *nexus, struct istripe_lun_walk *walk,
			      istripe_lun_io_fn fn)
{
	return istripe_lun_io_result(walk_nexus(nexus, walk, fn));
}

static int walk_leg(struct istripe_leg *leg, struct istripe_lun_walk *walk, istripe_lun_io_fn fn)
{
	int section = srcu_read_lock(&leg->srcu);
	int ret = lun_io_fail_lost(leg, walk->why);
	const struct istripe_path *slow = NULL;
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus) {
		/* The reason of one that cannot do it would replace that of the nexus before. */
		if (nexus->path == slow || !istripe_nexus_may_carry(nexus))
			continue;
		ret = walk_nexus(nexus, walk, fn);
		if (lun_io_took_long(ret))
			slow = nexus->path;
		if (!lun_io_goes_elsewhere(ret) ||
		    (slow && READ_ONCE(walk->volume->resize.ending)))
			break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return istripe_lun_io_result(ret);
}

int istripe_lun_io_each_leg(struct istripe_lun_walk *walk, istripe_lun_io_fn fn)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < walk->volume->leg_count; i++)
		ret = walk_leg(walk->volume->legs[i], walk, fn);
	return ret;
}

/* The flush of a leg by a deadline */

#define PATH_MS_MIN	1000

static int flush_call(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	return istripe_lun_io_flush(io);
}

static bool flush_lock(struct mutex *lock, unsigned long deadline)
{
	while (!mutex_trylock(lock)) {
		if (time_after_eq(jiffies, deadline))
			return false;
		msleep(TURN_MS);
	}
	return true;
}

/* As walk_nexus_once(). */
static int flush_nexus_once(struct istripe_nexus *nexus, unsigned long deadline,
			    struct istripe_reason *why)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	struct istripe_lun_walk walk = { .why = why };
	int ret;

	if (!session) {
		ret = lun_io_fail_lost(nexus->leg, why);
	} else if (!flush_lock(&nexus->ask_lock, deadline)) {
		ret = istripe_reason_fail(why, -ETIMEDOUT,
					  "leg %u: other commands over its path have no answer",
					  nexus->leg->index);
	} else {
		ret = session_lun_io(nexus, session, deadline, &walk, flush_call);
		mutex_unlock(&nexus->ask_lock);
	}
	srcu_read_unlock(&nexus->srcu, section);
	return ret;
}

static int flush_nexus(struct istripe_nexus *nexus, unsigned long deadline,
		       struct istripe_reason *why)
{
	int ret;

	while ((ret = flush_nexus_once(nexus, deadline, why)) == -EINPROGRESS) {
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE_NOW);
		msleep(TURN_MS);
		if (time_after_eq(jiffies, deadline))
			return lun_io_fail_changing(nexus->leg, why);
	}
	return ret;
}

/* The state of one call. */
struct leg_flush {
	struct istripe_leg *leg;
	unsigned long deadline;
	unsigned long asked;	/* a bit for each path that cannot do it, or has had its time */
	int result;
	struct istripe_reason *why;
};

static bool flush_may_ask(const struct leg_flush *flush, const struct istripe_nexus *nexus)
{
	return !(flush->asked & BIT(nexus->path->index)) && istripe_nexus_may_carry(nexus);
}

/*
 * In a section of leg->srcu: half of what is left while another path comes behind that of @nexus.
 * A flush may take long, and is cut off with its session.
 */
static unsigned long flush_share(const struct leg_flush *flush, const struct istripe_nexus *nexus)
{
	long left = flush->deadline - jiffies;
	const struct istripe_nexus *other;

	istripe_leg_for_each_nexus(flush->leg, other) {
		if (other->path->index > nexus->path->index && flush_may_ask(flush, other)) {
			left /= 2;
			break;
		}
	}
	return jiffies + max(left, (long)msecs_to_jiffies(PATH_MS_MIN));
}

static bool flush_goes_on(const struct leg_flush *flush)
{
	return time_before(jiffies, flush->deadline) && lun_io_goes_elsewhere(flush->result);
}

static void flush_over_paths(struct leg_flush *flush)
{
	int section = srcu_read_lock(&flush->leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(flush->leg, nexus) {
		if (!flush_may_ask(flush, nexus))
			continue;
		flush->result = flush_nexus(nexus, flush_share(flush, nexus), flush->why);
		if (flush->result != -ENOTCONN)
			flush->asked |= BIT(nexus->path->index);
		if (!flush_goes_on(flush))
			break;
	}
	srcu_read_unlock(&flush->leg->srcu, section);
}

/* Was it lost just now? It has as long to log in again as dirty data wait for it. */
static bool flush_awaits(const struct leg_flush *flush, const struct istripe_nexus *nexus)
{
	/* Before the time of the loss; pairs with the release in nexus_set_state(). */
	enum istripe_nexus_state state = smp_load_acquire(&nexus->state);
	unsigned long end = READ_ONCE(nexus->lost_at) + msecs_to_jiffies(ISTRIPE_WRITEBACK_MS);

	if (!READ_ONCE(nexus->wanted) || flush->asked & BIT(nexus->path->index))
		return false;
	switch (state) {
	case ISTRIPE_NEXUS_LIVE:	/* its worker has not seen the loss, or it is back */
		return istripe_nexus_may_carry(nexus);
	case ISTRIPE_NEXUS_CLOSING:
		return true;
	case ISTRIPE_NEXUS_CONNECTING:
	case ISTRIPE_NEXUS_BACKOFF:
		return time_before(jiffies, end);
	default:
		return false;
	}
}

static bool flush_awaits_any(const struct leg_flush *flush)
{
	int section = srcu_read_lock(&flush->leg->srcu);
	const struct istripe_nexus *nexus;
	bool any = false;

	istripe_leg_for_each_nexus(flush->leg, nexus)
		any |= flush_awaits(flush, nexus);
	srcu_read_unlock(&flush->leg->srcu, section);
	return any;
}

int istripe_lun_io_flush_leg(struct istripe_leg *leg, unsigned long deadline,
			     struct istripe_reason *why)
{
	struct leg_flush flush = {
		.leg = leg,
		.deadline = deadline,
		.result = lun_io_fail_lost(leg, why),
		.why = why,
	};

	flush_over_paths(&flush);
	while (flush_goes_on(&flush) && flush_awaits_any(&flush)) {
		istripe_leg_wake(leg);
		msleep(TURN_MS);
		flush_over_paths(&flush);
	}
	return flush.result;
}
