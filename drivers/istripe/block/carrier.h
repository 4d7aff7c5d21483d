/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NICs without a link: a path whose NIC has lost its carrier, or was taken down, need not
 * wait for pings to find out.
 */
#ifndef ISTRIPE_BLOCK_CARRIER_H
#define ISTRIPE_BLOCK_CARRIER_H

struct istripe_leg;
struct istripe_path;
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
 * Context: process, takes the RTNL. Afterwards no path of the volume hears of its NIC.
 */
void istripe_carrier_ignore(struct istripe_volume *volume);

/**
 * istripe_carrier_look() - have the workers of all paths look whether they have a link
 * @leg: its paths
 *
 * Context: any. One that was kept without a link, for want of another, may go when one has come.
 */
void istripe_carrier_look(struct istripe_leg *leg);

/**
 * istripe_carrier_check() - give the session up when its NIC has no link
 * @path: live
 *
 * But only when another session of the leg has one: TCP may carry this one over a short loss,
 * which is better than nothing.
 *
 * Context: the path's worker.
 */
void istripe_carrier_check(struct istripe_path *path);

#endif
