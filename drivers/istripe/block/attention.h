/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unit attentions and deferred errors. The LUN reports each of them once for each nexus, in answer
 * to whichever command comes next (SAM-5 5.14), I/O or a question of the driver's own. They are
 * news for more than that command.
 */
#ifndef ISTRIPE_BLOCK_ATTENTION_H
#define ISTRIPE_BLOCK_ATTENTION_H

#include <linux/types.h>

struct istripe_nexus;
struct istripe_session;
struct istripe_task;
struct scsi_sense_hdr;

/* CHECK CONDITION to any command over the nexus. Any context. */
void istripe_attention_note(struct istripe_nexus *nexus, const struct istripe_task *task);

/*
 * Sense data of a command of the driver's own, see struct istripe_session_ops. When the LUN has
 * changed, I/O over the nexus waits for a revalidation, unless everything is being asked already.
 * @session is that of the nexus. Thread; ask_lock, or the worker before the session is published.
 */
void istripe_attention_own_sense(struct istripe_nexus *nexus, struct istripe_session *session,
				 bool known);

/* The LUN of a live nexus reports a change, @what: revalidates it. Any context. */
void istripe_attention_ask(struct istripe_nexus *nexus, const char *what);

/*
 * An asynchronous message, see struct istripe_session_ops: its news is noted, and the LUN is asked.
 * I/O waits for that after a change, unless the port takes none or such messages do not end.
 * Receive side.
 */
void istripe_attention_async_sense(struct istripe_nexus *nexus, struct istripe_session *session,
				   const struct scsi_sense_hdr *sense);

#endif
