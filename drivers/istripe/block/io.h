/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An I/O: one block layer request on its way over the legs. It fans out into one leg task for each
 * leg that the request touches, and completes with the last of them. I/O and leg tasks are in the
 * request's private data.
 */
#ifndef ISTRIPE_BLOCK_IO_H
#define ISTRIPE_BLOCK_IO_H

#include <linux/blk-mq.h>

#include "block/leg_task.h"
#include "layout/stripe.h"

struct istripe_volume;

struct istripe_io {
	atomic_t pending;		/* leg tasks that are not done, and one while they start */
	blk_status_t status;		/* BLK_STS_OK, or an error of a leg task */
	unsigned long started;		/* jiffies */
	u32 lane;
	bool single_bio;		/* merged reads have failed: each bio is read for itself */
	blk_status_t leg_status;	/* for reads of these, which are not asked again: */
	DECLARE_BITMAP(failed_legs, ISTRIPE_STRIPE_LEGS_MAX);
	u32 task_count;
	struct istripe_leg_task tasks[];	/* for each leg, or each part of its share */
};

/*
 * Fans out a request that blk_mq_start_request() has started; @more: requests follow at once.
 * Sleeps (BLK_MQ_F_BLOCKING). Returns a bit for each leg it goes to; it may be done by then.
 */
u64 istripe_io_start(struct istripe_volume *volume, struct request *rq, u32 lane, bool more);

/* For blk-mq. */
void istripe_io_complete(struct request *rq);

#endif
