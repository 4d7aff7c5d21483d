// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs tree of a volume: volume and legs; see sysfs_dir.h for lives and locks.
 */
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "block/allowance.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/outage_report.h"
#include "block/path.h"
#include "block/resize.h"
#include "block/volume.h"
#include "control/events.h"
#include "control/sysfs.h"
#include "control/sysfs_dir.h"
#include "control/table.h"

/* As mdadm writes it; empty without superblocks. */
static ssize_t uuid_emit(const u8 *uuid, char *page)
{
	if (!uuid)
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%4phN:%4phN:%4phN:%4phN\n", uuid, uuid + 4, uuid + 8, uuid + 12);
}

/* Leg */

#define LEG_SETTING(_name, _file, ...)							\
	ISTRIPE_SYSFS_SETTING_##_file(leg, _name,					\
				      &istripe_leg_settings[ISTRIPE_LEG_SETTING_##_name])
#define LEG_ATTR(_name, _file, ...)	ISTRIPE_SYSFS_ATTR_##_file(leg, _name)

ISTRIPE_LEG_SETTINGS(LEG_SETTING)

static u32 leg_waiting_ms(struct istripe_leg *leg)
{
	struct istripe_reason why;

	return istripe_unserved_ms(leg, &why);
}

static const struct istripe_md *leg_super(const struct istripe_leg *leg)
{
	const struct istripe_md *legs = leg->volume->metadata.legs;

	return legs ? &legs[leg->index] : NULL;
}

static ssize_t leg_emit_events(const struct istripe_leg *leg, char *page)
{
	const struct istripe_md *super = leg_super(leg);

	return super ? sysfs_emit(page, "%llu\n", super->events) : sysfs_emit(page, "\n");
}

/* The identity was found before the volume was up and has been the same ever since. */
#define LEG_FILES(_row)									\
	_row(state, sysfs_emit(page, "%s\n", istripe_leg_state_names[istripe_leg_state(leg)]))	\
	_row(designator, sysfs_emit(page, "%s\n", leg->lun.designator))			\
	_row(serial, sysfs_emit(page, "%s\n", leg->lun.serial))				\
	_row(device_uuid, uuid_emit(leg_super(leg) ? leg_super(leg)->device_uuid : NULL, page))	\
	_row(events, leg_emit_events(leg, page))					\
	_row(commands, sysfs_emit(page, "%lld\n", atomic64_read(&leg->commands)))	\
	_row(redriven, sysfs_emit(page, "%lld\n", atomic64_read(&leg->redriven)))	\
	_row(overlay_bytes, sysfs_emit(page, "%u\n", READ_ONCE(leg->overlays.bytes)))	\
	_row(retried, sysfs_emit(page, "%lld\n", atomic64_read(&leg->retried)))		\
	_row(waiting_ms, sysfs_emit(page, "%u\n", leg_waiting_ms(leg)))			\
	_row(last_error, ISTRIPE_SYSFS_EMIT_REASON(page, istripe_outage_report_why, leg))	\
	_row(busy_ms, sysfs_emit(page, "%u\n", istripe_allowance_busy_ms(leg)))		\
	_row(kept_bios, sysfs_emit(page, "%u\n", READ_ONCE(leg->requeue.kept)))		\
	_row(down_ms, sysfs_emit(page, "%u\n", istripe_outage_report_ms(leg)))		\
	_row(recovery_left_ms, sysfs_emit(page, "%d\n", istripe_outage_report_left_ms(leg)))	\
	_row(write_protected,								\
	     sysfs_emit(page, "%s\n", istripe_protected_names[READ_ONCE(leg->protected)]))	\
	_row(lun_reset,									\
	     sysfs_emit(page, "%s\n", istripe_lun_reset_results[READ_ONCE(leg->lun_reset)]))

#define LEG_FILE(_name, _emit)								\
	ISTRIPE_SYSFS_SHOW(leg, _name, NULL, struct istripe_leg *leg, _emit);
#define LEG_FILE_ATTR(_name, ...)	ISTRIPE_SYSFS_ATTR(leg, _name)

LEG_FILES(LEG_FILE)

/* Those of paths that were taken out meanwhile are in one of both: it never falls. */
static ssize_t leg_latency_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	struct istripe_leg *leg = object;
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_path *paths[ISTRIPE_PATHS_MAX];
	struct istripe_latency sum;
	u32 i;

	spin_lock_bh(&leg->lock);
	sum = leg->gone[file->latency];
	memcpy(paths, leg->paths, sizeof(paths));
	spin_unlock_bh(&leg->lock);
	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		if (paths[i])
			istripe_latency_add(paths[i]->latencies, file->latency, &sum);
	srcu_read_unlock(&leg->srcu, section);
	return istripe_sysfs_latency_emit(page, &sum);
}

