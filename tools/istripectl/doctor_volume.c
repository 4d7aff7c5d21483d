// SPDX-License-Identifier: GPL-2.0
/* doctor: states, timers and the safety of a volume. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "alloc.h"
#include "doctor.h"
#include "fence.h"
#include "known.h"
#include "pacemaker.h"
#include "tree.h"

#define WHY_BYTES		512
#define PING_INTERVAL_MIN_MS	500	/* 0 turns pings off, and a few ms load the target */

static long long volume_number(const struct doctor_volume *volume, const char *name)
{
	return strtoll(doctor_value(volume, name), NULL, 10);
}

static long long default_ms(const char *name)
{
	return strtoll(known_anywhere(name, NULL)->value, NULL, 10);
}

/* States */

/* Why I/O to a leg waits although a path may be live, for free(). */
static char *waits_of(const struct doctor_volume *volume)
{
	const struct live *legs = live_child(&volume->live, "legs");
	size_t i;

	for (i = 0; legs && i < legs->child_count; i++) {
		const char *error = settings_value(&legs->children[i].values, "last_error");
		const char *down_ms = settings_value(&legs->children[i].values, "down_ms");

		if (*error)
			return alloc_printf("%s: %s", strtoll(down_ms, NULL, 10) ?
					    "no path of a leg takes I/O" :
					    "no path serves a command", error);
	}
	return alloc_text("no path of a leg takes I/O");
}

void doctor_volume_state(struct doctor *doctor, const struct doctor_volume *volume)
{
	const char *state = settings_value(&volume->live.values, "state");
	const char *error = volume->volume.last_error ? volume->volume.last_error : "";
	char *waits = waits_of(volume);

	if (!volume->up && !*error)
		doctor_skip(doctor, "the volume is down");
	else if (!volume->up && pacemaker_may_have(volume->name))
		doctor_skip(doctor, "%s: a cluster manager may bring the volume up", error);
	else if (!volume->up)
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("down"), .wanted = alloc_text("live"),
			.next = alloc_printf("istripectl up %s", volume->name),
		},
		"%s", error);
	else if (!*state)
		doctor_unread(doctor, "the state", 0);
	else if (!strcmp(state, "live"))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text(state), .wanted = alloc_text("live"),
			.next = alloc_printf("istripectl status %s", volume->name),
		},
		"%s", !strcmp(state, "degraded") ? "a path is lost" : waits);
	free(waits);
}

static char *lost_path_step(const struct doctor *doctor, const struct doctor_path *path,
			    const char *error)
{
	const char *unfenced = settings_value(&path->live->values, "unfenced");
	bool group = advice_is_other_group(error);
	char *step;

	if (!strcmp(settings_value(&path->live->values, "state"), "dead"))
		return alloc_printf("istripectl reconnect %s %u %u # once its cause is mended",
				    doctor->volume, path->leg->index, path->path->index);
	if (group || !strcmp(unfenced, "1"))
		return alloc_printf("istripectl status %s # %s%s: istripectl path confirm %s %u %u",
				    doctor->volume,
				    "bring the path back; only if its target was switched off or restarted since",
				    group ? ", or that portal group was removed" : "",
				    doctor->volume, path->leg->index, path->path->index);
	step = advice_step(doctor->volume, path->leg->index, path->path->index, error);
	return step ? step : alloc_printf("istripectl rescan %s; istripectl status %s",
					  doctor->volume, doctor->volume);
}

static void path_off_warn(struct doctor *doctor, const struct doctor_path *path)
{
	char *file = doctor_path_file(doctor, path, "enable");

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_text("off"), .wanted = alloc_text("live"),
		.next = alloc_printf("echo 1 > %s", file),
	},
	"it was switched off, or did not come back when it was to log in anew");
	free(file);
}

/* That is changed there, for all paths of the target. */
static bool secret_is_of_record(const struct doctor_volume *volume, const struct doctor_path *path)
{
	return advice_is_of_record(volume->name, path->leg->index, path->path->index);
}

