// SPDX-License-Identifier: GPL-2.0
/* monitor: a line for each change of a state. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "changes.h"
#include "command.h"
#include "event.h"
#include "interrupt.h"
#include "json_out.h"
#include "run.h"
#include "states.h"
#include "watch.h"

static char *time_text(void)
{
	time_t now = time(NULL);
	struct tm parts;
	char text[64];

	localtime_r(&now, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &parts);
	return alloc_text(text);
}

static char *number_text(int number)
{
	return number == STATES_NONE ? alloc_text("") : alloc_printf("%d", number);
}

/* A change of a state, or an event of a path that keeps its state. */
struct change {
	const struct state *state;
	const char *old;		/* the state before */
	const char *event;		/* NULL: it has no name */
	const char *writes;		/* of WRITES_WAITING: how many; else empty */
	const char *access;		/* of PATH_ACCESS: the new access state; else empty */
	bool keeps_state;
	char *time;
};

static void text_print(const struct change *change)
{
	const struct state *state = change->state;

	printf("%s %s", change->time, state->volume);
	if (state->leg != STATES_NONE)
		printf(" leg %d", state->leg);
	if (state->path != STATES_NONE)
		printf(" path %d", state->path);
	if (change->keeps_state)
		printf(": %s%s%s%s", change->event, *change->writes || *change->access ? " " : "",
		       change->writes, change->access);
	else
		printf(": %s -> %s", change->old, state->state);
	printf("%s%s\n", *state->reason ? ": " : "", state->reason);
}

static void number_add(struct json_object *object, const char *name, int number)
{
	json_object_object_add(object, name, number == STATES_NONE ? NULL :
			       json_object_new_int64(number));
}

static void json_event(const struct change *change)
{
	const struct state *state = change->state;
	struct json_object *object = json_begin();

	json_text(object, "time", change->time);
	json_text(object, "event", change->event);
	json_text(object, "volume", state->volume);
	number_add(object, "leg", state->leg);
	number_add(object, "path", state->path);
	json_text(object, "old", change->old);
	json_text(object, "new", state->state);
	json_text(object, "reason", state->reason);
	number_add(object, "waiting_writes", *change->writes ? atoi(change->writes) : STATES_NONE);
	json_text(object, "access_state", change->access);
	json_put_line(object);
}

struct call {
	const char *program;
	const char *event;	/* of --program; NULL: it is that of --exec */
	const struct change *change;
};

/* The longest that a program may keep the next events waiting. */
#define PROGRAM_S	60

static int program_exec(void *context)
{
	const struct call *call = context;
	const struct change *change = call->change;
	const struct state *state = change->state;
	char *leg = number_text(state->leg), *path = number_text(state->path);

	signal(SIGALRM, SIG_DFL);
	alarm(PROGRAM_S);
	setenv("ISTRIPE_TIME", change->time, 1);
	setenv("ISTRIPE_VOLUME", state->volume, 1);
	setenv("ISTRIPE_LEG", leg, 1);
	setenv("ISTRIPE_PATH", path, 1);
	setenv("ISTRIPE_OLD", change->old, 1);
	setenv("ISTRIPE_NEW", state->state, 1);
	setenv("ISTRIPE_REASON", state->reason, 1);
	if (call->event) {
		setenv("ISTRIPE_EVENT", call->event, 1);
		setenv("ISTRIPE_WAITING_WRITES", change->writes, 1);
		setenv("ISTRIPE_ACCESS_STATE", change->access, 1);
		execlp(call->program, call->program, call->event, state->volume,
		       *leg ? leg : NULL, *path ? path : NULL, (char *)NULL);
	} else {
		execlp(call->program, call->program, state->volume, leg, path, change->old,
		       state->state, state->reason, (char *)NULL);
	}
	fprintf(stderr, "istripectl: %s: %s\n", call->program, strerror(errno));
	return RUN_MISSING;
}

/* One after another, in the order of the changes: each is waited for. */
static void program_run(const char *program, const char *event, const struct change *change)
{
	struct call call = { .program = program, .event = event, .change = change };
	int code, ret = run_child(program_exec, &call, &code);

	if (!ret && code && code != RUN_MISSING)
		fprintf(stderr, "istripectl: %s has ended with code %d\n", program, code);
	if (ret == -EINTR && !interrupt_seen())
		fprintf(stderr,
			"istripectl: %s was ended by a signal: an event may take it %d s\n",
			program, PROGRAM_S);
}

static void change_tell(const struct command_line *line, struct change *change)
{
	change->time = time_text();
	if (line->flags & COMMAND_JSON)
		json_event(change);
	else
		text_print(change);
	if (line->exec && !change->keeps_state)
		program_run(line->exec, NULL, change);
	if (line->program && change->event)
		program_run(line->program, change->event, change);
	free(change->time);
}

static void changed(void *data, const struct state *state, const char *old)
{
	char event[EVENT_BYTES];
	struct change change = { .state = state, .old = old, .writes = "", .access = "" };

	change.event = event_name(state, old, event) ? event : NULL;
	change_tell(data, &change);
}

/* Neither is a state of the driver: only this program judges so. */
static void slow_changed(void *data, const struct state *state, bool slow)
{
	struct state because = *state;
	bool of_leg = state->path == STATES_NONE;

	because.reason = slow ? state->slow_why : (char *)"";
	change_tell(data, &(struct change) {
		.state = &because, .old = state->state, .keeps_state = true,
		.event = slow ? (of_leg ? "LEG_SLOW" : "PATH_SLOW") :
				(of_leg ? "LEG_NOT_SLOW" : "PATH_NOT_SLOW"),
		.writes = "", .access = "",
	});
}

