/* SPDX-License-Identifier: GPL-2.0 */
/* What went wrong, in words for whoever typed the command. */
#ifndef ISTRIPECTL_FAULT_H
#define ISTRIPECTL_FAULT_H

#include "printf.h"

#define FAULT_BYTES	4096

struct fault {
	char text[FAULT_BYTES];		/* lines, without a newline at the end */
};

/**
 * fault_set() - say what went wrong; what was said before is forgotten
 * @fault: where to
 * @error: a negative errno
 * @fmt: as for printf()
 *
 * Return: @error.
 */
int fault_set(struct fault *fault, int error, const char *fmt, ...)
	__printf(3, 4);

/**
 * fault_either() - say that words of a command exclude each other
 * @fault: where to
 * @one: a word that was given
 * @other: another one
 *
 * Return: -EINVAL.
 */
int fault_either(struct fault *fault, const char *one, const char *other);

/**
 * fault_add() - one more line: a reason, or what to do next
 * @fault: where to
 * @fmt: as for printf()
 */
void fault_add(struct fault *fault, const char *fmt, ...) __printf(2, 3);

/**
 * fault_append() - add to the last line
 * @fault: where to
 * @fmt: as for printf()
 */
void fault_append(struct fault *fault, const char *fmt, ...) __printf(2, 3);

/**
 * fault_next() - the first step that it advises
 * @fault: what was said
 *
 * Return: in one line, for free(); NULL: there is none.
 */
char *fault_next(const struct fault *fault);

/**
 * fault_print() - to standard error, if there is anything to say
 * @fault: what to print
 */
void fault_print(const struct fault *fault);

#endif
