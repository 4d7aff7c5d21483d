// SPDX-License-Identifier: GPL-2.0
/*
 * A clock of the tests' own: linked into istripectl-test in the place of what waits.
 *
 *	FAKE_CLOCK=PROGRAM	whenever the tool waits, this program runs instead, with the number
 *				of the waiting, from 1 on, and its milliseconds: it changes files.
 *				Then the clock is as much later as was waited for. When the program
 *				fails, the tool gets SIGTERM
 *
 * The program may write uevents, which have come meanwhile then, to $ISTRIPECTL_ROOT/uevents.
 *
 *	FAKE_ALARM=SECONDS	what is to end after some time ends after this one
 *	FAKE_BUFFER=BYTES	a socket has this room for what it receives
 */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "fake_clock.h"

static long long now_ms;

static bool program_runs(long long ms)
{
	static int number;
	const char *program = getenv("FAKE_CLOCK");
	char line[4096];

	if (!program)
		return false;
	snprintf(line, sizeof(line), "%s %d %lld", program, ++number, ms);
	if (system(line))
		raise(SIGTERM);
	return true;
}

long long __wrap_watch_now_ms(void)
{
	return getenv("FAKE_CLOCK") ? now_ms : __real_watch_now_ms();
}

/* A line is an event; | is between its variables. LOST: others did not fit. */
static void uevents_read(struct changes *changes)
{
	struct uevents *uevents = &changes->uevents;
	char path[PATH_MAX], line[4096];
	FILE *file;
	size_t i, bytes;

	uevents_free(uevents);
	snprintf(path, sizeof(path), "%s/uevents", getenv("ISTRIPECTL_ROOT"));
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		changes->lost |= !strcmp(line, "LOST\n");
		bytes = strlen(line);
		for (i = 0; i < bytes; i++)
			if (line[i] == '|' || line[i] == '\n')
				line[i] = '\0';
		uevents_take(uevents, line, bytes);
	}
	fclose(file);
	unlink(path);
}

void __wrap_changes_wait(struct changes *changes, long long ms)
{
	if (program_runs(ms)) {
		now_ms += ms;
		uevents_read(changes);
	} else {
		__real_changes_wait(changes, ms);
	}
}

unsigned int __wrap_alarm(unsigned int seconds)
{
	const char *other = getenv("FAKE_ALARM");

	return __real_alarm(other ? (unsigned int)atoi(other) : seconds);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	const char *other = getenv("FAKE_BUFFER");
	int bytes = other ? atoi(other) : 0;

	if (other && level == SOL_SOCKET && name == SO_RCVBUFFORCE)
		value = &bytes;
	return __real_setsockopt(fd, level, name, value, length);
}

void __wrap_watch_sleep_ms(long long ms)
{
	if (program_runs(ms))
		now_ms += ms;
	else
		__real_watch_sleep_ms(ms);
}
