/* SPDX-License-Identifier: GPL-2.0 */
/* How many files this process may have open. */
#ifndef ISTRIPECTL_DESCRIPTORS_H
#define ISTRIPECTL_DESCRIPTORS_H

#include <stdbool.h>

/**
 * descriptors_raise() - allow as many as the hard limit does
 */
void descriptors_raise(void);

/**
 * descriptors_restore() - allow as many as before, for another program: select() knows 1024 of them
 */
void descriptors_restore(void);

/**
 * descriptors_are_few() - whether one is so near to the limit that it should not be kept
 * @fd: the descriptor
 *
 * Return: whether it is; those behind it are for all else that is to be opened.
 */
bool descriptors_are_few(int fd);

#endif
