// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/uuid.h>
#include <scsi/scsi_proto.h>

#include <istripe/reason.h>
#include "block/lun_io.h"
#include "block/metadata.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "block/write_protect.h"
#include "iscsi/error.h"
#include "layout/signature.h"
#include "scsi/sense.h"

#define SUPER_AT_BYTES	(ISTRIPE_MD_SUPER_SECTOR << SECTOR_SHIFT)
#define TIMEOUT_MS	60000		/* for all that is done on one leg at a time */

static_assert(ISTRIPE_MD_SUPER_BYTES == ISTRIPE_INTERNAL_BYTES);
static_assert(ISTRIPE_SIGNATURE_BLOCK_BYTES == ISTRIPE_INTERNAL_BYTES);

/* 0 also for a bad superblock: @md->problem. */
static int super_read(const struct istripe_lun_io *io, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(io->lun);
	int ret;

	*md = (struct istripe_md) { .problem = ISTRIPE_MD_ABSENT };
	if (sectors << SECTOR_SHIFT < SUPER_AT_BYTES + ISTRIPE_MD_SUPER_BYTES)
		return 0;
	ret = istripe_lun_io_transfer(io, SUPER_AT_BYTES, false, "read its superblock");
	if (!ret)
		istripe_md_decode(istripe_lun_io_page(io), ISTRIPE_MD_SUPER_BYTES, sectors, md);
	return ret;
}

static void undrained_add_group(const struct istripe_undrained *undrained,
				struct istripe_reason *why)
{
	if (undrained->tpgt.known)
		istripe_reason_add(why, ", in portal group %u", undrained->tpgt.tag);
}

/* A session of the nexus was lost with it, perhaps before the volume came up. */
static bool super_may_come(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	const struct istripe_undrained *undrained = &nexus->undrained;

	if (!nexus->super_unfenced && !undrained->super)
		return false;
	istripe_reason_set(why,
			   "leg %u path %u was lost with a superblock that may still be written: others are written when a login through it has ended that",
			   nexus->leg->index, nexus->path->index);
	if (undrained->super)
		undrained_add_group(undrained, why);
	istripe_reason_add(why, "; see reconnect, fence_confirm and unfenced");
	return true;
}

static bool nexus_bars_supers(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	u32 leg = nexus->leg->index, path = nexus->path->index;

	lockdep_assert_held(&nexus->leg->lock);
	if (super_may_come(nexus, why))
		return true;
	if (!nexus->wanted)
		return false;
	if (!nexus->live) {
		istripe_reason_set(why,
				   "leg %u path %u is down: superblocks are written when all paths are up",
				   leg, path);
		return true;
	}
	if (!READ_ONCE(nexus->leg->volume->metadata.wipes) || !nexus->undrained.any)
		return false;
	/* The port takes no I/O yet, see fence_wipes(), or is in another portal group. */
	istripe_reason_set(why,
			   "leg %u path %u: the target may still carry out writes of an earlier attempt: with force nothing is written before LOGICAL UNIT RESET is complete over this path, too",
			   leg, path);
	undrained_add_group(&nexus->undrained, why);
	return true;
}

static int leg_all_live(struct istripe_leg *leg, struct istripe_lun_walk *walk)
{
	struct istripe_nexus *nexus;
	int ret = 0;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (!nexus_bars_supers(nexus, walk->why))
			continue;
		ret = -ENOTCONN;
		break;
	}
	spin_unlock_bh(&leg->lock);
	return ret;
}

/*
 * -ENOTCONN when a wanted nexus is not live, or any nexus may still write a superblock, or, with
 * force, anything.
 *
 * A write that a failed attempt, or an earlier growth, has left in a target is over when a login of
 * the same nexus, or one through a sibling, has cut and drained its session:
 * istripe_unfenced_save() keeps that this is due. So all nexuses must have logged in, and drained
 * what is due, before something else is written.
 */
static int supers_all_live(struct istripe_lun_walk *walk)
{
	const struct istripe_volume *volume = walk->volume;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_all_live(volume->legs[i], walk);
	return ret;
}

/* While the volume starts: over nexuses that are live */

