// SPDX-License-Identifier: GPL-2.0
/* Routes, addresses and TCP connections, over netlink. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "host_net.h"

#define ANSWER_BYTES	8192

union answer {
	struct nlmsghdr header;
	char bytes[ANSWER_BYTES];
};

char *host_address_of(const char *text)
{
	const char *colon = strchr(text, ':'), *end = text + strlen(text);
	char *address;

	if (*text == '[')
		end = strchrnul(++text, ']');
	else if (colon && !strchr(colon + 1, ':'))
		end = colon;
	address = alloc_text(text);
	address[end - text] = '\0';
	return address;
}

unsigned short host_port_of(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

int host_address_read(const char *text, struct sockaddr_storage *address, socklen_t *bytes)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM }, *found;

	if (getaddrinfo(text, "3260", &hints, &found))
		return -EINVAL;
	memcpy(address, found->ai_addr, found->ai_addrlen);
	*bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static const void *address_bytes(const void *address)
{
	const struct sockaddr *any = address;

	if (any->sa_family == AF_INET6)
		return &((const struct sockaddr_in6 *)address)->sin6_addr;
	return &((const struct sockaddr_in *)address)->sin_addr;
}

static size_t address_size(int family)
{
	return family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
}

/* Sends @request and waits for its answer, which the kernel gives at once. */
static int netlink_ask(int protocol, struct nlmsghdr *request, union answer *answer)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct nlmsghdr *header = &answer->header;
	ssize_t bytes = -1;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (send(fd, request, request->nlmsg_len, 0) >= 0)
		bytes = recv(fd, answer, sizeof(*answer), 0);
	if (bytes < 0)
		ret = -errno;
	else if (!NLMSG_OK(header, (size_t)bytes))
		ret = -EPROTO;
	else if (header->nlmsg_type == NLMSG_ERROR)
		ret = ((struct nlmsgerr *)NLMSG_DATA(header))->error ?: -EPROTO;
	close(fd);
	return ret;
}

struct route_request {
	struct nlmsghdr header;
	struct rtmsg route;
	char attributes[128];
};

static void attribute_add(struct route_request *request, unsigned short type, const void *data,
			  size_t bytes)
{
	struct rtattr *attribute = (void *)request + NLMSG_ALIGN(request->header.nlmsg_len);

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), data, bytes);
	request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) +
				    RTA_ALIGN(attribute->rta_len);
}

static void route_take(struct nlmsghdr *answer, struct host_route *route)
{
	struct rtmsg *message = NLMSG_DATA(answer);
	struct rtattr *attribute = RTM_RTA(message);
	int bytes = RTM_PAYLOAD(answer);

	for (; RTA_OK(attribute, bytes); attribute = RTA_NEXT(attribute, bytes)) {
		if (attribute->rta_type == RTA_OIF)
			if_indextoname(*(unsigned int *)RTA_DATA(attribute), route->nic);
		if (attribute->rta_type == RTA_PREFSRC)
			inet_ntop(message->rtm_family, RTA_DATA(attribute), route->source,
				  sizeof(route->source));
	}
}

/* The MTU of the route, with what ICMP has said about the path, of a socket that sends nothing. */
static long long route_mtu(const struct sockaddr_storage *to, socklen_t bytes, const char *nic)
{
	bool v6 = to->ss_family == AF_INET6;
	int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
	socklen_t length = sizeof(mtu);

	if (fd < 0)
		return 0;
	if ((*nic && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, nic, strlen(nic))) ||
	    connect(fd, (const struct sockaddr *)to, bytes) ||
	    getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &length))
		mtu = 0;
	close(fd);
	return mtu;
}

static int route_add_from(struct route_request *request, const char *from)
{
	struct sockaddr_storage address;
	socklen_t bytes;

	if (host_address_read(from, &address, &bytes) ||
	    address.ss_family != request->route.rtm_family)
		return -EINVAL;
	attribute_add(request, RTA_SRC, address_bytes(&address), address_size(address.ss_family));
	request->route.rtm_src_len = 8 * address_size(address.ss_family);
	return 0;
}

