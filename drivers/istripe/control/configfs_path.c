// SPDX-License-Identifier: GPL-2.0
/*
 * The configfs directory of a path, legs/<n>/paths/<n>: its params.
 */
#include <linux/capability.h>
#include <linux/configfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "control/configfs_dir.h"

#define PATH_FILE(_name, _file, ...)							\
	ISTRIPE_DIR_FILE_##_file(path, _name, &istripe_path_settings[ISTRIPE_PATH_SETTING_##_name])
#define PATH_ATTR(_name, ...)		&path_attr_##_name,

ISTRIPE_PATH_SETTINGS(PATH_FILE)

static ssize_t path_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(istripe_dir_of(item)->pinned));
}

static ssize_t path_enable_store(struct config_item *item, const char *page, size_t count)
{
	static const struct istripe_setting enable = {
		.name = "enable", .kind = &istripe_setting_number, .size = sizeof(u32),
		.min = 0, .max = 1,
	};
	struct istripe_path_dir *path = istripe_dir_of(item)->path;
	ssize_t ret;
	u32 value;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	ret = istripe_setting_store(&enable, path->base.volume->params.name, &value, page, count);
	if (ret < 0)
		return ret;
	ret = value ? istripe_path_dir_enable(path) : istripe_path_dir_disable(path);
	return ret ?: count;
}
CONFIGFS_ATTR(path_, enable);

static void path_release(struct config_item *item)
{
	kfree_sensitive(istripe_dir_of(item)->path);
}

static struct configfs_attribute *path_attrs[] = {
	ISTRIPE_PATH_SETTINGS(PATH_ATTR)
	&path_attr_enable,
	NULL,
};
ISTRIPE_DIR_TYPE(path);

static struct istripe_leg_dir *paths_group_leg(struct config_group *group)
{
	return container_of(group, struct istripe_leg_dir, paths_group);
}

static struct config_group *paths_make_group(struct config_group *group, const char *name)
{
	struct istripe_leg_dir *leg = paths_group_leg(group);
	struct istripe_volume_dir *volume = leg->base.volume;
	struct istripe_path_dir *path;
	char label[ISTRIPE_DIR_LABEL_BYTES];
	u32 index;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	if (istripe_dir_index(name, ISTRIPE_PATHS_MAX, &index)) {
		istripe_dir_label(&leg->base, label);
		istripe_dir_refuse(label, "path", name, "a number from 0 to 15");
		return ERR_PTR(-EINVAL);
	}
	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);
	path->base = (struct istripe_dir) {
		.volume = volume, .leg = leg, .path = path, .params = &path->params,
	};
	path->index = index;
	istripe_keys_default_offer(&path->params.offer);
	istripe_settings_default(istripe_path_settings, ISTRIPE_PATH_SETTING_COUNT, &path->params);
	path->params.index = index;
	config_group_init_type_name(&path->base.group, name, &path_type);

	mutex_lock(&volume->lock);
	if (volume->phase == ISTRIPE_VOLUME_DOWN || volume->phase == ISTRIPE_VOLUME_UP) {
		leg->paths[index] = path;
		ret = 0;
	} else {
		ret = istripe_volume_dir_busy(volume, "path not made");
	}
	mutex_unlock(&volume->lock);
	if (!ret)
		return &path->base.group;
	config_group_put(&path->base.group);
	return ERR_PTR(ret);
}

/* Before configfs takes it out of the tree: what is in the array can be pinned. */
static void paths_disconnect(struct config_group *group, struct config_item *item)
{
	struct istripe_leg_dir *leg = paths_group_leg(group);

	mutex_lock(&leg->base.volume->lock);
	leg->paths[istripe_dir_of(item)->path->index] = NULL;
	mutex_unlock(&leg->base.volume->lock);
}

static struct configfs_group_operations paths_group_ops = {
	.make_group = paths_make_group,
	.disconnect_notify = paths_disconnect,
};

const struct config_item_type istripe_paths_type = {
	.ct_group_ops = &paths_group_ops,
	.ct_owner = THIS_MODULE,
};
