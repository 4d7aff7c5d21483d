// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/blk-mq.h>
#include <linux/mm.h>
#include <compat/disk.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/limits.h"
#include "block/overdue.h"
#include "block/path.h"
#include "block/policy.h"
#include "block/queue.h"
#include "block/volume.h"
#include "proto/cdb.h"
#include "proto/sense.h"

/* How often a target may answer "again" before the error is the caller's (SAM allows 5). */
#define RETRIES_MAX	5
/* Rounds of command_timeout_ms after which aborting is given up for the session. */
#define OVERDUE_MAX	2
/* How long a target may be busy with one request. */
#define BUSY_TIMEOUT_MS	120000

u32 istripe_io_bytes(u32 legs, u32 parts)
{
	return struct_size_t(struct istripe_io, tasks, legs * parts) +
	       legs * sizeof(struct istripe_extent);
}

static struct istripe_volume *io_volume(const struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu((void *)io);

	return rq->q->queuedata;
}

/* The last task's end is the request's end. */
static void io_put(struct istripe_io *io)
{
	struct request *rq = blk_mq_rq_from_pdu(io);

	if (atomic_dec_and_test(&io->pending))
		blk_mq_complete_request(rq);
}

void istripe_io_task_failed(struct istripe_leg_task *leg_task, blk_status_t status)
{
	/* Any of the errors will do; BLK_STS_OK never overwrites one. */
	WRITE_ONCE(leg_task->io->status, status);
	io_put(leg_task->io);
}

static void io_task_again(struct istripe_leg_task *leg_task)
{
	istripe_leg_submit(leg_task->leg, leg_task, false, false);
}

/* I/O that is lost again and again ends when it is as old as recovery_timeout_ms. */
static bool io_too_old(const struct istripe_io *io)
{
	s32 hold_ms = READ_ONCE(io_volume(io)->recovery_timeout_ms);

	return hold_ms >= 0 && time_after(jiffies, io->started + msecs_to_jiffies(hold_ms));
}

/*
 * May the task be sent over another path, although the target may still be carrying
 * it out? A read or a flush, and what was never sent; nothing that changes data (P25).
 */
static bool io_task_may_move(const struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	return !test_bit(ISTRIPE_TASK_SENT, &task->flags) || !task->write;
}

/*
 * There will be no answer: the session is gone, or the target has forgotten the task.
 * Age counts only for what has no other path to go to, or has killed more sessions than
 * there are paths: perhaps it is the reason.
 */
static void io_task_lost(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	u32 paths = READ_ONCE(leg->bundle_count);
	bool may_move = io_task_may_move(leg_task);
	bool old = io_too_old(leg_task->io) && leg_task->losses >= paths;

	if (leg_task->task.error == -ECANCELED) {
		if (READ_ONCE(leg->stopping) || ++leg_task->retries > RETRIES_MAX)
			istripe_io_task_failed(leg_task, BLK_STS_TIMEOUT);
		else
			io_task_again(leg_task);
		return;
	}
	leg_task->losses = min(leg_task->losses + 1, U8_MAX);
	if (!may_move && (paths > 1 || !old)) {
		leg_task->given_up = old;
		istripe_leg_fence(leg, leg_task);
	} else if (old) {
		if (!may_move)
			istripe_leg_path_unfenced(leg, leg_task->path);
		istripe_io_task_failed(leg_task, BLK_STS_TRANSPORT);
	} else {
		io_task_again(leg_task);
	}
}

/* Each path may have a unit attention of its own to tell. */
static void io_task_retry(struct istripe_leg_task *leg_task)
{
	atomic64_inc(&leg_task->leg->retried);
	if (++leg_task->retries > RETRIES_MAX + leg_task->leg->path_count)
		istripe_io_task_failed(leg_task, BLK_STS_IOERR);
	else
		io_task_again(leg_task);
}

