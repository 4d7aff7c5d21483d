// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <linux/mm.h>
#include <compat/disk.h>

#include "block/io.h"
#include "block/io_prepare.h"
#include "block/leg.h"
#include "block/limits.h"
#include "block/policy.h"
#include "block/volume.h"
#include "block/write_through.h"
#include "scsi/cdb.h"

/*
 * blk_mq_alloc_rqs() has 64 KiB for a request at most, its own part (less than 1 KiB) included.
 * volume_parts() keeps legs times parts below this limit.
 */
static_assert(ISTRIPE_LEGS_MAX *
	      (sizeof(struct istripe_leg_task) + sizeof(struct istripe_extent)) + SZ_1K < SZ_64K);

u32 istripe_io_bytes(u32 legs, u32 parts)
{
	const struct istripe_io *io = NULL;

	return struct_size(io, tasks, legs * parts) + legs * sizeof(struct istripe_extent);
}

/* Unique over requests and their parts, and so within each session that a part is sent over. */
static u16 io_slot(const struct istripe_volume *volume, const struct request *rq, u32 part)
{
	/* The hardware queues share their tags. */
	return rq->tag * volume->parts + part;
}

static struct istripe_leg_task *io_add_task(struct istripe_io *io, struct request *rq,
					    struct istripe_leg *leg, u32 part)
{
	struct istripe_leg_task *leg_task = &io->tasks[io->task_count++];
	struct istripe_task *task = &leg_task->task;

	leg_task->io = io;
	leg_task->leg = leg;
	memset_startat(leg_task, 0, busy_for);
	task->data = (struct istripe_data) {};
	memset(task->cdb, 0, sizeof(task->cdb));
	task->read = false;
	task->write = false;
	task->slot = io_slot(leg->volume, rq, part);
	task->lane = io->lane;
	task->polled = rq->cmd_flags & REQ_POLLED;
	atomic_set(&task->refs, 0);
	return leg_task;
}

static bool leg_has_fua(const struct istripe_leg *leg, const struct request *rq)
{
	return (rq->cmd_flags & REQ_FUA) && leg->lun.caching.dpofua;
}

static void io_prepare_transfer(struct istripe_leg_task *leg_task, struct request *rq,
				const struct istripe_extent *extent)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;
	u64 lba = istripe_lun_blocks(&leg->lun, extent->leg_sector);
	u32 blocks = istripe_lun_blocks(&leg->lun, extent->sectors);

	leg_task->fua = leg_has_fua(leg, rq);
	istripe_data_set_bio(&task->data, rq->bio, extent->first_sector << SECTOR_SHIFT,
			     extent->sectors << SECTOR_SHIFT);
	task->data.first_piece_bytes = extent->first_piece_sectors << SECTOR_SHIFT;
	task->data.piece_bytes = extent->piece_sectors << SECTOR_SHIFT;
	task->data.gap_bytes = (extent->stride_sectors - extent->piece_sectors) << SECTOR_SHIFT;
	task->read = req_op(rq) == REQ_OP_READ;
	task->write = !task->read;
	/* The limits of atomic writes make the shorter field for the length suffice. */
	if (task->write && istripe_compat_atomic(rq))
		istripe_cdb_write_atomic16(task->cdb, lba, blocks);
	else
		istripe_cdb_transfer16(task->cdb, task->write, lba, blocks);
}

static void io_prepare_unmap(struct istripe_leg_task *leg_task,
			     const struct istripe_extent *extent)
{
	struct istripe_task *task = &leg_task->task;
	const struct istripe_leg *leg = leg_task->leg;

	istripe_cdb_unmap(task->cdb, leg_task->parameter,
			  istripe_lun_blocks(&leg->lun, extent->leg_sector),
			  istripe_lun_blocks(&leg->lun, extent->sectors));
	leg_task->bvec = (struct bio_vec) {
		.bv_page = virt_to_page(leg_task->parameter),
		.bv_offset = offset_in_page(leg_task->parameter),
		.bv_len = ISTRIPE_UNMAP_PARAMETER_BYTES,
	};
	istripe_data_set_bvec(&task->data, &leg_task->bvec);
	task->write = true;
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
	istripe_data_set_bvec(&task->data, &leg_task->bvec);
	task->write = true;
	istripe_cdb_write_same16(task->cdb, istripe_lun_blocks(&leg->lun, extent->leg_sector),
				 istripe_lun_blocks(&leg->lun, extent->sectors), unmap);
}

