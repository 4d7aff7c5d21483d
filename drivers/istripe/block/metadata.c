// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/uuid.h>

#include "block/bundle.h"
#include "block/metadata.h"
#include "block/path.h"
#include "block/protection.h"
#include "block/visit.h"
#include "block/volume.h"
#include "proto/error.h"
#include "proto/signature.h"

#define TIMEOUT_MS	60000		/* for all that is done on one leg at a time */

static_assert(ISTRIPE_SIGNATURE_BLOCK_BYTES == ISTRIPE_INTERNAL_BYTES);

/* While the volume starts: over paths that are live */

static int visit_learn(const struct istripe_visit *visit, struct istripe_round *round)
{
	return istripe_visit_read_super(visit, &round->volume->metadata.legs[visit->leg]);
}

/* A path that does not let us look is not trusted: it logs in again, and that looks. */
static int visit_verify(const struct istripe_visit *visit, struct istripe_round *round)
{
	const struct istripe_md *then = &round->volume->metadata.legs[visit->leg];
	struct istripe_md now;
	int ret = istripe_visit_read_super(visit, &now);

	if (ret) {
		istripe_session_fault(visit->session, ret, "cannot read the superblock");
		return ret;
	}
	ret = istripe_md_check_unchanged(then, &now, visit->leg, visit->why, visit->why_bytes);
	round->refused = ret;
	return ret;
}

