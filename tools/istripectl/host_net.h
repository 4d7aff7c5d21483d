/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel knows about routes, addresses and TCP connections, asked over netlink. */
#ifndef ISTRIPECTL_HOST_NET_H
#define ISTRIPECTL_HOST_NET_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define HOST_CONGESTION_BYTES	16

struct host_route {
	char nic[IF_NAMESIZE];
	char source[INET6_ADDRSTRLEN];	/* empty when the route has none */
	long long mtu;			/* 0: not known */
	/* No route leads there by the interface: IPv4 takes the address for one of its link. */
	bool assumed;
	bool names_source;	/* the source is the route's own; IPv6 chooses one otherwise */
};

/**
 * host_route() - how packets to an address leave this host; sends nothing
 * @to: an IP address, with %INTERFACE where it is link-local
 * @nic: the interface that the socket is bound to, or empty
 * @from: the source address, or empty
 * @route: set on success
 *
 * Return: 0; -errno: -EINVAL no address, -ENODEV no such interface, -ENETUNREACH no route.
 */
int host_route(const char *to, const char *nic, const char *from, struct host_route *route);

enum host_address_state {
	HOST_ADDRESS_USABLE,
	HOST_ADDRESS_TENTATIVE,		/* the kernel asks whether another host has it */
	HOST_ADDRESS_DUPLICATE,		/* another host has it */
};

struct host_address {
	char nic[IF_NAMESIZE];
	int family;
	unsigned char bytes[16];
	unsigned int prefix;		/* bits */
	enum host_address_state state;	/* of IPv6 */
};

/**
 * host_addresses() - the IP addresses of this host
 * @addresses: set, for free()
 *
 * Return: how many there are; -errno.
 */
int host_addresses(struct host_address **addresses);

/**
 * host_address_is_beside() - whether a portal is in the subnet of an address of this host
 * @own: one of host_addresses()
 * @portal: an IP address and a port
 *
 * Return: whether it is.
 */
bool host_address_is_beside(const struct host_address *own, const char *portal);

struct host_tcp {
	unsigned int rtt_us;		/* the smallest that was seen, 0: not known */
	unsigned int path_mtu;
	unsigned int segment_bytes;	/* of data, without headers */
	unsigned long long sent_bytes;	/* of data, with those of sent_again_bytes */
	unsigned long long sent_again_bytes;
	unsigned int sent_again;	/* segments; it begins anew at 32 bits */
	unsigned int received_segment_bytes;
	unsigned long long received_bytes;
	unsigned long long out_of_order_bytes;	/* of them, about */
	char congestion[HOST_CONGESTION_BYTES];
};

/**
 * host_tcp() - what TCP has measured on a connection
 * @local: address and port, as sysfs shows them
 * @remote: the same of the other side
 * @nic: the interface that it uses; the kernel finds a socket that is bound to one only so
 * @tcp: set on success
 *
 * Return: 0; -errno: -ENOENT there is no such connection in this network namespace.
 */
int host_tcp(const char *local, const char *remote, const char *nic, struct host_tcp *tcp);

/**
 * host_tcp_take() - what the kernel has measured, in the words of this program
 * @data: a struct tcp_info
 * @bytes: as much of it as the kernel has
 * @tcp: set, but for the congestion control
 */
void host_tcp_take(const void *data, size_t bytes, struct host_tcp *tcp);

/**
 * host_address_read() - an IP address from a text; no name is looked up
 * @text: an address, with %INTERFACE where it is link-local
 * @address: set on success
 * @bytes: its length, set on success
 *
 * Return: 0; -EINVAL.
 */
int host_address_read(const char *text, struct sockaddr_storage *address, socklen_t *bytes);

/**
 * host_address_of() - the address in a text of address and port
 * @text: as 192.0.2.1:3260, [fd00::1]:3260, or either without a port
 *
 * Return: the address alone, for free().
 */
char *host_address_of(const char *text);

/**
 * host_port_of() - the port in a text of address and port
 * @text: as 192.0.2.1:3260 or [fd00::1]:3260
 *
 * Return: the port.
 */
unsigned short host_port_of(const char *text);

#endif
