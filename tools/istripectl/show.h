/* SPDX-License-Identifier: GPL-2.0 */
/* The command line that makes a volume. */
#ifndef ISTRIPECTL_SHOW_H
#define ISTRIPECTL_SHOW_H

#include <stdio.h>

#include "fault.h"
#include "model.h"

/**
 * show_line() - print the command that makes the same volume
 * @volume: as of tree_read()
 * @out: where to
 * @fault: set on failure, and then nothing is printed
 *
 * Return: 0; -EINVAL.
 */
int show_line(const struct volume *volume, FILE *out, struct fault *fault);

#endif
