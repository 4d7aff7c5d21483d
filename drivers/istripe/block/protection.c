// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/blkdev.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>

#include "block/leg.h"
#include "block/path.h"
#include "block/protection.h"
#include "block/volume.h"

static const struct {
	const char *name;
	const char *words;
} protected_rows[] = {
	[ISTRIPE_PROTECTED_NO] = { "no", "the LUN is not write protected any more" },
	[ISTRIPE_PROTECTED_REFUSED] = {
		"refused", "the LUN is write protected: it has refused a write"
	},
	[ISTRIPE_PROTECTED_REPORTED] = { "reported", "the LUN says that it is write protected" },
};

const char *istripe_protected_name(enum istripe_protected protected)
{
	return protected_rows[protected].name;
}

/* One path that takes no writes is enough: they may go over any. */
static enum istripe_protected leg_survey(struct istripe_leg *leg)
{
	enum istripe_protected most = ISTRIPE_PROTECTED_NO;
	struct istripe_path *path;
	bool asked = false;
	int section;
	u32 at;

	mutex_lock(&leg->identify_lock);
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_path(leg, path, at) {
		if (!path->blocks)
			continue;
		asked = true;
		most = max(most, READ_ONCE(path->protected));
	}
	srcu_read_unlock(&leg->srcu, section);
	mutex_unlock(&leg->identify_lock);
	return asked ? most : READ_ONCE(leg->protected);
}

/* Returns whether the leg takes no writes. */
static bool leg_update(struct istripe_leg *leg)
{
	enum istripe_protected now = leg_survey(leg);

	if (now != leg->protected)
		pr_notice_ratelimited("%s/%u: %s\n", leg->volume->name, leg->index,
				      protected_rows[now].words);
	WRITE_ONCE(leg->protected, now);
	return now;
}

void istripe_protection_apply(struct istripe_volume *volume)
{
	struct istripe_protection *protection = &volume->protection;
	bool read_only = false;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		read_only |= leg_update(volume->legs[i]);
	if (read_only == protection->read_only)
		return;
	WRITE_ONCE(protection->read_only, read_only);
	set_disk_ro(volume->disk, read_only);
	pr_notice_ratelimited("%s: %s is %s\n", volume->name, volume->disk->disk_name,
			      read_only ? "read-only" : "writable again");
}

/* The event that follows may wait for memory, and so for recovery: not its queue. */
static void protection_work(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(work, struct istripe_volume, protection.work);
	unsigned int noio = memalloc_noio_save();

	if (READ_ONCE(volume->protection.running))
		istripe_protection_apply(volume);
	memalloc_noio_restore(noio);
}

void istripe_protection_init(struct istripe_protection *protection)
{
	INIT_WORK(&protection->work, protection_work);
}

void istripe_protection_look(struct istripe_volume *volume)
{
	if (READ_ONCE(volume->protection.running))
		queue_work(system_unbound_wq, &volume->protection.work);
}

void istripe_protection_start(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->protection.running, true);
	istripe_protection_look(volume);
}

void istripe_protection_stop(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->protection.running, false);
	cancel_work_sync(&volume->protection.work);
}

bool istripe_protection_found(struct istripe_path *path)
{
	enum istripe_protected now = path->found.caching.write_protected ?
				     ISTRIPE_PROTECTED_REPORTED : ISTRIPE_PROTECTED_NO;

	lockdep_assert_held(&path->leg->identify_lock);
	WRITE_ONCE(path->protected, now);
	return now != READ_ONCE(path->leg->protected);
}

void istripe_protection_refused(struct istripe_path *path)
{
	/* Told by several commands at a time, and perhaps by a look: any of them is right. */
	if (READ_ONCE(path->protected))
		return;
	WRITE_ONCE(path->protected, ISTRIPE_PROTECTED_REFUSED);
	istripe_protection_look(path->leg->volume);
}

int istripe_protection_check(struct istripe_volume *volume, char *why, size_t why_bytes)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		if (!leg_survey(volume->legs[i]))
			continue;
		scnprintf(why, why_bytes,
			  "leg %u is write protected: superblocks cannot be written: end that at the array",
			  i);
		return -EROFS;
	}
	return 0;
}
