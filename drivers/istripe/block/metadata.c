// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/uuid.h>

#include "block/bundle.h"
#include "block/metadata.h"
#include "block/path.h"
#include "block/volume.h"
#include "proto/cdb.h"
#include "proto/signature.h"

#define TIMEOUT_MS	60000		/* for all that is done on one leg */
#define SUPER_AT_BYTES	(ISTRIPE_MD_SUPER_SECTOR << SECTOR_SHIFT)

static_assert(ISTRIPE_MD_SUPER_BYTES == ISTRIPE_INTERNAL_BYTES);
static_assert(ISTRIPE_SIGNATURE_BLOCK_BYTES == ISTRIPE_INTERNAL_BYTES);

/* A leg's marks within reach. All I/O is of one page, that of the session. */
struct visit {
	struct istripe_session *session;
	const struct istripe_lun *lun;
	u32 leg;
	unsigned long deadline;		/* jiffies */
	char *why;
	size_t why_bytes;
};

static void *visit_page(const struct visit *visit)
{
	return page_address(visit->session->internal.page);
}

static int visit_ask(const struct visit *visit, const u8 *cdb, u32 bytes, bool write,
		     const char *what)
{
	const struct istripe_task *task = &visit->session->internal.task;
	/* The session's address of the LUN: paths may list it under different numbers. */
	int ret = istripe_lun_ask(visit->session, &visit->session->lun, cdb, bytes, write,
				  ISTRIPE_LUN_KNOWN, visit->deadline);

	if (!ret && task->transferred_bytes != bytes)
		ret = -EPROTO;
	if (ret == -EIO)
		scnprintf(visit->why, visit->why_bytes,
			  "leg %u: cannot %s: status 0x%02x, sense %x/%02x/%02x", visit->leg, what,
			  task->status, task->sense.sense_key, task->sense.asc, task->sense.ascq);
	else if (ret)
		scnprintf(visit->why, visit->why_bytes, "leg %u: cannot %s: %pe", visit->leg, what,
			  ERR_PTR(ret));
	return ret;
}

/* Blocks are powers of two up to 4 KiB: what is aligned to a page is to them. */
static int visit_transfer(const struct visit *visit, u64 at_bytes, bool write, const char *what)
{
	u32 block_bytes = visit->lun->capacity.block_bytes;
	u32 blocks = ISTRIPE_INTERNAL_BYTES / block_bytes;
	u64 lba = at_bytes >> ilog2(block_bytes);
	u8 cdb[ISTRIPE_CDB_BYTES];

	if (write)
		istripe_cdb_write16(cdb, lba, blocks, false);
	else
		istripe_cdb_read16(cdb, lba, blocks, false);
	return visit_ask(visit, cdb, ISTRIPE_INTERNAL_BYTES, write, what);
}

static int visit_flush(const struct visit *visit)
{
	u8 cdb[ISTRIPE_CDB_BYTES];

	if (!visit->lun->caching.write_cache)
		return 0;
	istripe_cdb_synchronize_cache16(cdb);
	return visit_ask(visit, cdb, 0, false, "flush its superblock");
}

/* What is wrong with it stands in @md; an error is one of reading only. */
static int visit_read_super(const struct visit *visit, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(visit->lun);
	int ret;

	*md = (struct istripe_md) { .fault = ISTRIPE_MD_ABSENT };
	if (sectors << SECTOR_SHIFT < SUPER_AT_BYTES + ISTRIPE_MD_SUPER_BYTES)
		return 0;
	ret = visit_transfer(visit, SUPER_AT_BYTES, false, "read its superblock");
	if (!ret)
		istripe_md_decode(visit_page(visit), ISTRIPE_MD_SUPER_BYTES, sectors, md);
	return ret;
}

/* While the volume starts: over paths that are live */

/* One round over all legs. */
struct round {
	struct istripe_volume *volume;
	bool wipe;			/* signatures of others, when superblocks are written */
	bool refused;			/* a path leads to what is not the leg */
	char *why;
	size_t why_bytes;
};

typedef int (*visit_fn)(const struct visit *visit, struct round *round);

/* The section keeps the session open: its owner waits for us before it closes it. */
static int path_visit(struct istripe_path *path, struct round *round, visit_fn fn)
{
	int section = srcu_read_lock(&path->srcu);
	struct visit visit = {
		.session = srcu_dereference(path->session, &path->srcu),
		.lun = &path->leg->lun,
		.leg = path->leg->index,
		.deadline = jiffies + msecs_to_jiffies(TIMEOUT_MS),
		.why = round->why,
		.why_bytes = round->why_bytes,
	};
	int ret = -ENOTCONN;

	if (fatal_signal_pending(current)) {
		scnprintf(visit.why, visit.why_bytes, "interrupted at leg %u", visit.leg);
		ret = -EINTR;
	} else if (visit.session) {
		ret = fn(&visit, round);
	} else {
		scnprintf(visit.why, visit.why_bytes, "leg %u: its path was lost", visit.leg);
	}
	/* The command is still under way, and its page with it. */
	if (visit.session && ret == -ETIMEDOUT)
		istripe_session_fault(visit.session, ret, "no answer about the superblock");
	/* Nothing more over this path before a login has looked who is there. */
	if (visit.session && ret == -ESTALE && !round->refused) {
		istripe_session_fault(visit.session, ret, "the LUN may be another one now");
		ret = -ENOTCONN;
	}
	srcu_read_unlock(&path->srcu, section);
	return ret;
}

