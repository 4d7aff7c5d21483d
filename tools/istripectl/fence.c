// SPDX-License-Identifier: GPL-2.0
/* Paths whose lost writes no other path can end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fence.h"
#include "interrupt.h"
#include "live.h"
#include "power.h"
#include "text.h"
#include "watch.h"

#define PROOF_WAIT_MS	5000
#define PROOF_LOOK_MS	100
#define LOGIN_WAIT_MS	20000

bool fence_is_given_up(const struct settings *leg)
{
	const char *timeout_ms = settings_value(leg, "fence_timeout_ms");

	return *timeout_ms && *timeout_ms != '-';
}

static bool fence_keeps_writes(const struct settings *leg)
{
	return !strcmp(settings_value(leg, "fence"), "session");
}

const char *fence_why(const struct settings *leg)
{
	static const char *const words[] = {
		"writes that are lost with it wait until it is back: Documentation/usage.rst, When a path is lost",
		"writes that are lost with it are not known to be over until it is back, and newer data of their blocks are in this host's memory until then: Documentation/usage.rst, When a path is lost",
		"writes that are lost with it are sent again without a fence: an old one may overwrite newer data",
	};

	if (fence_is_given_up(leg))
		return words[2];
	return words[!fence_keeps_writes(leg)];
}

const char *fence_next(const struct settings *leg)
{
	return fence_is_given_up(leg) || fence_keeps_writes(leg) ?
		"at the array: put all portals into one portal group" :
		"at the array: put all portals into one portal group; or see ghost_timeout_ms";
}

static bool path_is_live(const struct live *path)
{
	return !strcmp(settings_value(&path->values, "state"), "live");
}

static bool path_has_way(const struct live *path)
{
	return *settings_value(&path->values, "fenced_through");
}

static bool path_is_alone(const struct live *path)
{
	return path_is_live(path) && !path_has_way(path) &&
	       *settings_value(&path->values, "unproven");
}

/* Modules of the past have no such file. */
static bool path_is_open(const struct live *path)
{
	return path_is_live(path) && settings_find(&path->values, "unproven") &&
	       !path_has_way(path) && !path_is_alone(path);
}

static size_t paths_count(const struct live *paths, bool (*is)(const struct live *path))
{
	size_t i, count = 0;

	for (i = 0; i < paths->child_count; i++)
		count += is(&paths->children[i]);
	return count;
}

/* Whether the module is about to compare the paths. */
static bool leg_is_open(const struct live *leg, const struct live *paths)
{
	return strcmp(settings_value(&leg->values, "fence"), "path") &&
	       paths_count(paths, path_is_live) > 1 && paths_count(paths, path_is_open);
}

static char *paths_text(const struct live *paths)
{
	char *text = alloc_text(""), *longer;
	size_t i;

	for (i = 0; i < paths->child_count; i++) {
		if (!path_is_alone(&paths->children[i]))
			continue;
		longer = alloc_printf("%s%s%s", text, *text ? ", " : "", paths->children[i].name);
		free(text);
		text = longer;
	}
	return text;
}

static void leg_warn(const char *name, const struct live *leg, const struct live *paths)
{
	const struct live *path = paths->children;
	char *numbers;

	while (path < paths->children + paths->child_count && !path_is_alone(path))
		path++;
	if (path == paths->children + paths->child_count)
		return;
	numbers = paths_text(paths);
	fprintf(stderr,
		"istripectl: warning: %s leg %s: no other path can end lost writes of path %s (%s): %s\n"
		"            next: %s\n",
		name, leg->name, numbers, settings_value(&path->values, "unproven"),
		fence_why(&leg->values), fence_next(&leg->values));
	free(numbers);
}

static const struct live *leg_paths(const struct live *leg, int wanted)
{
	return wanted < 0 || atoi(leg->name) == wanted ? live_child(leg, "paths") : NULL;
}

