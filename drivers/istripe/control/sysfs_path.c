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
static ssize_t path_section(const struct istripe_sysfs_file *file, void *object, char *page)
{
	struct istripe_path *path = object;
	int section = srcu_read_lock(&path->leg->srcu);
	ssize_t ret = file->show(file, path, page);

	srcu_read_unlock(&path->leg->srcu, section);
	return ret;
}

static ssize_t path_locked(const struct istripe_sysfs_file *file, void *object, char *page)
{
	struct istripe_path *path = object;
	ssize_t ret;

	spin_lock_bh(&path->leg->lock);
	ret = file->show(file, path, page);
	spin_unlock_bh(&path->leg->lock);
	return ret;
}

static bool path_may_fence_nexus(const struct istripe_nexus *nexus,
				 const struct istripe_path *through)
{
	const struct istripe_nexus *sibling;

	istripe_path_for_each_nexus(through, sibling)
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

	istripe_path_for_each_nexus(path, nexus) {
		if (!nexus->wanted)
			continue;
		any = true;
		if (!path_may_fence_nexus(nexus, through))
			return false;
	}
	return any;
}

static ssize_t path_emit_fenced_through(const struct istripe_path *path, char *page)
{
	const struct istripe_path *other;
	int used = 0;

	istripe_leg_for_each_path(path->leg, other)
		if (path_may_fence(path, other))
			used += sysfs_emit_at(page, used, "%s%u", used ? " " : "", other->index);
	return used + sysfs_emit_at(page, used, "\n");
}

/* Of the first of its sessions that has no sibling. */
static const char *path_unproven(const struct istripe_path *path)
{
	const struct istripe_nexus *nexus;
	const char *why = "";

	if (READ_ONCE(path->leg->fence) != ISTRIPE_FENCE_PATH)
		istripe_path_for_each_nexus(path, nexus)
			if (!*why)
				why = nexus->unproven;
	return why;
}

/* Of the first of its sessions that the target has sent somewhere for good. */
static ssize_t path_emit_moved_to(const struct istripe_path *path, char *page)
{
	const struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus)
		if (nexus->moved_to.ss_family != AF_UNSPEC)
			return sysfs_emit(page, "%pISpc\n", &nexus->moved_to);
	return sysfs_emit(page, "\n");
}

/* All sessions together, as they are now: no counter, which must not fall when one goes. */
static u64 path_sum(const struct istripe_path *path, u32 (*count)(const struct istripe_nexus *))
{
	const struct istripe_nexus *nexus;
	u64 sum = 0;

	istripe_path_for_each_nexus(path, nexus)
		sum += count(nexus);
	return sum;
}

static u32 path_most(const struct istripe_path *path, u32 (*value)(const struct istripe_nexus *))
{
	const struct istripe_nexus *nexus;
	u32 most = 0;

	istripe_path_for_each_nexus(path, nexus)
		most = max(most, value(nexus));
	return most;
}

static u32 nexus_unfenced(const struct istripe_nexus *nexus)
{
	return nexus->unfenced;
}

/* An idle one may have failed before it was not wanted any more. */
static u32 nexus_failures(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->state) == ISTRIPE_NEXUS_IDLE ? 0 : READ_ONCE(nexus->failed_logins);
}

/* Of the session whose login is next; 0: at once, or none is due. */
static u32 path_next_login_ms(const struct istripe_path *path)
{
	const struct istripe_nexus *nexus;
	u32 least = U32_MAX;

	istripe_path_for_each_nexus(path, nexus)
		least = min(least, istripe_backoff_next_ms(nexus));
	return least == U32_MAX ? 0 : least;
}

/* Empty when the target does not tell; of several sessions that of the first one. */
#define path_emit_access(_format, _value)						\
	(path->nexuses[0]->access.known ? sysfs_emit(page, _format "\n", _value) :	\
					  sysfs_emit(page, "\n"))

