// SPDX-License-Identifier: GPL-2.0
/*
 * reconnect: the sessions of paths end, and log in again, one path after another, so that I/O goes
 * on over the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "alloc.h"
#include "command.h"
#include "interrupt.h"
#include "json_out.h"
#include "klog.h"
#include "live.h"
#include "place.h"
#include "power.h"
#include "run.h"
#include "tree.h"
#include "value.h"
#include "watch.h"

#define TIMEOUT_MS	60000
#define POLL_MS		100
#define ALL		(-1)

/* One path, and what became of it. */
struct step {
	unsigned int leg, path;
	const char *result;	/* NULL: it has been left alone */
	long long ms;
};

struct reconnect {
	const char *name;
	char *device;
	long leg, path;		/* or ALL */
	long long timeout_ms;	/* for each path, or VALUE_FOREVER */
	bool force, dry_run, json;
	struct step *steps;
	size_t count;
};

/* "NAME", "NAME LEG" or "NAME LEG PATH". */
static int words_read(const struct command_line *line, struct reconnect *it, struct fault *fault)
{
	long *const numbers[] = { &it->leg, &it->path };
	size_t i;
	char *end;

	if (line->count < 1 || line->count > 3)
		return fault_set(fault, -EINVAL,
				 "a volume is needed, then the number of a leg and of a path, if not all are meant");
	it->name = line->names[0];
	for (i = 1; i < line->count; i++) {
		*numbers[i - 1] = strtol(line->names[i], &end, 10);
		if (*end || strspn(line->names[i], "0123456789") > 4)
			return fault_set(fault, -EINVAL, "\"%s\" is no number of a %s",
					 line->names[i], i == 1 ? "leg" : "path");
	}
	if (it->json && it->dry_run)
		return fault_either(fault, "--json", "--dry-run");
	return 0;
}

static void step_add(struct reconnect *it, unsigned int leg, unsigned int path)
{
	*alloc_append(it->steps, it->count) = (struct step) { .leg = leg, .path = path };
}

static bool is_meant(const struct live *place, long wanted)
{
	return wanted == ALL || strtol(place->name, NULL, 10) == wanted;
}

static void leg_take(struct reconnect *it, const struct live *leg)
{
	const struct live *paths = live_child(leg, "paths");
	size_t i;

	for (i = 0; paths && i < paths->child_count; i++)
		if (is_meant(&paths->children[i], it->path))
			step_add(it, strtoul(leg->name, NULL, 10),
				 strtoul(paths->children[i].name, NULL, 10));
}

static int steps_take(struct reconnect *it, const struct live *live, struct fault *fault)
{
	const struct live *legs = live_child(live, "legs");
	bool any = false;
	size_t i;

	for (i = 0; legs && i < legs->child_count; i++) {
		if (!is_meant(&legs->children[i], it->leg))
			continue;
		any = true;
		leg_take(it, &legs->children[i]);
	}
	if (it->leg != ALL && !any)
		return fault_set(fault, -EINVAL, "volume %s has no leg %ld", it->name, it->leg);
	if (!it->count)
		return fault_set(fault, -EINVAL, "leg %ld has no path %ld", it->leg, it->path);
	return 0;
}

static int volume_gone(const struct reconnect *it, struct fault *fault)
{
	return fault_set(fault, -ENODEV,
			 "volume %s is down: its paths log in when it comes up\nnext: istripectl up %s",
			 it->name, it->name);
}

static const char *path_value(const struct live *leg, unsigned int path, const char *name)
{
	char *number = alloc_printf("%u", path);
	const struct live *paths = live_child(leg, "paths");
	const struct live *found = paths ? live_child(paths, number) : NULL;

	free(number);
	return found ? settings_value(&found->values, name) : "";
}

/* Some of its sessions are enough. */
static bool state_serves(const char *state)
{
	return !strcmp(state, "live") || !strcmp(state, "degraded");
}

static bool path_is_alone(const struct live *leg, unsigned int path)
{
	const struct live *paths = live_child(leg, "paths");
	size_t i;

	if (!state_serves(path_value(leg, path, "state")))
		return false;
	for (i = 0; i < paths->child_count; i++)
		if (strtoul(paths->children[i].name, NULL, 10) != path &&
		    state_serves(settings_value(&paths->children[i].values, "state")))
			return false;
	return true;
}

