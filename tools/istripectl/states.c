// SPDX-License-Identifier: GPL-2.0
/* The states of volumes, legs and paths. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "fact.h"
#include "file.h"
#include "live.h"
#include "place.h"
#include "power.h"
#include "states.h"
#include "tree.h"
#include "unit.h"
#include "volumes.h"

#define NONE	"none"
#define LOST	"backoff"
#define LOST_SOME	"degraded"
#define RESERVE		"idle"
#define BOOT_S		120	/* units may need so long */

/* Takes @file. */
static size_t state_add(struct states *states, const char *volume, int leg, int path,
			const char *state, const char *reason, char *file)
{
	*alloc_append(states->items, states->count) = (struct state) {
		.volume = alloc_text(volume), .leg = leg, .path = path,
		.state = alloc_text(state), .reason = alloc_text(reason), .file = file,
	};
	return states->count - 1;
}

/* The first path, or leg, that is not live says why. */
static void reason_pass(struct states *states, size_t to, size_t from)
{
	if (!strcmp(states->items[to].state, "live") || *states->items[to].reason ||
	    !strcmp(states->items[from].state, "live"))
		return;
	free(states->items[to].reason);
	states->items[to].reason = alloc_text(states->items[from].reason);
}

static char *beside(const char *state, const char *name)
{
	return alloc_printf("%.*s%s", (int)(strlen(state) - strlen("state")), state, name);
}

/* After the state, which is in the file @state beside it: so a live path has been counted. */
static long long reconnects_read(const char *state)
{
	char *file = beside(state, "reconnects");
	char *text = NULL;
	long long count = 0;

	if (!file_read(file, &text))
		count = atoll(text);
	free(text);
	free(file);
	return count;
}

/* With multi=mcs those behind the first one are idle, in reserve, while it has all connections. */
static bool has_sessions(const char *state)
{
	char *dir = beside(state, "sessions");
	struct file_names names = { 0 };
	bool has = false;
	size_t i;

	file_list(dir, &names);
	for (i = 0; !has && i < names.count; i++) {
		char *file = alloc_printf("%s/%s/path_state", dir, names.items[i]);
		char *text = NULL;

		has = !file_read(file, &text) && strcmp(text, RESERVE);
		free(text);
		free(file);
	}
	file_names_free(&names);
	free(dir);
	return has;
}

static void slow_set(struct state *state, const struct slow_group *group, const struct live *live)
{
	state->slow = slow_of(group, live);
	state->slow_why = slow_why(group, live, state->path == STATES_NONE ? "leg" : "path");
}

static long long count_of(const struct live *live, const char *name)
{
	return atoll(settings_value(&live->values, name));
}

static void paths_add(struct states *states, const char *volume, const char *device,
		      const struct live *leg, size_t of_leg)
{
	const struct live *paths = live_child(leg, "paths");
	struct slow_group group;
	size_t i, at;

	slow_compare(paths, &group);
	for (i = 0; paths && i < paths->child_count; i++) {
		const struct live *path = &paths->children[i];
		const char *state = settings_value(&path->values, "state");
		bool live = !strcmp(state, "live");

		at = state_add(states, volume, atoi(leg->name), atoi(path->name), state,
			       live ? "" : settings_value(&path->values, "last_error"),
			       place_path("/sys/block/%s/istripe/legs/%s/paths/%s/state", device,
					  leg->name, path->name));
		states->items[at].last_error =
			alloc_text(settings_value(&path->values, "last_error"));
		states->items[at].reconnects = reconnects_read(states->items[at].file);
		states->items[at].writes = count_of(path, "waiting_writes");
		states->items[at].unfenced = count_of(path, "unfenced");
		states->items[at].access =
			alloc_text(settings_value(&path->values, "access_state"));
		slow_set(&states->items[at], &group, path);
		reason_pass(states, of_leg, at);
	}
}

static void live_add(struct states *states, const char *volume, const char *device,
		     const struct live *live)
{
	const struct live *legs = live_child(live, "legs");
	struct slow_group group;
	size_t i, of_leg, of_volume;

	slow_compare(legs, &group);
	of_volume = state_add(states, volume, STATES_NONE, STATES_NONE,
			      settings_value(&live->values, "state"), "",
			      place_path("/sys/block/%s/istripe/state", device));
	for (i = 0; legs && i < legs->child_count; i++) {
		const struct live *leg = &legs->children[i];

		of_leg = state_add(states, volume, atoi(leg->name), STATES_NONE,
				   settings_value(&leg->values, "state"),
				   settings_value(&leg->values, "last_error"),
				   place_path("/sys/block/%s/istripe/legs/%s/state", device,
					      leg->name));
		states->items[of_leg].overlays = count_of(leg, "overlay_bytes");
		slow_set(&states->items[of_leg], &group, leg);
		paths_add(states, volume, device, leg, of_leg);
		/* It has the worst state of its legs: others may serve, each with an error. */
		if (!strcmp(states->items[of_leg].state, states->items[of_volume].state))
			reason_pass(states, of_volume, of_leg);
	}
}

