/* SPDX-License-Identifier: GPL-2.0 */
/* Volumes that are there again after a boot. */
#ifndef ISTRIPECTL_SAVE_H
#define ISTRIPECTL_SAVE_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

/**
 * save_volume() - write the configuration file of a volume, and say which one that is
 * @volume: secrets are the names of their files; those that cannot be read get a name, and
 *	standard error says so
 * @anew: as of conf_write()
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int save_volume(struct volume *volume, bool anew, struct fault *fault);

/**
 * save_mention_secrets() - say which files save will name for secrets that were given otherwise
 * @name: a volume, whose path has these secrets now
 * @leg: number of its leg
 * @path: number of the path
 * @given: "@FILE" of secrets; names become absolute
 *
 * The kernel does not say secrets: save cannot see that one is new. Of a path that follows its node
 * record it is said that the record counts.
 */
void save_mention_secrets(const char *name, unsigned int leg, unsigned int path,
			  struct settings *given);

/**
 * save_boot() - have systemd start a volume at boot, and say so
 * @name: a volume that is saved
 * @now: and its unit now: never of a volume that is down, whose LUNs another host may have
 * @fault: set on failure
 *
 * Return: 0; -ENOPKG there is no systemctl; another -errno.
 */
int save_boot(const char *name, bool now, struct fault *fault);

#endif
