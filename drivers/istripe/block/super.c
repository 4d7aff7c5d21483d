// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include <istripe/reason.h>
#include "block/alua.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/super.h"
#include "block/volume.h"
#include "block/write_through.h"
#include "iscsi/error.h"
#include "scsi/cdb.h"
#include "scsi/sense.h"

static_assert(ISTRIPE_MD_SUPER_BYTES == ISTRIPE_INTERNAL_BYTES);

void *istripe_super_page(const struct istripe_super_io *io)
{
	return page_address(io->session->internal.page);
}

void istripe_super_io_begin(struct istripe_super_io *io, struct istripe_nexus *nexus, u32 ms,
			    struct istripe_reason *why)
{
	*io = (struct istripe_super_io) {
		.nexus = nexus,
		.session = nexus->owned,
		.lun = &nexus->found,
		.leg = nexus->leg->index,
		.deadline = jiffies + msecs_to_jiffies(ms),
		.why = why,
	};
}

static int super_ask(const struct istripe_super_io *io, const u8 *cdb, u32 bytes, bool write,
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
		.deadline = io->deadline,
	};
	int ret = istripe_lun_ask(io->session, &command);

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
	} else if (ret) {
		istripe_reason_set(io->why, "leg %u: cannot %s: %s (%pe)", io->leg, what,
				   istripe_error_words(ret), ERR_PTR(ret));
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

/* Without a fence since? */
static bool super_is_unfenced(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool super_unfenced;

	spin_lock_bh(&leg->lock);
	super_unfenced = nexus->super_unfenced;
	spin_unlock_bh(&leg->lock);
	return super_unfenced;
}

/* Blocks are powers of two up to 4 KiB, so @at_bytes is a multiple of them. */
int istripe_super_transfer(const struct istripe_super_io *io, u64 at_bytes, bool write,
			   const char *what)
{
	u32 block_bytes = io->lun->capacity.block_bytes;
	u32 blocks = ISTRIPE_INTERNAL_BYTES / block_bytes;
	u64 lba = at_bytes >> ilog2(block_bytes);
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_transfer16(cdb, write, lba, blocks);
	ret = super_ask(io, cdb, ISTRIPE_INTERNAL_BYTES, write, what);
	/* It may be carried out as long as its session lives in the target. */
	if (write && istripe_super_is_lost(ret))
		super_set_unfenced(io->nexus);
	return ret;
}

static bool super_unsupported(const struct istripe_super_io *io, int ret)
{
	const struct istripe_task *task = &io->session->internal.task;

	return ret == -EIO &&
	       istripe_sense_verdict(task->status, &task->sense) == ISTRIPE_SCSI_UNSUPPORTED;
}

int istripe_super_flush(const struct istripe_super_io *io)
{
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	if (!io->lun->caching.write_cache && !READ_ONCE(io->nexus->leg->write_through))
		return 0;
	istripe_cdb_init(cdb, SYNCHRONIZE_CACHE_16);
	ret = super_ask(io, cdb, 0, false, "flush its cache");
	if (!super_unsupported(io, ret))
		return ret;
	/* As io_task_unsupported() has it. */
	istripe_cdb_init(cdb, SYNCHRONIZE_CACHE);
	ret = super_ask(io, cdb, 0, false, "flush its cache");
	return super_unsupported(io, ret) &&
	       (!io->lun->caching.told || istripe_write_through_is_cacheless(io->nexus)) ? 0 : ret;
}

int istripe_super_read(const struct istripe_super_io *io, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(io->lun);
	int ret;

	*md = (struct istripe_md) { .problem = ISTRIPE_MD_ABSENT };
	if (sectors << SECTOR_SHIFT < ISTRIPE_SUPER_AT_BYTES + ISTRIPE_MD_SUPER_BYTES)
		return 0;
	ret = istripe_super_transfer(io, ISTRIPE_SUPER_AT_BYTES, false,
				     "read its superblock");
	if (!ret)
		istripe_md_decode(istripe_super_page(io), ISTRIPE_MD_SUPER_BYTES, sectors, md);
	return ret;
}

static int session_super(struct istripe_nexus *nexus, struct istripe_session *session,
			 struct istripe_super_walk *walk, istripe_super_fn fn)
{
	struct istripe_super_io io;
	int ret;

	istripe_super_io_begin(&io, nexus, walk->timeout_ms, walk->why);
	io.session = session;
	io.lun = &nexus->leg->lun;
	ret = fn(&io, walk);
	/* The command, and its page, may still be under way. */
	if (ret == -ETIMEDOUT)
		istripe_session_fault(session, ret, "no answer about the superblock");
	/* It may be another LUN. */
	if (ret == -ESTALE && !walk->mismatch)
		ret = -EINPROGRESS;
	return ret;
}

static int walk_lock(const struct istripe_super_walk *walk, struct mutex *lock)
{
	if (!walk->unkillable)
		return fatal_signal_pending(current) ? -EINTR : mutex_lock_killable(lock);
	mutex_lock(lock);
	return 0;
}

/*
 * The worker waits for the end of the section before it closes the session. -EINPROGRESS: the LUN
 * must be revalidated first.
 */
static int nexus_super(struct istripe_nexus *nexus, struct istripe_super_walk *walk,
		       istripe_super_fn fn)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	int ret = -ENOTCONN;

	if (!session) {
		istripe_reason_set(walk->why, "leg %u: its path was lost", nexus->leg->index);
	} else if (walk_lock(walk, &nexus->ask_lock)) {
		istripe_reason_set(walk->why, "interrupted at leg %u", nexus->leg->index);
		ret = -EINTR;
	} else {
		ret = istripe_session_is_invalid(session) ? -EINPROGRESS :
		      session_super(nexus, session, walk, fn);
		mutex_unlock(&nexus->ask_lock);
	}
	srcu_read_unlock(&nexus->srcu, section);
	return ret;
}

