/* SPDX-License-Identifier: GPL-2.0 */
/* Where the kernel's files are; ISTRIPECTL_ROOT puts another root before all of them (tests). */
#ifndef ISTRIPECTL_PLACE_H
#define ISTRIPECTL_PLACE_H

#include "printf.h"

/**
 * place_path() - the path of a file
 * @fmt: its absolute path, as for printf()
 *
 * Return: the path below the root that is in use, for free().
 */
char *place_path(const char *fmt, ...) __printf(1, 2);

#endif
