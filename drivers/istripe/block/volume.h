/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A volume: the striped disk, one gendisk. It is started from parameters, which it copies, and
 * stopped as a whole.
 */
#ifndef ISTRIPE_BLOCK_VOLUME_H
#define ISTRIPE_BLOCK_VOLUME_H

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/workqueue.h>

#include <istripe/params.h>
#include "block/announce.h"
#include "block/carrier.h"
#include "block/host_disk.h"
#include "block/leg.h"
#include "block/metadata.h"
#include "block/requeue.h"
#include "block/resize.h"
#include "block/write_protect.h"
#include "block/writeback.h"
#include "layout/stripe.h"

struct device;
struct istripe_queue;
struct istripe_reason;
struct net;

struct istripe_volume {
	char name[ISTRIPE_NAME_BYTES];
	char initiator_name[ISTRIPE_ISCSI_NAME_BYTES];
	int id;				/* N of istripeN */
	struct net *net;		/* of the process that started it */
	struct istripe_carrier carrier;
	struct istripe_announce announce;
	u32 queue_depth;
	u32 command_timeout_ms;		/* live: istripe_setting_change() writes it */
	s32 recovery_timeout_ms;	/* live; -1: for ever */
	u32 block_bytes;
	struct istripe_stripe stripe;
	u32 queue_count;		/* hardware queues of the disk */
	u32 poll_queue_count;		/* polled ones, behind those */
	u32 parts;			/* most that a request's share of a leg is cut into */
	u32 leg_count;
	struct istripe_leg *legs[ISTRIPE_LEGS_MAX];
	struct istripe_metadata metadata;
	struct istripe_resize resize;
	struct istripe_writeback writeback;
	struct workqueue_struct *requeue_wq;	/* of works that wait for tags; NULL: one leg */
	struct istripe_write_protect write_protect;
	struct istripe_host_disks host_disks;

	struct blk_mq_tag_set tag_set;
	struct istripe_queue *queues;	/* a list */
	struct device *device;		/* parent of the disk, see disk_names.h */
	struct gendisk *disk;		/* NULL: it has never been up */
	struct work_struct scan_work;	/* reads the partition table */
	struct completion scanned;
	bool closing;			/* the disk cannot be opened any more */
	bool has_keys;			/* keys are registered, see reservation.h */
	void *control;			/* the control layer's: its sysfs tree */
};

/**
 * istripe_volume_create() - make a volume that is not up yet
 * @params: as configured; copied, the caller keeps and frees them
 * @why: filled with a readable reason on failure
 * Context: process.
 * Return: the volume, for istripe_volume_start(); ERR_PTR: -ENOMEM and the like.
 */
struct istripe_volume *istripe_volume_create(const struct istripe_volume_params *params,
					     struct istripe_reason *why);

/**
 * istripe_volume_start() - bring a volume up
 * @volume: from istripe_volume_create()
 * @params: the same as there
 * @why: filled with a readable reason on failure
 *
 * A failure may leave writes of superblocks that a target still carries out: the volume is stopped
 * then, as after istripe_volume_stop().
 *
 * Context: process, sleeps until all legs are up or one of them has failed; killable.
 * Return: 0; -EINVAL, -EOPNOTSUPP configuration; -EBUSY a LUN of it is in use; -ENOMEM; -EINTR; or
 * an error of connecting, login or LUN bring-up.
 */
int istripe_volume_start(struct istripe_volume *volume, const struct istripe_volume_params *params,
			 struct istripe_reason *why);

/**
 * istripe_volume_scan() - find the partitions of a volume's disk
 * @volume: running, nobody else knows of it yet
 *
 * Its I/O may wait for a path. After command_timeout_ms this goes on while the volume is up.
 *
 * Context: process, sleeps; killable.
 */
void istripe_volume_scan(struct istripe_volume *volume);

/**
 * istripe_volume_close() - keep the disk from being opened, unless it is open
 * @volume: running; istripe_volume_stop() follows
 *
 * A disk that is mounted, swapped to, or part of another device is open, too. After success no
 * write of the disk's last user is on its way.
 *
 * Context: process; does not wait.
 * Return: 0; -EBUSY the disk is open, or is just being opened or closed.
 */
int istripe_volume_close(struct istripe_volume *volume);

/**
 * istripe_volume_stop() - take a volume down
 * @volume: running
 *
 * A process that has the disk open gets errors from then on. Dirty data are written before, see
 * writeback.h. The unfenced state of the nexuses can be asked (istripe_unfenced_save()) until
 * istripe_volume_free().
 *
 * Context: process, sleeps; as long as write-back takes, which is bounded.
 * Return: 0; -EIO writes have failed meanwhile; the volume is down all the same.
 */
int istripe_volume_stop(struct istripe_volume *volume);

/**
 * istripe_volume_free() - free a volume
 * @volume: stopped, or never started
 * Context: process.
 */
void istripe_volume_free(struct istripe_volume *volume);

/**
 * istripe_volume_state() - state of the volume
 * @volume: running
 * Context: any.
 * Return: that of its worst leg.
 */
enum istripe_leg_state istripe_volume_state(const struct istripe_volume *volume);

/**
 * istripe_block_init() - make the things that all volumes share
 * Context: module init.
 * Return: 0 or -errno of what failed.
 */
int istripe_block_init(void);

/**
 * istripe_block_exit() - undo istripe_block_init()
 * Context: module exit, no volumes left.
 */
void istripe_block_exit(void);

#endif
