/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the logins of a nexus begin: at the configured portal of its path, or at the one that the
 * target has moved to permanently (RFC 7143 11.13.5, status 0102). That is kept when the nexus is
 * live there, until it goes idle. A redirect must not lock a path out: after a few failures in a
 * row the logins begin at both in turn.
 */
#ifndef ISTRIPE_BLOCK_MOVED_PORTAL_H
#define ISTRIPE_BLOCK_MOVED_PORTAL_H

#include <linux/types.h>

struct istripe_nexus;
struct sockaddr_storage;

/* Of the next login. The nexus's worker. */
const struct sockaddr_storage *istripe_moved_portal_next(const struct istripe_nexus *nexus);

/* Have failures come to where the logins begin at two portals in turn? The nexus's worker. */
bool istripe_moved_portal_in_turn(const struct istripe_nexus *nexus);

/* The nexus is live over @owned, which knows where the next login is to begin. Its worker. */
void istripe_moved_portal_live(struct istripe_nexus *nexus);

/* The next login begins at the configured portal. The nexus's worker. */
void istripe_moved_portal_forget(struct istripe_nexus *nexus);

#endif
