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

/*
 * Does the kernel find a source address that may be used over @dev? @sk is bound to it, and to no
 * address. Over a NIC without an address, or with one of IPv6 that is still being checked, the
 * kernel looks for the portal with the address of another NIC, and the target sends there what is
 * for that one (P115). Addresses of the loopback, of a dummy and of a VRF are for all of its NICs;
 * so is the one that a route names, and with IPv4 that of any route of the NIC. May sleep.
 */
bool istripe_nic_has_source(const struct net_device *dev, struct sock *sk,
			    const struct sockaddr_storage *portal);

/*
 * Sets @source to the valid IPv6 address of @dev that is next to the portal's, though it is not
 * preferred; false: there is none. The kernel prefers any address of another NIC to it (RFC 6724 5,
 * rules 3 and 5).
 */
bool istripe_nic_deprecated_source(const struct net_device *dev,
				   const struct sockaddr_storage *portal,
				   struct sockaddr_storage *source);

/*
 * The route that TCP would take if it had none, from the address and over the NIC of @sk: a
 * reference, or ERR_PTR().
 */
struct dst_entry *istripe_nic_route(struct sock *sk);

/*
 * Does a bridge, bond or team take what @dev receives? A socket that is bound to the port hears
 * nothing then, unless rules of the bridge leave packets to it. A VRF, and a master with a protocol
 * of its own, leave them to their ports. Within rcu_read_lock().
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
