/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A volume: the striped disk, one gendisk. It is started from a blueprint, which it
 * copies, and stopped whole.
 */
#ifndef ISTRIPE_BLOCK_VOLUME_H
#define ISTRIPE_BLOCK_VOLUME_H

#include <linux/blk-mq.h>
#include <linux/kobject.h>

#include <istripe/params.h>
#include "block/exclusive.h"
#include "block/host_disk.h"
#include "block/leg.h"
#include "block/metadata.h"
#include "block/resize.h"
#include "block/write_protect.h"
#include "block/writeback.h"
#include "layout/stripe.h"

struct device;
struct net;

struct istripe_volume {
	char name[ISTRIPE_NAME_BYTES];
	char initiator_name[ISTRIPE_ISCSI_NAME_BYTES];
	int id;				/* N of istripeN */
	struct net *net;		/* of whoever started it */
	struct notifier_block nics;	/* of @net */
	u32 chunk_bytes;		/* with metadata what they say, once it is up */
	u32 queue_depth;
	u32 command_timeout_ms;		/* live */
	s32 recovery_timeout_ms;	/* live; -1: for ever */
	u32 block_bytes;
	struct istripe_stripe stripe;
	u32 queue_count;		/* hardware queues of the disk */
	u32 poll_queue_count;		/* and those that are polled, behind them */
	u32 parts;			/* that one leg's share of a request may be cut into */
	u32 leg_count;
	struct istripe_leg *legs[ISTRIPE_LEGS_MAX];
	struct istripe_metadata metadata;
	struct istripe_resize capacity;
	struct istripe_writeback writeback;
	struct istripe_exclusive exclusive;
	struct istripe_write_protect write_protect;
	struct istripe_host_disks host_disks;

	struct blk_mq_tag_set tag_set;
	struct device *device;		/* that the disk belongs to, see identity.h */
	struct gendisk *disk;
	bool closing;			/* nobody may open it any more */
	bool has_keys;			/* registered through it, see reservation.h */
	void *control;			/* the control layer's: its sysfs tree */
};

/**
 * istripe_volume_start() - bring a volume up
 * @params: blueprint; copied, the caller keeps and frees it
 * @why: filled with a readable reason on failure
 * @why_bytes: size of @why
 *
 * Context: process, sleeps until all legs are up or one of them has failed; killable.
 * Return: the volume; ERR_PTR: -EINVAL, -EOPNOTSUPP configuration; -EBUSY a LUN of it is in
 * use; -ENOMEM; -EINTR; or what connecting, login, LUN bring-up gave.
 */
struct istripe_volume *istripe_volume_start(const struct istripe_volume_params *params,
					    char *why, size_t why_bytes);

/**
 * istripe_volume_close() - make sure that nobody has the disk open, or will
 * @volume: running; istripe_volume_stop() follows
 *
 * What is mounted, swapped to, or part of another device is open, too. What the disk's last
 * user has written is on its way no more.
 *
 * Context: process; does not wait.
 * Return: 0; -EBUSY somebody has it open, or is just opening or closing it.
 */
int istripe_volume_close(struct istripe_volume *volume);

/**
 * istripe_volume_stop() - take a volume down
 * @volume: running
 *
 * Also when somebody has the disk open, who gets errors from then on. Dirty data are written
 * before, see writeback.h. What its nexuses have left behind can be asked
 * (istripe_recovery_save()) until istripe_volume_free().
 *
 * Context: process, sleeps; as long as write-back takes, not for ever.
 * Return: 0; -EIO writes have failed meanwhile; it is down all the same.
 */
int istripe_volume_stop(struct istripe_volume *volume);

/**
 * istripe_volume_free() - free a volume
 * @volume: stopped
 *
 * Context: process.
 */
void istripe_volume_free(struct istripe_volume *volume);

/**
 * istripe_volume_device_name() - name of the disk
 * @volume: running
 *
 * Context: any.
 * Return: "istripeN".
 */
const char *istripe_volume_device_name(const struct istripe_volume *volume);

/**
 * istripe_volume_set_command_timeout() - change the time a command may take
 * @volume: running
 * @ms: 1000..3600000
 *
 * Context: process.
 */
void istripe_volume_set_command_timeout(struct istripe_volume *volume, u32 ms);

/**
 * istripe_volume_set_recovery_timeout() - change how long I/O waits for a lost leg
 * @volume: running
 * @ms: -1 for ever, 0 not at all
 *
 * Context: process.
 */
void istripe_volume_set_recovery_timeout(struct istripe_volume *volume, s32 ms);

/**
 * istripe_block_init() - make what all volumes share
 *
 * Context: module init.
 * Return: 0 or -errno of what failed.
 */
int istripe_block_init(void);

/**
 * istripe_block_exit() - undo istripe_block_init()
 *
 * Context: module exit, no volumes left.
 */
void istripe_block_exit(void);

#endif
