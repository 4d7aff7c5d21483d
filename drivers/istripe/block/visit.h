/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A visit: commands of our own to a leg's marks, over the session of one of its paths. A
 * round visits all legs, one after the other.
 *
 * A round goes over sessions that are published. A section of path->srcu keeps such a
 * session open, path->ask_lock keeps others from its command and page. Paths' workers
 * visit over sessions that they have not published yet, or with path->ask_lock.
 */
#ifndef ISTRIPE_BLOCK_VISIT_H
#define ISTRIPE_BLOCK_VISIT_H

#include <linux/types.h>

#include "proto/md.h"

struct istripe_lun;
struct istripe_path;
struct istripe_session;
struct istripe_volume;

#define ISTRIPE_VISIT_SUPER_AT_BYTES	(ISTRIPE_MD_SUPER_SECTOR << SECTOR_SHIFT)

/**
 * struct istripe_visit - a leg's marks within reach
 * @path: over which
 * @session: its session; all I/O is of one page, that of the session
 * @lun: as the leg, or the path, has found it
 * @leg: index
 * @deadline: jiffies; of all that is done
 * @why: reason on failure
 * @why_bytes: its size
 */
struct istripe_visit {
	struct istripe_path *path;
	struct istripe_session *session;
	const struct istripe_lun *lun;
	u32 leg;
	unsigned long deadline;
	char *why;
	size_t why_bytes;
};

/**
 * struct istripe_round - one round over all legs
 * @volume: its legs have been identified
 * @timeout_ms: for all that is done on one visit
 * @refused: a path leads to what is not the leg; set by what is done there
 * @why: reason on failure
 * @why_bytes: its size
 */
struct istripe_round {
	struct istripe_volume *volume;
	u32 timeout_ms;
	bool refused;
	char *why;
	size_t why_bytes;
};

/* What is done on a visit: 0, or an error with a reason. */
typedef int (*istripe_visit_fn)(const struct istripe_visit *visit, struct istripe_round *round);

/**
 * istripe_visit_page() - what was read, or is to be written
 * @visit: under way
 *
 * Context: any.
 * Return: ISTRIPE_INTERNAL_BYTES.
 */
void *istripe_visit_page(const struct istripe_visit *visit);

/**
 * istripe_visit_transfer() - read or write one page
 * @visit: under way
 * @at_bytes: where on the LUN, a multiple of 4 KiB
 * @write: istripe_visit_page() holds what to write
 * @what: goes after "cannot", for the reason
 *
 * A write that is lost with the session may still be carried out: the path waits for the
 * end of that session then (istripe_leg_path_marked()), as long as the volume is up.
 *
 * Context: process, sleeps.
 * Return: 0; -EIO the LUN refused; -EPROTO not all of it; -ECANCELED the LUN has been
 * reset; others see istripe_lun_ask().
 */
int istripe_visit_transfer(const struct istripe_visit *visit, u64 at_bytes, bool write,
			   const char *what);

/**
 * istripe_visit_flush() - what was written before must survive a loss of power (SBC-4)
 * @visit: under way
 *
 * Context: process, sleeps.
 * Return: see istripe_visit_transfer(); 0 at once without a write cache.
 */
int istripe_visit_flush(const struct istripe_visit *visit);

/**
 * istripe_visit_read_super() - read a leg's superblock
 * @visit: under way
 * @md: filled; what is wrong with it stands there
 *
 * Context: process, sleeps.
 * Return: see istripe_visit_transfer().
 */
int istripe_visit_read_super(const struct istripe_visit *visit, struct istripe_md *md);

/**
 * istripe_visit_is_lost() - has a visit ended with the connection
 * @error: of the visit
 *
 * Context: any.
 * Return: true: another path may do.
 */
bool istripe_visit_is_lost(int error);

/**
 * istripe_visit_path() - do something over one path
 * @path: found within a section of leg->srcu
 * @round: under way
 * @fn: what
 *
 * The session ends when the command may still be under way (-ETIMEDOUT). When the LUN says
 * that it has changed, the path's worker looks at it before @fn is begun again.
 *
 * Context: process, sleeps; for @round->timeout_ms, and until path->ask_lock is free. A
 * user's process can be killed between two visits.
 * Return: of @fn; -ENOTCONN the path is not live; -EINTR.
 */
int istripe_visit_path(struct istripe_path *path, struct istripe_round *round,
		       istripe_visit_fn fn);

/**
 * istripe_visit_legs() - do something on every leg, over a path of each
 * @round: new
 * @fn: what; over the next path once more when one is lost
 *
 * Each leg is through with it before the next one begins; the first error ends it. What
 * is written must be the same when it is written again: a target may carry it out late.
 *
 * Context: process, sleeps.
 * Return: 0 or the error of the first leg that failed.
 */
int istripe_visit_legs(struct istripe_round *round, istripe_visit_fn fn);

/**
 * istripe_visit_all_live() - is no path missing
 * @round: new
 *
 * What an attempt that failed has left in a target is over a session that only a login of
 * its own path ends, or one through a sibling: before something else is written all paths
 * must have logged in, and even one that is not wanted must not have left anything.
 *
 * Context: process.
 * Return: 0; -ENOTCONN a path is down, or has left a superblock.
 */
int istripe_visit_all_live(struct istripe_round *round);

#endif