static int super_learn(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	return super_read(io, &walk->volume->metadata.legs[io->leg]);
}

/* A nexus over which the superblock cannot be read logs in again, and is checked then. */
static int super_verify(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	const struct istripe_md *then = &walk->volume->metadata.legs[io->leg];
	struct istripe_md now;
	int ret = super_read(io, &now);

	if (ret) {
		if (ret != -ENOLINK)
			istripe_session_fault(io->session, ret, "cannot read the superblock");
		return ret;
	}
	ret = istripe_md_check_unchanged(then, &now, io->leg, io->why);
	walk->mismatch = ret;
	if (!ret)
		WRITE_ONCE(io->nexus->compared, true);
	return ret;
}

/* Over all nexuses, since different LUNs may have the same designator. */
static int leg_verify_nexuses(struct istripe_leg *leg, struct istripe_lun_walk *walk)
{
	struct istripe_reason reason;
	int ret, error = -ENOTCONN;
	struct istripe_nexus *nexus;
	u32 good = 0;

	istripe_leg_for_each_nexus(leg, nexus) {
		/*
		 * It is compared when its port takes I/O, see istripe_metadata_admits(). Its
		 * worker may be finding that just now, without @known: wait until it sees that.
		 */
		if (!istripe_alua_usable(READ_ONCE(nexus->access.state))) {
			istripe_nexus_revalidate(nexus);
			continue;
		}
		ret = istripe_lun_io_over_nexus(nexus, walk, super_verify);
		if (walk->mismatch) {
			reason = *walk->why;
			return istripe_reason_fail(walk->why, ret, "over path %u: %s",
						   nexus->path->index, reason.text);
		}
		if (ret == -EINTR)
			return ret;
		if (ret)
			error = ret;
		else
			good++;
	}
	return good ? 0 : error;
}

