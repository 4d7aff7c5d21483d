/* SPDX-License-Identifier: GPL-2.0 */
/* Facts about this host that are in files: a path that is given is freed. */
#ifndef ISTRIPECTL_FACT_H
#define ISTRIPECTL_FACT_H

#include <stdbool.h>

/**
 * fact_text() - what a file says
 * @path: from place_path(), freed here
 *
 * Return: the text, for free(); NULL when it cannot be read.
 */
char *fact_text(char *path);

/**
 * fact_number() - the first number in a file
 * @path: from place_path(), freed here
 * @number: set on success
 *
 * Return: whether there is one.
 */
bool fact_number(char *path, long long *number);

/**
 * fact_is_dir() - whether there is a directory
 * @path: from place_path(), freed here
 *
 * Return: whether there is.
 */
bool fact_is_dir(char *path);

/**
 * fact_program() - whether /usr/bin has a program
 * @name: the program
 *
 * Return: whether it has.
 */
bool fact_program(const char *name);

/**
 * fact_link() - the last name of what a path leads to
 * @path: from place_path(), freed here
 *
 * Return: the name, for free(); NULL when it leads nowhere.
 */
char *fact_link(char *path);

/**
 * fact_process() - whether a program runs
 * @name: as in /proc/PID/comm
 *
 * Return: whether it does.
 */
bool fact_process(const char *name);

/**
 * fact_rpm() - whether the packages of this host are RPMs
 *
 * Return: whether they are.
 */
bool fact_rpm(void);

/**
 * fact_word() - a word of a text
 * @text: words with blanks between them
 * @index: which one, 0 the first
 *
 * Return: a copy, for free(); NULL when there are fewer.
 */
char *fact_word(const char *text, unsigned int index);

/**
 * fact_line() - what follows a key at the beginning of a line
 * @text: lines; NULL: none
 * @key: the beginning of the line
 *
 * Return: the rest of the first such line, for free(); NULL when there is none.
 */
char *fact_line(const char *text, const char *key);

#endif
