// SPDX-License-Identifier: GPL-2.0
/*
 * enable: from directories to a running volume and back.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/leg.h"
#include "block/nexus.h"
#include "block/nexus_ops.h"
#include "block/path.h"
#include "block/volume.h"
#include "block/writeback.h"
#include "control/configfs_dir.h"
#include "control/params.h"
#include "control/sysfs.h"
#include "iscsi/error.h"

/* A refusal for the same reason is logged again after so long. */
#define NOTE_TIME	(60 * HZ)

/* Pins: what cannot be removed while the volume is not down. */

int istripe_dir_pin(struct istripe_dir *dir)
{
	int ret = configfs_depend_item_unlocked(dir->group.cg_subsys, &dir->group.cg_item);

	dir->pinned = !ret;
	return ret;
}

void istripe_dir_unpin(struct istripe_dir *dir)
{
	if (dir->pinned)
		configfs_undepend_item_unlocked(&dir->group.cg_item);
	dir->pinned = false;
}

static void leg_unpin(struct istripe_leg_dir *leg)
{
	u32 i;

	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		if (leg->paths[i])
			istripe_dir_unpin(&leg->paths[i]->base);
	istripe_dir_unpin(&leg->base);
}

static void volume_unpin(struct istripe_volume_dir *volume)
{
	u32 i;

	lockdep_assert_held(&volume->lock);
	for (i = 0; i < ISTRIPE_LEGS_MAX; i++)
		if (volume->legs[i])
			leg_unpin(volume->legs[i]);
	istripe_dir_unpin(&volume->base);
}

static int leg_pin(struct istripe_leg_dir *leg)
{
	int ret = istripe_dir_pin(&leg->base);
	u32 i;

	for (i = 0; !ret && i < ISTRIPE_PATHS_MAX; i++)
		if (leg->paths[i])
			ret = istripe_dir_pin(&leg->paths[i]->base);
	return ret;
}

/* Fails when one of the directories is just being made or removed. */
static int volume_pin(struct istripe_volume_dir *volume)
{
	int ret;
	u32 i;

	lockdep_assert_held(&volume->lock);
	ret = istripe_dir_pin(&volume->base);
	for (i = 0; !ret && i < ISTRIPE_LEGS_MAX; i++)
		if (volume->legs[i])
			ret = leg_pin(volume->legs[i]);
	if (ret)
		volume_unpin(volume);
	return ret ? -EBUSY : 0;
}

/* From directories to params */

static int legs_count(const struct istripe_volume_dir *volume, u32 *count)
{
	u32 i;

	*count = 0;
	for (i = 0; i < ISTRIPE_LEGS_MAX; i++) {
		if (!volume->legs[i])
			continue;
		if (i != *count)
			return -EINVAL;
		(*count)++;
	}
	return 0;
}

static bool path_counts(const struct istripe_path_dir *dir, const struct istripe_path_dir *coming)
{
	return dir && (!coming || dir == coming || dir->base.pinned);
}

/* Nothing would end the writes that a path without a directory has left. */
static int leg_check_gone(const struct istripe_leg_dir *leg, struct istripe_reason *why)
{
	u32 i;

	for (i = 0; i < ISTRIPE_PATHS_MAX; i++) {
		if (leg->paths[i] || !istripe_leg_dir_unfenced(leg, i))
			continue;
		return istripe_reason_fail(why, -EINVAL,
					   "leg %u path %u is gone, and has left writes that its target may still carry out: make it as it was, or see unfenced",
					   leg->index, i);
	}
	return 0;
}

/* Without superblocks its place holds data: it is a write as any other. */
static void unfenced_recall_super(struct istripe_unfenced *saved)
{
	if (!saved->undrained.super || saved->unfenced)
		return;
	saved->unfenced = true;
	saved->tpgt = saved->undrained.tpgt;
}

