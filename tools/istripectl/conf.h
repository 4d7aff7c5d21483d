/* SPDX-License-Identifier: GPL-2.0 */
/* The configuration file of a volume, /etc/istripe/NAME.conf: see istripe.conf(5). */
#ifndef ISTRIPECTL_CONF_H
#define ISTRIPECTL_CONF_H

#include <stdio.h>

#include "fault.h"
#include "file.h"
#include "model.h"

#define CONF_DIR	"/etc/istripe"

/**
 * conf_path() - where the file of a volume is
 * @name: a valid name
 *
 * Return: the path, for free().
 */
char *conf_path(const char *name);

/**
 * conf_list() - the volumes that have a file
 * @names: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0, also when there is no folder; -errno.
 */
int conf_list(struct file_names *names, struct fault *fault);

/**
 * conf_read() - read a file
 * @path: which one
 * @name: the name of the volume
 * @volume: zeroed by the caller, filled, also in part when this fails
 * @fault: set on failure, with the number of the line
 *
 * Every path has what it inherits. Secrets stay what the file says, as @file.
 *
 * Return: 0; -ENOENT there is none; another -errno.
 */
int conf_read(const char *path, const char *name, struct volume *volume, struct fault *fault);

/**
 * conf_parse() - as conf_read(), of a text
 * @text: the content of a file; changed
 * @path: for messages
 * @name: the name of the volume
 * @volume: as conf_read()
 * @fault: as conf_read()
 *
 * Return: 0; -EINVAL.
 */
int conf_parse(char *text, const char *path, const char *name, struct volume *volume,
	       struct fault *fault);

/**
 * conf_secret_path() - where the file of a secret is
 * @volume: the name of the volume
 * @file: as its configuration has it behind @. Without a slash: the name of a credential of its
 *	unit (systemd.exec(5)), if there is such a one; or else below the folder of configurations,
 *	unless it begins with a slash
 *
 * Return: the path, for free().
 */
char *conf_secret_path(const char *volume, const char *file);

/**
 * conf_secrets() - from the names of secrets in a file to the names of their files
 * @volume: as conf_read() has filled it; all but @- become conf_secret_path()
 */
void conf_secrets(struct volume *volume);

/**
 * conf_leave_chunk() - leave out a chunk that may not be that of the superblocks
 * @volume: as of tree_read(): until it has been up, the module shows the default, which it would
 *	refuse for an array of another chunk once it is written
 */
void conf_leave_chunk(struct volume *volume);

/**
 * conf_print() - write the text of a file
 * @out: where to
 * @volume: settings that have their default are comments; secrets that cannot be read, too
 * @fault: set on failure
 *
 * conf_parse() reads the same volume from it. metadata_create, which makes a volume once, is left
 * out.
 *
 * Return: 0; -EINVAL: there is no leg, or one without a path.
 */
int conf_print(FILE *out, const struct volume *volume, struct fault *fault);

/**
 * conf_check() - whether conf_write() would describe a volume
 * @volume: as conf_write()
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int conf_check(struct volume *volume, struct fault *fault);

/**
 * conf_write() - replace the file of a volume by one that describes it
 * @volume: secrets that cannot be read are those that the file has had for the same users
 * @anew: nothing of the file of before is kept: it may be that of another volume
 * @fault: set on failure; the file is then as it was
 *
 * Return: 0; -errno.
 */
int conf_write(struct volume *volume, bool anew, struct fault *fault);

#endif
