// SPDX-License-Identifier: GPL-2.0
#include <linux/completion.h>
#include <linux/hdreg.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <compat/workqueue.h>

#include <istripe/reason.h>
#include "block/carrier.h"
#include "block/disk_names.h"
#include "block/host_disk.h"
#include "block/io_prepare.h"
#include "block/leg_life.h"
#include "block/limits.h"
#include "block/nexus.h"
#include "block/nexus_ops.h"
#include "block/overlay_write.h"
#include "block/proof.h"
#include "block/queue.h"
#include "block/requeue.h"
#include "block/reservation.h"
#include "block/resize.h"
#include "block/volume.h"
#include "block/workqueue.h"
#include "block/write_protect.h"
#include "iscsi/error.h"

static_assert(ISTRIPE_LEGS_MAX == ISTRIPE_STRIPE_LEGS_MAX);
static_assert(ISTRIPE_DESIGNATOR_BYTES >= ISTRIPE_VPD_DESIGNATOR_BYTES);

static DEFINE_IDA(istripe_ids);

/*
 * Called within the disk's open_mutex, and not after its deletion has begun, so the volume exists.
 * @closing keeps a mount from coming between istripe_volume_close() and the end of the disk.
 */
static int volume_open(struct istripe_compat_opened *opened, istripe_compat_open_mode_t mode)
{
	const struct istripe_volume *volume = istripe_compat_disk_of(opened)->queue->queuedata;

	if (READ_ONCE(volume->closing))
		return -ENXIO;
	return istripe_compat_opens_to_write(mode) && READ_ONCE(volume->write_protect.read_only) ?
	       -EROFS : 0;
}

/* As sd and NVMe; without it HDIO_GETGEO does not tell where a partition starts either. */
static int volume_getgeo(struct istripe_compat_measured *measured, struct hd_geometry *geometry)
{
	geometry->heads = 64;
	geometry->sectors = 32;
	geometry->cylinders = get_capacity(istripe_compat_disk_of(measured)) >> 11;
	return 0;
}

static const struct block_device_operations volume_fops = {
	.owner = THIS_MODULE,
	.open = volume_open,
	.getgeo = volume_getgeo,
	.pr_ops = &istripe_reservation_ops,
	.free_disk = istripe_reservation_free_disk,
};

static int volume_create_legs(struct istripe_volume *volume,
			      const struct istripe_volume_params *params)
{
	struct istripe_leg *leg;
	u32 i;

	for (i = 0; i < params->leg_count; i++) {
		leg = istripe_leg_create(volume, i, &params->legs[i], &istripe_nexus_ops_table);
		if (IS_ERR(leg))
			return PTR_ERR(leg);
		istripe_nexus_ops_init_leg(leg);
		volume->legs[volume->leg_count++] = leg;
	}
	return 0;
}

static int volume_start_legs(struct istripe_volume *volume, struct istripe_reason *why)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_start(volume->legs[i]);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = istripe_leg_wait(volume->legs[i], why);
	/* A leg may have been lost while another one was waited for. */
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = istripe_leg_check(volume->legs[i], why);
	return ret;
}

static void volume_stop_legs(struct istripe_volume *volume)
{
	u32 i;

	/* All at once: each may have to wait for its target. */
	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_stop_begin(volume->legs[i]);
	for (i = 0; i < volume->leg_count; i++) {
		istripe_leg_stop(volume->legs[i]);
		istripe_proof_stop(volume->legs[i]);
	}
}

/* From now on a LUN is as large as it must be, or its path is not used. */
static void volume_need(const struct istripe_volume *volume)
{
	const struct istripe_stripe *stripe = &volume->stripe;
	u64 sectors = stripe->leg_offset_sectors + stripe->leg_sectors;
	const struct istripe_md *md;
	struct istripe_leg *leg;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		/* A superblock may say more than the stripe takes. */
		if (volume->metadata.legs) {
			md = &volume->metadata.legs[i];
			sectors = md->data_offset_sectors + md->data_sectors;
		}
		mutex_lock(&leg->identify_lock);
		leg->needed_blocks = istripe_lun_blocks(&leg->lun, sectors);
		mutex_unlock(&leg->identify_lock);
	}
}

/* All legs have equal shares: the smallest leg counts (P27). */
static int volume_set_geometry(struct istripe_volume *volume,
			       const struct istripe_volume_params *params,
			       struct istripe_reason *why)
{
	const struct istripe_lun *first = &volume->legs[0]->lun;
	struct istripe_share share = { .chunk_bytes = params->chunk.bytes, .sectors = U64_MAX };
	u32 i;
	int ret;