/* As it is now, and as the paths before it have left it. */
static int step_check(const struct reconnect *it, const struct step *step, bool *alone,
		      struct fault *fault)
{
	char *number = alloc_printf("%u", step->leg);
	struct live live = { 0 };
	const struct live *legs, *leg = NULL;

	if (!live_read(it->device, &live)) {
		legs = live_child(&live, "legs");
		leg = legs ? live_child(legs, number) : NULL;
	}
	*alone = leg && path_is_alone(leg, step->path);
	free(number);
	live_free(&live);
	if (!leg)
		return volume_gone(it, fault);
	if (!*alone || it->force || it->dry_run)
		return 0;
	fault_set(fault, -EBUSY, "leg %u path %u of %s is the only path of its leg that is live",
		  step->leg, step->path, it->name);
	fault_add(fault,
		  "next: bring another path of the leg back; or --force: I/O waits for the login, as long as recovery_timeout_ms allows");
	return -EBUSY;
}

static char *step_value(const struct reconnect *it, const struct step *step, const char *name)
{
	char *file = place_path("/sys/block/%s/istripe/legs/%u/paths/%u/%s", it->device, step->leg,
				step->path, name);
	char *text = NULL;

	file_read(file, &text);
	free(file);
	return text ? text : alloc_text("");
}

struct writing {
	char *file;
	const char *value;
	long long timeout_ms;
};

/* The module waits for commands: a signal ends that. */
static int write_body(void *context)
{
	const struct writing *it = context;

	if (it->timeout_ms != VALUE_FOREVER)
		alarm((it->timeout_ms + 999) / 1000);
	return -file_write(it->file, it->value);
}

static void write_fault(const struct reconnect *it, const struct step *step, int error, int log,
			struct fault *fault)
{
	fault_set(fault, error, "leg %u path %u of %s does not log in again: %s", step->leg,
		  step->path, it->name,
		  error == -ETIMEDOUT ? "its commands have not ended in time" :
					advice_error(error, NULL));
	if (error == -EINTR || advice_root(error, fault))
		return;
	if (error == -ENOENT)
		fault_add(fault, "this version of the module cannot, or the path was removed");
	else if (!klog_explain(log, it->name, fault))
		fault_add(fault, "next: istripectl status %s", it->name);
}

static int step_write(const struct reconnect *it, const struct step *step, struct fault *fault)
{
	struct writing writing = {
		.file = place_path("/sys/block/%s/istripe/legs/%u/paths/%u/reconnect", it->device,
				   step->leg, step->path),
		.value = it->force ? "force" : "1",
		.timeout_ms = it->timeout_ms,
	};
	int log = klog_open(), code = 0, ret = run_child(write_body, &writing, &code);

	if (ret == -EINTR && !interrupt_seen())
		ret = -ETIMEDOUT;
	ret = ret ? ret : -code;
	if (ret)
		write_fault(it, step, ret, log, fault);
	klog_close(log);
	free(writing.file);
	return ret;
}

static int await_fault(const struct reconnect *it, const struct step *step, int error,
		       const char *state, struct fault *fault)
{
	char *reason = step_value(it, step, "last_error");
	char *full = alloc_printf("leg %u path %u: %s", step->leg, step->path, reason);

	fault_set(fault, error, "leg %u path %u of %s is not live again %s: it is %s", step->leg,
		  step->path, it->name, error == -EINTR ? "at the interrupt" : "in time",
		  *state ? state : "gone");
	if (*reason) {
		fault_add(fault, "reason: %s", reason);
		advice_login(it->name, full, false, fault);
	}
	if (*state)
		fault_add(fault, "next: istripectl status %s; it goes on trying", it->name);
	free(full);
	free(reason);
	return error;
}

static int step_await(const struct reconnect *it, const struct step *step, long long begin_ms,
		      struct fault *fault)
{
	char *state = step_value(it, step, "state");
	int ret = 0;

	while (strcmp(state, "live")) {
		bool over = it->timeout_ms != VALUE_FOREVER &&
			    watch_now_ms() - begin_ms >= it->timeout_ms;

		if (interrupt_seen() || over || !*state) {
			ret = await_fault(it, step, interrupt_seen() ? -EINTR : -ETIMEDOUT, state,
					  fault);
			break;
		}
		watch_sleep_ms(POLL_MS);
		free(state);
		state = step_value(it, step, "state");
	}
	free(state);
	return ret;
}