int istripe_super_over_nexus(struct istripe_nexus *nexus, struct istripe_super_walk *walk,
			     istripe_super_fn fn)
{
	u32 revalidations = 0;
	int ret;

	while ((ret = nexus_super(nexus, walk, fn)) == -EINPROGRESS) {
		if (revalidations++ == ISTRIPE_REVALIDATIONS_MAX)
			return istripe_reason_fail(walk->why, -ENOTCONN,
						   "leg %u: its LUN says again and again that it has changed",
						   nexus->leg->index);
		istripe_nexus_revalidate(nexus);
	}
	return ret;
}

bool istripe_super_is_lost(int error)
{
	return error == -ENOTCONN || error == -ETIMEDOUT;
}

/* May another nexus do what failed? It was lost, or its port takes no I/O. */
static bool super_goes_elsewhere(int error)
{
	return istripe_super_is_lost(error) || error == -ENOLINK;
}

int istripe_super_over_leg(struct istripe_leg *leg, struct istripe_super_walk *walk,
			   istripe_super_fn fn)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;
	int ret = -ENOTCONN;
	u32 at;

	istripe_reason_set(walk->why, "leg %u: its path was lost", leg->index);
	istripe_leg_for_each_nexus(leg, nexus, at) {
		/* Skipped, since its reason would replace that of the nexus before. */
		if (!rcu_access_pointer(nexus->session) ||
		    !istripe_alua_usable(READ_ONCE(nexus->access.state)))
			continue;
		ret = istripe_super_over_nexus(nexus, walk, fn);
		if (!super_goes_elsewhere(ret))
			break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

int istripe_super_each_leg(struct istripe_super_walk *walk, istripe_super_fn fn)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < walk->volume->leg_count; i++)
		ret = istripe_super_over_leg(walk->volume->legs[i], walk, fn);
	return ret;
}

static int leg_all_live(struct istripe_leg *leg, struct istripe_super_walk *walk)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;
	bool super_unfenced;
	int ret = 0;
	u32 at;

	istripe_leg_for_each_nexus(leg, nexus, at) {
		super_unfenced = super_is_unfenced(nexus);
		if (!super_unfenced && (READ_ONCE(nexus->live) || !READ_ONCE(nexus->wanted)))
			continue;
		istripe_reason_set(walk->why,
				   "leg %u path %u %s: superblocks are written when all paths are up",
				   leg->index, nexus->path->index, super_unfenced ?
				   "was lost with a superblock that may still be written" :
				   "is down");
		ret = -ENOTCONN;
		break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

int istripe_super_all_live(struct istripe_super_walk *walk)
{
	const struct istripe_volume *volume = walk->volume;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_all_live(volume->legs[i], walk);
	return ret;
}
