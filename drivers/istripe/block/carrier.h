/* SPDX-License-Identifier: GPL-2.0 */
/* A nexus whose NIC has no carrier, or is down, does not wait for its ping to time out. */
#ifndef ISTRIPE_BLOCK_CARRIER_H
#define ISTRIPE_BLOCK_CARRIER_H

struct istripe_nexus;
struct istripe_volume;

/* Process context, takes the RTNL. */
void istripe_carrier_watch(struct istripe_volume *volume);

/* No nexus gets ISTRIPE_NEXUS_CARRIER from a NIC afterwards. Process context, takes the RTNL. */
void istripe_carrier_ignore(struct istripe_volume *volume);

/*
 * Gives the session of a live nexus up when its NIC has no link, but only while another session of
 * the leg has one: TCP may survive a short loss of carrier, and one such session is better than
 * none. The nexus's worker calls it after ISTRIPE_NEXUS_CARRIER: when the nexus or another one of
 * its leg went live, or a NIC has changed.
 */
void istripe_carrier_check(struct istripe_nexus *nexus);

#endif
