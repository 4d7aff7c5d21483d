/* SPDX-License-Identifier: GPL-2.0 */
/* NICs of connections: those that have an address for them, and those that carry them. */
#ifndef ISTRIPE_NIC_H
#define ISTRIPE_NIC_H

#include <linux/types.h>

struct dst_entry;
struct net;
struct net_device;
struct sock;
struct sockaddr_storage;

/**
 * istripe_nic_has_source() - whether the kernel finds a source address that may be used over a NIC
 * @dev: the NIC
 * @sk: a socket that is bound to it, and to no address
 * @portal: where it is to connect to
 *
 * Over a NIC without an address, or with one of IPv6 that is still being checked, the kernel looks
 * for the portal with the address of another NIC, and the target sends there what is for that one
 * (P115). Addresses of the loopback, of a dummy and of a VRF are for all of its NICs; so is the one
 * that a route names, and with IPv4 that of any route of the NIC.
 *
 * Context: process, may sleep.
 * Return: false, if it would take the address of another NIC.
 */
bool istripe_nic_has_source(const struct net_device *dev, struct sock *sk,
			    const struct sockaddr_storage *portal);

/**
 * istripe_nic_deprecated_source() - finds an IPv6 address of a NIC that is valid, but not preferred
 * @dev: the NIC; istripe_nic_has_source() is false
 * @portal: where to connect to
 * @source: set to the one that is next to the portal's
 *
 * The kernel prefers any address of another NIC to it (RFC 6724 5, rules 3 and 5).
 *
 * Context: any.
 * Return: true, if there is one.
 */
bool istripe_nic_deprecated_source(const struct net_device *dev,
				   const struct sockaddr_storage *portal,
				   struct sockaddr_storage *source);

/**
 * istripe_nic_route() - the route that TCP would take if it had none
 * @sk: a socket that is connected; from its address, and over its NIC if it is bound to one
 *
 * Context: any.
 * Return: the route, for dst_release(), or an error pointer.
 */
struct dst_entry *istripe_nic_route(struct sock *sk);

/**
 * istripe_nic_is_port() - whether a bridge, bond or team takes what a NIC receives
 * @dev: the NIC
 *
 * A socket that is bound to the port hears nothing then, unless rules of the bridge leave packets
 * to it. A VRF, and a master with a protocol of its own, leave them to their ports.
 *
 * Context: within rcu_read_lock().
 * Return: true or false.
 */
bool istripe_nic_is_port(const struct net_device *dev);

/**
 * istripe_nic_named_is_port() - the same of a NIC that is looked up
 * @net: its network namespace
 * @name: any name of it; there may be none
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_nic_named_is_port(struct net *net, const char *name);

#endif
