/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fence: what makes sure that a lost path's session is dead at the target, when the
 * path's own way is closed. A login with the path's ISID through a sibling to the same
 * portal group of the target ends the old session as the path's own login would
 * (RFC 7143 6.3.5). Whose portal group is the same has been proven before: see proof.h.
 *
 * A LOGICAL UNIT RESET through a sibling would be no fence: it leaves the old session
 * alive, and what of it reaches the target later is carried out (Documentation/design.rst).
 */
#ifndef ISTRIPE_BLOCK_FENCE_H
#define ISTRIPE_BLOCK_FENCE_H

#include <linux/types.h>

struct istripe_path;

/**
 * istripe_fence() - end the path's old session through a sibling, if anything waits for that
 * @path: the path, without a session
 *
 * Context: the path's worker, sleeps; at most the time that logins of the path, and two
 * pings after each, may take.
 */
void istripe_fence(struct istripe_path *path);

/**
 * istripe_fence_wanted() - does something wait that a sibling may be able to set free
 * @path: the path, not live
 *
 * Context: the path's worker.
 * Return: true or false.
 */
bool istripe_fence_wanted(const struct istripe_path *path);

/**
 * istripe_fence_may() - may a path's old session be ended through a sibling?
 * @path: the path
 * @sibling: of another bundle, while it is live
 *
 * Context: leg->lock held.
 * Return: true or false.
 */
bool istripe_fence_may(const struct istripe_path *path, const struct istripe_path *sibling);

#endif
