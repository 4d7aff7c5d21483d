/* SPDX-License-Identifier: GPL-2.0 */
/* Paths of a leg that are one and the same way. */
#ifndef ISTRIPECTL_TWIN_H
#define ISTRIPECTL_TWIN_H

#include "model.h"

/**
 * twin_warn() - warn about a path that goes the same way as another one of its leg
 * @leg: the leg
 * @path: one of its paths, or one that is to become so
 *
 * Only the paths before it are compared.
 */
void twin_warn(const struct leg *leg, const struct path *path);

/**
 * twins_warn() - the same for all paths of a volume
 * @volume: the volume
 */
void twins_warn(const struct volume *volume);

#endif