static bool path_is_lost(int error)
{
	return error == -ENOTCONN || error == -ETIMEDOUT;
}

/*
 * Over the first path that is not lost. A superblock that one path may have written is
 * written again over the next one: what a target still carries out late is the same.
 */
static int leg_visit(struct istripe_leg *leg, struct round *round, visit_fn fn)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	int ret = -ENOTCONN;
	u32 at;

	istripe_leg_for_each_path(leg, path, at) {
		ret = path_visit(path, round, fn);
		if (!path_is_lost(ret))
			break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

/* Each leg is through with it before the next one begins; the first error ends it. */
static int legs_visit(struct round *round, visit_fn fn)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < round->volume->leg_count; i++)
		ret = leg_visit(round->volume->legs[i], round, fn);
	return ret;
}

static int visit_learn(const struct visit *visit, struct round *round)
{
	return visit_read_super(visit, &round->volume->metadata.legs[visit->leg]);
}

/* A path that does not let us look is not trusted: it logs in again, and that looks. */
static int visit_verify(const struct visit *visit, struct round *round)
{
	const struct istripe_md *then = &round->volume->metadata.legs[visit->leg];
	struct istripe_md now;
	int ret = visit_read_super(visit, &now);

	if (ret) {
		istripe_session_fault(visit->session, ret, "cannot read the superblock");
		return ret;
	}
	ret = istripe_md_check_unchanged(then, &now, visit->leg, visit->why, visit->why_bytes);
	round->refused = ret;
	return ret;
}

