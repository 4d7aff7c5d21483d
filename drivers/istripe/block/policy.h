/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A policy chooses one of a leg's live paths for a task. A path is as configured (struct
 * istripe_path); the lane decides which of its sessions the task uses.
 *
 * A policy looks at every path and keeps no state but leg->policy_counter, so it can be changed
 * while I/O runs.
 */
#ifndef ISTRIPE_BLOCK_POLICY_H
#define ISTRIPE_BLOCK_POLICY_H

#include <istripe/params.h>

struct istripe_path;
struct istripe_leg;

/*
 * @nth: 0 for a task of its own, n for the n-th further part of a request that
 * istripe_policy_parts() has cut: the parts take different paths. NULL: no path is live, or the leg
 * must not be written to. Any context, within a section of leg->srcu; the path may have been lost
 * since.
 */
struct istripe_path *istripe_policy_pick(struct istripe_leg *leg, u32 bytes, u32 nth);

/*
 * Into how many parts (1..ISTRIPE_PARTS_MAX) to cut a request on a leg. More than one only with the
 * interleave policy, and at most one for each live path: one for each session would be more
 * commands over the same NIC. All parts but the last have @part_sectors, if several a multiple of
 * the chunk.
 */
u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors);

#endif
