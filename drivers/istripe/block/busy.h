/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths that are busy: the last commands over such a path were answered with BUSY, or with NOT
 * READY, becoming ready, and their like, as by a controller that has just started, while another
 * path may serve the LUN. It gets no commands for a second, then some again. When no other one
 * serves, busy paths get all commands, at the pace of allowance.h. TASK SET FULL does not count.
 *
 * All is written without a lock: a count that is lost makes a path busy one answer later.
 */
#ifndef ISTRIPE_BLOCK_BUSY_H
#define ISTRIPE_BLOCK_BUSY_H

#include "block/path.h"

struct istripe_leg;

/* The LUN was too busy for a command over @path. In a section of leg->srcu, or for its task. */
void istripe_busy_refused(struct istripe_path *path);

/* Has it been too busy for each command, and for so long that a worse path is better? */
bool istripe_busy_for_long(const struct istripe_path *path);

/* Bits of the paths that are busy, by path->index. In a section of leg->srcu. */
u16 istripe_busy_paths(struct istripe_leg *leg);

/* The LUN has given another answer over @path, or the path has a new session. */
static inline void istripe_busy_answered(struct istripe_path *path)
{
	if (unlikely(READ_ONCE(path->busy_answers)))
		WRITE_ONCE(path->busy_answers, 0);
}

#endif
