/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access states of target ports (ALUA, scsi/alua.h). Each nexus asks for that of its port whenever
 * it asks the LUN, after a login or for a revalidation. The leg sends tasks over the best ports
 * (leg.c: leg_choose()); a nexus whose port takes no I/O stays logged in.
 *
 * A unit attention, a refused command, and the loss of the last nexus whose port takes I/O make all
 * nexuses of the leg revalidate. So does the time, for targets that do not tell.
 */
#ifndef ISTRIPE_BLOCK_ALUA_H
#define ISTRIPE_BLOCK_ALUA_H

#include <linux/types.h>
#include <scsi/scsi_common.h>

struct istripe_leg;
struct istripe_nexus;

/* nexus->found has been asked and compared: its access state counts. The nexus's worker. */
void istripe_alua_found(struct istripe_nexus *nexus);

/*
 * It is live again. The LUN may have been with the other controller meanwhile: other groups are
 * asked. Its worker.
 */
void istripe_alua_back(struct istripe_nexus *nexus);

/*
 * A command over the nexus ended with @sense. True: its port takes no I/O, and the command was not
 * carried out: send it again, the leg knows. Any context.
 */
bool istripe_alua_note_refusal(struct istripe_nexus *nexus, const struct scsi_sense_hdr *sense);

/* Access states of the LUN's ports have changed: all nexuses ask for theirs. Any context. */
void istripe_alua_ask_all(struct istripe_leg *leg);

/* The nexus is lost: when no other port takes I/O by now, theirs are asked. Its worker. */
void istripe_alua_lost(struct istripe_nexus *nexus);

/* How long after its last revalidation the next one follows; 0: never by itself. Its worker. */
u32 istripe_alua_poll_ms(const struct istripe_nexus *nexus);

#endif
