/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A disk and its queue limits. Newer kernels take the limits when the disk is made, in older ones
 * they are set one by one on the queue. Units are bytes and sectors of 512 bytes.
 */
#ifndef ISTRIPE_COMPAT_DISK_H
#define ISTRIPE_COMPAT_DISK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>

/* Older kernels name a reservation conflict differently. */
#ifndef BLK_STS_RESV_CONFLICT
#define BLK_STS_RESV_CONFLICT BLK_STS_NEXUS
#endif

/* Where this flag is gone all queues merge. */
#ifdef ISTRIPE_HAVE_SHOULD_MERGE
#define ISTRIPE_COMPAT_TAG_SET_FLAGS (BLK_MQ_F_BLOCKING | BLK_MQ_F_SHOULD_MERGE)
#else
#define ISTRIPE_COMPAT_TAG_SET_FLAGS BLK_MQ_F_BLOCKING
#endif

/* The parameter of the open function of a disk's block_device_operations. */
#ifdef ISTRIPE_HAVE_OPEN_GENDISK
#define istripe_compat_opened		gendisk
#define istripe_compat_open_mode_t	blk_mode_t
#define ISTRIPE_COMPAT_OPEN_WRITE	BLK_OPEN_WRITE
#else
#define istripe_compat_opened		block_device
#define istripe_compat_open_mode_t	fmode_t
#define ISTRIPE_COMPAT_OPEN_WRITE	FMODE_WRITE
#endif

static inline bool istripe_compat_opens_to_write(istripe_compat_open_mode_t mode)
{
	return (__force u32)(mode & ISTRIPE_COMPAT_OPEN_WRITE);
}

/* The first parameter of the function that tells a disk's geometry. */
#ifdef ISTRIPE_HAVE_GETGEO_GENDISK
#define istripe_compat_measured		gendisk
#else
#define istripe_compat_measured		block_device
#endif

/* The disk that either of these two parameters stands for. */
#define istripe_compat_disk_of(parameter)						\
	__builtin_choose_expr(__same_type(*(parameter), struct gendisk), (parameter),	\
			      ((struct block_device *)(parameter))->bd_disk)

struct istripe_disk_limits {
	u32 logical_block_bytes;
	u32 physical_block_bytes;
	u32 alignment_offset_bytes;
	u32 io_min_bytes;
	u32 io_opt_bytes;
	u32 max_sectors;
	u32 discard_sectors;
	u32 discard_granularity_bytes;
	u32 discard_alignment_bytes;
	u32 write_zeroes_sectors;
	u32 atomic_unit_min_bytes;
	u32 atomic_unit_max_bytes;
	u32 atomic_max_bytes;
	u32 atomic_boundary_bytes;
	bool zeroes_by_unmap;
	bool rotational;
	bool write_cache;
	bool fua;
	bool stable_writes;
};

/* Atomic writes; BLK_FEAT_ATOMIC_WRITES, where it exists, says that they are offered. */
#ifdef ISTRIPE_HAVE_ATOMIC_WRITES
#define ISTRIPE_COMPAT_ATOMIC_WRITES true

static inline bool istripe_compat_atomic(const struct request *rq)
{
	return rq->cmd_flags & REQ_ATOMIC;
}

static inline void istripe_compat_atomic_limits(const struct istripe_disk_limits *from,
						struct queue_limits *to)
{
	/* The kernel would cut the shortest write, too, to what one bio is certain to carry. */
	if (from->atomic_unit_min_bytes > BIO_MAX_VECS / 2 * PAGE_SIZE)
		return;
	to->atomic_write_hw_unit_min = from->atomic_unit_min_bytes;
	to->atomic_write_hw_unit_max = from->atomic_unit_max_bytes;
	to->atomic_write_hw_max = from->atomic_max_bytes;
	to->atomic_write_hw_boundary = from->atomic_boundary_bytes;
#ifdef BLK_FEAT_ATOMIC_WRITES
	if (from->atomic_max_bytes)
		to->features |= BLK_FEAT_ATOMIC_WRITES;
#endif
}
#else
#define ISTRIPE_COMPAT_ATOMIC_WRITES false

