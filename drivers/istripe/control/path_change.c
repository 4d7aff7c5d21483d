// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a volume that is up: its paths come and go, and have more or fewer
 * connections. See configfs_dir.h for what keeps others out meanwhile.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/hotplug.h"
#include "block/path.h"
#include "block/volume.h"
#include "control/configfs_dir.h"
#include "control/params.h"
#include "control/sysfs.h"
#include "iscsi/error.h"

static struct istripe_leg *running_leg(const struct istripe_path_dir *dir)
{
	return dir->base.volume->running->legs[dir->base.leg->index];
}

static struct istripe_path *running_path(const struct istripe_path_dir *dir)
{
	return running_leg(dir)->paths[dir->index];
}

static void path_label(const struct istripe_path_dir *dir, const char *what, char *label)
{
	scnprintf(label, ISTRIPE_REASON_BYTES, "leg %u path %u is not %s", dir->base.leg->index,
		  dir->index, what);
}

/* Another path, or the volume, comes, goes or changes; @what this one is not. */
static int change_refuse(struct istripe_path_dir *dir, const char *what)
{
	char label[ISTRIPE_REASON_BYTES];

	path_label(dir, what, label);
	return istripe_volume_dir_busy(dir->base.volume, label);
}

/* From up to changing. */
static int change_begin(struct istripe_path_dir *dir, const char *what)
{
	struct istripe_volume_dir *volume = dir->base.volume;

	lockdep_assert_held(&volume->lock);
	if (volume->phase != ISTRIPE_VOLUME_UP)
		return change_refuse(dir, what);
	volume->phase = ISTRIPE_VOLUME_CHANGING;
	volume->changing = dir;
	volume->last_error[0] = '\0';
	return 0;
}

/* And back, with the lock taken again. */
static void change_end(struct istripe_path_dir *dir, const char *what, int error,
		       const char *why)
{
	struct istripe_volume_dir *volume = dir->base.volume;
	char label[ISTRIPE_REASON_BYTES];

	mutex_lock(&volume->lock);
	volume->phase = ISTRIPE_VOLUME_UP;
	volume->changing = NULL;
	path_label(dir, what, label);
	istripe_volume_dir_note(volume, label, error, why);
}

/* Coming */

/* The path by itself, and with all others: as it would be checked at enable. */
static int path_check(struct istripe_path_dir *dir, struct istripe_reason *why)
{
	/* Memory may wait for this disk, and what ends that wait, for the volume's lock. */
	unsigned int noreclaim = memalloc_noreclaim_save();
	struct istripe_volume_params *params;

	params = istripe_volume_dir_copy(dir->base.volume, dir, why);
	memalloc_noreclaim_restore(noreclaim);
	if (IS_ERR(params))
		return PTR_ERR(params);
	istripe_volume_params_free(params);
	return 0;
}

static int path_prepare(struct istripe_path_dir *dir, struct istripe_reason *why)
{
	int ret = path_check(dir, why);

	if (ret)
		return ret;
	ret = istripe_dir_pin(&dir->base);
	if (ret)
		istripe_reason_set(why, "its directory is being removed");
	istripe_path_dir_recall(dir, &dir->params);
	return ret;
}

/* A path without all of its files works all the same. */
static void path_warn_incomplete(const struct istripe_path *path, int error)
{
	if (error)
		pr_warn("%s: leg %u path %u has not all its files in sysfs: %s (%pe)\n",
			path->leg->volume->name, path->leg->index, path->index,
			istripe_error_words(error), ERR_PTR(error));
}

static int path_add(struct istripe_path_dir *dir, struct istripe_reason *why)
{
	/* Reclaim may wait for this leg, and that for this path. */
	unsigned int noio = memalloc_noio_save();
	struct istripe_path *path;

	/* Pinned, and in use: nobody writes to its settings meanwhile. */
	path = istripe_path_add(running_leg(dir), &dir->params, why);
	if (!IS_ERR(path))
		path_warn_incomplete(path, istripe_sysfs_add_path(path));
	memalloc_noio_restore(noio);
	/* Keys of reservations change; writers take -EAGAIN for a file that is not ready. */
	return path == ERR_PTR(-EAGAIN) ? -EBUSY : PTR_ERR_OR_ZERO(path);
}

