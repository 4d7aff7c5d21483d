/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A policy: over which of a leg's live paths a task goes. Paths are meant as they are
 * configured, struct istripe_path: which of a path's sessions it is the lane decides.
 *
 * A table of functions; each looks at every path and keeps nothing but a counter of
 * turns in the leg, so that it can be changed while I/O runs.
 */
#ifndef ISTRIPE_BLOCK_POLICY_H
#define ISTRIPE_BLOCK_POLICY_H

#include <istripe/params.h>

struct istripe_path;
struct istripe_leg;

/**
 * istripe_policy_pick() - choose a path for a task
 * @leg: the leg
 * @bytes: what the task transfers
 * @nth: 0 for a task of its own; n for the n-th further part of a request that
 *	istripe_policy_parts() has cut: they go different ways
 *
 * Context: any; a section of leg->srcu. A path that was live at that moment need not be any more.
 * Return: a path, or NULL when none is live, or the leg must not be written to.
 */
struct istripe_path *istripe_policy_pick(struct istripe_leg *leg, u32 bytes, u32 nth);

/**
 * istripe_policy_parts() - into how many parts to cut what a request does on a leg
 * @leg: the leg
 * @sectors: what it reads or writes there
 * @part_sectors: set to the length of each part, the last one may be shorter; a
 *	multiple of the chunk when there are several
 *
 * Only with the interleave policy is it more than one. As many as there are paths: a
 * part more for each session of a path would be a command more over the same NIC.
 *
 * Context: any.
 * Return: 1..ISTRIPE_PARTS_MAX.
 */
u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors);

#endif