/* Busy is flow control, not loss: it has its own limit. */
static void io_task_busy(struct istripe_leg_task *leg_task)
{
	unsigned long end = leg_task->io->started + msecs_to_jiffies(BUSY_TIMEOUT_MS);

	atomic64_inc(&leg_task->leg->retried);
	if (time_after(jiffies, end))
		istripe_io_task_failed(leg_task, BLK_STS_IOERR);
	else
		istripe_leg_delay(leg_task->leg, leg_task);
}

static blk_status_t io_verdict_status(enum istripe_scsi_verdict verdict)
{
	switch (verdict) {
	case ISTRIPE_SCSI_MEDIUM:
		return BLK_STS_MEDIUM;
	case ISTRIPE_SCSI_NOSPC:
		return BLK_STS_NOSPC;
	case ISTRIPE_SCSI_UNSUPPORTED:
		return BLK_STS_NOTSUPP;
	case ISTRIPE_SCSI_RESERVATION:
		return BLK_STS_RESV_CONFLICT;
	case ISTRIPE_SCSI_TRANSPORT:
		return BLK_STS_TRANSPORT;
	case ISTRIPE_SCSI_TARGET:
	case ISTRIPE_SCSI_PROTECT:
		return BLK_STS_TARGET;
	default:
		return BLK_STS_IOERR;
	}
}

static void io_task_good(struct istripe_leg_task *leg_task)
{
	/* A GOOD that leaves data out is none (P1). */
	if (leg_task->task.transferred_bytes != leg_task->task.data.length_bytes)
		istripe_io_task_failed(leg_task, BLK_STS_IOERR);
	else
		io_put(leg_task->io);
}

static void io_task_refused(struct istripe_leg_task *leg_task, enum istripe_scsi_verdict verdict)
{
	const struct istripe_task *task = &leg_task->task;

	pr_warn_ratelimited("%s/%u: command 0x%02x: status 0x%02x, sense %x/%02x/%02x: %s\n",
			    leg_task->leg->volume->name, leg_task->leg->index, task->cdb[0],
			    task->status, task->sense.sense_key, task->sense.asc,
			    task->sense.ascq, istripe_scsi_verdict_name(verdict));
	istripe_io_task_failed(leg_task, io_verdict_status(verdict));
}

/* Context: see struct istripe_task, done. */
static void io_task_done(struct istripe_task *task)
{
	struct istripe_leg_task *leg_task = container_of(task, struct istripe_leg_task, task);
	enum istripe_scsi_verdict verdict;

	istripe_path_done(leg_task);
	if (task->error) {
		io_task_lost(leg_task);
		return;
	}
	verdict = istripe_sense_verdict(task->status, &task->sense);
	switch (verdict) {
	case ISTRIPE_SCSI_GOOD:
		io_task_good(leg_task);
		break;
	case ISTRIPE_SCSI_RESIZE:
		/* The blocks may have another size, too: nothing goes there before a look. */
		istripe_task_doubt(task);
		istripe_path_event(leg_task->path, ISTRIPE_PATH_DOUBT);
		io_task_retry(leg_task);
		break;
	case ISTRIPE_SCSI_IDENTIFY:
		/*
		 * It may not be our LUN any more: not one command more over this path before
		 * it has been identified. Another path's target says so itself, to the first
		 * command that it gets (SPC-4 5.13).
		 */
		istripe_task_distrust(task, istripe_scsi_verdict_name(verdict));
		fallthrough;
	case ISTRIPE_SCSI_RETRY:
		io_task_retry(leg_task);
		break;
	case ISTRIPE_SCSI_TRANSPORT:
		/* Not served here: that is no reason not to ask elsewhere. */
		if (READ_ONCE(leg_task->leg->bundle_count) == 1) {
			io_task_refused(leg_task, verdict);
			break;
		}
		istripe_task_distrust(task, istripe_scsi_verdict_name(verdict));
		io_task_retry(leg_task);
		break;
	case ISTRIPE_SCSI_RETRY_DELAY:
		io_task_busy(leg_task);
		break;
	default:
		io_task_refused(leg_task, verdict);
	}
}

