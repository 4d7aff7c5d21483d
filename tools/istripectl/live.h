/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a volume that is up, in sysfs: a tree of directories and values, as this
 * version of the module has it.
 */
#ifndef ISTRIPECTL_LIVE_H
#define ISTRIPECTL_LIVE_H

#include <stddef.h>

#include "model.h"

struct live {
	char *name;			/* of the directory */
	struct settings values;		/* value NULL: cannot be read just now */
	struct live *children;
	size_t child_count;
};

/**
 * live_read() - read all below /sys/block/<device>/istripe
 * @device: as istripe0
 * @live: zeroed by the caller, filled
 *
 * Return: 0; -errno: -ENOENT it is not, or no longer, there.
 */
int live_read(const char *device, struct live *live);

/**
 * live_read_counts() - read all but what sessions have offered and negotiated
 * @device: as istripe0
 * @live: zeroed by the caller, filled
 *
 * Return: as live_read().
 */
int live_read_counts(const char *device, struct live *live);

/**
 * live_read_places() - read all of the volume, its legs, paths and connections, not of sessions
 * @device: as istripe0
 * @live: zeroed by the caller, filled
 *
 * Return: as live_read().
 */
int live_read_places(const char *device, struct live *live);

/**
 * live_read_states() - read the files state and last_error of the volume, its legs and paths
 * @device: as istripe0
 * @live: zeroed by the caller, filled
 *
 * Return: as live_read().
 */
int live_read_states(const char *device, struct live *live);

/**
 * live_read_fences() - read what legs and paths say about fences, and their state
 * @device: as istripe0
 * @live: zeroed by the caller, filled
 *
 * Return: as live_read().
 */
int live_read_fences(const char *device, struct live *live);

/**
 * live_add_off() - add the paths that are switched off, which sysfs does not have
 * @live: from live_read()
 * @volume: how the same volume is configured
 *
 * Their state is off; of their settings they have target_name, lun, portal, source_address and nic.
 */
void live_add_off(struct live *live, const struct volume *volume);

/**
 * live_child() - the directory of a name
 * @live: where to look
 * @name: its name
 *
 * Return: the directory, or NULL.
 */
const struct live *live_child(const struct live *live, const char *name);

/**
 * live_size() - size of a disk
 * @device: as istripe0
 *
 * Return: its size in bytes, 0 when it is not there.
 */
unsigned long long live_size(const char *device);

/**
 * live_free() - free all of it
 * @live: empty afterwards
 */
void live_free(struct live *live);

/**
 * live_takes_io() - whether no I/O of a volume waits for a leg
 * @state: of the volume, as sysfs has it
 *
 * While some does, a write to a file in the folder queue of the disk waits, too, and holds up those
 * who read one, where nothing ends their wait.
 *
 * Return: whether it does.
 */
bool live_takes_io(const char *state);

#endif
