/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Overdue commands of a nexus: older than command_timeout_ms and not answered. Whoever
 * notices reports the tag; the nexus's worker aborts the command, resets the LUN, or
 * gives the session up, in that order.
 */
#ifndef ISTRIPE_BLOCK_EH_H
#define ISTRIPE_BLOCK_EH_H

#include <linux/types.h>

struct istripe_nexus;

/**
 * istripe_eh_report() - report a command that is older than its timeout
 * @nexus: the nexus it was sent over
 * @itt: its tag
 * @give_up: aborting has not helped before
 *
 * Context: any.
 * Return: true; false when nothing new came of it: the nexus is not live, or is already
 * looking after this command.
 */
bool istripe_eh_report(struct istripe_nexus *nexus, u32 itt, bool give_up);

/**
 * istripe_eh_recover() - deal with what was reported
 * @nexus: live
 *
 * Returns when every reported command has ended, or with a fault of the session.
 *
 * Context: the nexus's worker, sleeps.
 */
void istripe_eh_recover(struct istripe_nexus *nexus);

/**
 * istripe_eh_forget_unsent() - forget the commands that had to wait for us
 * @nexus: live
 *
 * What has been sent stays reported.
 *
 * Context: the nexus's worker.
 */
void istripe_eh_forget_unsent(struct istripe_nexus *nexus);

/**
 * istripe_eh_clear() - forget what was reported: it was another session's
 * @nexus: the nexus
 *
 * Context: the nexus's worker.
 */
void istripe_eh_clear(struct istripe_nexus *nexus);

#endif