static inline bool istripe_compat_atomic(const struct request *rq)
{
	return false;
}

static inline void istripe_compat_atomic_limits(const struct istripe_disk_limits *from,
						struct queue_limits *to)
{
}
#endif

#ifdef ISTRIPE_HAVE_QUEUE_LIMITS_FEATURES
static inline void istripe_compat_limits(const struct istripe_disk_limits *from,
					 struct queue_limits *to)
{
	*to = (struct queue_limits) {
		.logical_block_size = from->logical_block_bytes,
		.physical_block_size = from->physical_block_bytes,
		.alignment_offset = from->alignment_offset_bytes,
		.io_min = from->io_min_bytes,
		.io_opt = from->io_opt_bytes,
		.max_hw_sectors = from->max_sectors,
		.max_segments = USHRT_MAX,
		.max_segment_size = UINT_MAX,
		.dma_alignment = 3,
		.max_hw_discard_sectors = from->discard_sectors,
		.discard_granularity = from->discard_granularity_bytes,
		.discard_alignment = from->discard_alignment_bytes,
		.max_discard_segments = 1,
		.max_write_zeroes_sectors = from->write_zeroes_sectors,
	};
#ifdef ISTRIPE_HAVE_WZEROES_UNMAP
	/* No other figure is valid. */
	if (from->zeroes_by_unmap)
		to->max_hw_wzeroes_unmap_sectors = from->write_zeroes_sectors;
#endif
	if (from->rotational)
		to->features |= BLK_FEAT_ROTATIONAL;
	if (from->write_cache)
		to->features |= BLK_FEAT_WRITE_CACHE;
	if (from->fua)
		to->features |= BLK_FEAT_FUA;
	if (from->stable_writes)
		to->features |= BLK_FEAT_STABLE_WRITES;
	istripe_compat_atomic_limits(from, to);
}

static inline struct gendisk *istripe_compat_alloc_disk(struct blk_mq_tag_set *set,
							const struct istripe_disk_limits *limits,
							void *data)
{
	struct queue_limits lim;

	istripe_compat_limits(limits, &lim);
	return blk_mq_alloc_disk(set, &lim, data);
}
#else
static inline void istripe_compat_set_limits(struct request_queue *q,
					     const struct istripe_disk_limits *limits)
{
	blk_queue_logical_block_size(q, limits->logical_block_bytes);
	blk_queue_physical_block_size(q, limits->physical_block_bytes);
	blk_queue_alignment_offset(q, limits->alignment_offset_bytes);
	blk_queue_io_min(q, limits->io_min_bytes);
	blk_queue_io_opt(q, limits->io_opt_bytes);
	blk_queue_max_hw_sectors(q, limits->max_sectors);
	blk_queue_max_segments(q, USHRT_MAX);
	blk_queue_max_segment_size(q, UINT_MAX);
	blk_queue_dma_alignment(q, 3);
	blk_queue_max_discard_sectors(q, limits->discard_sectors);
	q->limits.discard_granularity = limits->discard_granularity_bytes;
	q->limits.discard_alignment = limits->discard_alignment_bytes;
	blk_queue_max_discard_segments(q, 1);
	blk_queue_max_write_zeroes_sectors(q, limits->write_zeroes_sectors);
	if (!limits->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
	if (limits->stable_writes)
		blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, q);
	blk_queue_write_cache(q, limits->write_cache, limits->fua);
}

static inline struct gendisk *istripe_compat_alloc_disk(struct blk_mq_tag_set *set,
							const struct istripe_disk_limits *limits,
							void *data)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, data);

	if (!IS_ERR(disk))
		istripe_compat_set_limits(disk->queue, limits);
	return disk;
}
#endif

