/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A visit: commands of our own to a leg's marks, over the session of one of its nexuses. A
 * round visits all legs, one after the other.
 *
 * A round goes over sessions that are published. A section of nexus->srcu keeps such a
 * session open, nexus->ask_lock keeps others from its command and page. Paths' workers
 * visit over sessions that they have not published yet, or with nexus->ask_lock.
 */
#ifndef ISTRIPE_BLOCK_SUPER_H
#define ISTRIPE_BLOCK_SUPER_H

#include <linux/types.h>

#include "layout/md.h"

struct istripe_lun;
struct istripe_nexus;
struct istripe_session;
struct istripe_volume;

#define ISTRIPE_SUPER_AT_BYTES	(ISTRIPE_MD_SUPER_SECTOR << SECTOR_SHIFT)

/**
 * struct istripe_super_io - a leg's marks within reach
 * @nexus: over which
 * @session: its session; all I/O is of one page, that of the session
 * @lun: as the leg, or the nexus, has found it
 * @leg: index
 * @deadline: jiffies; of all that is done
 * @why: reason on failure
 * @why_bytes: its size
 */
struct istripe_super_io {
	struct istripe_nexus *nexus;
	struct istripe_session *session;
	const struct istripe_lun *lun;
	u32 leg;
	unsigned long deadline;
	char *why;
	size_t why_bytes;
};

/**
 * struct istripe_super_walk - one round over all legs
 * @volume: its legs have been identified
 * @timeout_ms: for all that is done on one visit
 * @refused: a nexus leads to what is not the leg; set by what is done there
 * @why: reason on failure
 * @why_bytes: its size
 */
struct istripe_super_walk {
	struct istripe_volume *volume;
	u32 timeout_ms;
	bool refused;
	char *why;
	size_t why_bytes;
};

/* What is done on a visit: 0, or an error with a reason. */
typedef int (*istripe_super_fn)(const struct istripe_super_io *io, struct istripe_super_walk *walk);

/**
 * istripe_super_page() - what was read, or is to be written
 * @io: under way
 *
 * Context: any.
 * Return: ISTRIPE_INTERNAL_BYTES.
 */
void *istripe_super_page(const struct istripe_super_io *io);

/**
 * istripe_super_transfer() - read or write one page
 * @io: under way
 * @at_bytes: where on the LUN, a multiple of 4 KiB
 * @write: istripe_super_page() holds what to write
 * @what: goes after "cannot", for the reason
 *
 * A write that is lost with the session may still be carried out: the nexus waits for the
 * end of that session then (istripe_leg_super_unfenced()), as long as the volume is up.
 *
 * Context: process, sleeps.
 * Return: 0; -EIO the LUN refused; -EPROTO not all of it; -ECANCELED the LUN has been
 * reset; others see istripe_lun_ask().
 */
int istripe_super_transfer(const struct istripe_super_io *io, u64 at_bytes, bool write,
			   const char *what);

/**
 * istripe_super_flush() - what was written before must survive a loss of power (SBC-4)
 * @io: under way
 *
 * Context: process, sleeps.
 * Return: see istripe_super_transfer(); 0 at once without a write cache.
 */
int istripe_super_flush(const struct istripe_super_io *io);

/**
 * istripe_super_read() - read a leg's superblock
 * @io: under way
 * @md: filled; what is wrong with it stands there
 *
 * Context: process, sleeps.
 * Return: see istripe_super_transfer().
 */
int istripe_super_read(const struct istripe_super_io *io, struct istripe_md *md);

/**
 * istripe_super_is_lost() - has a visit ended with the connection
 * @error: of the visit
 *
 * Context: any.
 * Return: true: another nexus may do.
 */
bool istripe_super_is_lost(int error);

/**
 * istripe_super_over_nexus() - do something over one nexus
 * @nexus: found within a section of leg->srcu
 * @walk: under way
 * @fn: what
 *
 * The session ends when the command may still be under way (-ETIMEDOUT). When the LUN says
 * that it has changed, the nexus's worker looks at it before @fn is begun again.
 *
 * Context: process, sleeps; for @walk->timeout_ms, and until nexus->ask_lock is free. A
 * user's process can be killed between two visits.
 * Return: of @fn; -ENOTCONN the nexus is not live; -EINTR.
 */
int istripe_super_over_nexus(struct istripe_nexus *nexus, struct istripe_super_walk *walk,
			     istripe_super_fn fn);

/**
 * istripe_super_each_leg() - do something on every leg, over a nexus of each
 * @walk: new
 * @fn: what; over the next nexus once more when one is lost
 *
 * Each leg is through with it before the next one begins; the first error ends it. What
 * is written must be the same when it is written again: a target may carry it out late.
 *
 * Context: process, sleeps.
 * Return: 0 or the error of the first leg that failed.
 */
int istripe_super_each_leg(struct istripe_super_walk *walk, istripe_super_fn fn);

/**
 * istripe_super_all_live() - is no nexus missing
 * @walk: new
 *
 * What an attempt that failed has left in a target is over a session that only a login of
 * its own nexus ends, or one through a sibling: before something else is written all nexuses
 * must have logged in, and even one that is not wanted must not have left anything.
 *
 * Context: process.
 * Return: 0; -ENOTCONN a nexus is down, or has left a superblock.
 */
int istripe_super_all_live(struct istripe_super_walk *walk);

#endif
