/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last write-back of a disk that is taken away although somebody may have it open.
 *
 * del_gendisk() has dirty data written. A leg that has no nexus then, or serves nothing,
 * fails them at once. One that serves goes on as ever: what the target is too busy for is
 * sent again, what is lost waits for its nexus. That ends when no request of the disk has
 * ended well for ISTRIPE_WRITEBACK_MS: from then on nothing waits any more.
 */
#ifndef ISTRIPE_BLOCK_WRITEBACK_H
#define ISTRIPE_BLOCK_WRITEBACK_H

#include <linux/atomic.h>
#include <linux/workqueue.h>

#define ISTRIPE_WRITEBACK_MS	15000

struct istripe_volume;
struct request;

/**
 * struct istripe_writeback - what is counted meanwhile
 * @work:	looks every ISTRIPE_WRITEBACK_MS whether anything moves
 * @under_way:	from istripe_writeback_begin() on
 * @good:	requests that have ended well
 * @seen:	the work's: @good when it looked last
 * @failed:	writes and flushes that have not
 */
struct istripe_writeback {
	struct delayed_work work;
	bool under_way;
	atomic_t good;
	u32 seen;
	atomic_t failed;
};

/**
 * istripe_writeback_init() - nothing is counted yet
 * @writeback: of a fresh volume
 *
 * Context: process.
 */
void istripe_writeback_init(struct istripe_writeback *writeback);

/**
 * istripe_writeback_begin() - the disk is about to be taken away
 * @volume: running
 *
 * Context: process.
 */
void istripe_writeback_begin(struct istripe_volume *volume);

/**
 * istripe_writeback_count() - a request of the disk ends
 * @volume: running
 * @rq: the request
 * @status: how
 *
 * Context: any.
 */
void istripe_writeback_count(struct istripe_volume *volume, const struct request *rq,
			     blk_status_t status);

/**
 * istripe_writeback_end() - the disk is gone, and its requests with it
 * @volume: see istripe_writeback_begin()
 *
 * Context: process, sleeps.
 * Return: 0; -EIO writes or flushes have failed, which is logged.
 */
int istripe_writeback_end(struct istripe_volume *volume);

#endif
