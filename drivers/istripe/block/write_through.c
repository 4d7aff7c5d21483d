// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <linux/string.h>

#include "block/leg.h"
#include "block/leg_task.h"
#include "block/nexus.h"
#include "block/write_through.h"
#include "scsi/cdb.h"

u8 istripe_write_through_opcode(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->flush10) ? SYNCHRONIZE_CACHE : SYNCHRONIZE_CACHE_16;
}

bool istripe_write_through_is_cacheless(const struct istripe_nexus *nexus)
{
	u32 cacheless = READ_ONCE(nexus->cacheless);

	return cacheless && cacheless == READ_ONCE(nexus->leg->caches);
}

static bool write_through_is_asked(const struct istripe_leg_task *leg_task)
{
	const struct istripe_leg *leg = leg_task->leg;

	return (leg_task->through || leg_task->fua) && leg->lun.caching.write_cache &&
	       !READ_ONCE(leg->no_flush);
}

/* Discards promise nothing. A LUN that does not know FUA may have ignored it. */
bool istripe_write_through_wanted(const struct istripe_leg_task *leg_task)
{
	/* Pairs with the release in identify_capabilities(). */
	bool got_cache = smp_load_acquire(&leg_task->leg->write_through);
	const struct istripe_task *task = &leg_task->task;

	return (write_through_is_asked(leg_task) || got_cache) && task->write &&
	       !istripe_write_through_is_cacheless(leg_task->nexus) &&
	       req_op(blk_mq_rq_from_pdu(leg_task->io)) != REQ_OP_DISCARD &&
	       (!istripe_cdb_has_fua(task->cdb) || READ_ONCE(leg_task->leg->no_fua));
}

bool istripe_write_through_is_done(const struct istripe_leg_task *leg_task)
{
	const struct istripe_nexus *nexus = leg_task->nexus;

	return (s32)(leg_task->generation - READ_ONCE(nexus->generation)) >= 0 &&
	       (s32)(leg_task->generation - READ_ONCE(nexus->cache_lost)) >= 0 &&
	       (s32)(leg_task->generation - READ_ONCE(nexus->leg->cache_lost)) >= 0;
}

void istripe_write_through_flush(struct istripe_leg_task *leg_task)
{
	struct istripe_task *task = &leg_task->task;

	memcpy(leg_task->written_cdb, task->cdb, sizeof(task->cdb));
	leg_task->written_bytes = task->data.length_bytes;
	istripe_cdb_init(task->cdb, istripe_write_through_opcode(leg_task->leg));
	task->data.length_bytes = 0;
	task->write = false;
	WRITE_ONCE(leg_task->flushes, true);
}

void istripe_write_through_write(struct istripe_leg_task *leg_task)
{
	struct istripe_task *task = &leg_task->task;

	memcpy(task->cdb, leg_task->written_cdb, sizeof(task->cdb));
	task->data.length_bytes = leg_task->written_bytes;
	task->write = true;
	WRITE_ONCE(leg_task->flushes, false);
}
