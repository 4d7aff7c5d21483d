/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hardware queues of a volume's disk; each lives as long as its hctx.
 *
 * What a submitter is told is followed by more is held back, for its connection to send
 * with what follows. @held remembers in which legs that happened; whoever brings the last
 * request of a batch, or commit_rqs, pushes there and nowhere else. Batches of several
 * submitters may mix: what one has held another one may push, sooner than it had to be.
 *
 * Those behind the ordinary ones are polled: their submitters do not sleep until an answer
 * comes, but look for it (io_uring's IOPOLL). They look where the NICs put what they
 * receive: see queue_poll(). An answer that comes by itself, by interrupt, and what recovery
 * does, completes a polled request as any other; so nothing ever depends on a look.
 */
#ifndef ISTRIPE_BLOCK_QUEUE_H
#define ISTRIPE_BLOCK_QUEUE_H

#include <linux/blk-mq.h>

/* What the block layer calls; driver_data of the tag set is the volume, its queues counted. */
extern const struct blk_mq_ops istripe_queue_ops;

#endif