#define PATH_FILES(_row)								\
	_row(state, path_section,							\
	     sysfs_emit(page, "%s\n", istripe_path_state_name(istripe_path_state(path))))	\
	_row(last_error, path_section,							\
	     ISTRIPE_SYSFS_EMIT_REASON(page, istripe_path_last_error, path))		\
	_row(holding, path_section, sysfs_emit(page, "%s\n", istripe_path_holding(path)))	\
	_row(access_state, path_locked,							\
	     path_emit_access("%s", istripe_alua_state_name(path->nexuses[0]->access.state)))	\
	_row(preferred, path_locked, path_emit_access("%d", path->nexuses[0]->access.preferred)) \
	_row(port_group, path_locked, path_emit_access("%u", path->nexuses[0]->access.group))	\
	_row(reconnects, path_locked, sysfs_emit(page, "%llu\n", istripe_path_reconnects(path))) \
	_row(faults, path_locked, sysfs_emit(page, "%llu\n", istripe_path_faults(path)))	\
	_row(retries, NULL, sysfs_emit(page, "%lld\n", atomic64_read(&path->retries)))	\
	_row(fenced_through, path_locked, path_emit_fenced_through(path, page))		\
	_row(unproven, path_locked, sysfs_emit(page, "%s\n", path_unproven(path)))	\
	_row(moved_to, path_locked, path_emit_moved_to(path, page))			\
	_row(waiting_writes, path_locked,						\
	     sysfs_emit(page, "%llu\n", path_sum(path, istripe_leg_nexus_waiting_writes)))	\
	_row(ghost_writes, path_locked,							\
	     sysfs_emit(page, "%llu\n", path_sum(path, istripe_ghosts_writes)))		\
	_row(unfenced, path_locked, sysfs_emit(page, "%u\n", path_most(path, nexus_unfenced)))	\
	_row(waiting_ms, path_locked,							\
	     sysfs_emit(page, "%u\n", path_most(path, istripe_ghosts_waiting_ms)))	\
	_row(login_failures, path_locked,						\
	     sysfs_emit(page, "%u\n", path_most(path, nexus_failures)))			\
	_row(next_login_ms, path_locked, sysfs_emit(page, "%u\n", path_next_login_ms(path)))

#define PATH_FILE(_name, _within, _emit)						\
	ISTRIPE_SYSFS_SHOW(path, _name, _within, const struct istripe_path *path, _emit);
#define PATH_FILE_ATTR(_name, ...)	ISTRIPE_SYSFS_ATTR(path, _name)

PATH_FILES(PATH_FILE)

static ssize_t path_fence_confirm_store(const struct istripe_sysfs_file *file, void *object,
					const char *page, size_t count)
{
	struct istripe_path *path = object;
	int section = srcu_read_lock(&path->leg->srcu);
	struct istripe_nexus *nexus;
	int ret = -EINVAL;

	if (sysfs_streq(page, "1"))
		ret = istripe_fence_confirm(path);
	else
		pr_warn("%s: fence_confirm: %.20s is refused, allowed is 1\n",
			path->nexuses[0]->label, page);
	if (!ret)
		istripe_path_for_each_nexus(path, nexus)
			istripe_path_spare(nexus);
	srcu_read_unlock(&path->leg->srcu, section);
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
	PATH_FILES(PATH_FILE_ATTR)
	ISTRIPE_SYSFS_LATENCY_ATTRS(path)
	ISTRIPE_SYSFS_ATTR(path, fence_confirm)
	ISTRIPE_SYSFS_ATTR(path, reconnect)
	ISTRIPE_PATH_SETTINGS(PATH_ATTR)
	NULL,
};
ATTRIBUTE_GROUPS(path);
ISTRIPE_SYSFS_DIR_TYPE(path);

int istripe_sysfs_path_dirs_add(struct kobject *parent, struct istripe_path *path)
{
	struct istripe_sysfs_dir *dir;

	dir = istripe_sysfs_dir_add(&path->sysfs_dirs, &path_dir_type, parent, path, "%u",
				    path->index);
	return IS_ERR(dir) ? PTR_ERR(dir) : istripe_sysfs_session_dirs_add(path);
}