static int route_ask(const struct sockaddr_storage *to, unsigned int index, const char *from,
		     unsigned int flags, union answer *answer)
{
	struct route_request request = {
		.header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			    .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = to->ss_family, .rtm_flags = flags,
			   .rtm_dst_len = 8 * address_size(to->ss_family) },
	};
	int ret = 0;

	attribute_add(&request, RTA_DST, address_bytes(to), address_size(to->ss_family));
	if (index)
		attribute_add(&request, RTA_OIF, &index, sizeof(index));
	if (*from)
		ret = route_add_from(&request, from);
	return ret ?: netlink_ask(NETLINK_ROUTE, &request.header, answer);
}

/* A socket has a source address before its second look-up, which rules may go by. */
static void route_match(const struct sockaddr_storage *to, unsigned int index, const char *from,
			struct host_route *route)
{
	struct host_route entry = { 0 };
	union answer answer;
	int ret = route_ask(to, index, from, RTM_F_FIB_MATCH, &answer);

	route->assumed = to->ss_family == AF_INET && index &&
			 (ret == -EHOSTUNREACH || ret == -ENETUNREACH);
	if (!ret)
		route_take(&answer.header, &entry);
	route->names_source = *entry.source;
}

int host_route(const char *to, const char *nic, const char *from, struct host_route *route)
{
	unsigned int index = *nic ? if_nametoindex(nic) : 0;
	struct sockaddr_storage address;
	union answer answer;
	socklen_t bytes;
	int ret = host_address_read(to, &address, &bytes);

	memset(route, 0, sizeof(*route));
	if (ret)
		return ret;
	if (*nic && !index)
		return -ENODEV;
	if (address.ss_family == AF_INET6 && !index)
		index = ((struct sockaddr_in6 *)&address)->sin6_scope_id;
	ret = route_ask(&address, index, from, 0, &answer);
	if (ret)
		return ret;
	route_take(&answer.header, route);
	route->mtu = route_mtu(&address, bytes, nic);
	/* IPv6's connect() looks for it without a source, so that no rule by source applies. */
	route_match(&address, index,
		    *from || address.ss_family == AF_INET6 ? from : route->source, route);
	return 0;
}

static unsigned int prefix_of(const struct sockaddr *mask)
{
	const unsigned char *bytes = address_bytes(mask);
	unsigned int bits = 0, i;

	for (i = 0; i < address_size(mask->sa_family); i++)
		bits += __builtin_popcount(bytes[i]);
	return bits;
}

static void address_take(const struct ifaddrs *from, struct host_address *to)
{
	int family = from->ifa_addr->sa_family;

	memset(to, 0, sizeof(*to));
	snprintf(to->nic, sizeof(to->nic), "%s", from->ifa_name);
	to->family = family;
	memcpy(to->bytes, address_bytes(from->ifa_addr),
	       address_size(family));
	to->prefix = from->ifa_netmask ? prefix_of(from->ifa_netmask) : 8 * address_size(family);
}

/* Of an address in hexadecimal digits, as in /proc/net/if_inet6. */
static void state_take(const char *digits, const char *nic, unsigned int flags,
		       struct host_address *addresses, int count)
{
	int i, j;

	for (i = 0; i < count; i++) {
		struct host_address *to = &addresses[i];
		char text[2 * sizeof(to->bytes) + 1];

		for (j = 0; j < (int)sizeof(to->bytes); j++)
			snprintf(text + 2 * j, 3, "%02x", to->bytes[j]);
		if (to->family != AF_INET6 || strcmp(to->nic, nic) || strcmp(text, digits))
			continue;
		/* One that has failed is tentative as well. */
		if (flags & IFA_F_DADFAILED)
			to->state = HOST_ADDRESS_DUPLICATE;
		else if ((flags & (IFA_F_TENTATIVE | IFA_F_OPTIMISTIC)) == IFA_F_TENTATIVE)
			to->state = HOST_ADDRESS_TENTATIVE;
	}
}

static void states_read(struct host_address *addresses, int count)
{
	FILE *file = fopen("/proc/net/if_inet6", "re");
	char digits[33], nic[IF_NAMESIZE];
	unsigned int flags;

	while (file && fscanf(file, "%32s %*s %*s %*s %x %15s", digits, &flags, nic) == 3)
		state_take(digits, nic, flags, addresses, count);
	if (file)
		fclose(file);
}

