// SPDX-License-Identifier: GPL-2.0
/* One process at a time makes, changes or removes the settings of a volume. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interrupt.h"
#include "lock.h"
#include "place.h"
#include "watch.h"

#define LOOK_MS		100	/* as long as nothing is said, and afterwards */
#define LOOK_LATER_MS	500
#define SAY_MS		1000
#define WAIT_MS		60000

/* A file of its own: to close that of power_begin() anywhere in the process would free its lock. */
static int lock_open(const char *name)
{
	char *path = place_path("/run/istripe-%s.configuring", name);
	int fd = open(path, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);

	free(path);
	return fd;
}

/* The process that has it, 0 when none has any more. */
static int holder_pid(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK ? 0 : (int)lock.l_pid;
}

static int holder_fault(const char *name, int fd, struct fault *fault)
{
	int pid = holder_pid(fd);

	return fault_set(fault, -EAGAIN,
			 "volume %s is just being configured by process %d\n"
			 "next: wait for process %d, or end it; then this command again", name,
			 pid, pid);
}

static int lock_wait(const char *name, int fd, struct fault *fault)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	long long begin_ms = watch_now_ms();
	bool said = false;
	int pid;

	while (fcntl(fd, F_SETLK, &lock) && (errno == EAGAIN || errno == EACCES)) {
		long long ms = watch_now_ms() - begin_ms;

		if (interrupt_seen())
			return fault_set(fault, -EINTR, "interrupted");
		if (ms >= WAIT_MS)
			return holder_fault(name, fd, fault);
		pid = said || ms < SAY_MS ? 0 : holder_pid(fd);
		if (pid) {
			fprintf(stderr, "%s: waits for process %d, which is just configuring it\n",
				name, pid);
			said = true;
		}
		watch_sleep_ms(said ? LOOK_LATER_MS : LOOK_MS);
	}
	return 0;
}

int lock_take(const char *name, int *lock, struct fault *fault)
{
	int ret;

	*lock = lock_open(name);
	ret = *lock < 0 ? 0 : lock_wait(name, *lock, fault);
	if (ret) {
		close(*lock);
		*lock = -1;
	}
	return ret;
}

void lock_leave(int lock)
{
	if (lock >= 0)
		close(lock);
}
