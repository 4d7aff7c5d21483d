// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs directory of a path: where it leads, how it is, its timers and sockets.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#include <istripe/reason.h>
#include "block/backoff.h"
#include "block/fence.h"
#include "block/hotplug.h"
#include "block/latency.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "control/sysfs_dir.h"
#include "control/table.h"

/* Nexuses may go while a file is read: not before the section ends. */
static int nexuses_lock(const struct istripe_path *path)
	__acquires(&path->leg->srcu)
{
	return srcu_read_lock(&path->leg->srcu);
}

static void nexuses_unlock(const struct istripe_path *path, int section)
	__releases(&path->leg->srcu)
{
	srcu_read_unlock(&path->leg->srcu, section);
}

static ssize_t path_state_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	int section = nexuses_lock(object);
	ssize_t ret = sysfs_emit(page, "%s\n",
				 istripe_path_state_name(istripe_path_state(object)));

	nexuses_unlock(object, section);
	return ret;
}

ISTRIPE_SYSFS_FILE(path, state, 0444, .show = path_state_show);

static ssize_t path_last_error_show(const struct istripe_sysfs_file *file, void *object,
				    char *page)
{
	int section = nexuses_lock(object);
	struct istripe_reason why;

	istripe_path_last_error(object, &why);
	nexuses_unlock(object, section);
	return sysfs_emit(page, "%s\n", why.text);
}

ISTRIPE_SYSFS_FILE(path, last_error, 0444, .show = path_last_error_show);

static ssize_t path_holding_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	int section = nexuses_lock(object);
	const char *holding = istripe_path_holding(object);

	nexuses_unlock(object, section);
	return sysfs_emit(page, "%s\n", holding);
}

ISTRIPE_SYSFS_FILE(path, holding, 0444, .show = path_holding_show);

/* Empty when the target does not tell; of several sessions that of the first one. */
#define PATH_ACCESS(_name, _format, ...)							\
static ssize_t path_##_name##_show(const struct istripe_sysfs_file *file, void *object,	\
				   char *page)						\
{											\
	const struct istripe_path *path = object;					\
	struct istripe_access access;							\
											\
	spin_lock_bh(&path->leg->lock);							\
	access = path->nexuses[0]->access;						\
	spin_unlock_bh(&path->leg->lock);						\
	return access.known ? sysfs_emit(page, _format "\n", __VA_ARGS__) :		\
	       sysfs_emit(page, "\n");							\
}											\
ISTRIPE_SYSFS_FILE(path, _name, 0444, .show = path_##_name##_show)

PATH_ACCESS(access_state, "%s", istripe_alua_state_name(access.state));
PATH_ACCESS(preferred, "%d", access.preferred);
PATH_ACCESS(port_group, "%u", access.group);

static bool path_may_fence_nexus(const struct istripe_nexus *nexus,
				 const struct istripe_path *through)
{
	const struct istripe_nexus *sibling;
	u32 at;

	istripe_path_for_each_nexus(through, sibling, at)
		if (istripe_fence_may(nexus, sibling))
			return true;
	return false;
}

/* Any session of @path, when it is lost. */
static bool path_may_fence(const struct istripe_path *path,
			   const struct istripe_path *through)
{
	const struct istripe_nexus *nexus;
	bool any = false;
	u32 at;

	istripe_path_for_each_nexus(path, nexus, at) {
		if (!nexus->wanted)
			continue;
		any = true;
		if (!path_may_fence_nexus(nexus, through))
			return false;
	}
	return any;
}

static ssize_t path_fenced_through_show(const struct istripe_sysfs_file *file, void *object,
					char *page)
{
	const struct istripe_path *path = object;
	struct istripe_leg *leg = path->leg;
	const struct istripe_path *other;
	int used = 0;
	u32 at;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_path(leg, other, at)
		if (path_may_fence(path, other))
			used += sysfs_emit_at(page, used, "%s%u", used ? " " : "", other->index);
	spin_unlock_bh(&leg->lock);
	return used + sysfs_emit_at(page, used, "\n");
}

ISTRIPE_SYSFS_FILE(path, fenced_through, 0444, .show = path_fenced_through_show);

/* Of the first of its sessions that has no sibling. */
static ssize_t path_unproven_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	const struct istripe_path *path = object;
	struct istripe_leg *leg = path->leg;
	const struct istripe_nexus *nexus;
	const char *why = "";
	ssize_t used;
	u32 at;

	spin_lock_bh(&leg->lock);
	if (READ_ONCE(leg->fence) == ISTRIPE_FENCE_AUTO)
		istripe_path_for_each_nexus(path, nexus, at)
			if (!*why)
				why = nexus->unproven;
	used = sysfs_emit(page, "%s\n", why);
	spin_unlock_bh(&leg->lock);
	return used;
}

