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
 * @boot: also have systemd start it at boot
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int save_volume(struct volume *volume, bool boot, struct fault *fault);

#endif