	for (i = 0; i < volume->leg_count; i++) {
		const struct istripe_vpd_capacity *capacity = &volume->legs[i]->lun.capacity;

		if (capacity->block_bytes != first->capacity.block_bytes)
			return istripe_reason_fail(why, -EINVAL,
						   "leg %u has blocks of %u bytes, leg 0 of %u", i,
						   capacity->block_bytes,
						   first->capacity.block_bytes);
		share.sectors = min(share.sectors, istripe_lun_sectors(&volume->legs[i]->lun));
	}
	volume->block_bytes = first->capacity.block_bytes;
	ret = istripe_metadata_start(volume, params->metadata_create, params->chunk.given, &share,
				     why);
	if (ret)
		return ret;
	ret = istripe_stripe_init(&volume->stripe, volume->leg_count, share.chunk_bytes,
				  share.sectors, share.offset_sectors);
	if (ret)
		istripe_reason_set(why, "%llu sectors and chunks of %u bytes make no volume",
				   share.sectors, share.chunk_bytes);
	else
		volume_need(volume);
	return ret;
}

static int volume_alloc_tags(struct istripe_volume *volume)
{
	struct blk_mq_tag_set *set = &volume->tag_set;
	int ret;

	set->ops = &istripe_queue_ops;
	set->nr_hw_queues = volume->queue_count + volume->poll_queue_count;
	set->nr_maps = volume->poll_queue_count ? HCTX_MAX_TYPES : 1;
	set->queue_depth = volume->queue_depth;
	set->numa_node = NUMA_NO_NODE;
	set->cmd_size = istripe_io_bytes(volume->leg_count, volume->parts);
	/* Targets sort requests. A scheduler would have twice as many. */
	set->flags = ISTRIPE_COMPAT_TAG_SET_FLAGS | BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	/*
	 * A processor that goes off-line does not wait for requests of its queue, which may wait
	 * for recovery (P62). No interrupt goes with it: any other one completes them.
	 */
	set->flags |= BLK_MQ_F_STACKING;
	/* One set of tags: queue_depth is the volume's, and a tag makes a slot. */
	if (set->nr_hw_queues > 1)
		set->flags |= BLK_MQ_F_TAG_HCTX_SHARED;
	set->timeout = msecs_to_jiffies(volume->command_timeout_ms);
	set->driver_data = volume;
	ret = blk_mq_alloc_tag_set(set);
	/* With little memory it is less. */
	if (!ret)
		WRITE_ONCE(volume->queue_depth, set->queue_depth);
	return ret;
}

static int volume_make_disk(struct istripe_volume *volume)
{
	struct istripe_disk_limits limits;
	struct gendisk *disk;

	istripe_limits_derive(volume, &limits);
	disk = istripe_compat_alloc_disk(&volume->tag_set, &limits, volume);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	/*
	 * Without a major the disk and its partitions get BLOCK_EXT_MAJOR. LVM takes that, but no
	 * disk whose major it does not know.
	 */
	disk->fops = &volume_fops;
	disk->private_data = istripe_reservation_alloc(volume);
	if (!disk->private_data) {
		put_disk(disk);
		return -ENOMEM;
	}
	scnprintf(disk->disk_name, DISK_NAME_LEN, "istripe%d", volume->id);
	set_capacity(disk, istripe_stripe_capacity_sectors(&volume->stripe));
	/* By istripe_volume_scan(). */
	set_bit(GD_SUPPRESS_PART_SCAN, &disk->state);
	volume->disk = disk;
	return 0;
}

static int volume_add_disk(struct istripe_volume *volume)
{
	int ret = volume_alloc_tags(volume);

	if (ret)
		return ret;
	ret = volume_make_disk(volume);
	if (ret)
		goto free_tags;
	istripe_write_protect_apply(volume);
	ret = istripe_disk_names_create(volume);
	if (ret)
		goto put_disk;
	ret = device_add_disk(volume->device, volume->disk, istripe_disk_names_groups);
	if (ret)
		goto destroy_parent;
	return 0;

destroy_parent:
	istripe_disk_names_destroy(volume);
put_disk:
	/* A disk that has not been added is not freed through its operations. */
	kfree(volume->disk->private_data);
	put_disk(volume->disk);
	volume->disk = NULL;
free_tags:
	blk_mq_free_tag_set(&volume->tag_set);
	return ret;
}

