// SPDX-License-Identifier: GPL-2.0
/* Whether a portal answers over an interface. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/in6.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_net.h"
#include "reach.h"
#include "watch.h"

#define ISCSI_PORT	3260
#define LOT		256

static int address_of(const struct reach *try, struct sockaddr_storage *to, socklen_t *bytes)
{
	char *address = host_address_of(try->portal);
	unsigned short number = host_port_of(try->portal);
	in_port_t port = htons(number ? number : ISCSI_PORT);
	int ret = host_address_read(address, to, bytes);

	if (to->ss_family == AF_INET6)
		((struct sockaddr_in6 *)to)->sin6_port = port;
	else
		((struct sockaddr_in *)to)->sin_port = port;
	free(address);
	return ret;
}

static int source_bind(int fd, const char *from)
{
	struct sockaddr_storage source = { 0 };
	socklen_t bytes;

	if (!from || !*from)
		return 0;
	if (host_address_read(from, &source, &bytes)) {
		errno = EINVAL;
		return -1;
	}
	if (source.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&source)->sin6_port = 0;
	else
		((struct sockaddr_in *)&source)->sin_port = 0;
	return bind(fd, (struct sockaddr *)&source, bytes);
}

/*
 * As the driver does it: temporary addresses may not be those that the target admits. is_rejected()
 * wants the other option.
 */
static int options_set(int fd, int family)
{
	int public = IPV6_PREFER_SRC_PUBLIC, on = 1;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, &public,
				  sizeof(public)) ?:
		       setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	return setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
}

/* Whether ICMP has told the error; a host without a listener answers with TCP. */
static bool is_rejected(int fd)
{
	struct cmsghdr control[16];
	struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };
	const struct sock_extended_err *error;
	struct cmsghdr *item;

	if (recvmsg(fd, &message, MSG_ERRQUEUE) < 0)
		return false;
	for (item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
		error = (const void *)CMSG_DATA(item);
		if ((item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR &&
		     error->ee_origin == SO_EE_ORIGIN_ICMP) ||
		    (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR &&
		     error->ee_origin == SO_EE_ORIGIN_ICMP6))
			return true;
	}
	return false;
}

static void error_take(struct reach *try, int fd, int error)
{
	try->error = -error;
	try->rejected = error == ECONNREFUSED && is_rejected(fd);
}

/* A socket that is connecting or connected, or -1. */
static int connect_begin(struct reach *try)
{
	struct sockaddr_storage to = { 0 };
	socklen_t bytes;
	int fd;

	try->error = address_of(try, &to, &bytes);
	if (try->error)
		return -1;
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, try->nic, strlen(try->nic)) &&
	    !options_set(fd, to.ss_family) && !source_bind(fd, try->from) &&
	    (!connect(fd, (struct sockaddr *)&to, bytes) || errno == EINPROGRESS)) {
		try->error = -ETIMEDOUT;
		return fd;
	}
	error_take(try, fd, errno);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void connect_end(struct reach *try, struct pollfd *poll)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	if (getsockopt(poll->fd, SOL_SOCKET, SO_ERROR, &error, &bytes))
		error = errno;
	error_take(try, poll->fd, error);
	close(poll->fd);
	poll->fd = -1;
}

bool reach_untried(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

/* As many as may be open. */
static size_t lot_begin(struct reach *tries, struct pollfd *polls, size_t count)
{
	size_t i, waiting = 0;

	for (i = 0; i < count && i < LOT; i++) {
		polls[i] = (struct pollfd) { .fd = connect_begin(&tries[i]), .events = POLLOUT };
		if (waiting && reach_untried(tries[i].error))
			break;
		waiting += polls[i].fd >= 0;
	}
	return i;
}

static void lot_wait(struct reach *tries, struct pollfd *polls, size_t count)
{
	long long end_ms = watch_now_ms() + REACH_MS, left_ms;
	size_t i, waiting = 0;

	for (i = 0; i < count; i++)
		waiting += polls[i].fd >= 0;
	while (waiting && (left_ms = end_ms - watch_now_ms()) > 0 &&
	       poll(polls, count, left_ms) > 0) {
		for (i = 0; i < count; i++) {
			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			connect_end(&tries[i], &polls[i]);
			waiting--;
		}
	}
	for (i = 0; i < count; i++)
		if (polls[i].fd >= 0)
			close(polls[i].fd);
}

void reach_try(struct reach *tries, size_t count)
{
	struct pollfd polls[LOT];
	size_t done, lot;

	for (done = 0; done < count; done += lot) {
		lot = lot_begin(&tries[done], polls, count - done);
		lot_wait(&tries[done], polls, lot);
	}
}

bool reach_same(const struct reach *one, const struct reach *other)
{
	return !strcmp(one->portal, other->portal) && !strcmp(one->nic, other->nic) &&
	       !strcmp(one->from ? one->from : "", other->from ? other->from : "");
}
