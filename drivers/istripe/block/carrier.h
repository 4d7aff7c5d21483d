/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NICs without a link: a nexus whose NIC has lost its carrier, or was taken down, need not
 * wait for pings to find out.
 */
#ifndef ISTRIPE_BLOCK_CARRIER_H
#define ISTRIPE_BLOCK_CARRIER_H

struct istripe_nexus;
struct istripe_volume;

/**
 * istripe_carrier_watch() - listen to the NICs of the volume's network namespace
 * @volume: up
 *
 * Context: process, takes the RTNL.
 */
void istripe_carrier_watch(struct istripe_volume *volume);

/**
 * istripe_carrier_ignore() - listen no more
 * @volume: istripe_carrier_watch() was called for it
 *
 * Context: process, takes the RTNL. Afterwards no nexus of the volume hears of its NIC.
 */
void istripe_carrier_ignore(struct istripe_volume *volume);

/**
 * istripe_carrier_check() - give the session up when its NIC has no link
 * @nexus: live, and told ISTRIPE_NEXUS_CARRIER: when it went live, another one of its leg did, or
 *	a NIC has changed
 *
 * But only when another session of the leg has one: TCP may carry this one over a short loss,
 * which is better than nothing.
 *
 * Context: the nexus's worker.
 */
void istripe_carrier_check(struct istripe_nexus *nexus);

#endif