void istripe_volume_free(struct istripe_volume *volume)
{
	u32 i;

	istripe_requeue_free(volume);
	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_destroy(volume->legs[i]);
	istripe_announce_stop(&volume->announce);
	istripe_metadata_free(&volume->metadata);
	istripe_queues_free(volume);
	if (volume->id >= 0)
		ida_free(&istripe_ids, volume->id);
	put_net(volume->net);
	kfree(volume);
}

static void volume_scan_work(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(work, struct istripe_volume, scan_work);
	struct gendisk *disk = volume->disk;

	/* The next open scans. One between the two would take the order, and be kept from it. */
	mutex_lock(&disk->open_mutex);
	set_bit(GD_NEED_PART_SCAN, &disk->state);
	clear_bit(GD_SUPPRESS_PART_SCAN, &disk->state);
	mutex_unlock(&disk->open_mutex);
	istripe_compat_open_once(disk);
	complete_all(&volume->scanned);
}

static void volume_count_queues(struct istripe_volume *volume,
				const struct istripe_volume_params *params)
{
	u32 most = 1;
	u32 i, j;

	for (i = 0; i < params->leg_count; i++)
		for (j = 0; j < params->legs[i].path_count; j++)
			most = max(most, istripe_path_connections(&params->legs[i].paths[j]));
	/* A hardware queue for each connection; one without a processor has no use. */
	volume->queue_count = min(most, num_online_cpus());
	volume->poll_queue_count = min(params->poll_queues, num_online_cpus());
}

/* As many parts as a leg has paths; with many legs parts gain nothing and take memory. */
static u32 volume_parts(const struct istripe_volume_params *params)
{
	/* Room for more is not worth a request that takes pages of a high order for itself. */
	u32 parts = clamp(32 / params->leg_count, 1u, ISTRIPE_PARTS_MIN);
	u32 i;

	for (i = 0; i < params->leg_count; i++)
		parts = max(parts, params->legs[i].path_count);
	return clamp(ISTRIPE_LEGS_MAX / params->leg_count, 1u,
		     min_t(u32, parts, ISTRIPE_PARTS_MAX));
}

static struct istripe_volume *volume_create(const struct istripe_volume_params *params)
{
	struct istripe_volume *volume = kzalloc(sizeof(*volume), GFP_KERNEL);
	int ret;

	if (!volume)
		return ERR_PTR(-ENOMEM);
	strscpy(volume->name, params->name, sizeof(volume->name));
	strscpy(volume->initiator_name, params->initiator_name, sizeof(volume->initiator_name));
	volume->net = get_net(current->nsproxy->net_ns);
	volume->queue_depth = params->queue_depth;
	volume->parts = volume_parts(params);
	volume_count_queues(volume, params);
	volume->command_timeout_ms = params->command_timeout_ms;
	volume->recovery_timeout_ms = params->recovery_timeout_ms;
	volume->metadata.wipes = params->metadata_create == ISTRIPE_METADATA_FORCE;
	INIT_WORK(&volume->scan_work, volume_scan_work);
	init_completion(&volume->scanned);
	istripe_announce_init(&volume->announce);
	istripe_resize_init(&volume->resize);
	istripe_host_disks_init(volume);
	istripe_writeback_init(&volume->writeback);
	istripe_write_protect_init(&volume->write_protect);
	volume->id = ida_alloc(&istripe_ids, GFP_KERNEL);
	ret = volume->id < 0 ? volume->id : volume_create_legs(volume, params);
	if (!ret)
		ret = istripe_requeue_init(volume);
	if (!ret)
		ret = istripe_metadata_init(&volume->metadata, params->metadata,
					    volume->leg_count);
	if (!ret)
		return volume;
	istripe_volume_free(volume);
	return ERR_PTR(ret);
}

struct istripe_volume *istripe_volume_create(const struct istripe_volume_params *params,
					     struct istripe_reason *why)
{
	struct istripe_volume *volume = volume_create(params);

	if (IS_ERR(volume))
		istripe_reason_set(why, "cannot create the volume: %s (%pe)",
				   istripe_error_words(PTR_ERR(volume)), volume);
	return volume;
}

static void volume_use_legs(struct istripe_volume *volume)
{
	struct istripe_leg *leg;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		/* Of paths that came while the disk was made. */
		mutex_lock(&leg->identify_lock);
		istripe_limits_lower(leg, &leg->lun);
		mutex_unlock(&leg->identify_lock);
		istripe_proof_start(leg);
	}
}

