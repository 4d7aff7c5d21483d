// SPDX-License-Identifier: GPL-2.0
/* The kernel module. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "module.h"
#include "run.h"

static bool wanted;

void module_wanted(void)
{
	wanted = true;
}

/* Outside of tests also where the PATH of a plain user does not lead. */
static int modprobe_exec(void *context)
{
	static char *const words[] = { "modprobe", "istripe", NULL };

	(void)context;
	execvp(words[0], words);
	if (errno == ENOENT && !secure_getenv("ISTRIPECTL_ROOT"))
		execv("/usr/sbin/modprobe", words);
	return RUN_MISSING;
}

bool module_load(void)
{
	int code;

	if (!wanted)
		return false;
	wanted = false;
	return !run_child(modprobe_exec, NULL, &code) && !code;
}
