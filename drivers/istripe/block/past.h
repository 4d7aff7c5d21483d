/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a path has left behind in its last life: writes of a session that nobody has ended. The
 * control layer keeps it while the volume is down, by the number of the path.
 */
#ifndef ISTRIPE_BLOCK_PAST_H
#define ISTRIPE_BLOCK_PAST_H

#include <istripe/params.h>

struct istripe_path;

/**
 * istripe_past_inherit() - the session of the life before may still carry out writes
 * @path: fresh
 * @past: what istripe_past_bequeath() said of it; empty when there is nothing
 *
 * Context: process.
 */
void istripe_past_inherit(struct istripe_path *path, const struct istripe_path_past *past);

/**
 * istripe_past_bequeath() - what the path's next life has to know
 * @path: stopped
 * @past: filled; empty when there is nothing
 *
 * Context: process.
 */
void istripe_past_bequeath(struct istripe_path *path, struct istripe_path_past *past);

#endif
