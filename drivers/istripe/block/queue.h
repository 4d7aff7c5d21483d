/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hardware queues of a volume's disk. They live as long as the volume: when the last request
 * has ended, and the disk goes, its submitter may still be here.
 *
 * When the block layer says that more requests follow, the commands of a request are held back, and
 * their connection sends them together with the next ones. @held remembers the legs where that
 * happened. The last request of a batch, or commit_rqs, pushes there and nowhere else. Batches of
 * several submitters may mix: one then pushes commands of another, earlier than needed.
 *
 * The queues behind the ordinary ones are polled: their submitters do not sleep until an answer
 * comes, but poll the NICs for it (io_uring's IOPOLL), see queue_poll(). Nothing depends on
 * polling: interrupts and recovery complete a polled request as any other.
 */
#ifndef ISTRIPE_BLOCK_QUEUE_H
#define ISTRIPE_BLOCK_QUEUE_H

#include <linux/blk-mq.h>

struct istripe_volume;

/* driver_data of the tag set is the volume, with its queue counts set. */
extern const struct blk_mq_ops istripe_queue_ops;

/* The disk is gone, and has no submitters. */
void istripe_queues_free(struct istripe_volume *volume);

#endif