int istripe_path_dir_enable(struct istripe_path_dir *dir)
{
	struct istripe_volume_dir *volume = dir->base.volume;
	struct istripe_reason why = {};
	int ret;

	mutex_lock(&volume->lock);
	if (dir->base.pinned) {
		/* Else it may be on its way out, or not in yet. */
		ret = volume->phase == ISTRIPE_VOLUME_UP ? 0 : change_refuse(dir, "added");
		goto unlock;
	}
	if (volume->phase == ISTRIPE_VOLUME_DOWN) {
		istripe_reason_set(&why, "the volume is down: all its paths come with it");
		ret = -EINVAL;
		istripe_volume_dir_note(volume, "path not enabled", ret, why.text);
		goto unlock;
	}
	ret = change_begin(dir, "added");
	if (ret)
		goto unlock;
	ret = path_prepare(dir, &why);
	mutex_unlock(&volume->lock);
	if (!ret)
		ret = path_add(dir, &why);
	change_end(dir, "added", ret, why.text);
	if (ret)
		istripe_dir_unpin(&dir->base);
	else	/* From now on the path knows. */
		memset(dir->base.leg->saved[dir->index], 0, sizeof(dir->params.saved));
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* Going */

static int path_remove(struct istripe_path_dir *dir, struct istripe_reason *why)
{
	struct istripe_path *path = running_path(dir);
	int ret = istripe_path_retire(path, 0, why);

	if (ret)
		return ret;
	istripe_sysfs_remove_path(path);
	mutex_lock(&dir->base.volume->lock);
	istripe_path_dir_remember(dir, path);
	mutex_unlock(&dir->base.volume->lock);
	istripe_path_drop(path, 0);
	return 0;
}

int istripe_path_dir_disable(struct istripe_path_dir *dir)
{
	struct istripe_volume_dir *volume = dir->base.volume;
	struct istripe_reason why = {};
	int ret = 0;

	mutex_lock(&volume->lock);
	if (dir->base.pinned)
		ret = change_begin(dir, "removed");
	if (!dir->base.pinned || ret)
		goto unlock;
	mutex_unlock(&volume->lock);
	ret = path_remove(dir, &why);
	change_end(dir, "removed", ret, why.text);
	if (!ret)
		istripe_dir_unpin(&dir->base);
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* More and fewer connections */

/* To another number. Nexuses that are not to be there any more go before their directories do. */
static int connections_change(struct istripe_path *path, u32 count, struct istripe_reason *why)
{
	unsigned int noio = memalloc_noio_save();
	u32 before = path->nexus_count;
	int ret = istripe_path_check_renew(path, why);

	if (!ret && count < before)
		ret = istripe_path_retire(path, count, why);
	if (ret)
		goto out;
	istripe_sysfs_remove_sessions(path);
	if (count < before)
		istripe_path_drop(path, count);
	else
		ret = istripe_path_grow(path, count, why);
	if (!ret && path->params.multi == ISTRIPE_MULTI_MCS)
		istripe_path_renew(path);
	path_warn_incomplete(path, istripe_sysfs_add_sessions(path));
out:
	memalloc_noio_restore(noio);
	return ret;
}

/* The number under test stands in the directory as long as the check takes. */
static int connections_check(struct istripe_path_dir *dir, u32 connections,
			     struct istripe_reason *why)
{
	u32 *value = &dir->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS];
	u32 before = *value;
	int ret;

	lockdep_assert_held(&dir->base.volume->lock);
	*value = connections;
	ret = path_check(dir, why);
	*value = before;
	return ret;
}

int istripe_path_dir_connections(struct istripe_path_dir *dir, u32 connections)
{
	struct istripe_volume_dir *volume = dir->base.volume;
	struct istripe_reason why = {};
	int ret;

	mutex_lock(&volume->lock);
	if (!dir->base.pinned || volume->phase != ISTRIPE_VOLUME_UP) {
		ret = change_refuse(dir, "changed");
		goto unlock;
	}
	ret = 0;
	if (connections == running_path(dir)->nexus_count)
		goto unlock;
	ret = change_begin(dir, "changed");
	if (ret)
		goto unlock;
	ret = connections_check(dir, connections, &why);
	mutex_unlock(&volume->lock);
	if (!ret)
		ret = connections_change(running_path(dir), connections, &why);
	change_end(dir, "changed", ret, why.text);
	if (!ret)
		dir->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS] = connections;
unlock:
	mutex_unlock(&volume->lock);
	return ret;
}

/* One of several settings of CHAP makes no sense without the others: the path waits for all. */
static int login_change(struct istripe_path_dir *dir, const struct istripe_setting *setting,
			const char *label, const struct istripe_path_params *next,
			struct istripe_reason *why)
{
	const char *problem = istripe_path_params_problem(next);
	const char *missing = istripe_credentials_problem(&next->chap);
	struct istripe_reason said = {};
	int ret;

	if (problem)
		return istripe_reason_fail(why, -EINVAL, "%s: %s", setting->name, problem);
	ret = istripe_path_relogin(running_path(dir), next, !missing, &said);
	if (ret)
		istripe_reason_set(why, "%s: %s", setting->name,
				   *said.text ? said.text : istripe_error_words(ret));
	else if (missing)
		pr_notice("%s: %s: the path logs in with CHAP as before: %s\n", label,
			  setting->name, missing);
	return ret;
}

static int login_begin(struct istripe_path_dir *dir, const struct istripe_setting *setting,
		       const char *label, struct istripe_path_params *next, const char *page,
		       size_t count)
{
	ssize_t ret;

	lockdep_assert_held(&dir->base.volume->lock);
	*next = dir->params;
	if (!dir->base.pinned || dir->base.volume->phase != ISTRIPE_VOLUME_UP)
		return change_refuse(dir, "changed");
	ret = istripe_setting_store(setting, label, (void *)next + setting->offset, page, count);
	return ret < 0 ? ret : change_begin(dir, "changed");
}

int istripe_path_dir_login(struct istripe_path_dir *dir, const struct istripe_setting *setting,
			   const char *label, const char *page, size_t count)
{
	struct istripe_path_params *next = kmalloc(sizeof(*next), GFP_NOIO);
	struct istripe_volume_dir *volume = dir->base.volume;
	struct istripe_reason why = {};
	int ret;

	if (!next)
		return -ENOMEM;
	mutex_lock(&volume->lock);
	ret = login_begin(dir, setting, label, next, page, count);
	if (ret)
		goto unlock;
	mutex_unlock(&volume->lock);
	ret = login_change(dir, setting, label, next, &why);
	change_end(dir, "changed", ret, why.text);
	if (!ret)
		memcpy((void *)&dir->params + setting->offset, (void *)next + setting->offset,
		       setting->size);
unlock:
	mutex_unlock(&volume->lock);
	kfree_sensitive(next);
	return ret;
}
