/* SPDX-License-Identifier: GPL-2.0 */
/* Small files of one value, as in configfs, sysfs and /proc. */
#ifndef ISTRIPECTL_FILE_H
#define ISTRIPECTL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * file_read_as_is() - all of a file, without the newline at its end
 * @path: which one
 * @text: set on success, for free()
 *
 * Return: 0; -errno.
 */
int file_read_as_is(const char *path, char **text);

/**
 * file_read() - the same, for terminals
 * @path: which one
 * @text: set on success, for free(); tabs are blanks, other control characters in lines '?'
 *
 * Return: 0; -errno.
 */
int file_read(const char *path, char **text);

/**
 * file_write() - one value and a newline, in one write
 * @path: a file that exists
 * @value: what to write; no copy of it is left in memory
 *
 * Return: 0; -errno.
 */
int file_write(const char *path, const char *value);

/**
 * file_mode() - the mode of a regular file
 * @path: which one
 *
 * Return: the permission bits; -1 when there is no regular file.
 */
int file_mode(const char *path);

/**
 * file_is_named() - whether a name is in its directory
 * @path: the name, also that of a link that leads nowhere
 *
 * Return: whether it is.
 */
bool file_is_named(const char *path);

/**
 * file_is_dir() - whether there is a directory
 * @path: which one
 *
 * Return: whether there is.
 */
bool file_is_dir(const char *path);

struct file_names {
	char **items;
	size_t count;
};

/**
 * file_names_have() - whether a name is among others
 * @names: the others
 * @name: the name
 *
 * Return: whether it is.
 */
bool file_names_have(const struct file_names *names, const char *name);

/**
 * file_names_add() - add a name, whether it is there already or not
 * @names: where to; file_names_free() frees what is added
 * @name: copied
 */
void file_names_add(struct file_names *names, const char *name);

/**
 * file_names_add_new() - add a name that is not there yet
 * @names: where to
 * @name: copied
 */
void file_names_add_new(struct file_names *names, const char *name);

/**
 * file_list() - the names in a directory, sorted, numbers by their value
 * @path: which one
 * @names: zeroed by the caller, filled; "." and what begins with it left out
 *
 * Return: 0; -errno.
 */
int file_list(const char *path, struct file_names *names);

/**
 * file_names_free() - free all names
 * @names: empty afterwards
 */
void file_names_free(struct file_names *names);

#endif
