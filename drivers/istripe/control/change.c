// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a volume that is up: its paths come and go, and have more or fewer
 * connections. See dir.h for what keeps others out meanwhile.
 */
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/printk.h>

#include "block/bundle.h"
#include "block/roster.h"
#include "block/volume.h"
#include "control/blueprint.h"
#include "control/dir.h"
#include "control/sysfs.h"
#include "proto/error.h"

static struct istripe_leg *running_leg(const struct istripe_path_dir *path)
{
	return path->leg->volume->running->legs[path->leg->index];
}

static struct istripe_bundle *running_path(const struct istripe_path_dir *path)
{
	return running_leg(path)->bundles[path->index];
}

/* From up to changing. */
static int change_begin(struct istripe_volume_dir *volume)
{
	lockdep_assert_held(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_UP)
		return -EBUSY;
	volume->phase = ISTRIPE_VOLUME_CHANGING;
	volume->last_error[0] = '\0';
	return 0;
}

/* And back, with the lock taken again. */
static void change_end(struct istripe_path_dir *path, const char *what, int error,
		       const char *why)
{
	struct istripe_volume_dir *volume = path->leg->volume;
	char label[ISTRIPE_LAST_ERROR_BYTES];

	mutex_lock(&volume->lock);
	volume->phase = ISTRIPE_VOLUME_UP;
	scnprintf(label, sizeof(label), "leg %u path %u is not %s", path->leg->index, path->index,
		  what);
	istripe_volume_dir_note(volume, label, error, why);
}

/* Coming */

/* The path by itself, and with all others: as it would be checked at enable. */
static int path_check(struct istripe_path_dir *path, char *why)
{
	struct istripe_volume_params *params;

	params = istripe_volume_dir_copy(path->leg->volume, path, why);
	if (IS_ERR(params))
		return PTR_ERR(params);
	istripe_volume_params_free(params);
	return 0;
}

static int path_prepare(struct istripe_path_dir *path, char *why)
{
	int ret = path_check(path, why);

	if (ret)
		return ret;
	ret = istripe_dir_pin(&path->group, &path->pinned);
	if (ret)
		scnprintf(why, ISTRIPE_LAST_ERROR_BYTES, "its directory is being removed");
	return ret;
}

/* What it does matters more than what it shows. */
static void path_say_hidden(const struct istripe_bundle *bundle, int error)
{
	if (error)
		pr_warn("%s: leg %u path %u has not all its files in sysfs: %s (%pe)\n",
			bundle->leg->volume->name, bundle->leg->index, bundle->index,
			istripe_error_words(error), ERR_PTR(error));
}

static int path_add(struct istripe_path_dir *path, char *why)
{
	struct istripe_bundle *bundle;

	/* Pinned, and in use: nobody writes to the parameters meanwhile. */
	bundle = istripe_roster_add(running_leg(path), &path->params, why,
				    ISTRIPE_LAST_ERROR_BYTES);
	if (IS_ERR(bundle))
		return PTR_ERR(bundle);
	path_say_hidden(bundle, istripe_sysfs_add_path(bundle));
	return 0;
}

int istripe_path_dir_enable(struct istripe_path_dir *path)
{
	struct istripe_volume_dir *volume = path->leg->volume;
	char why[ISTRIPE_LAST_ERROR_BYTES] = "";
	int ret;

	mutex_lock(&volume->lock);
	if (path->pinned) {
		/* Else it may be on its way out, or not in yet. */
		ret = volume->phase == ISTRIPE_VOLUME_UP ? 0 : -EBUSY;
		goto unlock;
	}
	if (volume->phase == ISTRIPE_VOLUME_DOWN) {
		scnprintf(why, sizeof(why), "the volume is down: all its paths come with it");
		ret = -EINVAL;
		istripe_volume_dir_note(volume, "path not enabled", ret, why);
		goto unlock;
	}
	ret = change_begin(volume);
	if (ret)
		goto unlock;
	ret = path_prepare(path, why);
	mutex_unlock(&volume->lock);
	if (!ret)
		ret = path_add(path, why);
	change_end(path, "added", ret, why);
	if (ret)
		istripe_dir_unpin(&path->group, &path->pinned);
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* Going */

static int path_remove(struct istripe_bundle *bundle, char *why)
{
	int ret = istripe_roster_leave(bundle, 0, why, ISTRIPE_LAST_ERROR_BYTES);

	if (ret)
		return ret;
	istripe_sysfs_remove_path(bundle);
	istripe_roster_drop(bundle, 0);
	return 0;
}

int istripe_path_dir_disable(struct istripe_path_dir *path)
{
	struct istripe_volume_dir *volume = path->leg->volume;
	char why[ISTRIPE_LAST_ERROR_BYTES] = "";
	int ret = 0;

	mutex_lock(&volume->lock);
	if (path->pinned)
		ret = change_begin(volume);
	if (!path->pinned || ret)
		goto unlock;
	mutex_unlock(&volume->lock);
	ret = path_remove(running_path(path), why);
	change_end(path, "removed", ret, why);
	if (!ret)
		istripe_dir_unpin(&path->group, &path->pinned);
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* More and fewer connections */

/* Members that are not to be there any more go before their directories do. */
static int members_change(struct istripe_bundle *bundle, u32 count, char *why)
{
	u32 before = bundle->member_count;
	int ret = 0;

	if (count != before)
		ret = istripe_roster_check_renew(bundle, why, ISTRIPE_LAST_ERROR_BYTES);
	if (!ret && count < before)
		ret = istripe_roster_leave(bundle, count, why, ISTRIPE_LAST_ERROR_BYTES);
	if (ret)
		return ret;
	istripe_sysfs_remove_sessions(bundle);
	if (count < before)
		istripe_roster_drop(bundle, count);
	else if (count > before)
		ret = istripe_roster_grow(bundle, count, why, ISTRIPE_LAST_ERROR_BYTES);
	if (!ret && count != before && bundle->multi == ISTRIPE_MULTI_MCS)
		istripe_roster_renew(bundle, count);
	path_say_hidden(bundle, istripe_sysfs_add_sessions(bundle));
	return ret;
}

/* The number under test stands in the directory as long as the check takes. */
static int connections_check(struct istripe_path_dir *path, u32 connections, char *why)
{
	u32 *value = &path->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS];
	u32 before = *value;
	int ret;

	lockdep_assert_held(&path->leg->volume->lock);
	*value = connections;
	ret = path_check(path, why);
	*value = before;
	return ret;
}

int istripe_path_dir_connections(struct istripe_path_dir *path, u32 connections)
{
	struct istripe_volume_dir *volume = path->leg->volume;
	char why[ISTRIPE_LAST_ERROR_BYTES] = "";
	int ret;

	mutex_lock(&volume->lock);
	ret = path->pinned ? change_begin(volume) : -EBUSY;
	if (ret)
		goto unlock;
	ret = connections_check(path, connections, why);
	mutex_unlock(&volume->lock);
	if (!ret)
		ret = members_change(running_path(path), connections, why);
	change_end(path, "changed", ret, why);
	if (!ret)
		path->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS] = connections;
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}
