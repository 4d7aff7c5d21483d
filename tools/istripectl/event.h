/* SPDX-License-Identifier: GPL-2.0 */
/* Names of changes of states, those of the kernel's uevents where it has one. */
#ifndef ISTRIPECTL_EVENT_H
#define ISTRIPECTL_EVENT_H

#include <stdbool.h>

#include "states.h"

#define EVENT_BYTES	64

/**
 * event_name() - the name of a change
 * @state: as it is now
 * @old: the state before
 * @name: EVENT_BYTES, set on success
 *
 * Return: whether it has one: a lost path that tries to log in changes its state only.
 */
bool event_name(const struct state *state, const char *old, char *name);

#endif
