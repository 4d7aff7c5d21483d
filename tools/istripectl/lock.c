// SPDX-License-Identifier: GPL-2.0
/* One process at a time makes, changes or removes the settings of a volume. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"
#include "interrupt.h"
#include "lock.h"
#include "place.h"
#include "watch.h"

#define LOOK_MS		100	/* as long as nothing is said, and afterwards */
#define LOOK_LATER_MS	500
#define SAY_MS		1000
#define WAIT_MS		60000

/* A file of its own: to close that of power_begin() anywhere in the process would free its lock. */
static int lock_open(const char *name, int flags)
{
	char *path = place_path("/run/istripe-%s.configuring", name);
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);

	free(path);
	return fd;
}

/* Whether a process has it still; @pid is 0 of one in another PID namespace. */
static bool is_held(int fd, int *pid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool failed = fcntl(fd, F_GETLK, &lock);

	*pid = failed ? 0 : lock.l_pid;
	return failed || lock.l_type != F_UNLCK;
}

char *lock_process(int pid)
{
	return pid > 0 ? alloc_printf("process %d", pid) :
			 alloc_text("another process (not seen from here)");
}

static void holder_say(const char *name, int pid)
{
	char *process = lock_process(pid);

	fprintf(stderr, "%s: waits for %s, which is just configuring it\n", name, process);
	free(process);
}

static int holder_fault(const char *name, int pid, struct fault *fault)
{
	char *process = lock_process(pid);

	fault_set(fault, -EAGAIN, "volume %s is just being configured by %s", name, process);
	fault_add(fault, "next: wait for %s, or end it%s; then this command again",
		  pid > 0 ? process : "that process", pid > 0 ? "" : " where it runs");
	free(process);
	return -EAGAIN;
}

static int lock_wait(const char *name, int fd, struct fault *fault)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	long long begin_ms = watch_now_ms();
	bool said = false, held;
	int pid;

	while (fcntl(fd, F_SETLK, &lock) && (errno == EAGAIN || errno == EACCES)) {
		long long ms = watch_now_ms() - begin_ms;

		if (interrupt_seen())
			return fault_set(fault, -EINTR, "interrupted");
		/* One that has just become free is not the end of waiting. */
		held = ms >= SAY_MS && is_held(fd, &pid);
		if (held && ms >= WAIT_MS)
			return holder_fault(name, pid, fault);
		if (held && !said) {
			holder_say(name, pid);
			said = true;
		}
		watch_sleep_ms(said ? LOOK_LATER_MS : LOOK_MS);
	}
	return 0;
}

int lock_take(const char *name, int *lock, struct fault *fault)
{
	int ret;

	*lock = lock_open(name, O_CREAT | O_RDWR);
	ret = *lock < 0 ? 0 : lock_wait(name, *lock, fault);
	if (ret) {
		close(*lock);
		*lock = -1;
	}
	return ret;
}

int lock_pass(const char *name, struct fault *fault)
{
	int lock, ret = lock_take(name, &lock, fault);

	lock_leave(lock);
	return ret;
}

int lock_peek(const char *name)
{
	int fd = lock_open(name, O_RDONLY), pid;

	if (fd < 0 || !is_held(fd, &pid))
		return fd;
	close(fd);
	return -1;
}

void lock_leave(int lock)
{
	if (lock >= 0)
		close(lock);
}
