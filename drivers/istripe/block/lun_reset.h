/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LOGICAL UNIT RESET (SAM-5 7.6, RFC 7143 11.5): when the target answers "function complete",
 * no command that it had for the LUN before, from whichever nexus, is carried out any more.
 *
 * It also ends what our other nexuses have in flight. A target with TAS=0 does not say so: these
 * tasks are collected here and sent again, see istripe_session_reset_begin(). Commands of other
 * hosts are aborted, too, so nothing asks for a reset without need.
 */
#ifndef ISTRIPE_BLOCK_LUN_RESET_H
#define ISTRIPE_BLOCK_LUN_RESET_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_nexus;

/* What has become of the last one. */
enum istripe_lun_reset_result {
	ISTRIPE_LUN_RESET_UNTRIED,
	ISTRIPE_LUN_RESET_UNNEEDED,	/* the login was enough, see fence.c */
	ISTRIPE_LUN_RESET_COMPLETE,
	ISTRIPE_LUN_RESET_UNANSWERED,
	ISTRIPE_LUN_RESET_REJECTED,	/* this time */
	ISTRIPE_LUN_RESET_UNSUPPORTED,	/* says the target, or refuses again and again */
	ISTRIPE_LUN_RESET_RESULTS
};

/**
 * istripe_lun_reset_result_name() - a result as sysfs shows it
 * @result: the result
 *
 * Context: any.
 * Return: a word.
 */
const char *istripe_lun_reset_result_name(enum istripe_lun_reset_result result);

/**
 * istripe_lun_reset_live() - a nexus is live: refusals without a verdict are forgotten
 * @nexus: a nexus
 *
 * Those of another loss, perhaps days later, are no row with them.
 *
 * Context: the nexus's worker.
 */
void istripe_lun_reset_live(struct istripe_nexus *nexus);

/**
 * istripe_lun_reset_init() - before the first reset
 * @leg: new
 *
 * Context: any.
 */
void istripe_lun_reset_init(struct istripe_leg *leg);

/**
 * istripe_lun_reset_init_nexus() - before the first reset that the nexus may have to wait for
 * @nexus: new
 *
 * Context: any.
 */
void istripe_lun_reset_init_nexus(struct istripe_nexus *nexus);

/**
 * istripe_lun_reset() - reset the LUN over nexus->owned
 * @nexus: its session is logged in and knows the LUN's address; published or not
 *
 * The tasks of that session end with -ECANCELED, those of the leg's other nexuses with -EAGAIN.
 * New commands of the other nexuses wait for at most a second. When the target needs longer they
 * go on; those that the reset then ends without an answer are left for their time-out.
 *
 * A refusal may pass, and is to be asked again; a target that has refused three times in a row,
 * for five seconds at least, counts as one that does not know the function.
 *
 * Context: the nexus's worker, sleeps for up to 12 s, and as long for each other nexus of the leg
 * that does the same.
 * Return: 0; -ETIMEDOUT no answer; -EOPNOTSUPP or -EIO as the target answered; -ENOTCONN the
 * session has had a fault.
 */
int istripe_lun_reset(struct istripe_nexus *nexus);

#endif
