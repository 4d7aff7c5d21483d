// SPDX-License-Identifier: GPL-2.0
/* rescan: ask the targets whether the legs of volumes have grown. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "command.h"
#include "json_out.h"
#include "klog.h"
#include "live.h"
#include "place.h"
#include "power.h"
#include "states.h"
#include "tree.h"
#include "value.h"

struct rescan {
	char *device;
	unsigned long long before_bytes;
	unsigned long long bytes;
};

/* Of the paths that were lost before, and of which the log says nothing now. */
static int paths_explain(const char *name, struct fault *fault)
{
	struct states states = { 0 };
	struct fault unread = { 0 };
	int lines = 0;
	size_t i;

	states_read(&states, false, &unread);
	for (i = 0; i < states.count; i++) {
		const struct state *path = &states.items[i];

		if (path->path == STATES_NONE || strcmp(path->volume, name) || !*path->reason)
			continue;
		fault_add(fault, "leg %d path %d is %s: %s", path->leg, path->path, path->state,
			  path->reason);
		lines++;
	}
	states_free(&states);
	return lines;
}

static void rescan_fault(const char *name, int error, int log, struct fault *fault)
{
	fault_set(fault, error, "the legs of volume %s cannot all be asked: %s", name,
		  strerror(-error));
	if (advice_root(error, fault))
		return;
	if (error == -ENOENT)
		fault_add(fault, "this version of the module cannot, or the volume went down");
	else if (!klog_explain(log, name, fault) && !paths_explain(name, fault))
		fault_add(fault, "next: istripectl status %s", name);
}

static int rescan_write(const char *device)
{
	char *path = place_path("/sys/block/%s/istripe/rescan", device);
	int ret = file_write(path, "1");

	free(path);
	return ret;
}

static int down_fault(const char *name, struct fault *fault)
{
	fault_set(fault, -ENODEV, "volume %s is down", name);
	/* With superblocks it comes up with the size that they have. */
	fault_add(fault, "next: istripectl up %s, then istripectl rescan %s", name, name);
	return -ENODEV;
}

static int rescan_run(const char *name, struct rescan *rescan, struct fault *fault)
{
	int ret = tree_has_volume(name, fault), log;

	if (ret)
		return ret;
	rescan->device = power_device(name);
	if (!rescan->device)
		return down_fault(name, fault);
	rescan->before_bytes = live_size(rescan->device);
	log = klog_open();
	ret = rescan_write(rescan->device);
	if (ret)
		rescan_fault(name, ret, log, fault);
	rescan->bytes = live_size(rescan->device);
	if (!ret && rescan->bytes == rescan->before_bytes)
		klog_explain(log, name, fault);
	klog_close(log);
	return ret;
}

static int rescan_plan(const char *name, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);
	char *device = ret ? NULL : power_device(name), *size;

	if (!ret && !device)
		ret = down_fault(name, fault);
	if (!ret) {
		size = value_size(live_size(device));
		printf("%s: would ask for the sizes of its legs; /dev/%s has %s\n", name, device,
		       size);
		free(size);
	}
	free(device);
	return ret;
}

static struct json_object *rescan_object(const char *name, const struct rescan *rescan)
{
	struct json_object *object = json_object_new_object();

	json_text(object, "name", name);
	json_text(object, "device", rescan->device);
	json_object_object_add(object, "size_bytes_before",
			       json_object_new_int64(rescan->before_bytes));
	json_object_object_add(object, "size_bytes", json_object_new_int64(rescan->bytes));
	return object;
}

static void rescan_print(const char *name, const struct rescan *rescan)
{
	char *before = value_size(rescan->before_bytes), *now = value_size(rescan->bytes);

	if (rescan->bytes == rescan->before_bytes)
		printf("%s: /dev/%s keeps its size, %s\n", name, rescan->device, now);
	else
		printf("%s: /dev/%s has grown from %s to %s\n", name, rescan->device, before, now);
	free(before);
	free(now);
}

static int rescan_one(const char *name, struct json_object *all, bool dry_run)
{
	struct rescan rescan = { 0 };
	struct fault fault = { 0 };
	int ret = dry_run ? rescan_plan(name, &fault) : rescan_run(name, &rescan, &fault);

	if (!ret && all)
		json_object_array_add(all, rescan_object(name, &rescan));
	else if (!ret && !dry_run)
		rescan_print(name, &rescan);
	fault_print(&fault);
	free(rescan.device);
	return ret ? EXIT_FAILED : EXIT_DONE;
}

int command_rescan(const struct command *command, int argc, char **argv)
{
	struct fault fault = { 0 };
	struct json_object *all;
	struct command_line line;
	int code = EXIT_DONE;
	bool dry_run;
	size_t i;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_DRY_RUN, &line, true,
			   &code))
		return code;
	dry_run = line.flags & COMMAND_DRY_RUN;
	if (dry_run && (line.flags & COMMAND_JSON)) {
		fault_either(&fault, "--json", "--dry-run");
		return command_usage(command, &fault);
	}
	all = line.flags & COMMAND_JSON ? json_object_new_array() : NULL;
	for (i = 0; i < line.count; i++)
		if (rescan_one(line.names[i], all, dry_run))
			code = EXIT_FAILED;
	if (all)
		json_print(all);
	return code;
}