ISTRIPE_SYSFS_FILE(path, unproven, 0444, .show = path_unproven_show);

/* Of the first of its sessions that the target has sent somewhere for good. */
static ssize_t path_moved_to_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	struct sockaddr_storage portal = { .ss_family = AF_UNSPEC };
	const struct istripe_path *path = object;
	const struct istripe_nexus *nexus;
	u32 at;

	spin_lock_bh(&path->leg->lock);
	istripe_path_for_each_nexus(path, nexus, at)
		if (portal.ss_family == AF_UNSPEC)
			portal = nexus->moved_to;
	spin_unlock_bh(&path->leg->lock);
	return portal.ss_family == AF_UNSPEC ? sysfs_emit(page, "\n") :
					       sysfs_emit(page, "%pISpc\n", &portal);
}

ISTRIPE_SYSFS_FILE(path, moved_to, 0444, .show = path_moved_to_show);

#define PATH_COUNT(_name)								\
static ssize_t path_##_name##_show(const struct istripe_sysfs_file *file, void *object,	\
				   char *page)						\
{											\
	const struct istripe_path *path = object;					\
	u64 count;									\
											\
	spin_lock_bh(&path->leg->lock);							\
	count = istripe_path_##_name(path);						\
	spin_unlock_bh(&path->leg->lock);						\
	return sysfs_emit(page, "%llu\n", count);					\
}											\
ISTRIPE_SYSFS_FILE(path, _name, 0444, .show = path_##_name##_show)

PATH_COUNT(reconnects);
PATH_COUNT(faults);

/* All sessions together, as they are now: no counter, which must not fall when one goes. */
#define PATH_SUM(_name, _count)								\
static ssize_t path_##_name##_show(const struct istripe_sysfs_file *file, void *object,	\
				   char *page)						\
{											\
	const struct istripe_path *path = object;					\
	const struct istripe_nexus *nexus;						\
	u64 sum = 0;									\
	u32 at;										\
											\
	spin_lock_bh(&path->leg->lock);							\
	istripe_path_for_each_nexus(path, nexus, at)					\
		sum += (_count);							\
	spin_unlock_bh(&path->leg->lock);						\
	return sysfs_emit(page, "%llu\n", sum);						\
}											\
ISTRIPE_SYSFS_FILE(path, _name, 0444, .show = path_##_name##_show)

PATH_SUM(waiting_writes, istripe_leg_nexus_waiting_writes(nexus));
PATH_SUM(ghost_writes, istripe_ghosts_writes(nexus));
PATH_SUM(unfenced, !sum && nexus->unfenced);

/* Of its sessions that which has the least, or most: @_pick is min or max. */
#define PATH_PICK(_name, _pick, _first, _value, _shown)					\
static ssize_t path_##_name##_show(const struct istripe_sysfs_file *file, void *object,	\
				   char *page)						\
{											\
	const struct istripe_path *path = object;					\
	const struct istripe_nexus *nexus;						\
	u32 at, picked = (_first);							\
											\
	spin_lock_bh(&path->leg->lock);							\
	istripe_path_for_each_nexus(path, nexus, at)					\
		picked = _pick(picked, (_value));					\
	spin_unlock_bh(&path->leg->lock);						\
	return sysfs_emit(page, "%u\n", (_shown));					\
}											\
ISTRIPE_SYSFS_FILE(path, _name, 0444, .show = path_##_name##_show)

/* An idle one may have failed before it was not wanted any more. */
static u32 path_nexus_failures(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->state) == ISTRIPE_NEXUS_IDLE ? 0 : READ_ONCE(nexus->failed_logins);
}

