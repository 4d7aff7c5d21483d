/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ISIDs: what names a session of ours to its target (RFC 7143 11.12.5).
 *
 * They are derived from names, not drawn: every login of a path, also after the volume or
 * the module was down, reinstates the path's own session and so ends what it may still have
 * in the target (9.1.1, conservative reuse; P25).
 */
#ifndef ISTRIPE_BLOCK_ISID_H
#define ISTRIPE_BLOCK_ISID_H

#include <linux/types.h>

struct istripe_path;

/**
 * istripe_isid_choose() - give a path the ISID of its sessions
 * @path: fresh, with its bundle, member and params
 *
 * Context: process.
 */
void istripe_isid_choose(struct istripe_path *path);

/**
 * istripe_isid_spare() - an ISID that no path of the volume has at its target
 * @path: the path
 * @isid: 6 bytes, filled; the same each time, and for all members of a bundle
 *
 * Context: any.
 */
void istripe_isid_spare(const struct istripe_path *path, u8 *isid);

#endif