ISTRIPE_SYSFS_LATENCY_FILES(leg);

static struct attribute *leg_attrs[] = {
	LEG_FILES(LEG_FILE_ATTR)
	ISTRIPE_SYSFS_LATENCY_ATTRS(leg)
	ISTRIPE_LEG_SETTINGS(LEG_ATTR)
	NULL,
};
ATTRIBUTE_GROUPS(leg);
ISTRIPE_SYSFS_DIR_TYPE(leg);

/* Volume */

#define VOLUME_FILES(_row)								\
	_row(state,									\
	     sysfs_emit(page, "%s\n", istripe_leg_state_names[istripe_volume_state(volume)]))	\
	_row(name, sysfs_emit(page, "%s\n", volume->name))				\
	_row(chunk_bytes,								\
	     sysfs_emit(page, "%u\n", volume->stripe.chunk_sectors << SECTOR_SHIFT))	\
	_row(poll_queues, sysfs_emit(page, "%u\n", volume->poll_queue_count))		\
	_row(metadata,									\
	     istripe_setting_show(&istripe_volume_settings[ISTRIPE_VOLUME_SETTING_metadata],	\
				  &volume->metadata.kind, page))			\
	_row(array_uuid, uuid_emit(volume->metadata.legs ?				\
				   volume->metadata.legs[0].array_uuid : NULL, page))	\
	_row(data_offset_bytes,								\
	     sysfs_emit(page, "%llu\n", volume->stripe.leg_offset_sectors << SECTOR_SHIFT))

#define VOLUME_FILE(_name, _emit)							\
	ISTRIPE_SYSFS_SHOW(volume, _name, NULL, const struct istripe_volume *volume, _emit);
#define VOLUME_FILE_ATTR(_name, ...)	ISTRIPE_SYSFS_ATTR(volume, _name)

VOLUME_FILES(VOLUME_FILE)

