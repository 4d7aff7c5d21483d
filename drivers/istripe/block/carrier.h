/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A nexus whose NIC has no carrier, or is down, does not wait for its ping to time out. One whose
 * login is refused tries again when its NIC has a carrier again.
 */
#ifndef ISTRIPE_BLOCK_CARRIER_H
#define ISTRIPE_BLOCK_CARRIER_H

struct istripe_nexus;
struct istripe_volume;

/* Process context, takes the RTNL. */
void istripe_carrier_watch(struct istripe_volume *volume);

/* No nexus gets ISTRIPE_NEXUS_CARRIER from a NIC afterwards. Process context, takes the RTNL. */
void istripe_carrier_ignore(struct istripe_volume *volume);

/*
 * Gives a live nexus's session up when its NIC has no link and another session of the leg has one:
 * TCP may survive a short loss of carrier, which is better than no session. The nexus's worker,
 * after ISTRIPE_NEXUS_CARRIER.
 */
void istripe_carrier_check(struct istripe_nexus *nexus);

#endif
