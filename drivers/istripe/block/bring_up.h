/* SPDX-License-Identifier: GPL-2.0 */
/* The bring-up of a leg: the first login of each of its nexuses, and what came of them. */
#ifndef ISTRIPE_BLOCK_BRING_UP_H
#define ISTRIPE_BLOCK_BRING_UP_H

struct istripe_leg;
struct istripe_nexus;
struct istripe_reason;

/* Begins to bring the nexuses up; istripe_leg_wait() waits for the first results. */
void istripe_leg_start(struct istripe_leg *leg);

/*
 * One live nexus whose port takes I/O is enough; it is waited for. Those that failed go on trying,
 * unless they found another LUN, or writes were saved as unfenced and cannot be ended: that is an
 * error. Sleeps, killable. Returns 0, the error of a nexus, -ENODEV no port takes I/O, or -EINTR.
 */
int istripe_leg_wait(struct istripe_leg *leg, struct istripe_reason *why);

/* Returns 0, or -ENOTCONN when no nexus is live. Process context. */
int istripe_leg_check(struct istripe_leg *leg, struct istripe_reason *why);

/* Copies why the first attempt failed, and returns that error. nexus->first_error is set. */
int istripe_leg_nexus_error(struct istripe_nexus *nexus, struct istripe_reason *why);

#endif