/* Whether the target refuses both for what may be one secret. */
static bool secrets_fail(const struct doctor_volume *volume, const struct doctor_path *path,
			 const struct doctor_path *other)
{
	static const char *const names[] = { "state", "last_error", "unfenced" };
	size_t i;

	if (!path->live || !other->live)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(settings_value(&path->live->values, names[i]),
			   settings_value(&other->live->values, names[i])))
			return false;
	return advice_is_secret(settings_value(&path->live->values, "last_error")) &&
	       strcmp(settings_value(&path->live->values, "state"), "dead") &&
	       strcmp(settings_value(&path->live->values, "unfenced"), "1") &&
	       secret_is_of_record(volume, path) == secret_is_of_record(volume, other);
}

static bool is_told(const struct doctor_volume *volume, const struct doctor_path *path)
{
	const struct doctor_path *other;

	for (other = volume->paths; other < path; other++)
		if (secrets_fail(volume, path, other))
			return true;
	return false;
}

/* Also of the paths behind it that want the same step. */
static void lost_path_warn(struct doctor *doctor, const struct doctor_path *path,
			   const char *state, const char *error)
{
	const struct doctor_volume *volume = doctor_volume_of(doctor);
	char *subject = alloc_text(doctor->subject), *others = alloc_text(""), *longer, *step;
	bool of_record = secret_is_of_record(volume, path);
	const struct doctor_path *other;

	for (other = path + 1; other < volume->paths + volume->path_count; other++) {
		unsigned int leg = other->leg->index, number = other->path->index;

		if (!secrets_fail(volume, path, other))
			continue;
		longer = alloc_printf("%s, leg %u path %u", subject, leg, number);
		free(subject);
		subject = longer;
		if (of_record)
			continue;
		longer = alloc_printf("%s%s--leg %u --path %u", others,
				      *others ? ", " : "; the same with ", leg, number);
		free(others);
		others = longer;
	}
	step = lost_path_step(doctor, path, error);
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = subject, .measured = alloc_text(state), .wanted = alloc_text("live"),
		.next = alloc_printf("%s%s", step, others),
	},
	"%s", *error ? error : "it is not logged in");
	free(step);
	free(others);
}

void doctor_path_state(struct doctor *doctor, const struct doctor_path *path)
{
	const char *state = path->live ? settings_value(&path->live->values, "state") : "";
	const char *error = path->live ? settings_value(&path->live->values, "last_error") : "";

	if (path->path->off && !path->live && doctor_volume_of(doctor)->up)
		path_off_warn(doctor, path);
	else if (!*state)
		doctor_skip(doctor, "it is not up");
	else if (!strcmp(state, "live"))
		doctor_pass(doctor);
	else if (!is_told(doctor_volume_of(doctor), path))
		lost_path_warn(doctor, path, state, error);
}

void doctor_single_path(struct doctor *doctor, const struct doctor_volume *volume)
{
	size_t i;

	for (i = 0; i < volume->volume.leg_count; i++) {
		const struct leg *leg = &volume->volume.legs[i];

		if (leg->path_count > 1)
			doctor_pass(doctor);
		else
			doctor_warn(doctor, &(struct doctor_warning){
				.subject = alloc_printf("leg %u", leg->index),
				.measured = alloc_printf("%zu", leg->path_count),
				.wanted = alloc_text("2"),
				.next = alloc_printf("istripectl path add %s %u portal=IP,nic=NIC",
						     volume->name, leg->index),
			},
			"when its only path is lost all I/O of the volume waits, then fails");
	}
}

static char *fence_measured(const struct settings *leg, const char *unproven)
{
	if (!fence_is_given_up(leg))
		return alloc_printf("unproven: %s", unproven);
	return alloc_printf("fence_timeout_ms %s, unproven: %s",
			    settings_value(leg, "fence_timeout_ms"), unproven);
}

static void fence_of_a_volume_that_moves(struct doctor *doctor, const struct leg *leg)
{
	if (strcmp(settings_value(&leg->settings, "fence"), "auto") || !pacemaker_is_used() ||
	    !pacemaker_has(doctor->volume))
		return;
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_printf("leg %u", leg->index),
		.measured = alloc_text("fence auto, and Pacemaker moves the volume"),
		.wanted = alloc_text("session"),
		.next = alloc_printf("istripectl set %s --leg %u fence=session", doctor->volume,
				     leg->index),
	},
	"an old write of this host could come over newer data of another one");
}

