// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <compat/workqueue.h>

#include <istripe/reason.h>
#include "block/leg.h"
#include "block/nexus.h"
#include "block/volume.h"
#include "block/write_protect.h"

/* A LUN that has refused a write, as multipathd asks paths. */
#define ASK_AGAIN_MS	20000

const char *const istripe_protected_names[] = {
	[ISTRIPE_PROTECTED_NO] = "no",
	[ISTRIPE_PROTECTED_REFUSED] = "refused",
	[ISTRIPE_PROTECTED_REPORTED] = "reported",
};

static const char *const protected_words[] = {
	[ISTRIPE_PROTECTED_NO] = "the LUN is not write protected any more",
	[ISTRIPE_PROTECTED_REFUSED] = "the LUN is write protected: it has refused a write",
	[ISTRIPE_PROTECTED_REPORTED] = "the LUN says that it is write protected",
};

/* One nexus over which no writes are taken is enough: writes may go over any. */
static enum istripe_protected leg_survey(struct istripe_leg *leg)
{
	enum istripe_protected most = ISTRIPE_PROTECTED_NO;
	struct istripe_nexus *nexus;
	bool asked = false;
	int section;

	mutex_lock(&leg->identify_lock);
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (!nexus->blocks)
			continue;
		asked = true;
		most = max(most, READ_ONCE(nexus->protected));
	}
	srcu_read_unlock(&leg->srcu, section);
	mutex_unlock(&leg->identify_lock);
	return asked ? most : READ_ONCE(leg->protected);
}

/* True: the leg takes no writes. */
static bool leg_update(struct istripe_leg *leg)
{
	enum istripe_protected now = leg_survey(leg);

	if (now != leg->protected)
		pr_notice_ratelimited("%s/%u: %s\n", leg->volume->name, leg->index,
				      protected_words[now]);
	WRITE_ONCE(leg->protected, now);
	return now;
}

void istripe_write_protect_apply(struct istripe_volume *volume)
{
	struct istripe_write_protect *write_protect = &volume->write_protect;
	bool read_only = false;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		read_only |= leg_update(volume->legs[i]);
	if (read_only == write_protect->read_only)
		return;
	WRITE_ONCE(write_protect->read_only, read_only);
	set_disk_ro(volume->disk, read_only);
	pr_notice_ratelimited("%s: %s is %s\n", volume->name, volume->disk->disk_name,
			      read_only ? "read-only" : "writable again");
}

/* True: of a leg that has refused a write, and has not said that it refuses all. */
static bool volume_ask_again(struct istripe_volume *volume, bool ask)
{
	struct istripe_nexus *nexus;
	bool refused = false;
	struct istripe_leg *leg;
	int section;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		leg = volume->legs[i];
		refused |= leg->protected == ISTRIPE_PROTECTED_REFUSED;
		section = srcu_read_lock(&leg->srcu);
		istripe_leg_for_each_nexus(leg, nexus)
			if (ask && READ_ONCE(nexus->protected) == ISTRIPE_PROTECTED_REFUSED)
				istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE);
		srcu_read_unlock(&leg->srcu, section);
	}
	return refused;
}

/* A write to a disk that is read-only does not reach the LUN, which may take it by now. */
static void volume_watch(struct istripe_volume *volume)
{
	struct istripe_write_protect *write_protect = &volume->write_protect;
	bool due = write_protect->watched && time_after_eq(jiffies, write_protect->ask_at);

	if (!volume_ask_again(volume, due)) {
		write_protect->watched = false;
		return;
	}
	if (due || !write_protect->watched)
		write_protect->ask_at = jiffies + msecs_to_jiffies(ASK_AGAIN_MS);
	write_protect->watched = true;
	queue_delayed_work(istripe_compat_unbound_wq(), &write_protect->work,
			   write_protect->ask_at - jiffies);
}

/* Not on the recovery queue: the uevent may wait for memory, and so for recovery. */
static void write_protect_work(struct work_struct *work)
{
	struct istripe_volume *volume =
		container_of(to_delayed_work(work), struct istripe_volume, write_protect.work);
	unsigned int noio = memalloc_noio_save();

	if (READ_ONCE(volume->write_protect.running)) {
		istripe_write_protect_apply(volume);
		volume_watch(volume);
	}
	memalloc_noio_restore(noio);
}

void istripe_write_protect_init(struct istripe_write_protect *write_protect)
{
	INIT_DELAYED_WORK(&write_protect->work, write_protect_work);
}

void istripe_write_protect_update(struct istripe_volume *volume)
{
	if (READ_ONCE(volume->write_protect.running))
		mod_delayed_work(istripe_compat_unbound_wq(), &volume->write_protect.work, 0);
}

void istripe_write_protect_start(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->write_protect.running, true);
	istripe_write_protect_update(volume);
}

void istripe_write_protect_stop(struct istripe_volume *volume)
{
	WRITE_ONCE(volume->write_protect.running, false);
	cancel_delayed_work_sync(&volume->write_protect.work);
}

bool istripe_write_protect_found(struct istripe_nexus *nexus)
{
	enum istripe_protected now = nexus->found.caching.write_protected ?
				     ISTRIPE_PROTECTED_REPORTED : ISTRIPE_PROTECTED_NO;

	lockdep_assert_held(&nexus->leg->identify_lock);
	WRITE_ONCE(nexus->protected, now);
	return now != READ_ONCE(nexus->leg->protected);
}

void istripe_write_protect_refused(struct istripe_nexus *nexus)
{
	/* Several commands, and a revalidation, may write it at a time: any of them is right. */
	if (READ_ONCE(nexus->protected))
		return;
	WRITE_ONCE(nexus->protected, ISTRIPE_PROTECTED_REFUSED);
	istripe_write_protect_update(nexus->leg->volume);
}

int istripe_write_protect_check(struct istripe_volume *volume, struct istripe_reason *why)
{
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		if (!leg_survey(volume->legs[i]))
			continue;
		return istripe_reason_fail(why, -EROFS,
					   "leg %u is write protected: superblocks cannot be written: end that at the array",
					   i);
	}
	return 0;
}