static int step_do(struct reconnect *it, size_t number, struct fault *fault)
{
	struct step *step = &it->steps[number];
	long long begin_ms = watch_now_ms();
	bool alone;
	int ret = step_check(it, step, &alone, fault);

	if (ret)
		return ret;
	if (!it->json) {
		printf("%s: leg %u path %u (%zu of %zu): ", it->name, step->leg, step->path,
		       number + 1, it->count);
		fflush(stdout);
	}
	ret = step_write(it, step, fault);
	if (!ret)
		ret = step_await(it, step, begin_ms, fault);
	step->ms = watch_now_ms() - begin_ms;
	step->result = ret ? "failed" : "live";
	if (!it->json && ret)
		puts("failed");
	else if (!it->json)
		printf("live again after %.2f s\n", step->ms / 1e3);
	return ret;
}

static int step_plan(const struct reconnect *it, const struct step *step, struct fault *fault)
{
	const char *more = "";
	bool alone;
	int ret = step_check(it, step, &alone, fault);

	if (ret)
		return ret;
	if (alone && it->force)
		more = ": the only one of its leg that is live, I/O would wait";
	else if (alone)
		more = ", with --force only: nothing else of its leg is live";
	printf("%s: would log in leg %u path %u again%s\n", it->name, step->leg, step->path, more);
	return 0;
}

/* The first path that does not come back ends it: the others go on serving. */
static int steps_do(struct reconnect *it, struct fault *fault)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < it->count; i++) {
		if (interrupt_seen())
			ret = fault_set(fault, -EINTR, "interrupted");
		else if (it->dry_run)
			ret = step_plan(it, &it->steps[i], fault);
		else
			ret = step_do(it, i, fault);
	}
	if (ret && i < it->count)
		fault_add(fault, "paths behind it are left as they were: %zu", it->count - i);
	return ret;
}

static int volume_reconnect(struct reconnect *it, struct fault *fault)
{
	struct live live = { 0 };
	int ret = tree_has_volume(it->name, fault);

	if (ret)
		return ret;
	it->device = power_device(it->name);
	if (!it->device || live_read(it->device, &live))
		ret = volume_gone(it, fault);
	else
		ret = steps_take(it, &live, fault);
	live_free(&live);
	return ret ? ret : steps_do(it, fault);
}

static void reconnect_json(const struct reconnect *it)
{
	struct json_object *all = json_object_new_array(), *volume = json_object_new_object();
	struct json_object *paths = json_object_new_array();
	size_t i;

	json_text(volume, "name", it->name);
	for (i = 0; i < it->count; i++) {
		const struct step *step = &it->steps[i];
		struct json_object *path = json_object_new_object();
		char *error = step_value(it, step, "last_error");

		json_object_object_add(path, "leg", json_object_new_int64(step->leg));
		json_object_object_add(path, "path", json_object_new_int64(step->path));
		json_text(path, "result", step->result);
		json_object_object_add(path, "milliseconds", step->result ?
				       json_object_new_int64(step->ms) : NULL);
		json_text(path, "last_error", error);
		free(error);
		json_object_array_add(paths, path);
	}
	json_object_object_add(volume, "paths", paths);
	json_object_array_add(all, volume);
	json_print(all);
}

int command_reconnect(const struct command *command, int argc, char **argv)
{
	struct reconnect it = { .leg = ALL, .path = ALL };
	struct command_line line;
	struct fault fault = { 0 };
	int code, ret;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_FORCE | COMMAND_DRY_RUN |
			   COMMAND_TIMEOUT, &line, false, &code))
		return code;
	it.timeout_ms = line.flags & COMMAND_TIMEOUT ? line.timeout_ms : TIMEOUT_MS;
	it.force = line.flags & COMMAND_FORCE;
	it.dry_run = line.flags & COMMAND_DRY_RUN;
	it.json = line.flags & COMMAND_JSON;
	if (words_read(&line, &it, &fault))
		return command_usage(command, &fault);
	interrupt_catch();
	ret = volume_reconnect(&it, &fault);
	if (it.json)
		reconnect_json(&it);
	if (ret)
		fault_print(&fault);
	free(it.steps);
	free(it.device);
	return ret ? EXIT_FAILED : EXIT_DONE;
}
