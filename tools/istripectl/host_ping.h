/* SPDX-License-Identifier: GPL-2.0 */
/* ICMP echo of a certain size. */
#ifndef ISTRIPECTL_HOST_PING_H
#define ISTRIPECTL_HOST_PING_H

#include <stddef.h>

#define HOST_PING_BYTES_MIN	64

/**
 * host_ping() - whether an address answers a packet that nobody may fragment
 * @to: an IP address, as for host_route()
 * @nic: the interface that it is sent by, or empty
 * @from: the source address, or empty
 * @bytes: of the IP packet, HOST_PING_BYTES_MIN or more; it is sent even when the path is known
 *	to take less
 *
 * Return: 1 it has answered; 0 it has not, within 300 ms; -errno: -EPERM not allowed to ask,
 * -EMSGSIZE the interface sends no such packet.
 */
int host_ping(const char *to, const char *nic, const char *from, size_t bytes);

#endif
