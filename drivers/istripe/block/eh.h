/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error handling of a nexus: commands that are older than command_timeout_ms and not answered, or
 * that the target rejects. The block layer's timeout, or the session, reports the tag; the nexus's
 * worker aborts the command, resets the LUN, or gives the session up, in that order.
 */
#ifndef ISTRIPE_BLOCK_EH_H
#define ISTRIPE_BLOCK_EH_H

#include <linux/types.h>

struct istripe_eh_tag;
struct istripe_nexus;
struct istripe_session;

/*
 * Reports a command, sent over @nexus with the tag @tag->itt, whose timeout has expired. @give_up:
 * aborting has not helped before. Any context. Returns false when nothing new came of it: the nexus
 * is not live, or already handles this command, or too many others: it is to be reported again.
 */
bool istripe_eh_report(struct istripe_nexus *nexus, const struct istripe_eh_tag *tag,
		       bool give_up);

/*
 * As @rejected of istripe_session_ops. The worker aborts the command; if that fails the session is
 * given up, but the LUN, which others use, is not reset.
 */
bool istripe_eh_reject(struct istripe_session *session, u32 itt);

/* Returns when all reported commands have ended or the session has a fault. The worker, sleeps. */
void istripe_eh_recover(struct istripe_nexus *nexus);

/* Forgets reported commands that were not sent yet, because of a revalidation. The worker. */
void istripe_eh_forget_unsent(struct istripe_nexus *nexus);

/* Forgets all reports: they were about another session. The nexus's worker. */
void istripe_eh_clear(struct istripe_nexus *nexus);

#endif
