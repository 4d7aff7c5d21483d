/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a nexus asks its LUN what it is (lun.h), and what follows: at its login, and as a
 * revalidation while it is live, during which commands wait if the LUN has reported a change.
 * All of this is for the nexus's worker, over nexus->owned.
 */
#ifndef ISTRIPE_BLOCK_ASK_LUN_H
#define ISTRIPE_BLOCK_ASK_LUN_H

struct istripe_lun_time;
struct istripe_nexus;
struct istripe_reason;

/* Of a login: a LUN that is slow may take four times the timeout for all its answers. */
struct istripe_lun_time istripe_nexus_login_time(const struct istripe_nexus *nexus);

/*
 * istripe_lun_probe(); the answers are in nexus->found. From here on a command that is ended by a
 * reset of the LUN over another nexus gets -EAGAIN.
 */
int istripe_nexus_probe(struct istripe_nexus *nexus, const struct istripe_lun_time *time,
			struct istripe_reason *why);

/* The same, and if the LUN is reserved, again when the nexus has registered its key. */
int istripe_nexus_ask_lun(struct istripe_nexus *nexus, const struct istripe_lun_time *time,
			  struct istripe_reason *why);

/*
 * Revalidates the LUN of a live nexus if an event has asked for that and it is not too early. The
 * session is faulted if the LUN is another one, or cannot be asked.
 */
void istripe_nexus_revalidate_if_asked(struct istripe_nexus *nexus);

#endif
