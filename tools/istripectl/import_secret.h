/* SPDX-License-Identifier: GPL-2.0 */
/* Secrets of node records: they go to files of their own. */
#ifndef ISTRIPECTL_IMPORT_SECRET_H
#define ISTRIPECTL_IMPORT_SECRET_H

#include "fault.h"
#include "model.h"

/**
 * import_secrets_name() - put the names of files in the place of secrets
 * @volume: secrets as text, or as @file already; equal ones have one file
 */
void import_secrets_name(struct volume *volume);

/**
 * import_secrets_write() - the same, and write the files, mode 0600
 * @volume: as import_secrets_name()
 * @fault: set on failure; files that were made are then removed again
 *
 * Return: 0; -EEXIST there is such a file with another secret; another -errno.
 */
int import_secrets_write(struct volume *volume, struct fault *fault);

#endif
