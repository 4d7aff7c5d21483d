/* SPDX-License-Identifier: GPL-2.0 */
/* One table of what settings of open-iscsi are here, and why some are not. */
#ifndef ISTRIPECTL_OPENISCSI_H
#define ISTRIPECTL_OPENISCSI_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "model.h"

/**
 * openiscsi_table() - print the table, a line for each setting
 */
void openiscsi_table(void);

/**
 * openiscsi_name() - where a setting comes from
 * @name: the name of its file
 *
 * Return: the name of open-iscsi's setting that is taken for it; NULL when there is none.
 */
const char *openiscsi_name(const char *name);

/**
 * openiscsi_value() - what a record says for a value
 * @name: of a setting that has an openiscsi_name(), and is no secret
 * @value: as the module has it
 * @legs: of the volume
 *
 * Return: the value of open-iscsi's setting, for free(); NULL: it has none for this one.
 */
char *openiscsi_value(const char *name, const char *value, size_t legs);

/**
 * openiscsi_path() - the settings of a path that a record says
 * @record: the record; what names target, portal and interface is not looked at
 * @settings: filled; an empty value means the default
 * @fault: set on failure
 *
 * Return: 0; -ERANGE: a value is out of range here.
 */
int openiscsi_path(const struct settings *record, struct settings *settings, struct fault *fault);

/**
 * openiscsi_volume() - the settings of a volume that a record says
 * @record: the record
 * @first: another record of the same volume, which must say the same, or NULL
 * @settings: filled; an empty value means the default
 * @fault: set on failure
 *
 * Return: 0; -ERANGE: a value is out of range here; -EINVAL: the two differ.
 */
int openiscsi_volume(const struct settings *record, const struct settings *first,
		     struct settings *settings, struct fault *fault);

/**
 * openiscsi_of_all_legs() - what a record says of each leg, and a volume has once for all
 * @settings: from openiscsi_volume()
 * @name: of the setting: its value becomes that of all legs, at most what is in range
 * @legs: of the volume
 *
 * Return: whether the value is one of each leg, and there are several.
 */
bool openiscsi_of_all_legs(struct settings *settings, const char *name, size_t legs);

#endif