/* Over all paths: their LUNs may call themselves the same and yet be different ones. */
static int leg_verify_paths(struct istripe_leg *leg, struct round *round)
{
	char reason[ISTRIPE_MD_REASON_BYTES];
	int ret, error = -ENOTCONN;
	struct istripe_path *path;
	u32 at, good = 0;

	istripe_leg_for_each_path(leg, path, at) {
		ret = path_visit(path, round, visit_verify);
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

static int leg_verify(struct istripe_leg *leg, struct round *round)
{
	int section = srcu_read_lock(&leg->srcu);
	int ret = leg_verify_paths(leg, round);

	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

static int legs_verify(struct round *round)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < round->volume->leg_count; i++)
		ret = leg_verify(round->volume->legs[i], round);
	return ret;
}

/* Making an array */

static u64 visit_lun_bytes(const struct visit *visit)
{
	return istripe_lun_sectors(visit->lun) << SECTOR_SHIFT;
}

static int visit_refuse_signatures(const struct visit *visit, struct round *round)
{
	u64 lun_bytes = visit_lun_bytes(visit);
	const char *what;
	u64 at;
	u32 n;
	int ret;

	for (n = 0; istripe_signature_place(lun_bytes, n, &at); n++) {
		ret = visit_transfer(visit, at, false, "look for signatures");
		if (ret)
			return ret;
		what = istripe_signature_find(visit_page(visit), lun_bytes, at);
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
static int visit_wipe(const struct visit *visit, u64 at_bytes)
{
	int ret;

	memset(visit_page(visit), 0, ISTRIPE_SIGNATURE_BLOCK_BYTES);
	ret = visit_transfer(visit, at_bytes, true, "overwrite its old signatures");
	if (!path_is_lost(ret))
		return ret;
	istripe_session_fault(visit->session, ret, "lost while old signatures were overwritten");
	return -EIO;
}

/*
 * Two owners of one LUN would be found by whoever looks: the old one's marks go. Not
 * where the superblock goes: zeroes that a lost session writes late would wipe it.
 */
static int visit_wipe_signatures(const struct visit *visit, const char *name)
{
	u64 lun_bytes = visit_lun_bytes(visit);
	const char *what;
	int ret = 0;
	u64 at;
	u32 n;

	for (n = 0; !ret && istripe_signature_place(lun_bytes, n, &at); n++) {
		ret = visit_transfer(visit, at, false, "look for signatures");
		if (ret)
			return ret;
		what = istripe_signature_find(visit_page(visit), lun_bytes, at);
		if (!what)
			continue;
		pr_warn("%s/%u: it held %s, overwritten\n", name, visit->leg, what);
		if (at == SUPER_AT_BYTES)
			continue;
		ret = visit_wipe(visit, at);
	}
	return ret;
}

/* From what was planned to what will be read. */
static int visit_encode_super(const struct visit *visit, struct istripe_md *md)
{
	u64 sectors = istripe_lun_sectors(visit->lun);
	int ret = istripe_md_encode(md, sectors, visit_page(visit), ISTRIPE_MD_SUPER_BYTES);

	if (!ret)
		ret = istripe_md_decode(visit_page(visit), ISTRIPE_MD_SUPER_BYTES, sectors, md);
	if (ret)
		scnprintf(visit->why, visit->why_bytes, "leg %u: no superblock fits: %pe",
			  visit->leg, ERR_PTR(ret));
	return ret;
}

/* The last look before the write: another host may make an array of the same legs. */
static int visit_refuse_rival(const struct visit *visit, const struct round *round)
{
	const struct istripe_md *ours = &round->volume->metadata.legs[visit->leg];
	struct istripe_md now;
	int ret = visit_read_super(visit, &now);

	/* It is ours when the path was lost after the write. */
	if (ret || now.fault == ISTRIPE_MD_ABSENT ||
	    (now.fault == ISTRIPE_MD_OK &&
	     !memcmp(now.array_uuid, ours->array_uuid, sizeof(now.array_uuid))))
		return ret;
	scnprintf(visit->why, visit->why_bytes,
		  "leg %u: somebody else has just made an array of it", visit->leg);
	return -EEXIST;
}

static int visit_write_super(const struct visit *visit, struct round *round)
{
	int ret;

	if (round->wipe)
		ret = visit_wipe_signatures(visit, round->volume->name);
	else
		ret = visit_refuse_rival(visit, round);
	if (!ret)
		ret = visit_encode_super(visit, &round->volume->metadata.legs[visit->leg]);
	if (!ret)
		ret = visit_transfer(visit, SUPER_AT_BYTES, true, "write its superblock");
	return ret ?: visit_flush(visit);
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
 * Zeroes and superblocks of an attempt that failed may still be under way in the target,
 * over a session that only a login of its own path ends: no path may be missing.
 */
static int leg_all_live(struct istripe_leg *leg, const struct round *round)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *path;
	int ret = 0;
	u32 at;

	istripe_leg_for_each_path(leg, path, at) {
		if (READ_ONCE(path->live) || !READ_ONCE(path->wanted))
			continue;
		scnprintf(round->why, round->why_bytes,
			  "leg %u path %u is down: superblocks are written when all paths are up",
			  leg->index, path->bundle->index);
		ret = -ENOTCONN;
		break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret;
}

static int legs_all_live(const struct round *round)
{
	const struct istripe_volume *volume = round->volume;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_all_live(volume->legs[i], round);
	return ret;
}

/*
 * All legs are looked at before the first one is written. When power is lost half way,
 * some legs have a superblock and some have not: such an array is refused, and as no
 * data can have been written, it may be made again.
 */
static int metadata_create(struct round *round, const struct istripe_share *share)
{
	int ret = legs_all_live(round);

	if (!ret && !round->wipe)
		ret = legs_visit(round, visit_refuse_signatures);
	if (!ret)
		ret = metadata_plan(round->volume, share, round->why, round->why_bytes);
	return ret ?: legs_visit(round, visit_write_super);
}

/* Knowing an array */

/* What to do is not in the superblocks. */
static void metadata_advise(const struct istripe_volume *volume, u32 bad_leg, char *why,
			    size_t why_bytes)
{
	const struct istripe_md *legs = volume->metadata.legs;
	size_t used = strlen(why);
	u32 i, marked = 0;

	if (legs[bad_leg].fault != ISTRIPE_MD_ABSENT)
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
static int metadata_know(struct round *round)
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
	struct round round = {
		.volume = volume,
		.wipe = create == ISTRIPE_METADATA_FORCE,
		.why = why,
		.why_bytes = why_bytes,
	};
	const struct istripe_md *first = volume->metadata.legs;
	int ret;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	if (create == ISTRIPE_METADATA_KEEP)
		ret = legs_visit(&round, visit_learn);
	else
		ret = metadata_create(&round, share);
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

int istripe_metadata_check(struct istripe_path *path, char *why, size_t why_bytes)
{
	const struct istripe_metadata *metadata = &path->leg->volume->metadata;
	u32 timeout_ms = READ_ONCE(path->params.timers.login_timeout_ms);
	u32 leg = path->leg->index;
	struct visit visit = {
		.session = path->owned,
		.lun = &path->found,
		.leg = leg,
		.deadline = jiffies + msecs_to_jiffies(timeout_ms),
		.why = why,
		.why_bytes = why_bytes,
	};
	struct istripe_md now;
	int ret;

	/* The word before the superblocks; pairs with the release in metadata_know(). */
	path->checked = smp_load_acquire(&metadata->known);
	if (!path->checked)
		return 0;
	ret = visit_read_super(&visit, &now);
	if (ret)
		return ret;
	ret = istripe_md_check_unchanged(&metadata->legs[leg], &now, leg, why, why_bytes);
	path->refused = ret;
	return ret;
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
