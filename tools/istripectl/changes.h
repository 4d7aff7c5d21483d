/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for the kernel to say that something has changed. */
#ifndef ISTRIPECTL_CHANGES_H
#define ISTRIPECTL_CHANGES_H

#include <stdbool.h>

#include "states.h"
#include "uevent.h"

#define CHANGES_MS	2000	/* when the kernel need not say so: wait for so long at most */

#define CHANGES_TOGETHER_MS	10

struct changes {
	int events;		/* socket of uevents; -1: there is none */
	int *files;		/* of states, which poll() knows to have changed */
	size_t count;
	struct uevents uevents;	/* that came during changes_wait() */
	bool lost;		/* others did not fit: cleared by who has looked for them */
};

/**
 * changes_begin() - get ready
 * @changes: set
 */
void changes_begin(struct changes *changes);

/**
 * changes_arm() - from now on a change of these files is noticed
 * @changes: from changes_begin()
 * @states: whose files, the first ones of them if they are too many; read them afterwards
 */
void changes_arm(struct changes *changes, const struct states *states);

/**
 * changes_wait() - wait for a uevent of a volume, a change of a file, or a signal
 * @changes: from changes_begin()
 * @ms: at most so long
 *
 * Changes that follow within CHANGES_TOGETHER_MS belong to the first one. @changes->uevents are
 * those of this time only.
 */
void changes_wait(struct changes *changes, long long ms);

/**
 * changes_end() - let go of all of it
 * @changes: from changes_begin()
 */
void changes_end(struct changes *changes);

#endif