static u64 leg_lba(const struct istripe_leg *leg, u64 sector)
{
	return sector >> (ilog2(leg->lun.capacity.block_bytes) - SECTOR_SHIFT);
}

static u32 leg_blocks(const struct istripe_leg *leg, u32 sectors)
{
	return leg_lba(leg, sectors);
}

/*
 * The slot: unique over the requests and the parts that they are cut into, and so within
 * each session, whichever path a part ends up on.
 */
static u16 io_slot(const struct istripe_volume *volume, const struct request *rq, u32 part)
{
	/* The hardware queues share their tags. */
	return rq->tag * volume->parts + part;
}

/*
 * The lane: hardware queue i uses connection i, modulo their number, of whichever path;
 * they are connections of one session, or each is of its own. Where there are more
 * connections than processors, and so than queues, each queue has several connections and
 * its requests take turns. Requests of a polled queue do not: who polls looks at one.
 */
static u32 io_lane(const struct request *rq)
{
	const struct istripe_queue *queue = istripe_queue_of(rq);

	return queue->lane + queue->turns * rq->tag;
}

static struct istripe_leg_task *io_add_task(struct istripe_io *io, struct request *rq,
					    struct istripe_leg *leg, u32 part)
{
	struct istripe_leg_task *leg_task = &io->tasks[io->task_count++];
	struct istripe_task *task = &leg_task->task;

	leg_task->io = io;
	leg_task->leg = leg;
	leg_task->retries = 0;
	leg_task->losses = 0;
	leg_task->given_up = false;
	leg_task->overdue = 0;
	leg_task->turn = 0;
	task->data = (struct istripe_data) {};
	memset(task->cdb, 0, sizeof(task->cdb));
	task->read = false;
	task->write = false;
	task->slot = io_slot(leg->volume, rq, part);
	task->lane = io_lane(rq);
	task->polled = rq->cmd_flags & REQ_POLLED;
	task->done = io_task_done;
	atomic_set(&task->holders, 0);
	return leg_task;
}

static void io_prepare_data(struct istripe_task *task, struct request *rq,
			    const struct istripe_extent *extent)
{
	struct istripe_data *data = &task->data;

	istripe_data_set_bio(data, rq->bio, extent->first_sector << SECTOR_SHIFT,
			     extent->sectors << SECTOR_SHIFT);
	data->first_piece_bytes = extent->first_piece_sectors << SECTOR_SHIFT;
	data->piece_bytes = extent->piece_sectors << SECTOR_SHIFT;
	data->gap_bytes = (extent->stride_sectors - extent->piece_sectors) << SECTOR_SHIFT;
}

/* A leg without a write cache may not know FUA, and needs none. */
static bool leg_fua(const struct istripe_leg *leg, const struct request *rq)
{
	return (rq->cmd_flags & REQ_FUA) && leg->lun.caching.dpofua;
}

static void io_prepare_read(struct istripe_leg_task *leg_task, struct request *rq,
			    const struct istripe_extent *extent)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;

	io_prepare_data(task, rq, extent);
	task->read = true;
	istripe_cdb_read16(task->cdb, leg_lba(leg, extent->leg_sector),
			   leg_blocks(leg, extent->sectors), leg_fua(leg, rq));
}

static void io_prepare_write(struct istripe_leg_task *leg_task, struct request *rq,
			     const struct istripe_extent *extent)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;

	io_prepare_data(task, rq, extent);
	task->write = true;
	/* Their limits see to it that the shorter field for the length is long enough. */
	if (istripe_compat_atomic(rq))
		istripe_cdb_write_atomic16(task->cdb, leg_lba(leg, extent->leg_sector),
					   leg_blocks(leg, extent->sectors), leg_fua(leg, rq));
	else
		istripe_cdb_write16(task->cdb, leg_lba(leg, extent->leg_sector),
				    leg_blocks(leg, extent->sectors), leg_fua(leg, rq));
}

