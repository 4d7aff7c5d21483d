/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trials: a path may log in, answer pings and INQUIRY, and yet carry no I/O, for a switch drops
 * large packets, or the target's port does not reach the storage. While another path serves the
 * leg, it must not get its share again after each login. Documentation/design.rst, Trials.
 */
#ifndef ISTRIPE_BLOCK_TRIAL_H
#define ISTRIPE_BLOCK_TRIAL_H

#include <linux/types.h>

struct istripe_nexus;
struct istripe_reason;

/*
 * Does nexus->owned, which has logged in, carry I/O, if another path could take it? The nexus's
 * worker; sleeps for command_timeout_ms at most. 0, or the session must be closed.
 */
int istripe_trial(struct istripe_nexus *nexus, struct istripe_reason *why);

/*
 * A command that was sent at @since has timed out. True: since the first that did was sent, no
 * command over this path was answered, and another path has answered some that were sent since
 * then. The nexus's worker.
 */
bool istripe_trial_carries_nothing(struct istripe_nexus *nexus, unsigned long since);

/*
 * A command of a request that began at @started was sent at @since, and is served over @nexus,
 * after it has timed out over the paths of the bits @late_over. If @nexus gets no I/O it takes
 * over: the sessions end of those paths that get some, and have answered nothing, or when it is not
 * the first such command. Any context.
 */
void istripe_trial_served(const struct istripe_nexus *nexus, u16 late_over, unsigned long started,
			  unsigned long since);

#endif
