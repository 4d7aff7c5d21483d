// SPDX-License-Identifier: GPL-2.0
/*
 * enable: from directories to a running volume and back.
 */
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "block/path.h"
#include "block/volume.h"
#include "control/blueprint.h"
#include "control/dir.h"
#include "control/sysfs.h"

/* Pins: what cannot be removed while the volume is not down. */

static int group_pin(struct config_group *group, bool *pinned)
{
	int ret = configfs_depend_item_unlocked(group->cg_subsys, &group->cg_item);

	*pinned = !ret;
	return ret;
}

static void group_unpin(struct config_group *group, bool *pinned)
{
	if (*pinned)
		configfs_undepend_item_unlocked(&group->cg_item);
	*pinned = false;
}

static void leg_unpin(struct istripe_leg_dir *leg)
{
	u32 i;

	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		if (leg->paths[i])
			group_unpin(&leg->paths[i]->group, &leg->paths[i]->pinned);
	group_unpin(&leg->group, &leg->pinned);
}

static void volume_unpin(struct istripe_volume_dir *volume)
{
	u32 i;

	lockdep_assert_held(&volume->lock);
	for (i = 0; i < ISTRIPE_LEGS_MAX; i++)
		if (volume->legs[i])
			leg_unpin(volume->legs[i]);
	group_unpin(&volume->group, &volume->pinned);
}

static int leg_pin(struct istripe_leg_dir *leg)
{
	int ret = group_pin(&leg->group, &leg->pinned);
	u32 i;

	for (i = 0; !ret && i < ISTRIPE_PATHS_MAX; i++)
		if (leg->paths[i])
			ret = group_pin(&leg->paths[i]->group, &leg->paths[i]->pinned);
	return ret;
}

/* Fails when one of the directories is just being made or removed. */
static int volume_pin(struct istripe_volume_dir *volume)
{
	int ret;
	u32 i;

	lockdep_assert_held(&volume->lock);
	ret = group_pin(&volume->group, &volume->pinned);
	for (i = 0; !ret && i < ISTRIPE_LEGS_MAX; i++)
		if (volume->legs[i])
			ret = leg_pin(volume->legs[i]);
	if (ret)
		volume_unpin(volume);
	return ret ? -EBUSY : 0;
}

/* From directories to a blueprint */

static int dirs_count(void *const *dirs, u32 max, u32 *count)
{
	u32 i;

	*count = 0;
	for (i = 0; i < max; i++) {
		if (!dirs[i])
			continue;
		if (i != *count)
			return -EINVAL;
		(*count)++;
	}
	return 0;
}

static int leg_copy(const struct istripe_leg_dir *leg, struct istripe_leg_params *params, char *why)
{
	u32 count, i;
	int ret;

	if (dirs_count((void *const *)leg->paths, ISTRIPE_PATHS_MAX, &count)) {
		scnprintf(why, ISTRIPE_LAST_ERROR_BYTES, "leg %u: path %u is missing",
			  leg->index, count);
		return -EINVAL;
	}
	*params = leg->params;
	ret = istripe_leg_params_alloc_paths(params, count);
	for (i = 0; !ret && i < count; i++)
		params->paths[i] = leg->paths[i]->params;
	return ret;
}

static int legs_copy(const struct istripe_volume_dir *volume, struct istripe_volume_params *params,
		     char *why)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < params->leg_count; i++)
		ret = leg_copy(volume->legs[i], &params->legs[i], why);
	return ret;
}

static struct istripe_volume_params *volume_copy(const struct istripe_volume_dir *volume, char *why)
{
	struct istripe_volume_params *params;
	struct istripe_leg_params *legs;
	u32 count;
	int ret;

	if (dirs_count((void *const *)volume->legs, ISTRIPE_LEGS_MAX, &count)) {
		scnprintf(why, ISTRIPE_LAST_ERROR_BYTES, "leg %u is missing", count);
		return ERR_PTR(-EINVAL);
	}
	params = istripe_volume_params_alloc(count);
	if (!params)
		return ERR_PTR(-ENOMEM);
	legs = params->legs;
	*params = volume->params;
	params->leg_count = count;
	params->legs = legs;
	ret = legs_copy(volume, params, why);
	if (!ret)
		ret = istripe_volume_params_check(params, why, ISTRIPE_LAST_ERROR_BYTES);
	if (!ret)
		return params;
	istripe_volume_params_free(params);
	return ERR_PTR(ret);
}

