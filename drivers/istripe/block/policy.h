/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A policy chooses one of a leg's paths that get tasks (istripe_policy_choose()), as configured;
 * the lane then decides between the path's sessions. It keeps no state but leg->policy_counter, so
 * it can be changed while I/O runs.
 */
#ifndef ISTRIPE_BLOCK_POLICY_H
#define ISTRIPE_BLOCK_POLICY_H

#include <linux/types.h>

struct istripe_path;
struct istripe_leg;
struct istripe_nexus;
struct istripe_session;

/*
 * NULL: no path gets I/O, or the leg must not be written to. Within a section of leg->srcu; the
 * path may have been lost since.
 */
struct istripe_path *istripe_policy_pick(struct istripe_leg *leg, u32 bytes);

/*
 * The path of @index, or the next one behind it, around the leg, that gets I/O and is not in
 * @avoid, a bit for each index. NULL: there is none. As istripe_policy_pick().
 */
struct istripe_path *istripe_policy_pick_other(const struct istripe_leg *leg, u32 index, u16 avoid);

/* As istripe_policy_pick_other(): a nexus that would take I/O, and gets none. */
struct istripe_nexus *istripe_policy_pick_unchosen(struct istripe_leg *leg, u16 avoid);

/*
 * Into how many parts (1..ISTRIPE_PARTS_MAX) to cut a request on a leg. More than one only with
 * the interleave policy, one for each chosen path: one for each session would be more commands
 * over a NIC. Each goes where the fewest bytes wait, so a slow path gets fewer of them. All parts
 * but the last have @part_sectors, if several a multiple of the chunk.
 */
u32 istripe_policy_parts(const struct istripe_leg *leg, u32 sectors, u32 *part_sectors);

/* Does no other path than that of a nexus's @session get I/O that need not wait? */
bool istripe_policy_alone(const struct istripe_session *session);

/*
 * Chooses the lanes that get tasks: those of optimized ports, else of others that take I/O; counts
 * the leg's usable nexuses, live and chosen paths anew. Under leg->lock, after each change of them.
 * Submitters, without the lock, may find no lanes meanwhile; then leg_park() makes them try again.
 */
void istripe_policy_choose(struct istripe_leg *leg);

#endif