static void io_prepare_unmap(struct istripe_leg_task *leg_task,
			     const struct istripe_extent *extent)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;

	istripe_cdb_unmap_parameter(leg_task->parameter, leg_lba(leg, extent->leg_sector),
				    leg_blocks(leg, extent->sectors));
	leg_task->bvec = (struct bio_vec) {
		.bv_page = virt_to_page(leg_task->parameter),
		.bv_offset = offset_in_page(leg_task->parameter),
		.bv_len = ISTRIPE_UNMAP_PARAMETER_BYTES,
	};
	istripe_data_set_bvec(&task->data, &leg_task->bvec, true);
	task->write = true;
	istripe_cdb_unmap(task->cdb, ISTRIPE_UNMAP_PARAMETER_BYTES);
}

static void io_prepare_write_same(struct istripe_leg_task *leg_task,
				  const struct istripe_extent *extent, bool unmap)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;

	leg_task->bvec = (struct bio_vec) {
		.bv_page = ZERO_PAGE(0),
		.bv_len = leg->lun.capacity.block_bytes,
	};
	istripe_data_set_bvec(&task->data, &leg_task->bvec, true);
	task->write = true;
	istripe_cdb_write_same16(task->cdb, leg_lba(leg, extent->leg_sector),
				 leg_blocks(leg, extent->sectors), unmap);
}

static void io_prepare_extent(struct istripe_leg_task *leg_task, struct request *rq,
			      const struct istripe_extent *extent)
{
	const struct istripe_lun *lun = &leg_task->leg->lun;

	switch (req_op(rq)) {
	case REQ_OP_READ:
		io_prepare_read(leg_task, rq, extent);
		break;
	case REQ_OP_WRITE:
		io_prepare_write(leg_task, rq, extent);
		break;
	case REQ_OP_DISCARD:
		if (istripe_limits_unmap(lun))
			io_prepare_unmap(leg_task, extent);
		else
			io_prepare_write_same(leg_task, extent, true);
		break;
	default:
		io_prepare_write_same(leg_task, extent,
				      istripe_limits_zeroes_by_unmap(lun) &&
				      !(rq->cmd_flags & REQ_NOUNMAP));
	}
}

static void io_prepare_flush(struct istripe_io *io, struct istripe_volume *volume,
			     struct request *rq)
{
	struct istripe_leg_task *leg_task;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		/* What has no cache may not know the command. */
		if (!volume->legs[i]->lun.caching.write_cache)
			continue;
		leg_task = io_add_task(io, rq, volume->legs[i], 0);
		istripe_cdb_synchronize_cache16(leg_task->task.cdb);
	}
}

/* Two commands would not be one write that is whole or not at all. */
static bool io_may_cut(const struct request *rq)
{
	return (req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE) &&
	       !istripe_compat_atomic(rq);
}

/* One command, or with the interleave policy one for each of several paths. */
static void io_prepare_leg(struct istripe_io *io, struct istripe_leg *leg, struct request *rq,
			   const struct istripe_extent *extent)
{
	u32 parts = 1, part_sectors = extent->sectors, turn = 0;
	struct istripe_leg_task *leg_task;
	struct istripe_extent part;
	u32 i, skip;

	if (leg->bundle_end > 1 && io_may_cut(rq))
		parts = istripe_policy_parts(leg, extent->sectors, &part_sectors);
	if (parts > 1)
		turn = (u32)atomic_inc_return(&leg->turn) % ISTRIPE_PATHS_MAX;
	for (i = 0, skip = 0; i < parts; i++, skip += part_sectors) {
		istripe_extent_cut(extent, skip, min(part_sectors, extent->sectors - skip), &part);
		leg_task = io_add_task(io, rq, leg, i);
		if (parts > 1)
			leg_task->turn = 1 + turn + i;
		io_prepare_extent(leg_task, rq, &part);
	}
}

