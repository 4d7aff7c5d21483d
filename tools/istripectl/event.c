// SPDX-License-Identifier: GPL-2.0
/* Names of changes of states. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "event.h"

#define NONE	"none"

static bool is(const char *state, const char *other)
{
	return !strcmp(state, other);
}

static const char *path_event(const char *old, const char *now)
{
	if (is(old, NONE))
		return "PATH_ADDED";
	if (is(now, NONE))
		return "PATH_REMOVED";
	if (is(now, "live"))
		return "PATH_REINSTATED";
	if (is(now, "degraded"))
		return "PATH_DEGRADED";
	if (is(old, "live") || is(old, "degraded") || is(old, STATES_UNKNOWN) ||
	    is(now, "refused") || is(now, "dead"))
		return "PATH_FAILED";
	return NULL;
}

/* Of a volume or a leg: the name of the state is that of the event. */
static void state_event(const char *what, const char *old, const char *now, char *name)
{
	const char *event = now;
	int bytes;

	if (is(old, NONE))
		event = "added";
	else if (is(now, NONE))
		event = "removed";
	bytes = snprintf(name, EVENT_BYTES, "%s_%s", what, event);
	while (bytes-- > 0)
		if (bytes < EVENT_BYTES)
			name[bytes] = toupper((unsigned char)name[bytes]);
}

bool event_name(const struct state *state, const char *old, char *name)
{
	const char *event;

	if (state->path == STATES_NONE) {
		state_event(state->leg == STATES_NONE ? "VOLUME" : "LEG", old, state->state, name);
		return true;
	}
	event = path_event(old, state->state);
	if (event)
		snprintf(name, EVENT_BYTES, "%s", event);
	return event;
}
