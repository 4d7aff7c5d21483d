/* SPDX-License-Identifier: GPL-2.0 */
/* Standard output, and a file that others read at any time: it has its name when it is complete. */
#ifndef ISTRIPECTL_OUTPUT_H
#define ISTRIPECTL_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>

#include "fault.h"

struct output {
	const char *path;
	char *temporary;	/* in the same folder, and without the ending of @path */
	FILE *out;
};

/**
 * output_open() - begin a file
 * @output: set
 * @path: its name; what has it now stays until output_close()
 * @mode: its permission bits, whatever the umask is
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int output_open(struct output *output, const char *path, mode_t mode, struct fault *fault);

/**
 * output_close() - give a file its name, or remove it
 * @output: from output_open()
 * @ret: not 0: what was to be written has failed; nothing is left of it
 * @fault: set on failure
 *
 * Return: @ret; -errno: it could not be written, and what had its name before still has it.
 */
int output_close(struct output *output, int ret, struct fault *fault);

/**
 * output_finish() - write out what was printed to standard output
 *
 * Return: 0; -EIO: not all of it was written; that is said, unless nobody reads it any more.
 */
int output_finish(void);

#endif