void istripe_path_dir_recall(const struct istripe_path_dir *dir, struct istripe_path_params *params)
{
	const struct istripe_volume_params *volume = &dir->base.volume->params;
	u32 print = istripe_path_params_nexus_print(&dir->params, volume->initiator_name);
	u32 i;

	memcpy(params->saved, dir->base.leg->saved[dir->index], sizeof(params->saved));
	for (i = 0; i < ARRAY_SIZE(params->saved); i++) {
		if (params->saved[i].nexus_print != print)
			params->saved[i].undrained.any = false;
		if (volume->metadata == ISTRIPE_METADATA_NONE)
			unfenced_recall_super(&params->saved[i]);
	}
}

static void path_copy(const struct istripe_path_dir *dir, struct istripe_path_params *params)
{
	*params = dir->params;
	istripe_path_dir_recall(dir, params);
}

/* Paths have the numbers of their directories, which need not be without gaps. */
static int leg_copy(const struct istripe_leg_dir *leg, const struct istripe_path_dir *coming,
		    struct istripe_leg_params *params, struct istripe_reason *why)
{
	int ret = leg_check_gone(leg, why);
	u32 i, count = 0;

	if (ret)
		return ret;
	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		count += path_counts(leg->paths[i], coming);
	*params = leg->params;
	ret = istripe_leg_params_alloc_paths(params, count);
	for (i = 0, count = 0; !ret && i < ISTRIPE_PATHS_MAX; i++)
		if (path_counts(leg->paths[i], coming))
			path_copy(leg->paths[i], &params->paths[count++]);
	return ret;
}

struct istripe_volume_params *istripe_volume_dir_copy(const struct istripe_volume_dir *volume,
						      const struct istripe_path_dir *coming,
						      struct istripe_reason *why)
{
	struct istripe_volume_params *params;
	u32 i, count;
	int ret = 0;

	if (legs_count(volume, &count))
		return ERR_PTR(istripe_reason_fail(why, -EINVAL, "leg %u is missing", count));
	params = istripe_volume_params_alloc(&volume->params, count);
	if (!params)
		return ERR_PTR(-ENOMEM);
	for (i = 0; !ret && i < count; i++)
		ret = leg_copy(volume->legs[i], coming, &params->legs[i], why);
	if (!ret)
		ret = istripe_volume_params_check(params, why);
	if (!ret)
		return params;
	istripe_volume_params_free(params);
	return ERR_PTR(ret);
}

/* From down to starting, with params that have been checked. */
static int volume_prepare(struct istripe_volume_dir *volume, struct istripe_volume_params **params,
			  struct istripe_reason *why)
{
	int ret;

	lockdep_assert_held(&volume->lock);
	*params = istripe_volume_dir_copy(volume, NULL, why);
	if (IS_ERR(*params))
		return PTR_ERR(*params);
	ret = volume_pin(volume);
	if (ret) {
		istripe_reason_set(why, "one of its directories is being made or removed");
		istripe_volume_params_free(*params);
		return ret;
	}
	volume->phase = ISTRIPE_VOLUME_STARTING;
	volume->last_error[0] = '\0';
	return 0;
}

static void unfenced_sign(const struct istripe_path_dir *dir, struct istripe_unfenced *saved)
{
	const char *initiator_name = dir->base.volume->params.initiator_name;

	saved->fingerprint = istripe_path_params_fingerprint(&dir->params, initiator_name);
	saved->nexus_print = istripe_path_params_nexus_print(&dir->params, initiator_name);
}

void istripe_path_dir_remember(struct istripe_path_dir *dir, const struct istripe_path *running)
{
	struct istripe_unfenced *saved = dir->base.leg->saved[dir->index];
	u32 i;

	lockdep_assert_held(&dir->base.volume->lock);
	/* Those that connections= has taken away may be back in the next life. */
	for (i = 0; i < ISTRIPE_CONNECTIONS_MAX; i++) {
		if (i < running->nexus_count)
			istripe_unfenced_save(running->nexuses[i], &saved[i]);
		else
			saved[i] = running->params.saved[i];
		unfenced_sign(dir, &saved[i]);
	}
}

