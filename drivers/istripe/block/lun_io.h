/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O of our own to the LUNs of the legs: superblocks are read and written, and caches flushed. A
 * walk does the same on all legs, one after the other.
 *
 * A walk uses published sessions. A section of nexus->srcu keeps such a session open, and
 * nexus->ask_lock keeps others from its command and page. The worker of a nexus does such
 * I/O over a session that it has not published yet, or with nexus->ask_lock.
 */
#ifndef ISTRIPE_BLOCK_LUN_IO_H
#define ISTRIPE_BLOCK_LUN_IO_H

#include <linux/errno.h>
#include <linux/types.h>

struct istripe_leg;
struct istripe_lun;
struct istripe_nexus;
struct istripe_reason;
struct istripe_session;
struct istripe_volume;

/* Access to the LUN of one leg. */
struct istripe_lun_io {
	struct istripe_nexus *nexus;
	struct istripe_session *session;	/* of @nexus; its page is the buffer */
	const struct istripe_lun *lun;	/* as the leg, or the nexus, has found it */
	u32 leg;			/* index */
	unsigned long deadline;		/* jiffies, of everything that is done */
	struct istripe_reason *why;	/* reason on failure */
};

/* Over the session that the worker of @nexus has, for @ms. */
void istripe_lun_io_begin(struct istripe_lun_io *io, struct istripe_nexus *nexus, u32 ms,
			  struct istripe_reason *why);

/* A fatal signal ends it between calls. */
struct istripe_lun_walk {
	struct istripe_volume *volume;	/* its legs have been identified */
	u32 timeout_ms;			/* of one call of an istripe_lun_io_fn */
	bool mismatch;			/* set by that: the nexus does not lead to the leg */
	struct istripe_reason *why;	/* reason on failure */
};

/* No other path is asked: -EREMOTEIO is -EIO for those that do not know paths. */
static inline int istripe_lun_io_result(int error)
{
	return error == -EREMOTEIO ? -EIO : error;
}

/* Returns 0, or an error with a reason. */
typedef int (*istripe_lun_io_fn)(const struct istripe_lun_io *io, struct istripe_lun_walk *walk);

/* The buffer of all I/O, ISTRIPE_INTERNAL_BYTES. */
void *istripe_lun_io_page(const struct istripe_lun_io *io);

/*
 * Reads or writes istripe_lun_io_page() at a multiple of 4 KiB; sleeps. @what follows "cannot" in
 * the reason. A command that istripe_lun_has_dropped() is sent again, a few times if the target
 * has failed. 0; -EIO the LUN refused; -EREMOTEIO the same, or dropped each time, but another path
 * may do it; -EPROTO fewer bytes; others see istripe_lun_ask().
 *
 * A write that is lost with the session may still be carried out. The nexus then waits for the end
 * of that session (nexus->super_unfenced), also when the volume goes down: istripe_unfenced_save().
 */
int istripe_lun_io_transfer(const struct istripe_lun_io *io, u64 at_bytes, bool write,
			    const char *what);

/* Earlier writes must survive a loss of power. Errors are those of istripe_lun_io_transfer(). */
int istripe_lun_io_flush(const struct istripe_lun_io *io);

/*
 * Calls @fn over a nexus that was found within a section of leg->srcu. The session ends when the
 * command may still be under way (-ETIMEDOUT). When the LUN says that it has changed, the worker of
 * the nexus revalidates it before @fn is called again.
 *
 * Sleeps as long as @walk says, and until nexus->ask_lock is free. istripe_lun_io_result() of @fn;
 * -ENOTCONN the nexus is not live, or its LUN changes all the time; -EINTR killed between calls.
 */
int istripe_lun_io_over_nexus(struct istripe_nexus *nexus, struct istripe_lun_walk *walk,
			      istripe_lun_io_fn fn);

/*
 * Calls @fn for each leg in turn: over one of its nexuses, and over the next when that is lost, or
 * its path does not serve what @fn asks. @fn must write the same data each time: a target may carry
 * out the lost write late. The first error of a leg, as of istripe_lun_io_result(), ends the walk.
 * A path without an answer, or one that is busy all the time, is not asked again, and no other one
 * is asked after it while the volume is about to go down.
 */
int istripe_lun_io_each_leg(struct istripe_lun_walk *walk, istripe_lun_io_fn fn);

/*
 * Flushes one leg: until @deadline (jiffies), and not even a fatal signal ends it. A path has
 * half of the time that is left, the last one all of it; one without an answer, or busy all the
 * time, is not asked again. One that has been lost for less than ISTRIPE_WRITEBACK_MS is waited for
 * when no other can do it.
 */
int istripe_lun_io_flush_leg(struct istripe_leg *leg, unsigned long deadline,
			     struct istripe_reason *why);

#endif
