/* SPDX-License-Identifier: GPL-2.0 */
/* Output that is printed again and again, until a signal ends it. */
#ifndef ISTRIPECTL_WATCH_H
#define ISTRIPECTL_WATCH_H

#include <stdbool.h>

struct changes;

/**
 * watch_now_ms() - the time, which never goes backwards
 *
 * Return: milliseconds since some moment.
 */
long long watch_now_ms(void);

/**
 * watch_sleep_ms() - wait; a signal ends it
 * @ms: for how long
 */
void watch_sleep_ms(long long ms);

/**
 * watch_block() - begin what replaces the block before it
 * @first: whether there is none before it
 *
 * A terminal is cleared; elsewhere an empty line comes between two blocks.
 */
void watch_block(bool first);

/**
 * watch_pause() - let the block be seen
 * @ms: for how long
 *
 * Return: whether to go on: no signal has come, and standard output takes all of it.
 */
bool watch_pause(long long ms);

/**
 * watch_change() - let the block be seen, until the kernel says that something has changed
 * @changes: from changes_begin()
 * @ms: for how long at most
 *
 * Return: as watch_pause().
 */
bool watch_change(struct changes *changes, long long ms);

#endif
