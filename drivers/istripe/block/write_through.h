/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing through a cache that nobody flushes: the LUN has got it since the volume came up, or the
 * task writes a copy of an overlay, and a flush of all legs might wait for one that is away, or the
 * LUN has its cache back, and with it FUA, of which the nexus has not heard yet. A task whose data
 * may be in that cache only, for want of FUA, is no success: it goes on as a flush. That needs no
 * other request, and so no tag, for which overlays could not wait.
 *
 * A cache may be lost with the target's power, and all sessions with it, or that of a disk behind
 * the target, which a unit attention tells; a flush that fails, or a deferred error, may be all
 * that is told of data of others. So a flush counts only over a session that was there when the
 * data were sent, and if nobody has been told of such a thing since; else they are sent again.
 */
#ifndef ISTRIPE_BLOCK_WRITE_THROUGH_H
#define ISTRIPE_BLOCK_WRITE_THROUGH_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;

/* The command that flushes the leg's LUN. */
u8 istripe_write_through_opcode(const struct istripe_leg *leg);

/* The LUN has said so after the last time that it said the contrary over any nexus. */
bool istripe_write_through_is_cacheless(const struct istripe_nexus *nexus);

/* @leg_task was good: may only a cache have its data? In done() of its task. */
bool istripe_write_through_wanted(const struct istripe_leg_task *leg_task);

/* Its flush was good, too: are its data sure to have been in the cache until then? */
bool istripe_write_through_is_done(const struct istripe_leg_task *leg_task);

/* To its flush, and back to its data. It is not in flight. */
void istripe_write_through_flush(struct istripe_leg_task *leg_task);
void istripe_write_through_write(struct istripe_leg_task *leg_task);

#endif