static void volume_add(struct states *states, const char *name)
{
	char *device = power_device(name), *reason;
	struct live live = { 0 };

	if (device && !(states->judged ? live_read_places : live_read_states)(device, &live) &&
	    volume_was_up(name, device) && *settings_value(&live.values, "state")) {
		live_add(states, name, device, &live);
	} else {
		reason = tree_value(name, "last_error");
		state_add(states, name, STATES_NONE, STATES_NONE, "down", reason ? reason : "",
			  NULL);
		free(reason);
	}
	live_free(&live);
	free(device);
}

/* Those that the kernel should have: it may lack what they need, or their file has a fault. */
static void missing_add(struct states *states, const struct file_names *known)
{
	struct file_names files = { 0 };
	struct fault ignored = { 0 };
	long long uptime_s;
	size_t i, at;

	if (fact_number(place_path("/proc/uptime"), &uptime_s) && uptime_s < BOOT_S)
		return;
	conf_list(&files, &ignored);
	for (i = 0; i < files.count; i++) {
		if (file_names_have(known, files.items[i]) ||
		    !unit_of_volume_is_enabled(files.items[i]))
			continue;
		at = state_add(states, files.items[i], STATES_NONE, STATES_NONE, "down",
			       "in its file, but not configured", NULL);
		states->items[at].missing = true;
	}
	file_names_free(&files);
}

int states_read(struct states *states, bool judge, struct fault *fault)
{
	struct file_names names = { 0 };
	int ret = tree_list(&names, fault);
	size_t i;

	states->judged = judge;
	for (i = 0; !ret && i < names.count; i++)
		volume_add(states, names.items[i]);
	if (!ret)
		missing_add(states, &names);
	file_names_free(&names);
	return ret;
}

static const struct state *find(const struct states *states, const char *volume, int leg, int path)
{
	size_t i;

	for (i = 0; i < states->count; i++) {
		const struct state *state = &states->items[i];

		if (state->leg == leg && state->path == path && !strcmp(state->volume, volume))
			return state;
	}
	return NULL;
}

static bool serves(const struct state *state)
{
	return !strcmp(state->state, "live") || !strcmp(state->state, "degraded");
}

/* Not of a leg or path that is just coming or going. */
static bool is_known(const struct state *state)
{
	return state && *state->state;
}

/* Or is being taken out, or given a new session on purpose: what has come of that is seen later. */
static bool only_tries(const struct state *old, const struct state *now)
{
	return now->path != STATES_NONE && is_known(old) &&
	       (!strcmp(now->state, "idle") ||
		(!serves(old) && !strcmp(now->state, "connecting")));
}

static void state_keep(const struct state *old, struct state *now)
{
	free(now->state);
	now->state = alloc_text(old->state);
}

/* Of a judged state: the few files that are read else do not have it. */
static void unjudged_keep(const struct state *old, struct state *now)
{
	now->slow = old->slow;
	now->writes = old->writes;
	now->overlays = old->overlays;
	free(now->access);
	now->access = old->access ? alloc_text(old->access) : NULL;
}

void states_settle(const struct states *before, struct states *after)
{
	size_t i;

	for (i = 0; i < after->count; i++) {
		struct state *now = &after->items[i];
		const struct state *old = find(before, now->volume, now->leg, now->path);

		if (!old)
			continue;
		if (!is_known(now)) {
			now->reconnects = old->reconnects;
			state_keep(old, now);
			unjudged_keep(old, now);
			continue;
		}
		if (only_tries(old, now))
			state_keep(old, now);
		if (!after->judged) {
			unjudged_keep(old, now);
			continue;
		}
		/* A mean about as long as the limit is not told again and again. */
		if (old->slow == SLOW_YES && now->slow != SLOW_NO)
			now->slow = SLOW_YES;
	}
}

static void tell_of_start(const struct state *state,
			  void (*changed)(void *data, const struct state *state, const char *old),
			  void *data)
{
	if (strcmp(state->state, "live"))
		changed(data, state, STATES_UNKNOWN);
}

