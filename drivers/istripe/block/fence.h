/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fence: what makes sure that a write of a lost session is not carried out any more. It
 * has two halves, and neither is enough alone.
 *
 * The cut: nothing of the old session gets into the target's task set any more. A login with
 * the nexus's ISID ends the session (RFC 7143 6.3.5): through the nexus itself or, when its way
 * is closed, through a sibling to the same portal group of the target. Whose portal group is
 * the same has been proven before: see proof.h.
 *
 * The drain: what had entered the task set is over. Some targets (tgt, SCST) answer the login
 * while the storage still carries out a write of the old session. LOGICAL UNIT RESET over the
 * new session ends it; "function complete" is the answer when it has ended, and only this
 * answer counts, not a time-out.
 *
 * The drain without the cut would be no fence: it leaves the old session alive, and what of it
 * reaches the target later is carried out (Documentation/design.rst).
 */
#ifndef ISTRIPE_BLOCK_FENCE_H
#define ISTRIPE_BLOCK_FENCE_H

#include <linux/types.h>

struct istripe_nexus;

/**
 * istripe_fence() - end the nexus's old session through a sibling, if anything waits for that
 * @nexus: the nexus, without a session
 *
 * Context: the nexus's worker, sleeps; at most the time that logins of the nexus, and two
 * pings and a reset of the LUN after each, may take.
 */
void istripe_fence(struct istripe_nexus *nexus);

/**
 * istripe_fence_drain() - the drain, if anything waits for it, and what waits goes on
 * @nexus: its old session is cut: nexus->owned has logged in with its ISID, and nexus->found is
 *	the LUN there
 * @why: reason on failure
 * @why_bytes: its size
 *
 * A target that says that it does not know LOGICAL UNIT RESET, or goes on refusing it, leaves no
 * better than to believe its login; leg->lun_reset says so.
 *
 * Context: the nexus's worker; see istripe_lun_reset().
 * Return: 0; else what waits goes on waiting, errors as of istripe_lun_reset().
 */
int istripe_fence_drain(struct istripe_nexus *nexus, char *why, size_t why_bytes);

/**
 * istripe_fence_wanted() - does something wait that a sibling may be able to set free
 * @nexus: the nexus, not live
 *
 * Context: the nexus's worker.
 * Return: true or false.
 */
bool istripe_fence_wanted(const struct istripe_nexus *nexus);

/**
 * istripe_fence_may() - may a nexus's old session be ended through a sibling?
 * @nexus: the nexus
 * @sibling: of another path, while it is live
 *
 * Context: leg->lock held.
 * Return: true or false.
 */
bool istripe_fence_may(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling);

#endif