/* After a start that failed: a nexus that was not live may have ended nothing of earlier ones. */
static void path_remember_attempt(struct istripe_path_dir *dir, const struct istripe_path *running)
{
	struct istripe_unfenced *saved = dir->base.leg->saved[dir->index];
	u32 i;

	lockdep_assert_held(&dir->base.volume->lock);
	for (i = 0; i < running->nexus_count; i++) {
		if (!running->nexuses[i]->generation)
			continue;
		istripe_unfenced_save(running->nexuses[i], &saved[i]);
		unfenced_sign(dir, &saved[i]);
	}
}

static void volume_remember(struct istripe_volume_dir *volume, const struct istripe_volume *running,
			    void (*remember)(struct istripe_path_dir *dir,
					     const struct istripe_path *running))
{
	struct istripe_path *path;
	u32 i;

	lockdep_assert_held(&volume->lock);
	for (i = 0; i < running->leg_count; i++)
		istripe_leg_for_each_path(running->legs[i], path)
			remember(volume->legs[i]->paths[path->index], path);
}

static int volume_show(struct istripe_volume *running, struct istripe_reason *why)
{
	int ret = istripe_sysfs_create(running);

	if (!ret)
		return 0;
	istripe_reason_set(why, "cannot make its files in sysfs: %s (%pe)",
			   istripe_error_words(ret), ERR_PTR(ret));
	istripe_volume_stop(running);
	return ret;
}

/* A volume and what it shows: both or none. */
static struct istripe_volume *volume_start(struct istripe_volume_dir *volume,
					   const struct istripe_volume_params *params,
					   struct istripe_reason *why)
{
	struct istripe_volume *running = istripe_volume_create(params, why);
	int ret;

	if (IS_ERR(running))
		return running;
	ret = istripe_volume_start(running, params, why) ?: volume_show(running, why);
	if (!ret) {
		istripe_volume_scan(running);
		return running;
	}
	mutex_lock(&volume->lock);
	volume_remember(volume, running, path_remember_attempt);
	mutex_unlock(&volume->lock);
	istripe_volume_free(running);
	return ERR_PTR(ret);
}

/* A path that is not in use, or has no directory, may come, and has to know then. */
static void leg_forget(struct istripe_leg_dir *leg)
{
	u32 i;

	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		if (leg->paths[i] && leg->paths[i]->base.pinned)
			memset(leg->saved[i], 0, sizeof(leg->saved[i]));
}

/* From now on the volume knows, and what is dead is not to come back with a path. */
static void volume_forget(struct istripe_volume_dir *volume)
{
	u32 i;

	lockdep_assert_held(&volume->lock);
	for (i = 0; i < ISTRIPE_LEGS_MAX; i++)
		if (volume->legs[i])
			leg_forget(volume->legs[i]);
}

/* From starting to up or down again. */
static int volume_started(struct istripe_volume_dir *volume, struct istripe_volume *running)
{
	lockdep_assert_held(&volume->lock);
	if (IS_ERR(running)) {
		volume_unpin(volume);
		volume->phase = ISTRIPE_VOLUME_DOWN;
		return PTR_ERR(running);
	}
	volume->running = running;
	volume_forget(volume);
	/* The superblocks decide. */
	volume->params.chunk.bytes = running->stripe.chunk_sectors << SECTOR_SHIFT;
	volume->phase = ISTRIPE_VOLUME_UP;
	return 0;
}

void istripe_volume_dir_note(struct istripe_volume_dir *volume, const char *what, int error,
			     const char *why)
{
	lockdep_assert_held(&volume->lock);
	if (!error) {
		volume->last_error[0] = '\0';
		return;
	}
	if (*why)
		strscpy(volume->last_error, why, sizeof(volume->last_error));
	else
		scnprintf(volume->last_error, sizeof(volume->last_error), "%s (%pe)",
			  istripe_error_words(error), ERR_PTR(error));
	volume->noted_at = jiffies;
	pr_err("%s: %s: %s\n", volume->params.name, what, volume->last_error);
}