void doctor_fence(struct doctor *doctor, const struct doctor_path *path)
{
	const char *unproven = path->live ? settings_value(&path->live->values, "unproven") : "";
	const char *through = path->live ? settings_value(&path->live->values, "fenced_through") :
			      "";

	if (path->path == path->leg->paths)
		fence_of_a_volume_that_moves(doctor, path->leg);
	if (path->leg->path_count < 2)
		doctor_skip(doctor, "the leg has one path");
	else if (!path->live)
		doctor_skip(doctor, "it is not up");
	else if (*through || !strcmp(settings_value(&path->leg->settings, "fence"), "path"))
		doctor_pass(doctor);
	else if (!*unproven)
		doctor_skip(doctor, "no proof has been made yet");
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = fence_measured(&path->leg->settings, unproven),
			.wanted = alloc_text("a path proven to lead to the same portal group"),
			.next = alloc_text(fence_next(&path->leg->settings)),
		},
		"%s", fence_why(&path->leg->settings));
}

/* Timers */

static bool value_counts(const struct live *live, const char *name)
{
	return strtoll(settings_value(&live->values, name), NULL, 10) > 0;
}

static bool leg_io_waits(const struct live *leg)
{
	const struct live *paths = live_child(leg, "paths");
	bool waits = value_counts(leg, "down_ms") || value_counts(leg, "waiting_ms");
	size_t i;

	for (i = 0; paths && i < paths->child_count; i++)
		waits |= value_counts(&paths->children[i], "waiting_writes");
	return waits;
}

/* An outage that there is counts from its beginning. */
const char *doctor_recovery_fails(const struct doctor_volume *volume, long long from_ms,
				  long long to_ms)
{
	const struct live *legs = live_child(&volume->live, "legs");
	bool shorter = to_ms >= 0 && (from_ms < 0 || to_ms < from_ms), waits = false;
	size_t i;

	for (i = 0; legs && i < legs->child_count; i++)
		waits |= leg_io_waits(&legs->children[i]);
	return shorter && waits ? "; now it would fail at once all I/O that has waited longer" : "";
}

static void __printf(6, 7) timer_warn(struct doctor *doctor, const char *name,
				      long long measured, long long wanted, char *file,
				      const char *fmt, ...)
{
	const struct doctor_volume *volume = doctor_volume_of(doctor);
	const char *fails = strcmp(name, "recovery_timeout_ms") ? "" :
			    doctor_recovery_fails(volume, measured, wanted);
	char why[WHY_BYTES], *step = alloc_printf("echo %lld > %s", wanted, file);
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_printf("%s%s%s", doctor->subject ? doctor->subject : "",
					doctor->subject ? " " : "", name),
		.measured = alloc_printf("%lld", measured), .wanted = alloc_printf("%lld", wanted),
		.next = !*fails ? alloc_text(step) :
			alloc_printf("istripectl status %s # then, when all legs are live: %s",
				     volume->name, step),
	},
	"%s%s", why, fails);
	free(step);
	free(file);
}

static void ping_check(struct doctor *doctor, const struct doctor_path *path, long long command_ms)
{
	long long interval_ms = doctor_setting_number(path, "ping_interval_ms");
	long long timeout_ms = doctor_setting_number(path, "ping_timeout_ms");
	long long notice_ms = interval_ms + timeout_ms, half_ms = (command_ms - timeout_ms) / 2;

	if (!interval_ms)
		timer_warn(doctor, "ping_interval_ms", 0, default_ms("ping_interval_ms"),
			   doctor_path_file(doctor, path, "ping_interval_ms"),
			   "a silent target is noticed only when commands time out, after %lld ms",
			   command_ms);
	else if (notice_ms >= command_ms && timeout_ms + PING_INTERVAL_MIN_MS >= command_ms)
		timer_warn(doctor, "ping_timeout_ms", timeout_ms,
			   doctor_allowed("ping_timeout_ms", command_ms / 10),
			   doctor_path_file(doctor, path, "ping_timeout_ms"),
			   "commands time out after %lld ms, before a silent target is noticed after %lld ms",
			   command_ms, notice_ms);
	else if (notice_ms >= command_ms)
		timer_warn(doctor, "ping_interval_ms", interval_ms,
			   half_ms > PING_INTERVAL_MIN_MS ? half_ms : PING_INTERVAL_MIN_MS,
			   doctor_path_file(doctor, path, "ping_interval_ms"),
			   "commands time out after %lld ms, before a silent target is noticed after %lld ms",
			   command_ms, notice_ms);
	else
		doctor_pass(doctor);
}