/* Several may lower a limit at a time: none raises it. */
static inline void istripe_compat_lower(unsigned int *limit, u32 most)
{
	unsigned int now = READ_ONCE(*limit);

	while (now > most && !try_cmpxchg(limit, &now, most))
		;
}

/*
 * 0 disables, as with the block layer's own functions, where it has them. A change of other limits
 * does not raise it again, unless it has begun before: their lock would wait for I/O. The LUN
 * refuses what is too long then: io_withdraw(). No discard is cut to less than the granularity.
 */
static inline void istripe_compat_lower_discard(struct request_queue *q, u32 sectors)
{
	if (q->limits.discard_granularity >> SECTOR_SHIFT > sectors)
		istripe_compat_lower(&q->limits.discard_granularity,
				     q->limits.physical_block_size);
	istripe_compat_lower(&q->limits.max_hw_discard_sectors, sectors);
	istripe_compat_lower(&q->limits.max_discard_sectors, sectors);
}

/* So that no larger max_sectors_kb is taken either; it is never less than a page. */
static inline void istripe_compat_lower_transfer(struct request_queue *q, u32 sectors)
{
	istripe_compat_lower(&q->limits.max_hw_sectors, sectors);
	istripe_compat_lower(&q->limits.max_sectors, sectors);
}

static inline void istripe_compat_lower_write_zeroes(struct request_queue *q, u32 sectors)
{
	istripe_compat_lower(&q->limits.max_write_zeroes_sectors, sectors);
#ifdef ISTRIPE_HAVE_WZEROES_UNMAP
	istripe_compat_lower(&q->limits.max_hw_wzeroes_unmap_sectors, sectors);
	istripe_compat_lower(&q->limits.max_wzeroes_unmap_sectors, sectors);
#endif
}

static inline void istripe_compat_lower_zeroes_by_unmap(struct request_queue *q)
{
#ifdef ISTRIPE_HAVE_WZEROES_UNMAP
	istripe_compat_lower(&q->limits.max_hw_wzeroes_unmap_sectors, 0);
	istripe_compat_lower(&q->limits.max_wzeroes_unmap_sectors, 0);
#endif
}

/*
 * While a disk is claimed nobody else can claim it, or a partition of it: mount it, swap to it or
 * make it part of another device. -EBUSY when it has been claimed already.
 */
#ifdef ISTRIPE_HAVE_BDEV_FPUT
#define istripe_compat_claimed	file

static inline struct istripe_compat_claimed *istripe_compat_bdev_claim(dev_t dev, void *holder)
{
	return bdev_file_open_by_dev(dev, BLK_OPEN_READ, holder, NULL);
}

static inline void istripe_compat_bdev_release(struct istripe_compat_claimed *claimed)
{
	bdev_fput(claimed);
}

static inline void istripe_compat_open_once(struct gendisk *disk)
{
	struct file *file = bdev_file_open_by_dev(disk_devt(disk), BLK_OPEN_READ, NULL, NULL);

	if (IS_ERR(file))
		return;
	bdev_fput(file);
	/* A kernel thread closes files later, and until then the disk counts as open. */
	flush_delayed_fput();
}
#else
#define istripe_compat_claimed	block_device

static inline struct istripe_compat_claimed *istripe_compat_bdev_claim(dev_t dev, void *holder)
{
	return blkdev_get_by_dev(dev, FMODE_READ | FMODE_EXCL, holder);
}

static inline void istripe_compat_bdev_release(struct istripe_compat_claimed *claimed)
{
	blkdev_put(claimed, FMODE_READ | FMODE_EXCL);
}

static inline void istripe_compat_open_once(struct gendisk *disk)
{
	struct block_device *bdev = blkdev_get_by_dev(disk_devt(disk), FMODE_READ, NULL);

	if (!IS_ERR(bdev))
		blkdev_put(bdev, FMODE_READ);
}
#endif

#endif