static int leg_verify(struct istripe_leg *leg, struct istripe_lun_walk *walk)
{
	int section = srcu_read_lock(&leg->srcu);
	int ret = leg_verify_nexuses(leg, walk);

	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

/* Making an array */

static u64 super_lun_bytes(const struct istripe_lun_io *io)
{
	return istripe_lun_sectors(io->lun) << SECTOR_SHIFT;
}

/*
 * Finds the next signature from place @n on, which becomes the one behind it; *@what is NULL when
 * there is none.
 */
static int super_next_signature(const struct istripe_lun_io *io, u32 *n, u64 *at,
				const char **what)
{
	u64 lun_bytes = super_lun_bytes(io);
	int ret;

	*what = NULL;
	while (!*what && istripe_signature_place(lun_bytes, (*n)++, at)) {
		ret = istripe_lun_io_transfer(io, *at, false, "look for signatures");
		if (ret)
			return ret;
		*what = istripe_signature_find(istripe_lun_io_page(io), lun_bytes, *at);
	}
	return 0;
}

static int super_refuse_signatures(const struct istripe_lun_io *io,
				   struct istripe_lun_walk *walk)
{
	const char *what;
	u32 n = 0;
	u64 at;
	int ret = super_next_signature(io, &n, &at, &what);

	if (ret || !what)
		return ret;
	return istripe_reason_fail(io->why, -EEXIST,
				   "leg %u: it holds %s: nothing was written; metadata_create=force would overwrite it",
				   io->leg, what);
}

/*
 * A lost nexus ends it, with -EIO: some of these places will hold data, and zeroes that the old
 * session carries out late would wipe them (P25).
 */
static int super_wipe(const struct istripe_lun_io *io, u64 at_bytes)
{
	int ret;

	memset(istripe_lun_io_page(io), 0, ISTRIPE_SIGNATURE_BLOCK_BYTES);
	ret = istripe_lun_io_transfer(io, at_bytes, true, "overwrite its old signatures");
	if (!istripe_lun_is_lost(ret))
		return ret;
	istripe_session_fault(io->session, ret, "lost while old signatures were overwritten");
	return -EIO;
}

/* All labels of a pool, since each one tells of it. */
static int super_wipe_zfs(const struct istripe_lun_io *io)
{
	u64 lun_bytes = super_lun_bytes(io);
	int ret = 0;
	u64 at;
	u32 n;

	for (n = 0; !ret && istripe_signature_zfs_block(lun_bytes, n, &at); n++)
		if (at != SUPER_AT_BYTES)
			ret = super_wipe(io, at);
	return ret;
}

/*
 * Programs would find two owners of one LUN if old signatures stayed. The place of the superblock
 * is not wiped: zeroes that a lost session writes late would destroy the superblock.
 */
static int super_wipe_signatures(const struct istripe_lun_io *io, const char *name)
{
	const char *what;
	u32 n = 0;
	u64 at;
	int ret;

	while (!(ret = super_next_signature(io, &n, &at, &what)) && what) {
		pr_warn("%s/%u: it held %s, overwritten\n", name, io->leg, what);
		if (at == SUPER_AT_BYTES)
			continue;
		ret = istripe_signature_is_zfs(what) ? super_wipe_zfs(io) : super_wipe(io, at);
		if (ret)
			break;
	}
	return ret;
}

/* Replaces the plan by what will be read back. */
static int super_encode(const struct istripe_lun_io *io, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(io->lun);
	void *page = istripe_lun_io_page(io);
	int ret = istripe_md_encode(md, sectors, page);

	if (!ret)
		ret = istripe_md_decode(page, ISTRIPE_MD_SUPER_BYTES, sectors, md);
	if (ret)
		istripe_reason_set(io->why, "leg %u: no superblock fits: %s (%pe)", io->leg,
				   istripe_error_words(ret), ERR_PTR(ret));
	return ret;
}

/* Another host may be making an array of the same legs at this moment. */
static int super_refuse_rival(const struct istripe_lun_io *io,
			      const struct istripe_lun_walk *walk)
{
	const struct istripe_md *ours = &walk->volume->metadata.legs[io->leg];
	struct istripe_md now;
	int ret = super_read(io, &now);

	/* The superblock is ours when a nexus was lost after the write. */
	if (ret || now.problem == ISTRIPE_MD_ABSENT ||
	    (now.problem == ISTRIPE_MD_OK &&
	     !memcmp(now.array_uuid, ours->array_uuid, sizeof(now.array_uuid))))
		return ret;
	return istripe_reason_fail(io->why, -EEXIST,
				   "leg %u: somebody else has just made an array of it", io->leg);
}

static int super_write(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	int ret = super_encode(io, &walk->volume->metadata.legs[io->leg]);

	if (!ret)
		ret = istripe_lun_io_transfer(io, SUPER_AT_BYTES, true, "write its superblock");
	return ret ?: istripe_lun_io_flush(io);
}

static int super_mark(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	return super_refuse_rival(io, walk) ?: super_write(io, walk);
}

static int super_overwrite(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	return super_wipe_signatures(io, walk->volume->name) ?:
	       super_write(io, walk);
}

/* As mdadm does: with the host's name when both fit. */
static void md_set_name(struct istripe_md *md, const char *name)
{
	const char *host = init_utsname()->nodename;

	if (strlen(host) + 1 + strlen(name) < sizeof(md->name))
		scnprintf(md->name, sizeof(md->name), "%s:%s", host, name);
	else
		strscpy(md->name, name, sizeof(md->name));
}

static int metadata_plan(struct istripe_volume *volume, const struct istripe_share *share,
			 struct istripe_reason *why)
{
	u32 chunk_sectors = share->chunk_bytes >> SECTOR_SHIFT;
	u64 offset = istripe_md_data_offset_sectors(share->sectors, chunk_sectors);
	struct istripe_md md = {
		.problem = ISTRIPE_MD_OK,
		.legs = volume->leg_count,
		.chunk_sectors = chunk_sectors,
		.data_offset_sectors = offset,
		.ctime_s = ktime_get_real_seconds(),
	};
	u32 i;

	if (share->sectors < offset + chunk_sectors)
		return istripe_reason_fail(why, -EINVAL,
					   "the smallest leg has %llu sectors: superblock and one chunk take %llu",
					   share->sectors, offset + chunk_sectors);
	md.data_sectors = share->sectors - offset;
	md.utime_s = md.ctime_s;
	md_set_name(&md, volume->name);
	generate_random_uuid(md.array_uuid);
	for (i = 0; i < volume->leg_count; i++) {
		md.role = i;
		md.dev_number = i;
		generate_random_uuid(md.device_uuid);
		volume->metadata.legs[i] = md;
	}
	return 0;
}

/*
 * All legs are read before the first one is written. When power is lost half-way, some legs have a
 * superblock and some have not. Such an array is refused; it holds no data and may be made again.
 */
static int metadata_create(struct istripe_lun_walk *walk, const struct istripe_share *share,
			   bool wipe)
{
	int ret = supers_all_live(walk);

	if (!ret)
		ret = istripe_write_protect_check(walk->volume, walk->why);
	if (!ret && !wipe)
		ret = istripe_lun_io_each_leg(walk, super_refuse_signatures);
	if (!ret)
		ret = metadata_plan(walk->volume, share, walk->why);
	return ret ?: istripe_lun_io_each_leg(walk, wipe ? super_overwrite : super_mark);
}

/* Knowing an array */

/* Appends what the administrator can do. */
static void metadata_advise(const struct istripe_volume *volume, u32 bad_leg,
			    struct istripe_reason *why)
{
	const struct istripe_md *legs = volume->metadata.legs;
	u32 i, marked = 0;

	if (bad_leg >= volume->leg_count || legs[bad_leg].problem != ISTRIPE_MD_ABSENT)
		return;
	for (i = 0; i < volume->leg_count; i++)
		marked += legs[i].problem != ISTRIPE_MD_ABSENT;
	istripe_reason_add(why, "; %s",
			   marked ? "if making the array was cut short, set metadata_create=force" :
				    "to make a new array, set metadata_create=1; to do without, metadata=none");
}

static int metadata_check_chunk(const struct istripe_md *md, bool given,
				const struct istripe_share *share, struct istripe_reason *why)
{
	u32 chunk_bytes = md->chunk_sectors << SECTOR_SHIFT;

	if (!given || chunk_bytes == share->chunk_bytes)
		return 0;
	return istripe_reason_fail(why, -EINVAL, "chunk_bytes is %u, but the superblocks say %u",
				   share->chunk_bytes, chunk_bytes);
}

/* Addresses within the data, as those of a partition table, may count blocks of that size. */
static int metadata_check_block(const struct istripe_volume *volume, struct istripe_reason *why)
{
	u32 bytes = volume->metadata.legs[0].logical_block_bytes;

	if (bytes <= volume->block_bytes)
		return 0;
	return istripe_reason_fail(why, -EINVAL,
				   "the superblocks say logical blocks of %u bytes, but the legs have %u",
				   bytes, volume->block_bytes);
}

static int metadata_check_array(struct istripe_volume *volume, bool chunk_given,
				const struct istripe_share *share, struct istripe_reason *why)
{
	const struct istripe_md *legs = volume->metadata.legs;
	u32 bad_leg;
	int ret;

	ret = istripe_md_check_array(legs, volume->leg_count, &bad_leg, why);
	if (ret) {
		metadata_advise(volume, bad_leg, why);
		return ret;
	}
	return metadata_check_chunk(&legs[0], chunk_given, share, why) ?:
	       metadata_check_block(volume, why);
}

/* From here on each login compares, see istripe_metadata_admits(). */
static int metadata_know(struct istripe_lun_walk *walk)
{
	int ret = 0;
	u32 i;

	/* The superblocks before @known; pairs with the acquire in istripe_metadata_check(). */
	smp_store_release(&walk->volume->metadata.known, true);
	/* @known, then the sessions; pairs with the barrier in istripe_metadata_admits(). */
	smp_mb();
	for (i = 0; !ret && i < walk->volume->leg_count; i++)
		ret = leg_verify(walk->volume->legs[i], walk);
	return ret;
}

int istripe_metadata_start(struct istripe_volume *volume, enum istripe_metadata_create create,
			   bool chunk_given, struct istripe_share *share,
			   struct istripe_reason *why)
{
	struct istripe_lun_walk walk = {
		.volume = volume,
		.timeout_ms = TIMEOUT_MS,
		.why = why,
	};
	const struct istripe_md *first = volume->metadata.legs;
	int ret;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	if (create == ISTRIPE_METADATA_KEEP)
		ret = istripe_lun_io_each_leg(&walk, super_learn);
	else
		ret = metadata_create(&walk, share, create == ISTRIPE_METADATA_FORCE);
	if (!ret)
		ret = metadata_check_array(volume, chunk_given, share, why);
	/* Superblocks that have just been written are read back, too. */
	if (!ret)
		ret = metadata_know(&walk);
	if (ret)
		return ret;
	share->chunk_bytes = first->chunk_sectors << SECTOR_SHIFT;
	share->offset_sectors = first->data_offset_sectors;
	share->sectors = istripe_md_share_sectors(first);
	WRITE_ONCE(volume->metadata.wipes, false);
	return 0;
}

/* Growing */

static u64 growth_sectors(const struct istripe_volume *volume, u64 least_sectors)
{
	const struct istripe_metadata *metadata = &volume->metadata;

	return READ_ONCE(metadata->growth.sectors) ?:
	       least_sectors - metadata->legs[0].data_offset_sectors;
}

/* Another host may have found more of the legs. */
static bool growth_fits(const struct istripe_volume *volume, u64 sectors, u64 least_sectors)
{
	return sectors <= least_sectors - volume->metadata.legs[0].data_offset_sectors;
}

u64 istripe_metadata_growth_share(const struct istripe_volume *volume, u64 least_sectors)
{
	u64 sectors;
	struct istripe_md md;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return least_sectors;
	md = volume->metadata.legs[0];
	sectors = growth_sectors(volume, least_sectors);
	if (growth_fits(volume, sectors, least_sectors))
		md.data_sectors = sectors;
	return istripe_md_share_sectors(&md);
}

bool istripe_metadata_growth_begun(const struct istripe_volume *volume)
{
	return READ_ONCE(volume->metadata.growth.sectors);
}

bool istripe_metadata_late_write_harms(const struct istripe_volume *volume)
{
	return !volume->disk || istripe_metadata_growth_begun(volume);
}

static int compare_grown(const struct istripe_volume *volume, u32 leg, u64 sectors,
			 const struct istripe_md *now, struct istripe_reason *why)
{
	struct istripe_md grown = volume->metadata.legs[leg];

	grown.data_sectors = sectors;
	return istripe_md_check_unchanged(&grown, now, leg, why);
}

/*
 * Another host has said first that more of the leg is the array's. No sector moves, and this disk
 * keeps its size: so it is as if this host had begun to grow. -ENOSPC: the LUN is seen to have
 * grown later than its superblock.
 */
static int growth_accept(struct istripe_volume *volume, u32 leg, const struct istripe_md *now,
			 struct istripe_reason *why)
{
	struct istripe_metadata_growth *growth = &volume->metadata.growth;

	lockdep_assert_held(&growth->lock);
	if (now->problem == ISTRIPE_MD_SIZE)
		return istripe_reason_fail(why, -ENOSPC,
					   "leg %u: another host has grown the array, and the LUN has not got as much yet: path not used",
					   leg);
	if (now->data_sectors > growth->sectors) {
		WRITE_ONCE(growth->sectors, now->data_sectors);
		pr_notice("%s: another host has grown the array: the disk keeps its size until a rescan\n",
			  volume->name);
	}
	return 0;
}

/*
 * Is the superblock @now what it was, or what it grows to? @ended is of before it was read.
 * -EAGAIN: growth has ended meanwhile, read once more.
 */
static int growth_compare(struct istripe_volume *volume, u32 leg, u32 ended,
			  const struct istripe_md *now, struct istripe_reason *why)
{
	const struct istripe_md *then = &volume->metadata.legs[leg];
	struct istripe_metadata_growth *growth = &volume->metadata.growth;
	int ret;

	mutex_lock(&growth->lock);
	if (growth->ended != ended) {
		ret = -EAGAIN;
		goto unlock;
	}
	ret = istripe_md_check_unchanged(then, now, leg, why);
	if (ret && istripe_md_has_grown(then, now))
		ret = growth_accept(volume, leg, now, why);
unlock:
	mutex_unlock(&growth->lock);
	return ret;
}

static int super_read_known(const struct istripe_lun_io *io, struct istripe_lun_walk *walk,
			    struct istripe_md *now)
{
	const struct istripe_metadata_growth *growth = &walk->volume->metadata.growth;
	int ret;

	/* Growth that has begun goes on, so that all superblocks become equal. */
	if (READ_ONCE(walk->volume->resize.ending) && !growth->begun)
		return istripe_reason_fail(io->why, -ESHUTDOWN, "the volume is about to go down");
	ret = super_read(io, now);
	if (ret)
		return ret;
	ret = growth_compare(walk->volume, io->leg, growth->ended, now, io->why);
	walk->mismatch = ret;
	return ret;
}

/* A superblock that a stranger has changed is not written. */
static int super_recognize(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	struct istripe_md now;

	return super_read_known(io, walk, &now);
}

static int super_read_back(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	struct istripe_md now;
	int ret = super_read(io, &now);

	if (ret)
		return ret;
	ret = compare_grown(walk->volume, io->leg, walk->volume->metadata.growth.target, &now,
			    io->why);
	walk->mismatch = ret;
	return ret;
}

/* From now on a login may find the old superblock or the new one. */
static int growth_begin(struct istripe_volume *volume, struct istripe_reason *why)
{
	struct istripe_metadata_growth *growth = &volume->metadata.growth;
	bool passed;

	mutex_lock(&growth->lock);
	passed = growth->sectors > growth->target;
	if (!passed) {
		WRITE_ONCE(growth->sectors, growth->target);
		growth->begun = true;
	}
	mutex_unlock(&growth->lock);
	return passed ? istripe_reason_fail(why, -EAGAIN, "another host has grown the array more")
		      : 0;
}

/*
 * Changes the size only: mdadm may have made the superblock. One that says so already, as another
 * host has written it, is flushed all the same: that host may not have come so far.
 */
static int super_grow(const struct istripe_lun_io *io, struct istripe_lun_walk *walk)
{
	u64 target = walk->volume->metadata.growth.target;
	struct istripe_md now;
	int ret = super_read_known(io, walk, &now);

	ret = ret ?: growth_begin(walk->volume, io->why);
	if (ret)
		return ret;
	if (now.data_sectors != target) {
		istripe_md_resize(istripe_lun_io_page(io), target);
		ret = istripe_lun_io_transfer(io, SUPER_AT_BYTES, true, "write its superblock");
	}
	if (!ret)
		ret = istripe_lun_io_flush(io);
	return ret ?: super_read_back(io, walk);
}

static void growth_end(struct istripe_volume *volume)
{
	struct istripe_metadata_growth *growth = &volume->metadata.growth;
	u32 i;

	mutex_lock(&growth->lock);
	for (i = 0; i < volume->leg_count; i++)
		volume->metadata.legs[i].data_sectors = growth->target;
	/* Else another host has gone on. */
	if (growth->sectors == growth->target)
		WRITE_ONCE(growth->sectors, 0);
	growth->begun = false;
	WRITE_ONCE(growth->ended, growth->ended + 1);
	mutex_unlock(&growth->lock);
}

static int growth_plan(struct istripe_volume *volume, u64 least_sectors,
		       struct istripe_reason *why)
{
	u64 sectors = growth_sectors(volume, least_sectors);

	if (!growth_fits(volume, sectors, least_sectors))
		return istripe_reason_fail(why, -EAGAIN, "another host has grown the array more");
	volume->metadata.growth.target = sectors;
	return 0;
}

static int supers_grow(struct istripe_volume *volume, u64 least_sectors,
		       struct istripe_reason *why)
{
	struct istripe_lun_walk walk = {
		.volume = volume,
		.timeout_ms = 2 * READ_ONCE(volume->command_timeout_ms),
		.why = why,
	};
	int ret = supers_all_live(&walk) ?: istripe_write_protect_check(volume, why);

	ret = ret ?: istripe_lun_io_each_leg(&walk, super_recognize);
	ret = ret ?: growth_plan(volume, least_sectors, why);
	ret = ret ?: istripe_lun_io_each_leg(&walk, super_grow);
	if (!ret)
		growth_end(volume);
	return ret;
}

int istripe_metadata_grow(struct istripe_volume *volume, u64 least_sectors, u64 *share_sectors,
			  struct istripe_reason *why)
{
	int ret;

	*share_sectors = least_sectors;
	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	ret = supers_grow(volume, least_sectors, why);
	*share_sectors = istripe_md_share_sectors(&volume->metadata.legs[0]);
	return ret;
}

/* Logging in */

/*
 * A bad block, on which no I/O of the disk depends: a nexus that has led to this superblock before,
 * and whose LUN has the designator of the leg, goes on without it.
 */
static bool super_may_be_unread(const struct istripe_lun_io *io, struct istripe_nexus *nexus,
				int error)
{
	const struct istripe_task *task = &io->session->internal.task;
	enum istripe_scsi_verdict verdict;

	/* -EBUSY: it was asked again until the end. */
	if (!READ_ONCE(nexus->compared) || nexus->found.by_serial ||
	    (error != -EIO && error != -EBUSY))
		return false;
	verdict = istripe_sense_verdict(task->status, &task->sense);
	if (verdict != ISTRIPE_SCSI_MEDIUM && verdict != ISTRIPE_SCSI_CORRUPT &&
	    task->sense.sense_key != MEDIUM_ERROR)
		return false;
	if (!nexus->super_unread)
		pr_warn("%s: cannot read the superblock: status 0x%02x, sense %x/%02x/%02x: the path is used without, it has had the right one before\n",
			nexus->label, task->status, task->sense.sense_key, task->sense.asc,
			task->sense.ascq);
	nexus->super_unread = true;
	return true;
}

/* Reads again when growth has ended since: the superblock is older than its comparison. */
static int super_compare(const struct istripe_lun_io *io, struct istripe_nexus *nexus)
{
	struct istripe_volume *volume = nexus->leg->volume;
	struct istripe_md now;
	u32 ended;
	int ret;

	do {
		ended = READ_ONCE(volume->metadata.growth.ended);
		ret = super_read(io, &now);
		if (ret)
			return super_may_be_unread(io, nexus, ret) ? 0 : ret;
		ret = growth_compare(volume, io->leg, ended, &now, io->why);
	} while (ret == -EAGAIN);
	nexus->mismatch = ret;
	nexus->super_unread = false;
	WRITE_ONCE(nexus->compared, !ret);
	return ret;
}

int istripe_metadata_check(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	const struct istripe_metadata *metadata = &nexus->leg->volume->metadata;
	u32 timeout_ms = READ_ONCE(nexus->path->params.timers.login_timeout_ms);
	struct istripe_lun_io io;

	/* A port that has taken I/O all the time is not read over each time that it is polled. */
	if (nexus->access_only && nexus->checked && !nexus->found.changed &&
	    istripe_alua_usable(nexus->found.access.state))
		return 0;
	/* @known before the superblocks; pairs with the release in metadata_know(). */
	nexus->checked = smp_load_acquire(&metadata->known) &&
			 istripe_alua_usable(nexus->found.access.state);
	istripe_lun_io_begin(&io, nexus, timeout_ms, why);
	return nexus->checked ? super_compare(&io, nexus) : 0;
}

bool istripe_metadata_admits(const struct istripe_nexus *nexus)
{
	/*
	 * The session is published before @known is read; pairs with the barrier in
	 * metadata_know(): it sees the session, or we see @known.
	 */
	smp_mb();
	return nexus->checked || !READ_ONCE(nexus->leg->volume->metadata.known) ||
	       !istripe_alua_usable(READ_ONCE(nexus->access.state));
}

int istripe_metadata_init(struct istripe_metadata *metadata, enum istripe_metadata_kind kind,
			  u32 legs)
{
	metadata->kind = kind;
	mutex_init(&metadata->growth.lock);
	if (kind == ISTRIPE_METADATA_NONE)
		return 0;
	metadata->legs = kvcalloc(legs, sizeof(*metadata->legs), GFP_KERNEL);
	return metadata->legs ? 0 : -ENOMEM;
}

void istripe_metadata_free(struct istripe_metadata *metadata)
{
	kvfree(metadata->legs);
}