#define VOLUME_SETTING(_name, _file, ...)						\
	ISTRIPE_SYSFS_SETTING_##_file(volume, _name,					\
				      &istripe_volume_settings[ISTRIPE_VOLUME_SETTING_##_name])
#define VOLUME_ATTR(_name, _file, ...)	ISTRIPE_SYSFS_ATTR_##_file(volume, _name)

ISTRIPE_VOLUME_SETTINGS(VOLUME_SETTING)

/* The volume is up as long as its files are: it waits for us. */
static ssize_t volume_rescan_store(const struct istripe_sysfs_file *file, void *object,
				   const char *page, size_t count)
{
	struct istripe_volume *volume = object;
	bool yes;
	int ret;

	if (kstrtobool(page, &yes) || !yes) {
		pr_warn("%s: rescan: is refused, allowed is 1\n", volume->name);
		return -EINVAL;
	}
	ret = istripe_resize_rescan(volume);
	return ret ?: count;
}

ISTRIPE_SYSFS_FILE(volume, rescan, 0200, .store = volume_rescan_store);

static struct attribute *volume_attrs[] = {
	VOLUME_FILES(VOLUME_FILE_ATTR)
	ISTRIPE_SYSFS_ATTR(volume, rescan)
	ISTRIPE_VOLUME_SETTINGS(VOLUME_ATTR)
	NULL,
};
ATTRIBUTE_GROUPS(volume);
ISTRIPE_SYSFS_DIR_TYPE(volume);

/* The tree */

struct volume_tree {
	struct list_head dirs;		/* but those of paths */
	struct istripe_events *events;
};

static int path_dirs_add(struct volume_tree *tree, struct istripe_path *path)
{
	struct istripe_sysfs_dir *dir;
	int ret = istripe_sysfs_path_dirs_add(path->leg->control, path);

	dir = list_first_entry(&path->sysfs_dirs, struct istripe_sysfs_dir, entry);
	istripe_events_add_path(tree->events, path, ret ? NULL : &dir->kobj);
	return ret;
}

static int leg_dirs_add(struct volume_tree *tree, struct kobject *parent, struct istripe_leg *leg)
{
	struct istripe_sysfs_dir *dir, *paths;
	struct istripe_path *path;
	int ret = 0;

	dir = istripe_sysfs_dir_add(&tree->dirs, &leg_dir_type, parent, leg, "%u", leg->index);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	istripe_events_add_leg(tree->events, leg->index, &dir->kobj);
	paths = istripe_sysfs_dir_add(&tree->dirs, &istripe_sysfs_dir_plain_type, &dir->kobj, leg,
				      "paths");
	if (IS_ERR(paths))
		return PTR_ERR(paths);
	leg->control = &paths->kobj;
	istripe_leg_for_each_path(leg, path) {
		ret = path_dirs_add(tree, path);
		if (ret)
			break;
	}
	return ret;
}

static int volume_dirs_add(struct volume_tree *tree, struct istripe_volume *volume)
{
	struct istripe_sysfs_dir *dir, *legs;
	int ret = 0;
	u32 i;

	dir = istripe_sysfs_dir_add(&tree->dirs, &volume_dir_type,
				    &disk_to_dev(volume->disk)->kobj, volume, "istripe");
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	tree->events = istripe_events_create(volume, &dir->kobj);
	if (!tree->events)
		return -ENOMEM;
	legs = istripe_sysfs_dir_add(&tree->dirs, &istripe_sysfs_dir_plain_type, &dir->kobj,
				     volume, "legs");
	if (IS_ERR(legs))
		return PTR_ERR(legs);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_dirs_add(tree, &legs->kobj, volume->legs[i]);
	return ret;
}

int istripe_sysfs_create(struct istripe_volume *volume)
{
	struct volume_tree *tree = kzalloc(sizeof(*tree), GFP_KERNEL);
	int ret;

	if (!tree)
		return -ENOMEM;
	INIT_LIST_HEAD(&tree->dirs);
	volume->control = tree;
	ret = volume_dirs_add(tree, volume);
	if (ret) {
		istripe_sysfs_remove(volume);
		return ret;
	}
	/* It has been announced, and is known by its name. */
	disk_uevent(volume->disk, KOBJ_CHANGE);
	istripe_events_start(tree->events);
	return 0;
}

int istripe_sysfs_add_path(struct istripe_path *path)
{
	int ret = path_dirs_add(path->leg->volume->control, path);

	/* A path without a directory has its uevents all the same. */
	if (ret) {
		istripe_sysfs_remove_sessions(path);
		istripe_sysfs_dirs_remove(&path->sysfs_dirs);
	}
	return ret;
}

void istripe_sysfs_remove_path(struct istripe_path *path)
{
	const struct volume_tree *tree = path->leg->volume->control;

	istripe_events_remove_path(tree->events, path);
	istripe_sysfs_remove_sessions(path);
	istripe_sysfs_dirs_remove(&path->sysfs_dirs);
}

int istripe_sysfs_add_sessions(struct istripe_path *path)
{
	int ret = istripe_sysfs_session_dirs_add(path);

	if (ret)
		istripe_sysfs_remove_sessions(path);
	return ret;
}

void istripe_sysfs_remove_sessions(struct istripe_path *path)
{
	istripe_sysfs_dirs_remove(&path->sysfs_session_dirs);
}

static void leg_dirs_remove(struct istripe_leg *leg)
{
	struct istripe_path *path;

	istripe_leg_for_each_path(leg, path)
		istripe_sysfs_remove_path(path);
	leg->control = NULL;
}

void istripe_sysfs_remove(struct istripe_volume *volume)
{
	struct volume_tree *tree = volume->control;
	u32 i;

	if (!tree)
		return;
	istripe_events_stop(tree->events);
	for (i = 0; i < volume->leg_count; i++)
		leg_dirs_remove(volume->legs[i]);
	istripe_sysfs_dirs_remove(&tree->dirs);
	volume->control = NULL;
	istripe_events_destroy(tree->events);
	kfree(tree);
}
