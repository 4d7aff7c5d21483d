// SPDX-License-Identifier: GPL-2.0
/* ICMP echo of a certain size. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "host_net.h"
#include "host_ping.h"
#include "watch.h"

#define WAIT_MS		300
#define IP_BYTES	20
#define IP6_BYTES	40

struct echo {
	unsigned char type, code;
	unsigned short checksum;	/* with ICMPv6 the kernel's */
	unsigned short id, sequence;
};

static unsigned short sequence;

static unsigned short checksum(const void *data, size_t bytes)
{
	const unsigned char *octets = data;
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		sum += i & 1 ? octets[i] : octets[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

static int socket_open(const struct sockaddr_storage *to, socklen_t bytes, const char *nic,
		       const char *from)
{
	bool v6 = to->ss_family == AF_INET6;
	int probe = v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE, on = 1;
	int fd = socket(to->ss_family, SOCK_RAW | SOCK_CLOEXEC, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	struct sockaddr_storage source;
	socklen_t length = 0;

	if (fd < 0)
		return -errno;
	if (*from && host_address_read(from, &source, &length))
		length = 0;
	if ((*nic && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, nic, strlen(nic))) ||
	    setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU_DISCOVER :
		       IP_MTU_DISCOVER, &probe, sizeof(probe)) ||
	    (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof(on))) ||
	    (length && bind(fd, (const struct sockaddr *)&source, length)) ||
	    connect(fd, (const struct sockaddr *)to, bytes)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

/* Whether a packet that came is the answer; one of IPv4 has its IP header in front. */
static bool is_answer(const char *packet, ssize_t bytes, bool v6, const struct echo *asked)
{
	size_t head = v6 ? 0 : (packet[0] & 0xf) * 4;
	struct echo answer;

	if (bytes < (ssize_t)(head + sizeof(answer)))
		return false;
	memcpy(&answer, packet + head, sizeof(answer));
	return answer.type == (v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) &&
	       answer.id == asked->id && answer.sequence == asked->sequence;
}

static int answer_wait(int fd, bool v6, const struct echo *asked)
{
	long long end_ms = watch_now_ms() + WAIT_MS, left_ms;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char packet[IP_MAXPACKET];

	do {
		ssize_t bytes;

		/* When the time is over, too: on a busy host the answer may have come meanwhile. */
		left_ms = end_ms - watch_now_ms();
		if (poll(&poll_fd, 1, left_ms > 0 ? left_ms : 0) <= 0)
			continue;
		bytes = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
		/* An error that ICMP has told is none of the socket: the time goes on. */
		if (bytes > 0 && is_answer(packet, bytes, v6, asked))
			return 1;
	} while (left_ms > 0);
	return 0;
}

int host_ping(const char *to, const char *nic, const char *from, size_t bytes)
{
	struct echo echo = { .id = htons(getpid() & 0xffff), .sequence = htons(++sequence) };
	struct sockaddr_storage address;
	socklen_t length;
	char *packet;
	int fd, ret;
	bool v6;

	if (host_address_read(to, &address, &length))
		return -EINVAL;
	v6 = address.ss_family == AF_INET6;
	fd = socket_open(&address, length, nic, from);
	if (fd < 0)
		return fd;
	bytes -= v6 ? IP6_BYTES : IP_BYTES;
	echo.type = v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	packet = alloc_array(NULL, bytes, 1);
	memset(packet, 0, bytes);
	memcpy(packet, &echo, sizeof(echo));
	if (!v6) {
		echo.checksum = checksum(packet, bytes);
		memcpy(packet, &echo, sizeof(echo));
	}
	ret = send(fd, packet, bytes, 0) < 0 ? -errno : answer_wait(fd, v6, &echo);
	free(packet);
	close(fd);
	return ret;
}
