/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ISIDs identify the sessions of an initiator to its target (RFC 7143 11.12.5).
 *
 * They are derived from names and not random: every login of a nexus, also after the volume or the
 * module was down, reinstates the nexus's own session, and nothing more of it is taken (9.1.1,
 * conservative reuse; P25). Commands that the target has taken may outlast that: fence.h. After the
 * host has crashed nobody knows of them, and nothing ends them.
 */
#ifndef ISTRIPE_BLOCK_ISID_H
#define ISTRIPE_BLOCK_ISID_H

#include <linux/types.h>

struct istripe_nexus;

/* Sets nexus->isid. The nexus has its path and index. */
void istripe_isid_choose(struct istripe_nexus *nexus);

/* 6 bytes that no nexus of the volume uses at this target; the same for all nexuses of a path. */
void istripe_isid_of_test_session(const struct istripe_nexus *nexus, u8 *isid);

#endif