static void io_prepare_extents(struct istripe_io *io, struct istripe_volume *volume,
			       struct request *rq)
{
	/* Behind the tasks, see istripe_io_bytes(): too large for the stack. */
	struct istripe_extent *extents = (struct istripe_extent *)
		&io->tasks[volume->leg_count * volume->parts];
	u32 count, i;

	/* The disk's size, which the request was checked against, before the stripe's. */
	smp_rmb();
	count = istripe_stripe_map(&volume->stripe, blk_rq_pos(rq), blk_rq_sectors(rq), extents);
	/* The limits keep such a write on one leg; a torn one must not pass for a whole one. */
	if (count > 1 && istripe_compat_atomic(rq))
		count = 0;
	for (i = 0; i < count; i++)
		io_prepare_leg(io, volume->legs[extents[i].leg], rq, &extents[i]);
}

static void io_prepare(struct istripe_io *io, struct istripe_volume *volume, struct request *rq)
{
	io->status = BLK_STS_OK;
	io->started = jiffies;
	io->task_count = 0;
	if (req_op(rq) == REQ_OP_FLUSH)
		io_prepare_flush(io, volume, rq);
	else
		io_prepare_extents(io, volume, rq);
	if (WARN_ON_ONCE(!io->task_count && req_op(rq) != REQ_OP_FLUSH))
		io->status = BLK_STS_IOERR;
}

void istripe_io_start(struct istripe_queue *queue, struct request *rq, bool last)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	u64 legs = 0;
	u32 count, i;

	io_prepare(io, queue->volume, rq);
	count = io->task_count;
	/* One more for us: the request must not end while we walk its tasks. */
	atomic_set(&io->pending, count + 1);
	for (i = 0; i < count; i++) {
		struct istripe_leg *leg = io->tasks[i].leg;

		legs |= BIT_ULL(leg->index);
		atomic64_inc(&leg->commands);
		istripe_leg_submit(leg, &io->tasks[i], true, !last);
	}
	/* Those before this one that were not the last may have gone over other connections. */
	if (last)
		istripe_queue_push(queue);
	else
		istripe_queue_hold(queue, legs);
	io_put(io);
}

void istripe_io_complete(struct request *rq)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	struct bio *bio;

	/*
	 * A polled request ends where its answer is found, mostly in softirq. Older kernels take
	 * it that polled bios never do, and keep freed ones in a cache without a lock.
	 */
	if (rq->cmd_flags & REQ_POLLED)
		__rq_for_each_bio(bio, rq)
			bio_clear_polled(bio);
	blk_mq_end_request(rq, io->status);
}

/*
 * Only tasks on the wire are anybody's fault; parked ones have their own clock. What is in
 * flight within the section is so over a path that is freed after it: first the holders,
 * then the path, which was there before they were set (istripe_session_submit()).
 * The request is too old; a task of it that was sent again later, after a loss, is not. The
 * quarter is for what has waited a little before it was sent at first.
 */
static void io_task_timeout(struct istripe_leg_task *leg_task, unsigned long timeout)
{
	struct istripe_leg *leg;
	int section;

	/* The leg, too, was there before the holders. */
	if (!atomic_read_acquire(&leg_task->task.holders))
		return;
	leg = leg_task->leg;
	section = srcu_read_lock(&leg->srcu);
	if (atomic_read_acquire(&leg_task->task.holders) &&
	    time_after_eq(jiffies, READ_ONCE(leg_task->since) + 3 * timeout / 4) &&
	    istripe_overdue_report(READ_ONCE(leg_task->path), READ_ONCE(leg_task->task.itt),
				   leg_task->overdue >= OVERDUE_MAX))
		leg_task->overdue++;
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_io_timeout(struct request *rq)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	u32 i;

	for (i = 0; i < io->task_count; i++)
		io_task_timeout(&io->tasks[i], rq->timeout);
}
