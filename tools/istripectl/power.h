/* SPDX-License-Identifier: GPL-2.0 */
/* The switch of a volume: up and down. */
#ifndef ISTRIPECTL_POWER_H
#define ISTRIPECTL_POWER_H

#include <stdbool.h>

#include "fault.h"
#include "retry.h"

/**
 * power_begin() - have others see that this process brings a volume up, until it closes the file
 * @name: the volume, whether it exists or not
 *
 * The volume is down between two attempts, and the kernel knows of nobody who will try again.
 *
 * Return: a file descriptor; -1 when nobody can see it.
 */
int power_begin(const char *name);

/**
 * power_check_others() - whether another process brings a volume up
 * @name: the volume
 * @fault: set when one does
 *
 * Return: 0; -EBUSY.
 */
int power_check_others(const char *name, struct fault *fault);

/**
 * power_not_up() - say what the module would about a volume that cannot come up
 * @name: the volume, which need not exist
 * @why: what is wrong with its settings
 * @fault: set
 *
 * Return: -EINVAL.
 */
int power_not_up(const char *name, const char *why, struct fault *fault);

/**
 * power_up() - bring a volume up, which takes as long as its logins
 * @name: a volume that exists
 * @retry: begun; for how long to try again when it fails for a reason that may pass, as that an
 *	array or the network is not ready yet. Each new reason is printed
 * @fault: set on failure, with the reason that the module gives
 *
 * An interrupt ends it. Nothing happens when the volume is up already.
 *
 * Return: 0; -errno, -EINTR when interrupted.
 */
int power_up(const char *name, struct retry *retry, struct fault *fault);

/**
 * power_down() - take a volume down
 * @name: a volume that exists
 * @force: whoever uses it
 * @fault: set on failure, with the reason that the module gives
 *
 * Return: 0; -ETXTBSY its disk is open; -EIO it is down, but has not written everything;
 * another -errno.
 */
int power_down(const char *name, bool force, struct fault *fault);

/**
 * power_path() - add a path to a volume that is up, or take it out
 * @name: the volume
 * @leg: number of the leg
 * @path: number of the path, which has its directory
 * @on: which of them
 * @fault: set on failure, with the reason that the module gives; of a path that is not taken out
 *	fence_advise() knows more
 *
 * An interrupt ends it.
 *
 * Return: 0; -errno, -EINTR when interrupted.
 */
int power_path(const char *name, unsigned int leg, unsigned int path, bool on,
	       struct fault *fault);

/**
 * power_is_up() - whether a volume is up
 * @name: the volume
 *
 * Return: whether it is.
 */
bool power_is_up(const char *name);

/**
 * power_device() - the disk of a volume
 * @name: the volume
 *
 * Return: as istripe0, for free(); NULL when it is not up.
 */
char *power_device(const char *name);

/**
 * power_print() - print the disk of a volume and the link to it, on a line
 * @name: the volume; when it is not up, nothing is printed
 */
void power_print(const char *name);

#endif