/* From down to starting, with a blueprint in hand. */
static int volume_prepare(struct istripe_volume_dir *volume, struct istripe_volume_params **params,
			  char *why)
{
	int ret;

	lockdep_assert_held(&volume->lock);
	*params = volume_copy(volume, why);
	if (IS_ERR(*params))
		return PTR_ERR(*params);
	ret = volume_pin(volume);
	if (ret) {
		scnprintf(why, ISTRIPE_LAST_ERROR_BYTES,
			  "one of its directories is being made or removed");
		istripe_volume_params_free(*params);
		return ret;
	}
	volume->phase = ISTRIPE_VOLUME_STARTING;
	return 0;
}

/* For the next enable: what the target may still do to it. */
static void path_remember(struct istripe_path_dir *path, struct istripe_path *running)
{
	const char *initiator_name = path->leg->volume->params.initiator_name;
	struct istripe_path_past *past = &path->params.past;

	istripe_path_bequeath(running, past);
	past->nexus = istripe_path_params_nexus(&path->params, initiator_name);
}

static void volume_remember(struct istripe_volume_dir *volume, const struct istripe_volume *running)
{
	u32 i, j;

	lockdep_assert_held(&volume->lock);
	for (i = 0; i < running->leg_count; i++)
		for (j = 0; j < running->legs[i]->path_count; j++)
			path_remember(volume->legs[i]->paths[j], running->legs[i]->paths[j]);
}

/* A volume and what it shows: both or none. */
static struct istripe_volume *volume_start(struct istripe_volume_dir *volume,
					   const struct istripe_volume_params *params, char *why)
{
	struct istripe_volume *running;
	int ret;

	running = istripe_volume_start(params, why, ISTRIPE_LAST_ERROR_BYTES);
	if (IS_ERR(running))
		return running;
	ret = istripe_sysfs_create(running);
	if (!ret)
		return running;
	scnprintf(why, ISTRIPE_LAST_ERROR_BYTES, "cannot make its files in sysfs: %pe",
		  ERR_PTR(ret));
	istripe_volume_stop(running);
	/* There was a disk, if not for long. */
	mutex_lock(&volume->lock);
	volume_remember(volume, running);
	mutex_unlock(&volume->lock);
	istripe_volume_free(running);
	return ERR_PTR(ret);
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
	/* What superblocks said is what the blueprint would say. */
	volume->params.chunk.bytes = running->chunk_bytes;
	volume->phase = ISTRIPE_VOLUME_UP;
	return 0;
}

static void volume_note(struct istripe_volume_dir *volume, int error, const char *why)
{
	lockdep_assert_held(&volume->lock);
	if (!error) {
		volume->last_error[0] = '\0';
		return;
	}
	if (*why)
		strscpy(volume->last_error, why, sizeof(volume->last_error));
	else
		scnprintf(volume->last_error, sizeof(volume->last_error), "error %pe",
			  ERR_PTR(error));
	pr_err("%s: not enabled: %s\n", volume->params.name, volume->last_error);
}

int istripe_volume_dir_enable(struct istripe_volume_dir *volume)
{
	struct istripe_volume_params *params;
	struct istripe_volume *running;
	char why[ISTRIPE_LAST_ERROR_BYTES] = "";
	int ret;

	mutex_lock(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_DOWN) {
		ret = volume->phase == ISTRIPE_VOLUME_UP ? 0 : -EBUSY;
		goto unlock;
	}
	ret = volume_prepare(volume, &params, why);
	if (!ret) {
		mutex_unlock(&volume->lock);
		running = volume_start(volume, params, why);
		istripe_volume_params_free(params);
		mutex_lock(&volume->lock);
		ret = volume_started(volume, running);
	}
	/* Once, whatever has come of it: what may overwrite something must be said anew. */
	volume->params.metadata_create = ISTRIPE_METADATA_KEEP;
	volume_note(volume, ret, why);
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

int istripe_volume_dir_disable(struct istripe_volume_dir *volume)
{
	struct istripe_volume *running;

	mutex_lock(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_UP) {
		int ret = volume->phase == ISTRIPE_VOLUME_DOWN ? 0 : -EBUSY;

		mutex_unlock(&volume->lock);
		return ret;
	}
	running = volume->running;
	volume->running = NULL;
	volume->phase = ISTRIPE_VOLUME_STOPPING;
	mutex_unlock(&volume->lock);

	istripe_sysfs_remove(running);
	istripe_volume_stop(running);

	mutex_lock(&volume->lock);
	volume_remember(volume, running);
	istripe_volume_free(running);
	volume_unpin(volume);
	volume->phase = ISTRIPE_VOLUME_DOWN;
	mutex_unlock(&volume->lock);
	return 0;
}
