/* SPDX-License-Identifier: GPL-2.0 */
/* Paths and settings of a file that cannot be made now, and do not keep the others down. */
#ifndef ISTRIPECTL_LEAVE_OUT_H
#define ISTRIPECTL_LEAVE_OUT_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"
#include "retry.h"

/**
 * leave_out_paths() - put addresses in the place of host names, and secrets in that of their files
 * @volume: as conf_secrets() leaves it; left_out of its paths is set
 * @first_address: take the first one when a host name has several addresses, with a warning
 * @late: how long host names and interfaces are waited for, or NULL
 * @left: the warnings: names the paths that are left out, and why; empty: none
 * @fault: set on failure
 *
 * A path is left out when its host name is not known or has several addresses, when the interface
 * of a link-local address or the file of a secret is not there, and its leg has another path. Its
 * settings are as far as they could be read: nothing but its number is to be used.
 *
 * Return: 0; a leg has no other path: as portal_resolve(), or -ENOENT; another -errno: of a secret.
 */
int leave_out_paths(struct volume *volume, bool first_address, struct retry *late,
		    struct fault *left, struct fault *fault);

/**
 * leave_out_forget() - forget the paths that are left out
 * @volume: one that the kernel does not know yet
 */
void leave_out_forget(struct volume *volume);

/**
 * leave_out_record() - remember the paths that are left out and that the kernel does not have
 * @volume: left_out of its paths is set; without such a path, none is remembered any more
 *
 * Until the next reboot, in /run. Nobody is told when that cannot be written.
 */
void leave_out_record(const struct volume *volume);

/**
 * leave_out_keep() - add the paths that leave_out_record() has remembered, as the file has them
 * @volume: as tree_read() has filled it; left_out of those that are added is set
 */
void leave_out_keep(struct volume *volume);

/**
 * leave_out_forgives() - whether a volume that is down can do without a setting that is refused
 * @setting: the name of its file
 * @error: of the write
 *
 * Return: true of a congestion_control that this kernel does not have.
 */
bool leave_out_forgives(const char *setting, int error);

/**
 * leave_out_add_path() - as tree_add_path(), without congestion_control if that is refused
 * @name: of a volume that is down
 * @leg: of the path
 * @path: its congestion_control is taken out
 * @fault: set on failure
 *
 * Return: as tree_add_path().
 */
int leave_out_add_path(const char *name, unsigned int leg, struct path *path,
		       struct fault *fault);

/**
 * leave_out_create() - as tree_create(), without each congestion_control that is refused
 * @volume: what to make
 * @lock: as of tree_create()
 * @fault: set on failure
 *
 * Return: as tree_create().
 */
int leave_out_create(const struct volume *volume, int lock, struct fault *fault);

/**
 * leave_out_mention() - warn of paths that do not have the congestion_control they are to have
 * @volume: as it is wanted
 */
void leave_out_mention(const struct volume *volume);

#endif
