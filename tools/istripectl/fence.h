/* SPDX-License-Identifier: GPL-2.0 */
/* Paths whose lost writes no other path can end: what comes of it, and a warning about them. */
#ifndef ISTRIPECTL_FENCE_H
#define ISTRIPECTL_FENCE_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

/**
 * fence_is_given_up() - whether lost writes are sent again without a fence after a while
 * @leg: settings of a leg
 *
 * Return: whether fence_timeout_ms is set.
 */
bool fence_is_given_up(const struct settings *leg);

/**
 * fence_why() - what comes of a path that no other one is proven to lead to the same place as
 * @leg: settings of its leg
 *
 * Return: a constant text.
 */
const char *fence_why(const struct settings *leg);

/**
 * fence_next() - what to do about such a path
 * @leg: settings of its leg
 *
 * Return: a constant text.
 */
const char *fence_next(const struct settings *leg);

/**
 * fence_leg_is_dead() - whether a leg of a volume that is up has no live path
 * @name: the volume
 * @leg: the number of the leg
 *
 * Return: whether it is so; false when it cannot be found out.
 */
bool fence_leg_is_dead(const char *name, unsigned int leg);

/**
 * fence_path_is_lost() - whether no session of a path is live, and it tries to log in
 * @name: the volume
 * @leg: the number of its leg
 * @path: its number
 *
 * Return: whether it is so; false when it cannot be found out.
 */
bool fence_path_is_lost(const char *name, unsigned int leg, unsigned int path);

/**
 * fence_await_login() - wait until a path is not lost any more
 * @name: the volume
 * @leg: the number of its leg
 * @path: its number
 *
 * For some seconds at most, in which a login succeeds if it does at all.
 */
void fence_await_login(const char *name, unsigned int leg, unsigned int path);

/**
 * fence_advise() - what to do when a path does not go since its lost writes wait
 * @name: the volume
 * @leg: the number of its leg
 * @path: its number
 * @list: the settings of a path that would take its place, as a shell reads them; NULL: not known
 * @fault: what power_path() has set; the advice is added
 *
 * Return: whether that is why it does not go.
 */
bool fence_advise(const char *name, unsigned int leg, unsigned int path, const char *list,
		  struct fault *fault);

/**
 * fence_warn() - print a warning about each leg that has such paths
 * @name: a volume that has just come up; of one that is down nothing is said
 * @leg: the number of a leg, -1: all legs
 *
 * The module compares paths a second after the last one has come: waits for that, for 5 s at most
 * or until an interrupt.
 */
void fence_warn(const char *name, int leg);

#endif
