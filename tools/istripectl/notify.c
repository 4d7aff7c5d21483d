// SPDX-License-Identifier: GPL-2.0
/* What systemd is told of a service that is starting. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"
#include "text.h"

/* One line: systemd takes no more. */
static void status_make(const struct fault *fault, char *status, size_t bytes)
{
	char copy[FAULT_BYTES], *rest = copy, *line;
	size_t used = snprintf(status, bytes, "STATUS=");
	const char *between = "";

	snprintf(copy, sizeof(copy), "%s", fault->text);
	while (*fault->text && used < bytes && (line = strsep(&rest, "\n"))) {
		text_clean(line);
		used += snprintf(status + used, bytes - used, "%s%s", between, line);
		between = "; ";
	}
}

static void message_send(const char *path, const char *message)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t bytes = strlen(path);
	int fd;

	if (bytes >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, bytes);
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* It is the journal that has it in any case. */
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   offsetof(struct sockaddr_un, sun_path) + bytes) < 0)
		errno = 0;
	close(fd);
}

void notify_status(const struct fault *fault)
{
	const char *path = getenv("NOTIFY_SOCKET");
	char status[FAULT_BYTES];

	if (!path || (*path != '/' && *path != '@'))
		return;
	status_make(fault, status, sizeof(status));
	message_send(path, status);
}
