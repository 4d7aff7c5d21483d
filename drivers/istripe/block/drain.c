// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/printk.h>

#include "block/drain.h"
#include "block/leg.h"
#include "block/path.h"
#include "block/volume.h"

static void drain_arm(struct istripe_drain *drain)
{
	queue_delayed_work(istripe_recovery_wq, &drain->work, msecs_to_jiffies(ISTRIPE_DRAIN_MS));
}

/* The legs are there: istripe_drain_end() waits for us. */
static void drain_work(struct work_struct *work)
{
	struct istripe_drain *drain = container_of(to_delayed_work(work), struct istripe_drain,
						   work);
	struct istripe_volume *volume = container_of(drain, struct istripe_volume, drain);
	u32 good = atomic_read(&drain->good);
	u32 i;

	if (good != drain->seen) {
		drain->seen = good;
		drain_arm(drain);
		return;
	}
	pr_err("%s: nothing has been written for %u ms: what waits fails, the disk goes\n",
	       volume->name, ISTRIPE_DRAIN_MS);
	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_expire(volume->legs[i]);
}

static bool drain_is_served(struct istripe_leg *leg)
{
	bool serves;

	spin_lock_bh(&leg->lock);
	serves = istripe_leg_serving(leg);
	spin_unlock_bh(&leg->lock);
	return serves;
}

void istripe_drain_init(struct istripe_drain *drain)
{
	INIT_DELAYED_WORK(&drain->work, drain_work);
}

void istripe_drain_begin(struct istripe_volume *volume)
{
	u32 i;

	WRITE_ONCE(volume->drain.under_way, true);
	drain_arm(&volume->drain);
	/* What a lost leg holds would hold up the disk's end, too. */
	for (i = 0; i < volume->leg_count; i++)
		if (!drain_is_served(volume->legs[i]))
			istripe_leg_expire(volume->legs[i]);
}

void istripe_drain_count(struct istripe_volume *volume, const struct request *rq,
			 blk_status_t status)
{
	if (!READ_ONCE(volume->drain.under_way))
		return;
	if (!status)
		atomic_inc(&volume->drain.good);
	else if (req_op(rq) == REQ_OP_WRITE || req_op(rq) == REQ_OP_FLUSH)
		atomic_inc(&volume->drain.failed);
}

int istripe_drain_end(struct istripe_volume *volume)
{
	u32 failed;

	cancel_delayed_work_sync(&volume->drain.work);
	failed = atomic_read(&volume->drain.failed);
	if (!failed)
		return 0;
	pr_err("%s: %s is gone, and %u of its last writes have failed: their data are lost\n",
	       volume->name, volume->disk->disk_name, failed);
	return -EIO;
}