static void user_timeout_check(struct doctor *doctor, const struct doctor_path *path)
{
	long long notice_ms = doctor_setting_number(path, "ping_interval_ms") +
			      doctor_setting_number(path, "ping_timeout_ms");
	long long user_ms = doctor_setting_number(path, "user_timeout_ms");

	if (!user_ms || user_ms >= notice_ms)
		doctor_pass(doctor);
	else
		/* 0 leaves it to TCP, where there is no value that is enough. */
		timer_warn(doctor, "user_timeout_ms", user_ms,
			   doctor_allowed("user_timeout_ms", notice_ms) == notice_ms ? notice_ms :
			   0,
			   doctor_path_file(doctor, path, "user_timeout_ms"),
			   "TCP ends the connection before the target has had the %lld ms that ping_interval_ms and ping_timeout_ms give it",
			   notice_ms);
}

void doctor_timers(struct doctor *doctor, const struct doctor_path *path)
{
	const struct doctor_volume *volume = doctor_volume_of(doctor);
	long long recovery_ms = volume_number(volume, "recovery_timeout_ms");
	long long login_ms = doctor_setting_number(path, "login_timeout_ms");
	long long wanted_ms = doctor_allowed("login_timeout_ms", recovery_ms / 4);

	ping_check(doctor, path, volume_number(volume, "command_timeout_ms"));
	user_timeout_check(doctor, path);
	/* Where recovery_timeout_ms is below the least one, check recovery-timeout tells that. */
	if (recovery_ms <= 0 || login_ms < recovery_ms || login_ms <= wanted_ms)
		doctor_pass(doctor);
	else
		timer_warn(doctor, "login_timeout_ms", login_ms, wanted_ms,
			   doctor_path_file(doctor, path, "login_timeout_ms"),
			   "recovery_timeout_ms, %lld, is over before one login may end",
			   recovery_ms);
}

/* How long it may take to notice that a path is lost. */
static long long notice_ms_of(const struct doctor_volume *volume)
{
	long long longest_ms = 0;
	size_t i;

	for (i = 0; i < volume->path_count; i++) {
		long long ms = doctor_setting_number(&volume->paths[i], "ping_interval_ms") +
			       doctor_setting_number(&volume->paths[i], "ping_timeout_ms");

		if (ms > longest_ms)
			longest_ms = ms;
	}
	return longest_ms ? longest_ms : default_ms("ping_interval_ms") +
					 default_ms("ping_timeout_ms");
}

void doctor_recovery(struct doctor *doctor, const struct doctor_volume *volume)
{
	long long recovery_ms = volume_number(volume, "recovery_timeout_ms");
	long long command_ms = volume_number(volume, "command_timeout_ms");
	long long notice_ms = notice_ms_of(volume), wanted = default_ms("recovery_timeout_ms");

	if (2 * command_ms > wanted)
		wanted = 2 * command_ms;
	if (2 * notice_ms > wanted)
		wanted = 2 * notice_ms;
	if (recovery_ms < 0)
		timer_warn(doctor, "recovery_timeout_ms", recovery_ms, wanted,
			   tree_path(volume->name, "recovery_timeout_ms"),
			   "when a leg does not come back, its users hang until this is set");
	else if (recovery_ms <= notice_ms)
		timer_warn(doctor, "recovery_timeout_ms", recovery_ms, wanted,
			   tree_path(volume->name, "recovery_timeout_ms"),
			   "a target that restarts, or %lld ms without an answer, make I/O fail",
			   notice_ms);
	else if (command_ms >= recovery_ms)
		timer_warn(doctor, "recovery_timeout_ms", recovery_ms, wanted,
			   tree_path(volume->name, "recovery_timeout_ms"),
			   "command_timeout_ms, %lld, is not shorter: I/O fails before recovery of a command has ended",
			   command_ms);
	else
		doctor_pass(doctor);
}