static bool legs_are_open(const struct live *legs, int wanted)
{
	bool open = false;
	size_t i;

	for (i = 0; i < legs->child_count; i++) {
		const struct live *paths = leg_paths(&legs->children[i], wanted);

		open |= paths && leg_is_open(&legs->children[i], paths);
	}
	return open;
}

static void legs_warn(const char *name, const struct live *legs, int wanted)
{
	size_t i;

	for (i = 0; i < legs->child_count; i++) {
		const struct live *paths = leg_paths(&legs->children[i], wanted);

		if (paths)
			leg_warn(name, &legs->children[i], paths);
	}
}

/* The paths of a leg, with their states; @live is to be freed. NULL: not known. */
static const struct live *paths_read(const char *name, unsigned int leg, struct live *live)
{
	char *device = power_device(name), *number = alloc_printf("%u", leg);
	const struct live *at = device && !live_read_states(device, live) ?
				live_child(live, "legs") : NULL;

	at = at ? live_child(at, number) : NULL;
	free(number);
	free(device);
	return at ? live_child(at, "paths") : NULL;
}

bool fence_leg_is_dead(const char *name, unsigned int leg)
{
	struct live live = { 0 };
	const struct live *paths = paths_read(name, leg, &live);
	bool dead = paths && !paths_count(paths, path_is_live);

	live_free(&live);
	return dead;
}

bool fence_path_is_lost(const char *name, unsigned int leg, unsigned int path)
{
	static const char *const states[] = {
		"connecting", "backoff", "refused", "draining", NULL,
	};
	struct live live = { 0 };
	const struct live *paths = paths_read(name, leg, &live), *its;
	char *number = alloc_printf("%u", path);
	bool lost;

	its = paths ? live_child(paths, number) : NULL;
	lost = its && text_listed(states, settings_value(&its->values, "state"));
	free(number);
	live_free(&live);
	return lost;
}

void fence_await_login(const char *name, unsigned int leg, unsigned int path)
{
	long long end_ms = watch_now_ms() + LOGIN_WAIT_MS;

	while (fence_path_is_lost(name, leg, path) && !interrupt_seen() && watch_now_ms() < end_ms)
		watch_sleep_ms(PROOF_LOOK_MS);
}

bool fence_advise(const char *name, unsigned int leg, unsigned int path, const char *list,
		  struct fault *fault)
{
	if (!strstr(fault->text, "see fence_confirm") &&
	    !strstr(fault->text, "see reconnect, fence_confirm"))
		return false;
	if (fence_leg_is_dead(name, leg))
		fault_add(fault, "next: for I/O to go on%s: istripectl path add %s %u %s",
			  list ? "" : ", if the LUN is elsewhere now", name, leg,
			  list ? list : "LIST");
	fault_add(fault,
		  "next: when all it lacks is a NIC that works, an address or a secret: nic, source_address and chap_... alone may change while it is lost: in the file, then istripectl apply %s",
		  name);
	fault_add(fault,
		  "next: when its target was switched off or restarted since: istripectl path confirm %s %u %u, then repeat the command",
		  name, leg, path);
	return true;
}

/* False: the module is not done. */
static bool device_warn(const char *name, const char *device, int leg, bool last)
{
	struct live live = { 0 };
	const struct live *legs;
	bool open = false;

	live_read_fences(device, &live);
	legs = live_child(&live, "legs");
	open = legs && !last && legs_are_open(legs, leg);
	if (legs && !open)
		legs_warn(name, legs, leg);
	live_free(&live);
	return !open;
}

void fence_warn(const char *name, int leg)
{
	long long end_ms = watch_now_ms() + PROOF_WAIT_MS;
	char *device = power_device(name);

	while (device && !device_warn(name, device, leg,
				      interrupt_seen() || watch_now_ms() >= end_ms))
		watch_sleep_ms(PROOF_LOOK_MS);
	free(device);
}
