/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metadata: how the legs of a volume are marked, so that a swapped, missing, foreign,
 * repeated or stale leg is found before a byte of data goes there.
 *
 * The superblocks are written when an array is made and when it grows (resize.h): enabling,
 * disabling and losing power leave them as they are. Whoever else writes one of a volume
 * that is up is a stranger; each login looks (istripe_metadata_check()).
 *
 * Every nexus of every leg is looked through: by the starter, those that are live when it
 * has learnt what to expect (@known), and by the workers at each login afterwards. One
 * that logs in just then is seen by the starter, or its worker sees @known and the nexus
 * logs in once more (istripe_metadata_admits()).
 */
#ifndef ISTRIPE_BLOCK_METADATA_H
#define ISTRIPE_BLOCK_METADATA_H

#include <linux/mutex.h>
#include <linux/types.h>

#include <istripe/params.h>
#include "layout/md.h"

struct istripe_nexus;
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
 * struct istripe_metadata - of one volume
 * @kind: which sort
 * @known: @legs hold what the volume was started with; release and acquire
 * @legs: superblocks, one per leg; NULL when there are none. Once known, growth.lock
 * @growth: they may come to say more
 */
struct istripe_metadata {
	enum istripe_metadata_kind kind;
	bool known;
	struct istripe_md *legs;
	struct istripe_super_growth growth;
};

/**
 * struct istripe_share - what the stripe uses of each leg
 * @chunk_bytes: interleave
 * @offset_sectors: where the data start
 * @sectors: how much from there
 */
struct istripe_share {
	u32 chunk_bytes;
	u64 offset_sectors;
	u64 sectors;
};

/**
 * istripe_metadata_init() - make room for superblocks
 * @metadata: zeroed
 * @kind: which sort
 * @legs: of the volume
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int istripe_metadata_init(struct istripe_metadata *metadata, enum istripe_metadata_kind kind,
			  u32 legs);

/**
 * istripe_metadata_free() - undo istripe_metadata_init()
 * @metadata: zeroed, or of a volume whose legs are stopped
 *
 * Context: process.
 */
void istripe_metadata_free(struct istripe_metadata *metadata);

/**
 * istripe_metadata_start() - know the legs by their superblocks, or mark them
 * @volume: all legs identified, a nexus of each live, blocks of one size, no disk yet
 * @create: whether to write new superblocks first
 * @chunk_given: the chunk in @share is the administrator's word: it must be right
 * @share: chunk, and all of the smallest leg; changed to what the superblocks say
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Without metadata there is nothing to do. A nexus that was lost meanwhile logs in again
 * and is checked then; one nexus of each leg must let us look.
 *
 * Context: process, sleeps; see istripe_super_over_nexus(), for each nexus.
 * Return: 0; -ENODATA, -EBADMSG, -EOPNOTSUPP, -EINVAL see istripe_md_check_array();
 * -EINVAL another chunk, or no room; -EEXIST a leg holds something; -ESTALE what nexuses
 * of one leg lead to differs; -EIO, -EPROTO, -ETIMEDOUT, -ENOTCONN a leg does not let us
 * read or write.
 */
int istripe_metadata_start(struct istripe_volume *volume, enum istripe_metadata_create create,
			   bool chunk_given, struct istripe_share *share, char *why,
			   size_t why_bytes);

/**
 * istripe_metadata_check() - has somebody written the superblock of a nexus's leg
 * @nexus: logged in, its LUN identified; refused when it has been changed
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Nothing is asked before istripe_metadata_start() knows what to expect.
 *
 * Context: the nexus's worker, sleeps.
 * Return: 0; -ESTALE or another error of istripe_md_check_unchanged() and the nexus is
 * refused; -EIO, -EPROTO, -ETIMEDOUT, -ENOTCONN could not be read: try again.
 */
int istripe_metadata_check(struct istripe_nexus *nexus, char *why, size_t why_bytes);

/**
 * istripe_metadata_admits() - may a nexus go live
 * @nexus: istripe_metadata_check() has let it pass, its session is published
 *
 * Context: the nexus's worker.
 * Return: true; false when it logged in unchecked while the superblocks became known:
 * withdraw the session and log in once more.
 */
bool istripe_metadata_admits(const struct istripe_nexus *nexus);

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

/* What they are to grow to; they begin to say so; all of them do. The resize work. */
void istripe_super_growth_plan(struct istripe_volume *volume, u64 least_sectors);
void istripe_super_growth_begin(struct istripe_volume *volume);
void istripe_super_growth_end(struct istripe_volume *volume);

/* As istripe_super_growth_compare(), with what they grow to. The resize work. */
int istripe_super_growth_compare_target(const struct istripe_volume *volume, u32 leg,
					const struct istripe_md *now, char *why,
					size_t why_bytes);

#endif
