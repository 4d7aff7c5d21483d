/* SPDX-License-Identifier: GPL-2.0 */
/* Legs and paths of a new volume, found at a portal. */
#ifndef ISTRIPECTL_PROPOSE_H
#define ISTRIPECTL_PROPOSE_H

#include "fault.h"
#include "model.h"
#include "parse.h"

/**
 * propose_legs() - find legs and paths, print them, and ask
 * @volume: its settings are there, initiator_name included; gets legs, whose secrets are still
 *	the names of files
 * @options: where to look; with @options->dry_run nobody is asked
 * @fault: set on failure
 *
 * A leg is a LUN, known by its identity; its paths are the portals and interfaces over which it
 * was seen. Everything is printed to standard error.
 *
 * Return: 0; -ECANCELED the answer was not yes; another -errno.
 */
int propose_legs(struct volume *volume, const struct create_options *options,
		 struct fault *fault);

#endif
