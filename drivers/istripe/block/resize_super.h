/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Growth: superblocks that say more, while the volume is in use.
 *
 * First every leg's is looked at, then each is written, flushed and read back, and only
 * then may the disk be larger. The administrator must have asked, and all nexuses must be
 * up. When it fails half-way the legs that have been written say more than the others: it
 * has begun, and the next attempt goes on to the same size. Until then a nexus may find
 * either; after it, only the new one. Whoever has read the old one just before is told to
 * read again.
 *
 * Lock: @sectors, @ended and, once the volume is up, the superblocks that are known are
 * written under @lock, by the capacity's work only, which reads them without. A leaf;
 * taken under nexus->ask_lock.
 */
#ifndef ISTRIPE_BLOCK_RESIZE_SUPER_H
#define ISTRIPE_BLOCK_RESIZE_SUPER_H

#include <linux/mutex.h>
#include <linux/types.h>

struct istripe_md;
struct istripe_volume;

/**
 * struct istripe_super_growth - of one volume
 * @lock: see above
 * @target: the work: what it is about to let them grow to
 * @sectors: what the data of each leg grow to; 0 when it has not begun, or has ended
 * @ended: how often it has
 */
struct istripe_super_growth {
	struct mutex lock;	/* see above */
	u64 target;
	u64 sectors;
	u32 ended;
};

/**
 * istripe_super_growth_share() - what the stripe may use of each leg when it grows
 * @volume: running
 * @least_sectors: of the smallest leg
 *
 * Context: the capacity's work.
 * Return: sectors behind the data offset; those that an earlier attempt has begun with.
 */
u64 istripe_super_growth_share(const struct istripe_volume *volume, u64 least_sectors);

/**
 * istripe_super_growth_begun() - may superblocks say more than is known
 * @volume: running
 *
 * Context: the capacity's work, or when it has been stopped.
 * Return: true from the first write until all have been written.
 */
bool istripe_super_growth_begun(const struct istripe_volume *volume);

/**
 * istripe_super_growth_write() - let the superblocks of all legs say more
 * @volume: running; no nexus of it may find less than @least_sectors
 * @least_sectors: of the smallest leg
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: the capacity's work, sleeps; two visits of each leg (istripe_super_over_nexus()), of
 * those that do not answer over each nexus. Nobody else calls it.
 * Return: 0, at once without superblocks; -ENOTCONN a nexus is down; -ESTALE or another
 * error of istripe_md_check_unchanged() somebody else has written one; -EIO, -EPROTO,
 * -EBUSY, -ECANCELED, -ETIMEDOUT a leg does not let us read or write; -ESHUTDOWN the
 * volume is about to go down, and nothing has begun.
 */
int istripe_super_growth_write(struct istripe_volume *volume, u64 least_sectors, char *why,
			       size_t why_bytes);

/**
 * istripe_super_growth_ended() - how often growth has ended, for istripe_super_growth_compare()
 * @volume: started
 *
 * Context: process; before a superblock is read.
 * Return: a count.
 */
u32 istripe_super_growth_ended(const struct istripe_volume *volume);

/**
 * istripe_super_growth_compare() - is a leg's superblock what it was, or what it grows to
 * @volume: its superblocks are known
 * @leg: index
 * @ended: istripe_super_growth_ended() before it was read
 * @now: what was read
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process.
 * Return: 0; -EAGAIN growth has ended meanwhile: read once more; or see
 * istripe_md_check_unchanged().
 */
int istripe_super_growth_compare(struct istripe_volume *volume, u32 leg, u32 ended,
				 const struct istripe_md *now, char *why, size_t why_bytes);

#endif
