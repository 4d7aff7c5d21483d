/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets that need another treatment than RFC 7143 and SAM ask for, by the name that they give
 * themselves at login (TargetAlias). An administrator may have changed that name.
 */
#ifndef ISTRIPE_TRANSPORT_QUIRKS_H
#define ISTRIPE_TRANSPORT_QUIRKS_H

#include <linux/types.h>

struct istripe_quirks {
	const char *target;		/* its name in the log; NULL: no quirks */
	bool one_connection;		/* the loss of one of several is too much for it */
	bool no_lun_reset;		/* a LOGICAL UNIT RESET may leave the LUN hanging */
	/* It answers a login after all commands of the session that the login has ended. */
	bool login_drains;
	/* A logout breaks @login_drains: a session with commands in flight is cut. */
	bool no_busy_logout;
	/* It may still carry out a task that it says it does not know. */
	bool unknown_task_lives;
};

/* Of the target with this alias, which may be empty. */
struct istripe_quirks istripe_quirks_of(const char *target_alias);

#endif
