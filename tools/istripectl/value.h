/* SPDX-License-Identifier: GPL-2.0 */
/* Values with units: what people type, what the module's files hold. */
#ifndef ISTRIPECTL_VALUE_H
#define ISTRIPECTL_VALUE_H

#include <stdbool.h>

/**
 * value_read() - from what was typed to what the module takes
 * @name: the setting, whose ending says the unit: _bytes, _length, _ms
 * @text: what was typed: 64K, 1M, 1G; 500ms, 5s
 *
 * A text that is no number with a unit is left as it is, for the module to judge.
 *
 * Return: the value, for free(); NULL when the number with its unit is too big.
 */
char *value_read(const char *name, const char *text);

/**
 * value_write() - the shortest thing to type for a value
 * @name: the setting
 * @value: what the module's file holds
 *
 * Return: a text that value_read() makes the same value of, for free().
 */
char *value_write(const char *name, const char *value);

/**
 * value_is_number() - whether a file holds a number
 * @name: the file
 *
 * The name decides, so that one and the same file is always of one type: what
 * else holds text may well look like a number (an ISID, a serial number).
 *
 * Return: whether it does.
 */
bool value_is_number(const char *name);

/**
 * value_number() - read a decimal number
 * @value: a file's content
 * @number: set on success
 *
 * Return: whether it is one, in its one form.
 */
bool value_number(const char *value, long long *number);

#define VALUE_FOREVER	(-1)

/**
 * value_wait() - read how long to wait
 * @text: what was typed: 30, 30s, 5min (a bare number is one of seconds), forever
 * @wait_ms: set on success; VALUE_FOREVER
 *
 * Return: whether it is one.
 */
bool value_wait(const char *text, long long *wait_ms);

/**
 * value_size() - a number of bytes for people
 * @bytes: how many
 *
 * Return: as 1.5 GiB, for free().
 */
char *value_size(unsigned long long bytes);

#endif
