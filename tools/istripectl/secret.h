/* SPDX-License-Identifier: GPL-2.0 */
/* Secrets: from files that nobody else can read, or from the terminal without echo. */
#ifndef ISTRIPECTL_SECRET_H
#define ISTRIPECTL_SECRET_H

#include <stddef.h>

#include "fault.h"
#include "model.h"

/**
 * secret_load() - put the secrets of a volume in the place of @file and @-
 * @volume: changed
 * @fault: set on failure
 *
 * volume_free() overwrites them.
 *
 * Return: 0; -errno: -EPERM the file is somebody else's or others may read it,
 * -EINVAL it holds no secret, -EINTR interrupted.
 */
int secret_load(struct volume *volume, struct fault *fault);

/**
 * secret_load_path() - the same for one path
 * @leg: its leg
 * @path: the path
 * @fault: set on failure
 *
 * Return: 0; -ENOENT: a file is not there; another -errno.
 */
int secret_load_path(const struct leg *leg, struct path *path, struct fault *fault);

/**
 * secret_peek() - put the secrets that can be read from files in the place of @FILE
 * @volume: changed; nobody is asked or warned
 */
void secret_peek(struct volume *volume);

/**
 * secret_locate() - make the names of secrets' files mean the same in every folder
 * @settings: of a path; @FILE becomes @/FOLDER/FILE
 * @fault: set on failure
 *
 * Return: 0; -EINVAL for @-, which is no file; another -errno: there is no such file.
 */
int secret_locate(struct settings *settings, struct fault *fault);

/**
 * secret_warn() - say that a secret is shorter than RFC 7143 asks for, once for each
 * @what: its file, or the setting that it is for
 * @bytes: its length
 */
void secret_warn(const char *what, size_t bytes);

#endif
