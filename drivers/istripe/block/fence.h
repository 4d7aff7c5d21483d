/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fence: makes sure that a write of a lost session is not carried out any more. It has two
 * halves; neither is enough alone.
 *
 * The cut: nothing more of the old session gets into the target's task set. A login with the
 * nexus's ISID ends the session (RFC 7143 6.3.5): through the nexus's own way or, when that is
 * closed, through a sibling that is proven to lead to the same portal group (proof.h).
 *
 * The drain: all that had entered the task set is over. Some targets (tgt, SCST) answer the login
 * while the storage still carries out a write of the old session. LOGICAL UNIT RESET over the new
 * session ends it; only the answer "function complete" counts, not a time-out. Without the cut the
 * drain is no fence: commands of the old session that reach the target later are carried out
 * (Documentation/design.rst).
 */
#ifndef ISTRIPE_BLOCK_FENCE_H
#define ISTRIPE_BLOCK_FENCE_H

#include <linux/types.h>

struct istripe_nexus;
struct istripe_path;
struct istripe_reason;

/**
 * istripe_fence() - end the nexus's old session through a sibling, if anything waits for that
 * @nexus: the nexus, without a session
 * Context: the nexus's worker, sleeps; at most the time that logins of the nexus, and two
 * pings and a reset of the LUN after each, may take.
 */
void istripe_fence(struct istripe_nexus *nexus);

/*
 * Does the drain, and sends the tasks that waited, if any. The old session is cut: nexus->owned has
 * logged in with the nexus's ISID, and nexus->found is the LUN there. When a target does not know
 * LOGICAL UNIT RESET, or refuses it for good, its login is believed; leg->lun_reset says so. The
 * nexus's worker. On an error of istripe_lun_reset_drain() the tasks go on waiting.
 */
int istripe_fence_drain(struct istripe_nexus *nexus, struct istripe_reason *why);

/* Does anything wait that a sibling may be able to end? The nexus is not live. Its worker. */
bool istripe_fence_wanted(const struct istripe_nexus *nexus);

/**
 * istripe_fence_why_waiting() - what ends the waiting of a nexus's lost writes
 * @nexus: any
 * @why: filled with what they wait for, in words: "until ..."
 * Context: any.
 * Return: how many writes wait.
 */
u32 istripe_fence_why_waiting(const struct istripe_nexus *nexus, struct istripe_reason *why);

/* Says in the log which writes wait and for what, if any do. The nexus's worker, after a loss. */
void istripe_fence_say(const struct istripe_nexus *nexus);

/**
 * istripe_fence_confirm() - somebody knows that the target carries out nothing of a path any more
 * @path: whose sessions are lost: their writes are sent again, and may go over other paths
 *
 * Right after the target was switched off or restarted, say. If that is not so, an old write may be
 * carried out over newer data. Says in the log what it does, or why not.
 *
 * Context: process, in a section of leg->srcu or with the path held otherwise.
 * Return: 0, also when nothing waits; -EBUSY a session is live, or not closed yet.
 */
int istripe_fence_confirm(struct istripe_path *path);

/**
 * istripe_fence_may() - may a nexus's old session be ended through a sibling?
 * @nexus: the nexus
 * @sibling: of another path, while it is live
 * Context: leg->lock held.
 * Return: true or false.
 */
bool istripe_fence_may(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling);

#endif
