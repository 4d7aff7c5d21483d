/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error handling of a nexus: commands that are older than command_timeout_ms and not answered. The
 * block layer's timeout reports the tag; the nexus's worker aborts the command, resets the LUN, or
 * gives the session up, in that order.
 */
#ifndef ISTRIPE_BLOCK_EH_H
#define ISTRIPE_BLOCK_EH_H

#include <linux/types.h>

struct istripe_nexus;

/*
 * Reports a command, sent over @nexus with the tag @itt, whose timeout has expired. @give_up:
 * aborting has not helped before. Any context. Returns false when nothing new came of it: the nexus
 * is not live, or already handles this command.
 */
bool istripe_eh_report(struct istripe_nexus *nexus, u32 itt, bool give_up);

/*
 * Handles the reported commands of a live nexus. Returns when all of them have ended or the session
 * has a fault. Its worker, sleeps.
 */
void istripe_eh_recover(struct istripe_nexus *nexus);

/*
 * Forgets the reported commands that have not been sent, because they waited for a revalidation.
 * The nexus is live. Its worker.
 */
void istripe_eh_forget_unsent(struct istripe_nexus *nexus);

/* Forgets all reports: they were about another session. The nexus's worker. */
void istripe_eh_clear(struct istripe_nexus *nexus);

#endif