void states_tell(const struct states *states,
		 void (*changed)(void *data, const struct state *state, const char *old),
		 void *data)
{
	size_t i;

	for (i = 0; i < states->count; i++)
		if (is_known(&states->items[i]))
			tell_of_start(&states->items[i], changed, data);
}

/* Whether its volume is up; a volume itself always counts. */
static bool counts(const struct states *states, const struct state *state)
{
	const struct state *volume = find(states, state->volume, STATES_NONE, STATES_NONE);

	return state->leg == STATES_NONE || (volume && strcmp(volume->state, "down"));
}

static const struct state *find_known(const struct states *states, const struct state *like)
{
	const struct state *found = find(states, like->volume, like->leg, like->path);

	return is_known(found) ? found : NULL;
}

/* It was lost between the two moments, and is live again. */
static bool came_back(const struct state *old, const struct state *now)
{
	return old && now->path != STATES_NONE && !strcmp(old->state, "live") &&
	       !strcmp(now->state, "live") && now->reconnects > old->reconnects;
}

static void tell_both(const struct state *now,
		      void (*changed)(void *data, const struct state *state, const char *old),
		      void *data)
{
	struct state lost = *now;

	lost.state = (char *)(has_sessions(now->file) ? LOST_SOME : LOST);
	lost.reason = now->last_error;
	changed(data, &lost, now->state);
	changed(data, now, lost.state);
}

void states_compare(const struct states *before, const struct states *after,
		    void (*changed)(void *data, const struct state *state, const char *old),
		    void *data)
{
	size_t i;

	for (i = 0; i < after->count; i++) {
		const struct state *now = &after->items[i];
		const struct state *old = find_known(before, now);

		if (!is_known(now))
			continue;
		if (came_back(old, now))
			tell_both(now, changed, data);
		else if (!counts(before, now))
			tell_of_start(now, changed, data);
		else if (!old || strcmp(old->state, now->state))
			changed(data, now, old ? old->state : now->missing ? STATES_UNKNOWN : NONE);
	}
	for (i = 0; i < before->count; i++) {
		struct state gone = before->items[i];

		if (find(after, gone.volume, gone.leg, gone.path) || !counts(after, &gone) ||
		    !is_known(&gone))
			continue;
		gone.state = (char *)NONE;
		gone.reason = (char *)"";
		changed(data, &gone, before->items[i].state);
	}
}

void states_compare_slow(const struct states *before, const struct states *after,
			 void (*changed)(void *data, const struct state *state, bool slow),
			 void *data)
{
	size_t i;

	for (i = 0; i < after->count; i++) {
		const struct state *now = &after->items[i];
		const struct state *old = find(before, now->volume, now->leg, now->path);
		bool slow = now->slow == SLOW_YES;

		if (slow != (old && old->slow == SLOW_YES))
			changed(data, now, slow);
	}
}

/* An access state that was not known before is no change. */
static bool access_differs(const struct state *old, const struct state *now)
{
	return old->access && *old->access && now->access && strcmp(old->access, now->access);
}

/* With a leg that serves, they went over another path, or after ghost_timeout_ms: mostly. */
static const char *writes_event(const struct states *states, const struct state *path)
{
	const struct state *leg = find(states, path->volume, path->leg, STATES_NONE);

	return path->unfenced || (leg && !strcmp(leg->state, "failed")) ? "WRITES_FAILED" :
									    "WRITES_RESUMED";
}

void states_compare_events(const struct states *before, const struct states *after,
			   void (*happened)(void *data, const struct state *state,
					    const char *event),
			   void *data)
{
	static const struct state nothing = { 0 };
	size_t i;

	for (i = 0; i < after->count; i++) {
		const struct state *now = &after->items[i];
		const struct state *old = find(before, now->volume, now->leg, now->path);

		old = old ? old : &nothing;
		if (!old->writes && now->writes)
			happened(data, now, "WRITES_WAITING");
		if (old->writes && !now->writes)
			happened(data, now, writes_event(after, now));
		if (access_differs(old, now))
			happened(data, now, "PATH_ACCESS");
		if (!old->overlays != !now->overlays)
			happened(data, now, now->overlays ? "OVERLAYS_KEPT" : "OVERLAYS_WRITTEN");
	}
}

void states_free(struct states *states)
{
	size_t i;

	for (i = 0; i < states->count; i++) {
		free(states->items[i].volume);
		free(states->items[i].state);
		free(states->items[i].reason);
		free(states->items[i].file);
		free(states->items[i].last_error);
		free(states->items[i].slow_why);
		free(states->items[i].access);
	}
	free(states->items);
	memset(states, 0, sizeof(*states));
}