/* Found in the files: nobody has seen the uevent. */
static void happened(void *data, const struct state *state, const char *event)
{
	char *writes = state->writes ? alloc_printf("%lld", state->writes) : alloc_text("");

	change_tell(data, &(struct change) {
		.state = state, .old = state->state, .event = event, .keeps_state = true,
		.writes = strcmp(event, "WRITES_WAITING") ? "" : writes,
		.access = strcmp(event, "PATH_ACCESS") ? "" : state->access,
	});
	free(writes);
}

/* Those that change no state: of all others the states tell. */
static void uevent_tell(const struct command_line *line, const struct uevent *uevent)
{
	char *action = uevent_value(uevent, "ISTRIPE_ACTION");
	char *leg = uevent_value(uevent, "ISTRIPE_LEG");
	char *path = uevent_value(uevent, "ISTRIPE_PATH");
	char *writes = uevent_value(uevent, "ISTRIPE_WAITING_WRITES");
	char *access = uevent_value(uevent, "ISTRIPE_ACCESS_STATE");
	bool of_access = !strcmp(action, "PATH_ACCESS");
	bool of_leg = !strncmp(action, "OVERLAYS_", strlen("OVERLAYS_"));
	struct state state = {
		.volume = uevent_value(uevent, "ISTRIPE_VOLUME"), .leg = atoi(leg),
		.path = of_leg ? STATES_NONE : atoi(path),
		.state = uevent_value(uevent, "ISTRIPE_STATE"),
		.reason = uevent_value(uevent, "ISTRIPE_REASON"),
	};

	if (of_access || of_leg || !strncmp(action, "WRITES_", strlen("WRITES_")))
		change_tell(line, &(struct change) {
			.state = &state, .old = state.state, .event = action, .keeps_state = true,
			.writes = writes, .access = of_access ? access : "",
		});
	free(state.volume);
	free(state.state);
	free(state.reason);
	free(action);
	free(leg);
	free(path);
	free(writes);
	free(access);
}

static void uevents_tell(const struct command_line *line, const struct uevents *uevents)
{
	size_t i;

	for (i = 0; i < uevents->count; i++)
		uevent_tell(line, &uevents->items[i]);
}

/* A monitor that starts late, or again, tells what it has not seen happen. */
static int first_look(struct command_line *line, struct states *states, struct fault *fault)
{
	const struct states nothing = { 0 };
	int ret = states_read(states, true, fault);

	if (ret)
		return ret;
	states_tell(states, changed, line);
	states_compare_events(&nothing, states, happened, line);
	return 0;
}

/* Tells each change since @before, which is replaced. */
static int look(struct command_line *line, struct states *before, bool judge, bool lost,
		struct fault *fault)
{
	struct states after = { 0 };
	int ret = states_read(&after, judge, fault);

	if (ret) {
		states_free(&after);
		return ret;
	}
	states_settle(before, &after);
	states_compare(before, &after, changed, line);
	states_compare_slow(before, &after, slow_changed, line);
	if (lost)
		states_compare_events(before, &after, happened, line);
	states_free(before);
	*before = after;
	return 0;
}

/*
 * States are told before the many files are read that say which paths are slow, and what uevents
 * that were lost would have said: all of the latter since those files were read last, so that some
 * may be told twice.
 */
static int look_closer(struct command_line *line, struct states *states, struct changes *changes,
		       long long *judged_ms, struct fault *fault)
{
	bool lost = changes->lost;
	int ret;

	if (!lost && watch_now_ms() - *judged_ms < CHANGES_MS)
		return 0;
	if (lost)
		fprintf(stderr,
			"istripectl: uevents of the kernel were lost: what they said is looked for in its files\n");
	changes->lost = false;
	ret = look(line, states, true, lost, fault);
	*judged_ms = watch_now_ms();
	return ret;
}

/* A change after the files were armed is noticed; one before is seen when they are read. */
static int monitor_run(struct command_line *line, struct fault *fault)
{
	long long judged_ms = watch_now_ms();
	struct states states = { 0 };
	struct changes changes;
	int ret;

	changes_begin(&changes);
	ret = first_look(line, &states, fault);
	while (!ret && !fflush(stdout) && !ferror(stdout) && !interrupt_seen()) {
		changes_arm(&changes, &states);
		ret = look(line, &states, false, false, fault);
		uevents_tell(line, &changes.uevents);
		fflush(stdout);
		if (!ret)
			ret = look_closer(line, &states, &changes, &judged_ms, fault);
		fflush(stdout);
		if (!ret && !interrupt_seen())
			changes_wait(&changes, CHANGES_MS);
	}
	states_free(&states);
	changes_end(&changes);
	return ret;
}

int command_monitor(const struct command *command, int argc, char **argv)
{
	struct command_line line;
	struct fault fault = { 0 };
	int code;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_EXEC | COMMAND_PROGRAM,
			   &line, false, &code))
		return code;
	if (line.count) {
		fault_set(&fault, -EINVAL, "\"%s\" is one word too many", line.names[0]);
		return command_usage(command, &fault);
	}
	interrupt_catch();
	if (!monitor_run(&line, &fault))
		return EXIT_DONE;
	fault_print(&fault);
	return EXIT_FAILED;
}
