// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "block/bundle.h"
#include "block/path.h"
#include "block/visit.h"
#include "block/volume.h"
#include "proto/cdb.h"
#include "proto/error.h"

static_assert(ISTRIPE_MD_SUPER_BYTES == ISTRIPE_INTERNAL_BYTES);

void *istripe_visit_page(const struct istripe_visit *visit)
{
	return page_address(visit->session->internal.page);
}

static int visit_ask(const struct istripe_visit *visit, const u8 *cdb, u32 bytes, bool write,
		     const char *what)
{
	const struct istripe_task *task = &visit->session->internal.task;
	/* The session's address of the LUN: paths may list it under different numbers. */
	int ret = istripe_lun_ask(visit->session, &visit->session->lun, cdb, bytes, write,
				  ISTRIPE_LUN_KNOWN, visit->deadline);

	if (!ret && task->transferred_bytes != bytes)
		ret = -EPROTO;
	if (ret == -EIO)
		scnprintf(visit->why, visit->why_bytes,
			  "leg %u: cannot %s: status 0x%02x, sense %x/%02x/%02x", visit->leg, what,
			  task->status, task->sense.sense_key, task->sense.asc, task->sense.ascq);
	else if (ret)
		scnprintf(visit->why, visit->why_bytes, "leg %u: cannot %s: %s (%pe)", visit->leg,
			  what, istripe_error_words(ret), ERR_PTR(ret));
	return ret;
}

/* Once sent a write may be carried out as long as its session lives, also when it is lost. */
static int visit_note(const struct istripe_visit *visit, int ret)
{
	if (istripe_visit_is_lost(ret))
		istripe_leg_path_marked(visit->path->leg, visit->path);
	return ret;
}

/* Blocks are powers of two up to 4 KiB: what is aligned to a page is to them. */
int istripe_visit_transfer(const struct istripe_visit *visit, u64 at_bytes, bool write,
			   const char *what)
{
	u32 block_bytes = visit->lun->capacity.block_bytes;
	u32 blocks = ISTRIPE_INTERNAL_BYTES / block_bytes;
	u64 lba = at_bytes >> ilog2(block_bytes);
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	if (write)
		istripe_cdb_write16(cdb, lba, blocks, false);
	else
		istripe_cdb_read16(cdb, lba, blocks, false);
	ret = visit_ask(visit, cdb, ISTRIPE_INTERNAL_BYTES, write, what);
	return write ? visit_note(visit, ret) : ret;
}

int istripe_visit_flush(const struct istripe_visit *visit)
{
	u8 cdb[ISTRIPE_CDB_BYTES];

	if (!visit->lun->caching.write_cache)
		return 0;
	istripe_cdb_synchronize_cache16(cdb);
	return visit_ask(visit, cdb, 0, false, "flush its superblock");
}

int istripe_visit_read_super(const struct istripe_visit *visit, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(visit->lun);
	int ret;

	*md = (struct istripe_md) { .fault = ISTRIPE_MD_ABSENT };
	if (sectors << SECTOR_SHIFT < ISTRIPE_VISIT_SUPER_AT_BYTES + ISTRIPE_MD_SUPER_BYTES)
		return 0;
	ret = istripe_visit_transfer(visit, ISTRIPE_VISIT_SUPER_AT_BYTES, false,
				     "read its superblock");
	if (!ret)
		istripe_md_decode(istripe_visit_page(visit), ISTRIPE_MD_SUPER_BYTES, sectors, md);
	return ret;
}

static int session_visit(struct istripe_path *path, struct istripe_session *session,
			 struct istripe_round *round, istripe_visit_fn fn)
{
	struct istripe_visit visit = {
		.path = path,
		.session = session,
		.lun = &path->leg->lun,
		.leg = path->leg->index,
		.deadline = jiffies + msecs_to_jiffies(round->timeout_ms),
		.why = round->why,
		.why_bytes = round->why_bytes,
	};
	int ret = fn(&visit, round);

	/* The command is still under way, and its page with it. */
	if (ret == -ETIMEDOUT)
		istripe_session_fault(session, ret, "no answer about the superblock");
	/* Nothing more over this path before it has been asked who is there. */
	if (ret == -ESTALE && !round->refused) {
		istripe_session_doubt(session);
		ret = -EINPROGRESS;
	}
	return ret;
}

/*
 * The section keeps the session open: its owner waits for us before it closes it.
 * -EINPROGRESS: its LUN is to be looked at first.
 */
static int path_visit(struct istripe_path *path, struct istripe_round *round,
		      istripe_visit_fn fn)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);
	int ret = -ENOTCONN;

	if (!session) {
		scnprintf(round->why, round->why_bytes, "leg %u: its path was lost",
			  path->leg->index);
	} else if (fatal_signal_pending(current) || mutex_lock_killable(&path->ask_lock)) {
		scnprintf(round->why, round->why_bytes, "interrupted at leg %u", path->leg->index);
		ret = -EINTR;
	} else {
		ret = istripe_session_in_doubt(session) ? -EINPROGRESS :
		      session_visit(path, session, round, fn);
		mutex_unlock(&path->ask_lock);
	}
	srcu_read_unlock(&path->srcu, section);
	return ret;
}

int istripe_visit_path(struct istripe_path *path, struct istripe_round *round,
		       istripe_visit_fn fn)
{
	u32 looks = 0;
	int ret;

	while ((ret = path_visit(path, round, fn)) == -EINPROGRESS) {
		if (looks++ == ISTRIPE_LOOKS_MAX) {
			scnprintf(round->why, round->why_bytes,
				  "leg %u: its LUN says again and again that it has changed",
				  path->leg->index);
			return -ENOTCONN;
		}
		istripe_path_look_now(path);
	}
	return ret;
}

bool istripe_visit_is_lost(int error)
{
	return error == -ENOTCONN || error == -ETIMEDOUT;
}

/* Over the first path that is not lost. */
static int leg_visit(struct istripe_leg *leg, struct istripe_round *round, istripe_visit_fn fn)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	int ret = -ENOTCONN;
	u32 at;

	scnprintf(round->why, round->why_bytes, "leg %u: its path was lost", leg->index);
	istripe_leg_for_each_path(leg, path, at) {
		/* Nothing that would say why the one before has failed. */
		if (!rcu_access_pointer(path->session))
			continue;
		ret = istripe_visit_path(path, round, fn);
		if (!istripe_visit_is_lost(ret))
			break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

int istripe_visit_legs(struct istripe_round *round, istripe_visit_fn fn)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < round->volume->leg_count; i++)
		ret = leg_visit(round->volume->legs[i], round, fn);
	return ret;
}

static int leg_all_live(struct istripe_leg *leg, struct istripe_round *round)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	bool marked;
	int ret = 0;
	u32 at;

	istripe_leg_for_each_path(leg, path, at) {
		marked = istripe_leg_path_is_marked(leg, path);
		if (!marked && (READ_ONCE(path->live) || !READ_ONCE(path->wanted)))
			continue;
		scnprintf(round->why, round->why_bytes,
			  "leg %u path %u %s: superblocks are written when all paths are up",
			  leg->index, path->bundle->index,
			  marked ? "was lost with a superblock that may still be written" :
				   "is down");
		ret = -ENOTCONN;
		break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

int istripe_visit_all_live(struct istripe_round *round)
{
	const struct istripe_volume *volume = round->volume;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_all_live(volume->legs[i], round);
	return ret;
}
