// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/string.h>

#include "transport/quirks.h"

static const struct {
	const char *alias;
	struct istripe_quirks quirks;
} quirk_rows[] = {
	/*
	 * Linux's own target, seen with 6.12. Its login waits for the old session and all of its
	 * commands (iscsit_stop_session()), but not when that session had several connections or
	 * was being logged out (P101). A login after one that had no answer waits, too
	 * (np_login_sem). A reset that meets the end of another connection, as when both paths of a
	 * host come back, aborts a command twice, and then the LUN hangs for all hosts (P100). An
	 * abort is answered when the command is over; only a task that a reset waits for is said
	 * not to be known (P102).
	 */
	{ "LIO Target", {
		.target = "LIO",
		.one_connection = true,
		.no_lun_reset = true,
		.login_drains = true,
		.no_busy_logout = true,
		.unknown_task_lives = true,
	} },
};

struct istripe_quirks istripe_quirks_of(const char *target_alias)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(quirk_rows); i++)
		if (!strcmp(target_alias, quirk_rows[i].alias))
			return quirk_rows[i].quirks;
	return (struct istripe_quirks) {};
}
