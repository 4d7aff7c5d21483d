/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LOGICAL UNIT RESET (SAM-5 7.6, RFC 7143 11.5): after the answer "function complete" no command
 * that the target had for the LUN before, from any nexus, is carried out any more.
 *
 * It also ends commands of our other nexuses. A target with TAS=0 does not report them: they are
 * collected here and sent again, see istripe_session_reset_begin(). Commands of other hosts are
 * aborted, too, so there is no reset without need.
 */
#ifndef ISTRIPE_BLOCK_LUN_RESET_H
#define ISTRIPE_BLOCK_LUN_RESET_H

#include "block/lun.h"

struct istripe_leg;
struct istripe_nexus;

/* A result as sysfs shows it. */
extern const char *const istripe_lun_reset_results[ISTRIPE_LUN_RESET_RESULTS];

/* A nexus is live: refusals start again, unless they count as "not supported". Its worker. */
void istripe_lun_reset_live(struct istripe_nexus *nexus);

/* Sets nexus->resettable. Waits while a reset quiesces other nexuses, four seconds at most. */
void istripe_lun_reset_expect(struct istripe_nexus *nexus);

/**
 * istripe_lun_reset_hurry() - end the wait for a drain when it has had fence_timeout_ms, and 10 s
 * @leg: that runs; its fence_timeout_ms has been set
 *
 * Context: any.
 */
void istripe_lun_reset_hurry(struct istripe_leg *leg);

void istripe_lun_reset_init(struct istripe_leg *leg);

void istripe_lun_reset_init_nexus(struct istripe_nexus *nexus);

/*
 * Reset the LUN over nexus->owned, which has logged in and knows the LUN's address: to end what a
 * lost session has left, or because commands of a session that is live stay unanswered. The answer
 * has 10 s; that to a drain for which writes wait has twice as long as the last one that did not
 * come, if none has come since, 80 s at most, unless a path waits that has had more answers.
 *
 * The tasks of that session end with -ECANCELED, those of the leg's other nexuses with -EAGAIN.
 * New commands of the other nexuses wait for at most three seconds: a ping, the answer, and the
 * collection of what was ended, a second each (for seven where threads are short). If the target
 * needs longer they are sent; if the reset ends one of these without an answer, that is left to its
 * time-out.
 *
 * A refusal may be transient: the caller asks again. A target that has refused three times in a
 * row, over at least five seconds, counts as one that does not know the function.
 *
 * The nexus's worker; sleeps for 6 s longer, and as long for each other nexus of the leg that does
 * the same. Returns 0; -ETIMEDOUT no answer; -EOPNOTSUPP or -EIO as the target answered; -ENOTCONN
 * the session has had a fault, or STOP is set. The second one looks again when its turn comes:
 * -ETIMEDOUT, too, if a reset over another session of the path had no answer meanwhile, and
 * -EHOSTDOWN if it is the path alone (trial.h).
 */
int istripe_lun_reset_drain(struct istripe_nexus *nexus);
int istripe_lun_reset_recover(struct istripe_nexus *nexus);

#endif
