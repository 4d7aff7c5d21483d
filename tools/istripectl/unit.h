/* SPDX-License-Identifier: GPL-2.0 */
/* Units of systemd, as its files say it: systemd itself need not run. */
#ifndef ISTRIPECTL_UNIT_H
#define ISTRIPECTL_UNIT_H

#include <stdbool.h>

/**
 * unit_is_enabled() - whether a unit starts at boot
 * @unit: its name
 *
 * Return: whether it is enabled.
 */
bool unit_is_enabled(const char *unit);

/**
 * unit_of_volume() - the unit that brings a volume up
 * @name: the volume
 *
 * Return: its name, for free().
 */
char *unit_of_volume(const char *name);

/**
 * unit_of_volume_is_enabled() - whether a volume comes up at boot
 * @name: the volume
 *
 * Return: whether its unit is enabled.
 */
bool unit_of_volume_is_enabled(const char *name);

#endif
