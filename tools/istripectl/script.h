/* SPDX-License-Identifier: GPL-2.0 */
/* The lines for a shell that do what the tool would do. */
#ifndef ISTRIPECTL_SCRIPT_H
#define ISTRIPECTL_SCRIPT_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

/**
 * script_create() - print how a volume is made
 * @volume: the volume; secrets still as they were typed, and not read
 * @up: whether it is brought up, too
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int script_create(const struct volume *volume, bool up, struct fault *fault);

#endif