int istripe_volume_start(struct istripe_volume *volume, const struct istripe_volume_params *params,
			 struct istripe_reason *why)
{
	int ret = volume_start_legs(volume, why);

	if (!ret)
		ret = istripe_host_disks_start(volume, params->host_disks, why);
	if (!ret)
		ret = volume_set_geometry(volume, params, why);
	if (!ret)
		ret = istripe_host_disks_claim_array(volume, why);
	if (!ret) {
		ret = volume_add_disk(volume);
		if (ret)
			istripe_reason_set(why, "cannot add the disk: %s (%pe)",
					   istripe_error_words(ret), ERR_PTR(ret));
	}
	if (ret) {
		volume_stop_legs(volume);
		istripe_host_disks_stop(volume);
		return ret;
	}
	istripe_resize_start(volume);
	istripe_write_protect_start(volume);
	pr_info("%s: %s is up, %llu sectors\n", volume->name, volume->disk->disk_name,
		istripe_stripe_capacity_sectors(&volume->stripe));
	istripe_carrier_watch(volume);
	volume_use_legs(volume);
	return 0;
}

void istripe_volume_scan(struct istripe_volume *volume)
{
	u32 timeout_ms = READ_ONCE(volume->command_timeout_ms);

	queue_work(istripe_compat_unbound_wq(), &volume->scan_work);
	if (!wait_for_completion_killable_timeout(&volume->scanned, msecs_to_jiffies(timeout_ms)))
		pr_warn("%s: the partition table of %s is not read yet: its partitions, if any, come later\n",
			volume->name, volume->disk->disk_name);
}

int istripe_volume_close(struct istripe_volume *volume)
{
	struct gendisk *disk = volume->disk;
	bool open;

	/* The holder of the mutex may wait for I/O of ours, which only "force" ends. */
	if (!mutex_trylock(&disk->open_mutex))
		return -EBUSY;
	open = disk_openers(disk);
	if (!open)
		WRITE_ONCE(volume->closing, true);
	mutex_unlock(&disk->open_mutex);
	return open ? -EBUSY : 0;
}

int istripe_volume_stop(struct istripe_volume *volume)
{
	/* Not under open_mutex, see above: a process that opens now finds the disk gone. */
	WRITE_ONCE(volume->closing, true);
	istripe_writeback_begin(volume);
	istripe_overlay_write_stop(volume);
	istripe_resize_stop(volume);
	istripe_write_protect_stop(volume);
	del_gendisk(volume->disk);
	/* Submitters of requests that have ended may be in queue.c. Linux 7.3 does not wait. */
	blk_mq_quiesce_queue(volume->disk->queue);
	istripe_requeue_stop(volume);
	istripe_writeback_end(volume);
	istripe_writeback_flush(volume);
	flush_work(&volume->scan_work);
	istripe_disk_names_destroy(volume);
	/* Only after the last I/O: the holder of the RTNL may wait for I/O of ours. */
	istripe_carrier_ignore(volume);
	volume_stop_legs(volume);
	istripe_host_disks_stop(volume);
	/* Again: the worker of a nexus may have queued them meanwhile. */
	istripe_resize_stop(volume);
	istripe_write_protect_stop(volume);
	istripe_reservation_end(volume->disk);
	pr_info("%s: %s is down\n", volume->name, volume->disk->disk_name);
	put_disk(volume->disk);
	blk_mq_free_tag_set(&volume->tag_set);
	return istripe_writeback_error(volume);
}

enum istripe_leg_state istripe_volume_state(const struct istripe_volume *volume)
{
	enum istripe_leg_state state = ISTRIPE_LEG_LIVE;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		state = max(state, istripe_leg_state(volume->legs[i]));
	return state;
}

int istripe_block_init(void)
{
	int ret = istripe_workqueues_init();

	if (ret)
		return ret;
	ret = istripe_disk_names_init();
	if (ret)
		goto exit_workqueues;
	ret = istripe_host_disks_register();
	if (!ret)
		return 0;
	istripe_disk_names_exit();
exit_workqueues:
	istripe_workqueues_exit();
	return ret;
}

void istripe_block_exit(void)
{
	istripe_host_disks_unregister();
	istripe_disk_names_exit();
	istripe_workqueues_exit();
	ida_destroy(&istripe_ids);
}
