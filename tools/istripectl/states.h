/* SPDX-License-Identifier: GPL-2.0 */
/* The states of volumes, legs and paths at one moment, and what has changed since another one. */
#ifndef ISTRIPECTL_STATES_H
#define ISTRIPECTL_STATES_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "slow.h"

#define STATES_NONE	(-1)
#define STATES_UNKNOWN	"unknown"	/* for the state before, which nobody has seen */

struct state {
	char *volume;
	int leg, path;		/* STATES_NONE: it is the volume, the leg */
	char *state;		/* empty: a leg or path is just coming or going */
	char *reason;		/* of a state other than live; may be empty */
	char *file;		/* of the state in sysfs; NULL: there is none */
	char *last_error;	/* of a path, live or not; NULL: it is none */
	long long reconnects;	/* of a path: of all its sessions */
	enum slow slow;		/* of a path or a leg */
	char *slow_why;		/* NULL: it is none */
	long long writes;	/* of a path, if judged: waiting_writes */
	bool unfenced;		/* of a path, if judged: writes have failed without a fence */
	long long overlays;	/* of a leg, if judged: overlay_bytes */
	char *access;		/* of a path, if judged; NULL or empty: it is not known */
	bool missing;		/* of a volume: it is in its file only */
};

struct states {
	struct state *items;
	size_t count;
	bool judged;		/* more files are read, also of what is slow or waits */
};

/**
 * states_read() - the states of all volumes, with those that boot should have brought up
 * @states: zeroed by the caller, filled
 * @judge: find out, too, which are slow: all files but those of sessions are read for that, else
 *	a few
 * @fault: set on failure
 *
 * A volume that has a file only, and whose unit is enabled, is down from two minutes after boot on.
 *
 * Return: 0; -errno.
 */
int states_read(struct states *states, bool judge, struct fault *fault);

/**
 * states_settle() - leave out attempts to log in, and what hardly differs
 * @before: the states at one moment
 * @after: and at a later one: a path that was not live, and is connecting, keeps what it was, as
 *	does one that is idle, and all that has no state at the moment; a path or leg that was slow
 *	still is, unless it is clearly not; what is not judged is as before
 */
void states_settle(const struct states *before, struct states *after);

/**
 * states_tell() - call a function for all that is not live
 * @states: the states at the first moment
 * @changed: gets @data, the state, and STATES_UNKNOWN
 * @data: for @changed
 */
void states_tell(const struct states *states,
		 void (*changed)(void *data, const struct state *state, const char *old),
		 void *data);

/**
 * states_compare() - call a function for each change
 * @before: the states at one moment
 * @after: and at a later one
 * @changed: gets @data, the later state, and the state's name before: "none" of what is new,
 *	STATES_UNKNOWN if it is missing; what is gone has the later state "none"
 * @data: for @changed
 *
 * Legs and paths that go with their volume are not changes of their own; those that come with it
 * are told when they are not live, with STATES_UNKNOWN before. A path that was lost and is live
 * again at the later moment has both changes, with "backoff" between them; with several sessions
 * that are wanted, of which the others may have served, "degraded".
 */
void states_compare(const struct states *before, const struct states *after,
		    void (*changed)(void *data, const struct state *state, const char *old),
		    void *data);

/**
 * states_compare_slow() - call a function for each path or leg that is slow now, or not any more
 * @before: the states at one moment; a new path or leg was not slow
 * @after: and at a later one, after states_settle()
 * @changed: gets @data, the later state, and whether it is slow now
 * @data: for @changed
 */
void states_compare_slow(const struct states *before, const struct states *after,
			 void (*changed)(void *data, const struct state *state, bool slow),
			 void *data);

/**
 * states_compare_events() - call a function for what only uevents tell as it happens
 * @before: the states at one moment, judged; of one that is empty, all that waits is told
 * @after: and at a later one, judged
 * @happened: gets @data, the later state, and the name of the event, as the kernel's
 * @data: for @happened
 */
void states_compare_events(const struct states *before, const struct states *after,
			   void (*happened)(void *data, const struct state *state,
					    const char *event),
			   void *data);

/**
 * states_free() - free all of it
 * @states: empty afterwards
 */
void states_free(struct states *states);

#endif
