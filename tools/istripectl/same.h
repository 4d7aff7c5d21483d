/* SPDX-License-Identifier: GPL-2.0 */
/* Values that differ in their form only: the module shows what it has understood. */
#ifndef ISTRIPECTL_SAME_H
#define ISTRIPECTL_SAME_H

#include <stdbool.h>

#include "known.h"

/**
 * same_value() - whether two values of a setting mean the same
 * @place: where the setting is
 * @name: the name of its file
 * @a: the one, as a file says it or the module shows it
 * @b: the other
 *
 * Return: whether they do.
 */
bool same_value(enum known_place place, const char *name, const char *a, const char *b);

#endif
