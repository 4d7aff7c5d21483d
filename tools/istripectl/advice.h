/* SPDX-License-Identifier: GPL-2.0 */
/* What to do next about an error of the kernel. */
#ifndef ISTRIPECTL_ADVICE_H
#define ISTRIPECTL_ADVICE_H

#include <stdbool.h>

#include "fault.h"

/**
 * advice_root() - advise to try again as root, if that can help
 * @error: -errno of a system call
 * @fault: where to
 *
 * The module refuses logins with the same numbers: root is told nothing of the kind.
 *
 * Return: whether the advice was added.
 */
bool advice_root(int error, struct fault *fault);

/**
 * advice_error() - an error of the module in words
 * @error: -errno
 * @reason: what the module says about it; NULL or empty: nothing
 *
 * Return: as strerror(), but "Permission denied" only where permission is what is missing.
 */
const char *advice_error(int error, const char *reason);

/**
 * advice_login() - what to do when a target has refused a login
 * @name: the volume
 * @reason: what the module says about it
 * @over: whether nothing that the failed command has made is up, so that it can be repeated; else
 *	the path goes on trying, with the secrets that it has
 * @fault: where to; nothing is added when the reason is another one
 */
void advice_login(const char *name, const char *reason, bool over, struct fault *fault);

/**
 * advice_step() - the first step of advice_login() for a path that goes on trying
 * @name: the volume
 * @leg: the number of its leg
 * @path: the number of the path
 * @error: the last error of the path
 *
 * Return: the step, for free(); NULL: the reason is another one.
 */
char *advice_step(const char *name, unsigned int leg, unsigned int path, const char *error);

/**
 * advice_is_secret() - whether a login is refused for its CHAP user or secret
 * @reason: what the module says about it
 *
 * Return: whether it is.
 */
bool advice_is_secret(const char *reason);

/**
 * advice_is_of_record() - whether a node record of open-iscsi says the secrets of a path
 * @name: the volume
 * @leg: the number of the leg
 * @path: the number of the path
 *
 * Return: whether the path follows its record, as the file of the volume says.
 */
bool advice_is_of_record(const char *name, unsigned int leg, unsigned int path);

/**
 * advice_is_other_group() - whether a login is refused since it would not end the old session
 * @reason: what the module says about it
 *
 * The module wants the portal group of that session as long as the path has lost writes.
 *
 * Return: whether it is.
 */
bool advice_is_other_group(const char *reason);

#endif