static void io_prepare_extent(struct istripe_leg_task *leg_task, struct request *rq,
			      const struct istripe_extent *extent)
{
	const struct istripe_lun *lun = &leg_task->leg->lun;

	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		io_prepare_transfer(leg_task, rq, extent);
		break;
	case REQ_OP_DISCARD:
		if (istripe_limits_unmap(lun))
			io_prepare_unmap(leg_task, extent);
		else
			io_prepare_write_same(leg_task, extent, true);
		break;
	default:
		leg_task->zeroes = istripe_limits_zeroes_by_unmap(lun) &&
				   !(rq->cmd_flags & REQ_NOUNMAP);
		io_prepare_write_same(leg_task, extent, leg_task->zeroes);
	}
}

static bool leg_has_cache(const struct istripe_leg *leg)
{
	return leg->lun.caching.write_cache || READ_ONCE(leg->write_through);
}

static void io_prepare_flush(struct istripe_io *io, struct istripe_volume *volume,
			     struct request *rq)
{
	struct istripe_leg_task *leg_task;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		/* A LUN without a cache may not know the command. */
		if (!leg_has_cache(volume->legs[i]) ||
		    READ_ONCE(volume->legs[i]->no_flush))
			continue;
		leg_task = io_add_task(io, rq, volume->legs[i], 0);
		istripe_cdb_init(leg_task->task.cdb,
				 istripe_write_through_opcode(volume->legs[i]));
	}
}

/* Two commands would not make one atomic write. */
static bool io_may_cut(const struct request *rq)
{
	return (req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE) &&
	       !istripe_compat_atomic(rq);
}

/* One command, or with the interleave policy one for each of several paths. */
static void io_prepare_leg(struct istripe_io *io, struct istripe_leg *leg, struct request *rq,
			   const struct istripe_extent *extent)
{
	u32 parts = 1, part_sectors = extent->sectors;
	struct istripe_leg_task *leg_task;
	struct istripe_extent part;
	u32 i, skip;

	if (leg->path_end > 1 && io_may_cut(rq))
		parts = istripe_policy_parts(leg, extent->sectors, &part_sectors);
	for (i = 0, skip = 0; i < parts; i++, skip += part_sectors) {
		istripe_extent_cut(extent, skip, min(part_sectors, extent->sectors - skip), &part);
		leg_task = io_add_task(io, rq, leg, i);
		io_prepare_extent(leg_task, rq, &part);
	}
}

/* Of merged reads that failed each bio is read for itself, see io_is_merged_read(). */
static u32 io_sectors(const struct istripe_io *io, const struct request *rq)
{
	return unlikely(io->single_bio) ? bio_sectors(rq->bio) : blk_rq_sectors(rq);
}

static void io_prepare_extents(struct istripe_io *io, struct istripe_volume *volume,
			       struct request *rq)
{
	/* Extents are behind the tasks (istripe_io_bytes()): too large for the stack. */
	struct istripe_extent *extents = (struct istripe_extent *)
		&io->tasks[volume->leg_count * volume->parts];
	u32 count, i;

	/*
	 * The disk's size, which the request was checked against, is read before the stripe; pairs
	 * with the barrier in volume_grow().
	 */
	smp_rmb();
	count = istripe_stripe_map(&volume->stripe, blk_rq_pos(rq), io_sectors(io, rq), extents);
	/* The limits keep an atomic write on one leg; a torn one must fail. */
	if (count > 1 && istripe_compat_atomic(rq))
		count = 0;
	for (i = 0; i < count; i++)
		io_prepare_leg(io, volume->legs[extents[i].leg], rq, &extents[i]);
}

void istripe_io_prepare(struct istripe_io *io, struct istripe_volume *volume, struct request *rq)
{
	io->status = BLK_STS_OK;
	io->started = jiffies;
	io->task_count = 0;
	io->single_bio = rq->rq_flags & RQF_DONTPREP;
	if (!io->single_bio)
		bitmap_zero(io->failed_legs, ISTRIPE_STRIPE_LEGS_MAX);
	if (req_op(rq) == REQ_OP_FLUSH)
		io_prepare_flush(io, volume, rq);
	else
		io_prepare_extents(io, volume, rq);
	if (WARN_ON_ONCE(!io->task_count && req_op(rq) != REQ_OP_FLUSH))
		io->status = BLK_STS_IOERR;
}