/* Over all paths: their LUNs may call themselves the same and yet be different ones. */
static int leg_verify_paths(struct istripe_leg *leg, struct istripe_round *round)
{
	char reason[ISTRIPE_MD_REASON_BYTES];
	int ret, error = -ENOTCONN;
	struct istripe_path *path;
	u32 at, good = 0;

	istripe_leg_for_each_path(leg, path, at) {
		ret = istripe_visit_path(path, round, visit_verify);
		if (round->refused) {
			strscpy(reason, round->why, sizeof(reason));
			scnprintf(round->why, round->why_bytes, "over path %u: %s",
				  path->bundle->index, reason);
			return ret;
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

static int leg_verify(struct istripe_leg *leg, struct istripe_round *round)
{
	int section = srcu_read_lock(&leg->srcu);
	int ret = leg_verify_paths(leg, round);

	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

static int legs_verify(struct istripe_round *round)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < round->volume->leg_count; i++)
		ret = leg_verify(round->volume->legs[i], round);
	return ret;
}

/* Making an array */

static u64 visit_lun_bytes(const struct istripe_visit *visit)
{
	return istripe_lun_sectors(visit->lun) << SECTOR_SHIFT;
}

static int visit_refuse_signatures(const struct istripe_visit *visit, struct istripe_round *round)
{
	u64 lun_bytes = visit_lun_bytes(visit);
	const char *what;
	u64 at;
	u32 n;
	int ret;

	for (n = 0; istripe_signature_place(lun_bytes, n, &at); n++) {
		ret = istripe_visit_transfer(visit, at, false, "look for signatures");
		if (ret)
			return ret;
		what = istripe_signature_find(istripe_visit_page(visit), lun_bytes, at);
		if (!what)
			continue;
		scnprintf(visit->why, visit->why_bytes,
			  "leg %u: it holds %s: nothing was written; metadata_create=force would overwrite it",
			  visit->leg, what);
		return -EEXIST;
	}
	return 0;
}

/*
 * Not once more over another path when this one is lost: some places are where data
 * will be, and zeroes that the old session carries out late would wipe them (P25).
 */
static int visit_wipe(const struct istripe_visit *visit, u64 at_bytes)
{
	int ret;

	memset(istripe_visit_page(visit), 0, ISTRIPE_SIGNATURE_BLOCK_BYTES);
	ret = istripe_visit_transfer(visit, at_bytes, true, "overwrite its old signatures");
	if (!istripe_visit_is_lost(ret))
		return ret;
	istripe_session_fault(visit->session, ret, "lost while old signatures were overwritten");
	return -EIO;
}

/*
 * Two owners of one LUN would be found by whoever looks: the old one's marks go. Not
 * where the superblock goes: zeroes that a lost session writes late would wipe it.
 */
static int visit_wipe_signatures(const struct istripe_visit *visit, const char *name)
{
	u64 lun_bytes = visit_lun_bytes(visit);
	const char *what;
	int ret = 0;
	u64 at;
	u32 n;

	for (n = 0; !ret && istripe_signature_place(lun_bytes, n, &at); n++) {
		ret = istripe_visit_transfer(visit, at, false, "look for signatures");
		if (ret)
			return ret;
		what = istripe_signature_find(istripe_visit_page(visit), lun_bytes, at);
		if (!what)
			continue;
		pr_warn("%s/%u: it held %s, overwritten\n", name, visit->leg, what);
		if (at == ISTRIPE_VISIT_SUPER_AT_BYTES)
			continue;
		ret = visit_wipe(visit, at);
	}
	return ret;
}

/* From what was planned to what will be read. */
static int visit_encode_super(const struct istripe_visit *visit, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(visit->lun);
	void *page = istripe_visit_page(visit);
	int ret = istripe_md_encode(md, sectors, page, ISTRIPE_MD_SUPER_BYTES);

	if (!ret)
		ret = istripe_md_decode(page, ISTRIPE_MD_SUPER_BYTES, sectors, md);
	if (ret)
		scnprintf(visit->why, visit->why_bytes, "leg %u: no superblock fits: %s (%pe)",
			  visit->leg, istripe_error_words(ret), ERR_PTR(ret));
	return ret;
}

/* The last look before the write: another host may make an array of the same legs. */
static int visit_refuse_rival(const struct istripe_visit *visit, const struct istripe_round *round)
{
	const struct istripe_md *ours = &round->volume->metadata.legs[visit->leg];
	struct istripe_md now;
	int ret = istripe_visit_read_super(visit, &now);

	/* It is ours when the path was lost after the write. */
	if (ret || now.fault == ISTRIPE_MD_ABSENT ||
	    (now.fault == ISTRIPE_MD_OK &&
	     !memcmp(now.array_uuid, ours->array_uuid, sizeof(now.array_uuid))))
		return ret;
	scnprintf(visit->why, visit->why_bytes,
		  "leg %u: somebody else has just made an array of it", visit->leg);
	return -EEXIST;
}

static int visit_write_super(const struct istripe_visit *visit, struct istripe_round *round)
{
	int ret = visit_encode_super(visit, &round->volume->metadata.legs[visit->leg]);

	if (!ret)
		ret = istripe_visit_transfer(visit, ISTRIPE_VISIT_SUPER_AT_BYTES, true,
					     "write its superblock");
	return ret ?: istripe_visit_flush(visit);
}

static int visit_mark(const struct istripe_visit *visit, struct istripe_round *round)
{
	return visit_refuse_rival(visit, round) ?: visit_write_super(visit, round);
}

static int visit_overwrite(const struct istripe_visit *visit, struct istripe_round *round)
{
	return visit_wipe_signatures(visit, round->volume->name) ?:
	       visit_write_super(visit, round);
}

/* As mdadm: with the host's name when both fit. */
static void md_set_name(struct istripe_md *md, const char *name)
{
	const char *host = init_utsname()->nodename;

	if (strlen(host) + 1 + strlen(name) < sizeof(md->name))
		scnprintf(md->name, sizeof(md->name), "%s:%s", host, name);
	else
		strscpy(md->name, name, sizeof(md->name));
}

/* The superblocks of a new array, all the same but for the role and the leg's own UUID. */
static int metadata_plan(struct istripe_volume *volume, const struct istripe_share *share,
			 char *why, size_t why_bytes)
{
	u32 chunk_sectors = share->chunk_bytes >> SECTOR_SHIFT;
	u64 offset = istripe_md_data_offset_sectors(share->sectors, chunk_sectors);
	struct istripe_md md = {
		.fault = ISTRIPE_MD_OK,
		.legs = volume->leg_count,
		.chunk_sectors = chunk_sectors,
		.data_offset_sectors = offset,
		.ctime_s = ktime_get_real_seconds(),
	};
	u32 i;

	if (share->sectors < offset + chunk_sectors) {
		scnprintf(why, why_bytes,
			  "the smallest leg has %llu sectors: superblock and one chunk take %llu",
			  share->sectors, offset + chunk_sectors);
		return -EINVAL;
	}
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
 * All legs are looked at before the first one is written. When power is lost half way,
 * some legs have a superblock and some have not: such an array is refused, and as no
 * data can have been written, it may be made again.
 */
static int metadata_create(struct istripe_round *round, const struct istripe_share *share,
			   bool wipe)
{
	int ret = istripe_visit_all_live(round);

	/* Before the first one is written: half an array is worse than none. */
	if (!ret)
		ret = istripe_protection_check(round->volume, round->why, round->why_bytes);
	if (!ret && !wipe)
		ret = istripe_visit_legs(round, visit_refuse_signatures);
	if (!ret)
		ret = metadata_plan(round->volume, share, round->why, round->why_bytes);
	return ret ?: istripe_visit_legs(round, wipe ? visit_overwrite : visit_mark);
}

/* Knowing an array */

/* What to do is not in the superblocks. */
static void metadata_advise(const struct istripe_volume *volume, u32 bad_leg, char *why,
			    size_t why_bytes)
{
	const struct istripe_md *legs = volume->metadata.legs;
	size_t used = strlen(why);
	u32 i, marked = 0;

	if (bad_leg >= volume->leg_count || legs[bad_leg].fault != ISTRIPE_MD_ABSENT)
		return;
	for (i = 0; i < volume->leg_count; i++)
		marked += legs[i].fault != ISTRIPE_MD_ABSENT;
	scnprintf(why + used, why_bytes - used, "; %s",
		  marked ? "if making the array was cut short, set metadata_create=force" :
			   "to make a new array, set metadata_create=1; to do without, metadata=none");
}

static int metadata_check_chunk(const struct istripe_md *md, bool given,
				const struct istripe_share *share, char *why, size_t why_bytes)
{
	u32 chunk_bytes = md->chunk_sectors << SECTOR_SHIFT;

	if (!given || chunk_bytes == share->chunk_bytes)
		return 0;
	scnprintf(why, why_bytes, "chunk_bytes is %u, but the superblocks say %u",
		  share->chunk_bytes, chunk_bytes);
	return -EINVAL;
}

static int metadata_judge(struct istripe_volume *volume, bool chunk_given,
			  const struct istripe_share *share, char *why, size_t why_bytes)
{
	const struct istripe_md *legs = volume->metadata.legs;
	u32 bad_leg;
	int ret;

	ret = istripe_md_check_array(legs, volume->leg_count, &bad_leg, why, why_bytes);
	if (ret) {
		metadata_advise(volume, bad_leg, why, why_bytes);
		return ret;
	}
	return metadata_check_chunk(&legs[0], chunk_given, share, why, why_bytes);
}

/* From here on each login compares with what is known, see istripe_metadata_admits(). */
static int metadata_know(struct istripe_round *round)
{
	/* The superblocks before the word; pairs with the acquire in istripe_metadata_check(). */
	smp_store_release(&round->volume->metadata.known, true);
	/* Known before the look at paths; pairs with the one in istripe_metadata_admits(). */
	smp_mb();
	return legs_verify(round);
}

int istripe_metadata_start(struct istripe_volume *volume, enum istripe_metadata_create create,
			   bool chunk_given, struct istripe_share *share, char *why,
			   size_t why_bytes)
{
	struct istripe_round round = {
		.volume = volume,
		.timeout_ms = TIMEOUT_MS,
		.why = why,
		.why_bytes = why_bytes,
	};
	const struct istripe_md *first = volume->metadata.legs;
	int ret;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	if (create == ISTRIPE_METADATA_KEEP)
		ret = istripe_visit_legs(&round, visit_learn);
	else
		ret = metadata_create(&round, share, create == ISTRIPE_METADATA_FORCE);
	if (!ret)
		ret = metadata_judge(volume, chunk_given, share, why, why_bytes);
	/* Also what has just been written: only what can be read is there. */
	if (!ret)
		ret = metadata_know(&round);
	if (ret)
		return ret;
	share->chunk_bytes = first->chunk_sectors << SECTOR_SHIFT;
	share->offset_sectors = first->data_offset_sectors;
	share->sectors = istripe_md_share_sectors(first);
	return 0;
}

/* Again when what has been read may be older than what it is compared with. */
static int visit_compare(const struct istripe_visit *visit, struct istripe_path *path)
{
	struct istripe_volume *volume = path->leg->volume;
	struct istripe_md now;
	u32 ended;
	int ret;

	do {
		ended = istripe_growth_ended(volume);
		ret = istripe_visit_read_super(visit, &now);
		if (ret)
			return ret;
		ret = istripe_growth_compare(volume, visit->leg, ended, &now, visit->why,
					     visit->why_bytes);
	} while (ret == -EAGAIN);
	path->refused = ret;
	return ret;
}

int istripe_metadata_check(struct istripe_path *path, char *why, size_t why_bytes)
{
	const struct istripe_metadata *metadata = &path->leg->volume->metadata;
	u32 timeout_ms = READ_ONCE(path->params.timers.login_timeout_ms);
	struct istripe_visit visit = {
		.path = path,
		.session = path->owned,
		.lun = &path->found,
		.leg = path->leg->index,
		.deadline = jiffies + msecs_to_jiffies(timeout_ms),
		.why = why,
		.why_bytes = why_bytes,
	};

	/* The word before the superblocks; pairs with the release in metadata_know(). */
	path->checked = smp_load_acquire(&metadata->known);
	return path->checked ? visit_compare(&visit, path) : 0;
}

bool istripe_metadata_admits(const struct istripe_path *path)
{
	/* Session before the look; metadata_know() sees the one or we see the other. */
	smp_mb();
	return path->checked || !READ_ONCE(path->leg->volume->metadata.known);
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
	/* The disk, the paths and sysfs are gone: nobody looks at it any more. */
	kvfree(metadata->legs);
}
