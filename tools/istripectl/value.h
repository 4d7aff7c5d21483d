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
 * value_is_time() - whether a setting is a time in milliseconds
 * @name: the setting
 *
 * Return: whether it is.
 */
bool value_is_time(const char *name);

/**
 * value_lacks_unit() - whether a number was typed without one of the units it may have
 * @name: the setting
 * @text: what was typed
 *
 * Return: false also for 0, and for what does not begin with a digit.
 */
bool value_lacks_unit(const char *name, const char *text);

/**
 * value_write() - the shortest thing to type for a value
 * @name: the setting
 * @value: what the module's file holds
 *
 * Return: a text that value_read() makes the same value of, for free().
 */
char *value_write(const char *name, const char *value);

enum value_type {
	VALUE_TEXT,
	VALUE_NUMBER,
	VALUE_NUMBERS,		/* with blanks between them */
	VALUE_BOOLEAN,		/* 0 and 1, No and Yes */
};

/**
 * value_type() - what a file holds
 * @name: the file
 *
 * The name decides, so that one and the same file is always of one type: what
 * else holds text may well look like a number (an ISID, a serial number).
 *
 * Return: the type.
 */
enum value_type value_type(const char *name);

/**
 * value_boolean() - read whether something is so
 * @value: a file's content
 * @yes: set on success
 *
 * Return: whether it says so.
 */
bool value_boolean(const char *value, bool *yes);

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
