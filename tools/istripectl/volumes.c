// SPDX-License-Identifier: GPL-2.0
/* The volumes that this host knows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "place.h"
#include "power.h"
#include "tree.h"
#include "volumes.h"

int volumes_list(struct file_names *names, bool *loaded, struct fault *fault)
{
	struct file_names files = { 0 };
	struct fault missing = { 0 };
	int ret = tree_list(names, &missing);
	size_t i;

	*loaded = !ret;
	if (ret && ret != -ENODEV) {
		*fault = missing;
		return ret;
	}
	ret = conf_list(&files, fault);
	for (i = 0; i < files.count; i++)
		file_names_add_new(names, files.items[i]);
	file_names_free(&files);
	return ret;
}

bool volume_was_up(const char *name, const char *device)
{
	char *still = power_device(name);
	bool up = still && !strcmp(still, device);

	free(still);
	return up;
}

static void off_add(struct volume_now *now)
{
	struct volume volume = { 0 };
	struct fault ignored;

	if (!tree_read(now->name, &volume, &ignored))
		live_add_off(&now->live, &volume);
	volume_free(&volume);
}

void volume_now_read(const char *name, int (*read)(const char *device, struct live *live),
		     struct volume_now *now)
{
	char *path;

	memset(now, 0, sizeof(*now));
	now->name = alloc_text(name);
	now->device = power_device(name);
	if (!now->device)
		return;
	path = place_path("/sys/block/%s/stat", now->device);
	file_read(path, &now->stat);
	free(path);
	if (!read(now->device, &now->live) &&
	    volume_was_up(name, now->device)) {
		off_add(now);
		return;
	}
	volume_now_free(now);
	now->name = alloc_text(name);
}

void volume_now_free(struct volume_now *now)
{
	free(now->name);
	free(now->device);
	free(now->stat);
	live_free(&now->live);
	memset(now, 0, sizeof(*now));
}
