/* SPDX-License-Identifier: GPL-2.0 */
/* The volumes that this host knows, in the kernel or by their files. */
#ifndef ISTRIPECTL_VOLUMES_H
#define ISTRIPECTL_VOLUMES_H

#include <stdbool.h>

#include "fault.h"
#include "file.h"
#include "live.h"

/* A volume at one moment, as the kernel tells it. */
struct volume_now {
	char *name;
	char *device;		/* as istripe0; NULL: it is down */
	struct live live;	/* empty when it is down */
	char *stat;		/* the file stat of the disk; NULL: none */
};

/**
 * volumes_list() - their names: those of the kernel, then those that have a file only
 * @names: zeroed by the caller, filled
 * @loaded: set to whether the module is loaded; that it is not is no failure
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int volumes_list(struct file_names *names, bool *loaded, struct fault *fault);

/**
 * volume_was_up() - whether a volume was up all the time while its files in sysfs were read
 * @name: its name
 * @device: its disk, as power_device() has said before that
 *
 * One that goes down loses its disk first, then one directory after another.
 *
 * Return: whether it was.
 */
bool volume_was_up(const char *name, const char *device);

/**
 * volume_now_read() - read what the kernel tells of a volume
 * @name: of the volume, which need not be there
 * @read: live_read(), or one of those that read less
 * @now: set; for volume_now_free()
 */
void volume_now_read(const char *name, int (*read)(const char *device, struct live *live),
		     struct volume_now *now);

/**
 * volume_now_free() - free all of it
 * @now: empty afterwards
 */
void volume_now_free(struct volume_now *now);

#endif
