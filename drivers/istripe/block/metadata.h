/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metadata: superblocks on the legs of a volume, by which a swapped, missing, foreign, repeated or
 * stale leg is found before a byte of data goes there.
 *
 * They are written when an array is made and when it grows: enabling, disabling and losing power
 * leave them as they are. So a superblock that changes otherwise while the volume is up was written
 * by a stranger. Each login compares (istripe_metadata_check()).
 *
 * The superblock is read over every nexus of every leg. istripe_metadata_start() reads it over the
 * live nexuses once it has set @known; the workers read it at each login from then on. A nexus
 * that logs in at that moment is either found by istripe_metadata_start(), or its worker sees
 * @known and the nexus logs in once more (istripe_metadata_admits()).
 *
 * Growth: the resize work (resize.h) makes all superblocks say that more of each leg is the
 * array's. From the first write until all are written a login may find the old superblock or the
 * new one. So it is from when a login finds that another host has written one: the next growth of
 * this host goes to that size. growth.lock, a leaf, covers the change against logins.
 */
#ifndef ISTRIPE_BLOCK_METADATA_H
#define ISTRIPE_BLOCK_METADATA_H

#include <linux/mutex.h>
#include <linux/types.h>

#include <istripe/params.h>
#include "layout/md.h"

struct istripe_nexus;
struct istripe_reason;
struct istripe_volume;

struct istripe_metadata_growth {
	struct mutex lock;	/* @sectors, @ended; legs of the metadata once they are known */
	u64 target;		/* resize work: what it writes */
	u64 sectors;		/* most that a superblock may say by now; 0: no growth has begun */
	bool begun;		/* resize work: superblocks have been written, not all of them */
	u32 ended;		/* how often growth has ended */
};

struct istripe_metadata {
	enum istripe_metadata_kind kind;
	bool known;		/* @legs are those of the start; set by release, read by acquire */
	bool wipes;		/* it starts with force: each login drains before, see fence.c */
	struct istripe_md *legs;	/* superblock of each leg; NULL: no metadata */
	struct istripe_metadata_growth growth;
};

/* The part of each leg that the stripe uses. */
struct istripe_share {
	u32 chunk_bytes;
	u64 offset_sectors;	/* start of the data */
	u64 sectors;		/* from there */
};

int istripe_metadata_init(struct istripe_metadata *metadata, enum istripe_metadata_kind kind,
			  u32 legs);

/* For metadata that is zeroed, or of a volume whose legs are stopped. */
void istripe_metadata_free(struct istripe_metadata *metadata);

/**
 * istripe_metadata_start() - know the legs by their superblocks, or write new ones first
 * @volume: all legs identified, a nexus of each live, blocks of one size, no disk yet
 * @create: whether to write new superblocks
 * @chunk_given: the chunk in @share was configured, and must be that of the superblocks
 * @share: chunk, and all of the smallest leg; changed to what the superblocks say
 * @why: reason on failure
 *
 * Does nothing without metadata. The superblock must be readable over one nexus of each leg. A
 * nexus that was lost meanwhile logs in again, and is checked then.
 *
 * Context: process, sleeps; see istripe_lun_io_over_nexus(), for each nexus.
 * Return: 0; -ENODATA, -EBADMSG, -EOPNOTSUPP, -EINVAL see istripe_md_check_array();
 * -EINVAL another chunk, a larger logical block than that of the legs, or no room; -EEXIST a leg
 * holds something; -ESTALE nexuses of one leg lead to different superblocks; -EROFS a leg is write
 * protected; -EINTR killed; -EIO, -ENOLINK, -EBUSY, -EPROTO, -ETIMEDOUT, -ENOTCONN a superblock
 * cannot be read or written.
 */
int istripe_metadata_start(struct istripe_volume *volume, enum istripe_metadata_create create,
			   bool chunk_given, struct istripe_share *share,
			   struct istripe_reason *why);

/*
 * The worker of a nexus that has identified its LUN compares the superblock, once it is known what
 * to expect. -ESTALE, or another error of istripe_md_check_unchanged(), and the nexus is refused;
 * -EIO, -EREMOTEIO, -EBUSY, -EPROTO, -ETIMEDOUT, -ENOTCONN it could not be read: try again. After a
 * bad block that is no error if the superblock over this nexus has been right before.
 */
int istripe_metadata_check(struct istripe_nexus *nexus, struct istripe_reason *why);

/*
 * May the nexus go live? Its worker asks after it has published the session. False: the superblocks
 * became known after istripe_metadata_check(); withdraw the session and log in once more.
 */
bool istripe_metadata_admits(const struct istripe_nexus *nexus);

/*
 * The sectors of each leg that the stripe may use when it grows, if the smallest leg has
 * @least_sectors. Growth that has begun keeps its size; until that fits, those of now. Called by
 * the resize work.
 */
u64 istripe_metadata_growth_share(const struct istripe_volume *volume, u64 least_sectors);

/* True from the first write, also of another host, until all are written. Any context. */
bool istripe_metadata_growth_begun(const struct istripe_volume *volume);

/*
 * Would a lost write of ours do harm when it is carried out at the next start? Not where it writes
 * what is there: after a start that failed other data may be there, and during growth. The volume
 * is stopped.
 */
bool istripe_metadata_late_write_harms(const struct istripe_volume *volume);

/*
 * The superblocks say that as much of each leg is the array's as its smallest one, which has
 * @least_sectors, allows. All are compared, then each is written, flushed and read back; only then
 * may the disk grow, to @share_sectors of each leg. All nexuses must be live. After a failure
 * half-way the next attempt goes on to the same size, and to that of another host after its growth.
 * -EAGAIN: that has meanwhile become more. Called by the resize work, which gives up while the
 * volume is about to go down.
 */
int istripe_metadata_grow(struct istripe_volume *volume, u64 least_sectors, u64 *share_sectors,
			  struct istripe_reason *why);

#endif