PATH_PICK(waiting_ms, max, 0, istripe_ghosts_waiting_ms(nexus), picked);
PATH_PICK(login_failures, max, 0, path_nexus_failures(nexus), picked);
PATH_PICK(next_login_ms, min, U32_MAX, istripe_backoff_next_ms(nexus),
	  picked == U32_MAX ? 0 : picked);

static ssize_t path_fence_confirm_store(const struct istripe_sysfs_file *file, void *object,
					const char *page, size_t count)
{
	int section = nexuses_lock(object);
	struct istripe_path *path = object;
	int ret = -EINVAL;

	if (sysfs_streq(page, "1"))
		ret = istripe_fence_confirm(path);
	else
		pr_warn("%s: fence_confirm: %.20s is refused, allowed is 1\n",
			path->nexuses[0]->label, page);
	nexuses_unlock(path, section);
	return ret ?: count;
}

ISTRIPE_SYSFS_FILE(path, fence_confirm, 0200, .store = path_fence_confirm_store);

/* Waits for tasks: files of a path are there as long as the path. */
static ssize_t path_reconnect_store(const struct istripe_sysfs_file *file, void *object,
				    const char *page, size_t count)
{
	struct istripe_path *path = object;
	bool alone = sysfs_streq(page, "force");
	struct istripe_reason why = { "allowed are 1 and force" };
	int ret = -EINVAL;

	if (alone || sysfs_streq(page, "1"))
		ret = istripe_path_reconnect(path, alone, &why);
	if (ret)
		pr_warn("%s/%u/%u: reconnect: is refused, %s\n", path->leg->volume->name,
			path->leg->index, path->index, why.text);
	return ret ?: count;
}

ISTRIPE_SYSFS_FILE(path, reconnect, 0200, .store = path_reconnect_store);

ISTRIPE_SYSFS_VALUE(path, retries, const struct istripe_path *path, "%lld",
		    atomic64_read(&path->retries));

static ssize_t path_latency_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	const struct istripe_path *path = object;
	struct istripe_latency sum = {};

	istripe_latency_add(path->latencies, file->latency, &sum);
	return istripe_sysfs_latency_emit(page, &sum);
}

ISTRIPE_SYSFS_LATENCY_FILES(path);

#define PATH_SETTING(_name, _file, ...)							\
	ISTRIPE_SYSFS_SETTING_##_file(path, _name,					\
				      &istripe_path_settings[ISTRIPE_PATH_SETTING_##_name])
#define PATH_ATTR(_name, _file, ...)	ISTRIPE_SYSFS_ATTR_##_file(path, _name)

ISTRIPE_PATH_SETTINGS(PATH_SETTING)

static struct attribute *path_attrs[] = {
	&path_file_state.attr,
	&path_file_last_error.attr,
	&path_file_holding.attr,
	&path_file_access_state.attr,
	&path_file_preferred.attr,
	&path_file_port_group.attr,
	&path_file_reconnects.attr,
	&path_file_faults.attr,
	&path_file_retries.attr,
	ISTRIPE_SYSFS_LATENCY_ATTRS(path)
	&path_file_fenced_through.attr,
	&path_file_unproven.attr,
	&path_file_moved_to.attr,
	&path_file_waiting_writes.attr,
	&path_file_ghost_writes.attr,
	&path_file_unfenced.attr,
	&path_file_waiting_ms.attr,
	&path_file_next_login_ms.attr,
	&path_file_login_failures.attr,
	&path_file_fence_confirm.attr,
	&path_file_reconnect.attr,
	ISTRIPE_PATH_SETTINGS(PATH_ATTR)
	NULL,
};
ATTRIBUTE_GROUPS(path);
ISTRIPE_SYSFS_DIR_TYPE(path);

int istripe_sysfs_path_dirs_add(struct kobject *parent, struct istripe_path *path)
{
	struct istripe_sysfs_dir *dir;

	dir = istripe_sysfs_dir_add_index(&path->sysfs_dirs, &path_dir_type, parent, path,
					  path->index);
	return IS_ERR(dir) ? PTR_ERR(dir) : istripe_sysfs_session_dirs_add(path);
}
