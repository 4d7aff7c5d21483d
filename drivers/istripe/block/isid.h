/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ISIDs: what names a session of ours to its target (RFC 7143 11.12.5).
 *
 * They are derived from names, not drawn: every login of a nexus, also after the volume or
 * the module was down, reinstates the nexus's own session and so ends what it may still have
 * in the target (9.1.1, conservative reuse; P25).
 */
#ifndef ISTRIPE_BLOCK_ISID_H
#define ISTRIPE_BLOCK_ISID_H

#include <linux/types.h>

struct istripe_nexus;

/**
 * istripe_isid_choose() - give a nexus the ISID of its sessions
 * @nexus: fresh, with its path, nexus and params
 *
 * Context: process.
 */
void istripe_isid_choose(struct istripe_nexus *nexus);

/**
 * istripe_isid_test() - an ISID that no nexus of the volume has at its target
 * @nexus: the nexus
 * @isid: 6 bytes, filled; the same each time, and for all nexuses of a path
 *
 * Context: any.
 */
void istripe_isid_test(const struct istripe_nexus *nexus, u8 *isid);

#endif