int istripe_volume_dir_busy(struct istripe_volume_dir *volume, const char *what)
{
	const struct istripe_path_dir *changing = volume->changing;
	struct istripe_reason why = {};

	if (!changing)
		return -EBUSY;
	istripe_reason_set(&why, "a change of leg %u path %u is under way",
			   changing->base.leg->index, changing->index);
	istripe_volume_dir_note(volume, what, -EBUSY, why.text);
	return -EBUSY;
}

int istripe_volume_dir_enable(struct istripe_volume_dir *volume)
{
	struct istripe_volume_params *params;
	struct istripe_volume *running;
	struct istripe_reason why = {};
	int ret;

	mutex_lock(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_DOWN) {
		ret = istripe_volume_dir_is_up(volume) ? 0 : -EBUSY;
		goto unlock;
	}
	ret = volume_prepare(volume, &params, &why);
	if (!ret) {
		mutex_unlock(&volume->lock);
		running = volume_start(volume, params, &why);
		istripe_volume_params_free(params);
		mutex_lock(&volume->lock);
		ret = volume_started(volume, running);
	}
	/* Once, whatever has come of it: what may overwrite something must be said anew. */
	volume->params.metadata_create = ISTRIPE_METADATA_KEEP;
	istripe_volume_dir_note(volume, "not enabled", ret, why.text);
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* istripectl down asks again and again for 5 s. */
static void volume_note_once(struct istripe_volume_dir *volume, const char *what, int error,
			     const char *why)
{
	if (strcmp(volume->last_error, why) || time_after(jiffies, volume->noted_at + NOTE_TIME))
		istripe_volume_dir_note(volume, what, error, why);
}

/* From up to stopping; NULL with an error, or when it is down already. */
static struct istripe_volume *volume_take(struct istripe_volume_dir *volume, bool force)
{
	struct istripe_volume *running = volume->running;

	lockdep_assert_held(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_UP)
		return volume->phase == ISTRIPE_VOLUME_DOWN ? NULL :
		       ERR_PTR(istripe_volume_dir_busy(volume, "not disabled"));
	if (!force && istripe_volume_close(running)) {
		volume_note_once(volume, "not disabled", -EBUSY,
				 "its disk is open, mounted or part of another device: close it, or write force, which takes it away all the same");
		return ERR_PTR(-EBUSY);
	}
	volume->running = NULL;
	volume->phase = ISTRIPE_VOLUME_STOPPING;
	volume->last_error[0] = '\0';
	return running;
}

static int volume_stop(struct istripe_volume_dir *volume, struct istripe_volume *running,
		       bool force)
{
	int ret;

	istripe_resize_end(running);
	/* Users of its files, or of a lock of sysfs, may wait for its I/O. */
	if (force)
		istripe_writeback_begin(running);
	istripe_sysfs_remove(running);
	ret = istripe_volume_stop(running);

	mutex_lock(&volume->lock);
	volume_remember(volume, running, istripe_path_dir_remember);
	istripe_volume_free(running);
	volume_unpin(volume);
	volume->phase = ISTRIPE_VOLUME_DOWN;
	istripe_volume_dir_note(volume, "disabled", ret,
				"it is down, but not all of what had been written to its disk has reached the legs");
	mutex_unlock(&volume->lock);
	return ret;
}

int istripe_volume_dir_disable(struct istripe_volume_dir *volume, bool force)
{
	struct istripe_volume *running;

	mutex_lock(&volume->lock);
	running = volume_take(volume, force);
	mutex_unlock(&volume->lock);
	return IS_ERR_OR_NULL(running) ? PTR_ERR_OR_ZERO(running) :
					 volume_stop(volume, running, force);
}
