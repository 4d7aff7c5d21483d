// SPDX-License-Identifier: GPL-2.0
/* Waiting for the kernel to say that something has changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "changes.h"
#include "descriptors.h"
#include "watch.h"

#define EVENT_BYTES	8192
#define KERNEL_GROUP	1
/* As udevd has it: all uevents of the host wait in it while a program of monitor runs. */
#define BUFFER_BYTES	(128 << 20)

/* Without CAP_NET_ADMIN net.core.rmem_max is the limit. */
static void buffer_enlarge(int fd)
{
	const int bytes = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void changes_begin(struct changes *changes)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };

	memset(changes, 0, sizeof(*changes));
	changes->events = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				 NETLINK_KOBJECT_UEVENT);
	if (changes->events >= 0)
		buffer_enlarge(changes->events);
	if (changes->events >= 0 &&
	    bind(changes->events, (struct sockaddr *)&address, sizeof(address))) {
		close(changes->events);
		changes->events = -1;
	}
}

static void files_close(struct changes *changes)
{
	size_t i;

	for (i = 0; i < changes->count; i++)
		close(changes->files[i]);
	free(changes->files);
	changes->files = NULL;
	changes->count = 0;
}

/*
 * sysfs_notify() wakes those who have read the file since it was opened. Of more files than may be
 * open uevents tell, and the next reading.
 */
void changes_arm(struct changes *changes, const struct states *states)
{
	char text[64];
	size_t i;

	files_close(changes);
	changes->files = alloc_array(NULL, states->count, sizeof(*changes->files));
	for (i = 0; i < states->count; i++) {
		const char *file = states->items[i].file;
		int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;

		if (fd < 0)
			continue;
		if (descriptors_are_few(fd)) {
			close(fd);
			break;
		}
		if (read(fd, text, sizeof(text)) < 0)
			close(fd);
		else
			changes->files[changes->count++] = fd;
	}
}

/* Whether one of the events is of a volume; all of them are taken. Only the kernel is believed. */
static bool events_concern(struct changes *changes)
{
	struct sockaddr_nl from = { 0 };
	socklen_t length = sizeof(from);
	char event[EVENT_BYTES];
	bool ours = false;
	ssize_t bytes;

	/* ENOBUFS comes once, and what has fitted behind it. */
	while ((bytes = recvfrom(changes->events, event, sizeof(event), 0,
				 (struct sockaddr *)&from, &length)) > 0 || errno == ENOBUFS)
		if (bytes < 0)
			changes->lost = true;
		else if (!from.nl_pid)
			ours |= uevents_take(&changes->uevents, event, bytes);
	return ours || changes->lost;
}

static bool polled_changed(struct changes *changes, struct pollfd *polled, size_t count)
{
	size_t i;

	if (polled[0].revents && events_concern(changes))
		return true;
	for (i = 1; i < count; i++)
		if (polled[i].revents)
			return true;
	return false;
}

void changes_wait(struct changes *changes, long long ms)
{
	struct pollfd *polled = alloc_array(NULL, changes->count + 1, sizeof(*polled));
	long long end_ms = watch_now_ms() + ms, rest;
	size_t i;

	uevents_free(&changes->uevents);
	polled[0] = (struct pollfd) { .fd = changes->events, .events = POLLIN };
	for (i = 0; i < changes->count; i++)
		polled[i + 1] = (struct pollfd) { .fd = changes->files[i], .events = POLLPRI };
	while ((rest = end_ms - watch_now_ms()) > 0) {
		int ret = poll(polled, changes->count + 1, rest);

		if (ret <= 0)
			break;
		if (!polled_changed(changes, polled, changes->count + 1))
			continue;
		watch_sleep_ms(CHANGES_TOGETHER_MS);
		events_concern(changes);
		break;
	}
	free(polled);
}

void changes_end(struct changes *changes)
{
	files_close(changes);
	uevents_free(&changes->uevents);
	if (changes->events >= 0)
		close(changes->events);
}
