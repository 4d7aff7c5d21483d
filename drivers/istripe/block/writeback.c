// SPDX-License-Identifier: GPL-2.0
#include <linux/async.h>
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/printk.h>

#include "block/io.h"
#include "block/leg.h"
#include "block/lun_io.h"
#include "block/nexus.h"
#include "block/volume.h"
#include "block/workqueue.h"
#include "block/writeback.h"

#define CHECKS		3
#define CHECK_MS		(ISTRIPE_WRITEBACK_MS / CHECKS)

static void writeback_arm(struct istripe_writeback *writeback)
{
	queue_delayed_work(istripe_recovery_wq, &writeback->work, msecs_to_jiffies(CHECK_MS));
}

static bool writeback_request_waits(struct request *rq, void *waits)
{
	const struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	unsigned long started = READ_ONCE(io->started);

	*(bool *)waits = time_after_eq(jiffies, started + msecs_to_jiffies(CHECK_MS));
	return !*(bool *)waits;
}

/*
 * Is there a request that the legs keep waiting? Bios that the kernel throttles have none yet. A
 * single check decides nothing: a request that is just being started may have the time of the last
 * one with its tag.
 */
static bool writeback_waits(struct istripe_volume *volume)
{
	bool waits = false;

	blk_mq_tagset_busy_iter(&volume->tag_set, writeback_request_waits, &waits);
	return waits;
}

/* Ports in transition will take the data. */
static bool writeback_is_served(struct istripe_leg *leg)
{
	bool serves;

	spin_lock_bh(&leg->lock);
	serves = leg->live_paths && !leg->unfenced_nexuses;
	spin_unlock_bh(&leg->lock);
	return serves;
}

/* Others may go on, so the volume is not stuck, but nothing ends the wait for one that is lost. */
static void writeback_check_leg(struct istripe_writeback *writeback, struct istripe_leg *leg)
{
	struct istripe_writeback_leg *state = &writeback->legs[leg->index];
	unsigned long down_since = READ_ONCE(leg->down_since);

	/* One that has served since the last check may have written something. */
	if (writeback_is_served(leg) || state->down_since != down_since)
		state->away = 0;
	else
		state->away++;
	state->down_since = down_since;
	if (state->away < CHECKS)
		return;
	state->away = 0;
	istripe_leg_expire(leg);
}

/* The legs exist, since istripe_writeback_end() waits for the work. */
static void writeback_work(struct work_struct *work)
{
	struct istripe_writeback *writeback =
		container_of(to_delayed_work(work), struct istripe_writeback, work);
	struct istripe_volume *volume = container_of(writeback, struct istripe_volume, writeback);
	u32 good = atomic_read(&writeback->good);
	bool stuck = good == writeback->seen && writeback_waits(volume);
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		writeback_check_leg(writeback, volume->legs[i]);
	writeback->seen = good;
	writeback->stuck = stuck ? writeback->stuck + 1 : 0;
	if (writeback->stuck < CHECKS) {
		writeback_arm(writeback);
		return;
	}
	pr_err("%s: nothing has been written for %u ms: what waits fails, the disk goes\n",
	       volume->name, ISTRIPE_WRITEBACK_MS);
	for (i = 0; i < volume->leg_count; i++) {
		WRITE_ONCE(volume->legs[i]->abandoned, true);
		istripe_leg_expire(volume->legs[i]);
	}
}

void istripe_writeback_init(struct istripe_writeback *writeback)
{
	INIT_DELAYED_WORK(&writeback->work, writeback_work);
}

void istripe_writeback_begin(struct istripe_volume *volume)
{
	u32 i;

	WRITE_ONCE(volume->writeback.under_way, true);
	writeback_arm(&volume->writeback);
	/* Tasks parked on a lost leg would delay the end of the disk. */
	for (i = 0; i < volume->leg_count; i++)
		if (!writeback_is_served(volume->legs[i]))
			istripe_leg_expire(volume->legs[i]);
}

void istripe_writeback_count(struct istripe_volume *volume, const struct request *rq,
			     blk_status_t status)
{
	if (!READ_ONCE(volume->writeback.under_way) ||
	    (req_op(rq) != REQ_OP_WRITE && req_op(rq) != REQ_OP_FLUSH))
		return;
	atomic_inc(status ? &volume->writeback.failed : &volume->writeback.good);
}

void istripe_writeback_end(struct istripe_volume *volume)
{
	u32 failed;

	cancel_delayed_work_sync(&volume->writeback.work);
	failed = atomic_read(&volume->writeback.failed);
	if (failed)
		pr_err("%s: %s is gone, and %u of its last writes have failed: their data are lost\n",
		       volume->name, volume->disk->disk_name, failed);
}

int istripe_writeback_error(const struct istripe_volume *volume)
{
	return atomic_read(&volume->writeback.failed) ? -EIO : 0;
}

/* With a deadline of its own, so that a leg that hangs never takes the time of others. */
static void writeback_flush(void *data, async_cookie_t cookie)
{
	struct istripe_leg *leg = data;
	struct istripe_reason why = {};
	unsigned long deadline = jiffies + msecs_to_jiffies(ISTRIPE_WRITEBACK_MS);

	if (istripe_lun_io_flush_leg(leg, deadline, &why))
		pr_warn("%s: %s: its write cache is not flushed\n", leg->volume->name, why.text);
}

void istripe_writeback_flush(struct istripe_volume *volume)
{
	ASYNC_DOMAIN_EXCLUSIVE(flushes);
	struct istripe_leg *leg;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		if (leg->lun.caching.write_cache || READ_ONCE(leg->write_through))
			async_schedule_domain(writeback_flush, leg, &flushes);
	}
	async_synchronize_full_domain(&flushes);
}