int host_addresses(struct host_address **addresses)
{
	struct ifaddrs *all, *item;
	int count = 0;

	*addresses = NULL;
	if (getifaddrs(&all))
		return -errno;
	for (item = all; item; item = item->ifa_next) {
		if (!item->ifa_addr || (item->ifa_addr->sa_family != AF_INET &&
					item->ifa_addr->sa_family != AF_INET6))
			continue;
		address_take(item, alloc_append(*addresses, count));
	}
	freeifaddrs(all);
	states_read(*addresses, count);
	return count;
}

static bool bits_equal(const unsigned char *a, const unsigned char *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	return !memcmp(a, b, bytes) && (!rest || !((a[bytes] ^ b[bytes]) >> (8 - rest)));
}

bool host_address_is_beside(const struct host_address *own, const char *portal)
{
	char *text = host_address_of(portal);
	struct sockaddr_storage to;
	socklen_t bytes;
	bool beside = !host_address_read(text, &to, &bytes) && own->family == to.ss_family &&
		      bits_equal(own->bytes, address_bytes(&to), own->prefix);

	free(text);
	return beside;
}

struct diag_request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

void host_tcp_take(const void *data, size_t bytes, struct host_tcp *tcp)
{
	struct tcp_info info = { 0 };

	memcpy(&info, data, bytes < sizeof(info) ? bytes : sizeof(info));
	/* ~0: no segment has been measured. */
	tcp->rtt_us = info.tcpi_min_rtt == ~0U ? 0 : info.tcpi_min_rtt;
	tcp->path_mtu = info.tcpi_pmtu;
	tcp->segment_bytes = info.tcpi_snd_mss;
	/* Counts of segments have 32 bits: those of a busy connection begin anew within days. */
	tcp->sent_bytes = info.tcpi_bytes_sent;
	tcp->sent_again_bytes = info.tcpi_bytes_retrans;
	tcp->sent_again = info.tcpi_total_retrans;
	tcp->received_segment_bytes = info.tcpi_rcv_mss;
	tcp->received_bytes = info.tcpi_bytes_received;
	tcp->out_of_order_bytes = (unsigned long long)info.tcpi_rcv_ooopack * info.tcpi_rcv_mss;
}

static void tcp_take(struct nlmsghdr *answer, struct host_tcp *tcp)
{
	struct inet_diag_msg *message = NLMSG_DATA(answer);
	struct rtattr *attribute = (struct rtattr *)(message + 1);
	int bytes = answer->nlmsg_len - NLMSG_LENGTH(sizeof(*message));

	for (; RTA_OK(attribute, bytes); attribute = RTA_NEXT(attribute, bytes)) {
		if (attribute->rta_type == INET_DIAG_INFO)
			host_tcp_take(RTA_DATA(attribute), RTA_PAYLOAD(attribute), tcp);
		if (attribute->rta_type == INET_DIAG_CONG)
			snprintf(tcp->congestion, sizeof(tcp->congestion), "%s",
				 (const char *)RTA_DATA(attribute));
	}
}

static int end_read(const char *text, struct sockaddr_storage *address)
{
	char *alone = host_address_of(text);
	socklen_t bytes;
	int ret = host_address_read(alone, address, &bytes);

	free(alone);
	return ret;
}

int host_tcp(const char *local, const char *remote, const char *nic, struct host_tcp *tcp)
{
	struct diag_request request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_protocol = IPPROTO_TCP,
			  .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) },
	};
	union answer answer;
	struct inet_diag_sockid *id = &request.body.id;
	struct sockaddr_storage from, to;
	int ret;

	memset(tcp, 0, sizeof(*tcp));
	if (end_read(local, &from) || end_read(remote, &to) || from.ss_family != to.ss_family)
		return -EINVAL;
	request.body.sdiag_family = from.ss_family;
	memcpy(id->idiag_src, address_bytes(&from), address_size(from.ss_family));
	memcpy(id->idiag_dst, address_bytes(&to), address_size(to.ss_family));
	id->idiag_sport = htons(host_port_of(local));
	id->idiag_dport = htons(host_port_of(remote));
	id->idiag_if = *nic ? if_nametoindex(nic) : 0;
	id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	ret = netlink_ask(NETLINK_SOCK_DIAG, &request.header, &answer);
	if (!ret)
		tcp_take(&answer.header, tcp);
	return ret;
}
