/* SPDX-License-Identifier: GPL-2.0 */
/* The same for several things at the same time. */
#ifndef ISTRIPECTL_TOGETHER_H
#define ISTRIPECTL_TOGETHER_H

#include <stddef.h>

/**
 * together_run() - do something for each of several things, in a process of its own each
 * @count: how many there are
 * @body: called in the child for each of them; returns 0, or the number of an error
 * @ended: called here when it has ended, with what @body has returned, EINTR when a signal has
 *	ended it, or the error that has kept it from beginning
 * @context: for both
 *
 * An interrupt of this process is passed on to all children, and those that have not begun do not;
 * children end with an interrupt when this process is no more. All have ended on return.
 */
void together_run(size_t count, int (*body)(void *context, size_t number),
		  void (*ended)(void *context, size_t number, int error), void *context);

#endif
