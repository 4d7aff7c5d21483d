// SPDX-License-Identifier: GPL-2.0
/*
 * The configfs directory of a leg, legs/<n>: its params.
 */
#include <linux/capability.h>
#include <linux/configfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "control/configfs_dir.h"
#include "control/params.h"

#define LEG_FILE(_name, _file, ...)							\
	ISTRIPE_DIR_FILE_##_file(leg, _name, &istripe_leg_settings[ISTRIPE_LEG_SETTING_##_name])
#define LEG_ATTR(_name, ...)		&leg_attr_##_name,

ISTRIPE_LEG_SETTINGS(LEG_FILE)

/* Would it do harm at once, or does no login of the path end it, as it is now? */
static bool super_is_left(const struct istripe_path_dir *dir, const struct istripe_unfenced *saved,
			  u32 nexus)
{
	const struct istripe_volume_params *volume;
	u32 print;

	if (!dir)
		return saved->undrained.super;
	volume = &dir->base.volume->params;
	if (volume->metadata == ISTRIPE_METADATA_NONE)
		return saved->undrained.super;
	print = istripe_path_params_nexus_print(&dir->params, volume->initiator_name);
	return istripe_path_params_super_is_lost(&dir->params, nexus, saved, print);
}

bool istripe_leg_dir_unfenced(const struct istripe_leg_dir *leg, u32 path)
{
	const struct istripe_unfenced *saved = leg->saved[path];
	bool unfenced = false;
	u32 i;

	for (i = 0; i < ISTRIPE_CONNECTIONS_MAX; i++)
		unfenced |= saved[i].unfenced || super_is_left(leg->paths[path], &saved[i], i);
	return unfenced;
}

static bool leg_owes_drain(const struct istripe_leg_dir *leg, u32 path)
{
	bool owes = false;
	u32 i;

	for (i = 0; i < ISTRIPE_CONNECTIONS_MAX; i++)
		owes |= leg->saved[path][i].undrained.any;
	return owes;
}

static ssize_t leg_unfenced_show(struct config_item *item, char *page)
{
	struct istripe_leg_dir *leg = istripe_dir_of(item)->leg;
	ssize_t used = 0;
	u32 i;

	mutex_lock(&leg->base.volume->lock);
	for (i = 0; i < ISTRIPE_PATHS_MAX; i++)
		if (istripe_leg_dir_unfenced(leg, i))
			used += sysfs_emit_at(page, used, used ? " %u" : "%u", i);
	mutex_unlock(&leg->base.volume->lock);
	used += sysfs_emit_at(page, used, "\n");
	return used;
}

/*
 * The path's next login still ends what the target may have, as after fence_confirm, unless that is
 * confirmed once more: with force a drain in a portal group that is gone would be waited for.
 */
static void leg_confirm(struct istripe_leg_dir *leg, u32 path)
{
	struct istripe_unfenced *saved = leg->saved[path];
	u32 i;

	for (i = 0; i < ISTRIPE_CONNECTIONS_MAX; i++) {
		if (saved[i].unfenced)
			saved[i].undrained = (struct istripe_undrained) {
				.any = true, .tpgt = saved[i].tpgt,
			};
		else if (saved[i].undrained.super)
			saved[i].undrained.super = false;
		else
			saved[i].undrained = (struct istripe_undrained) {};
		saved[i].unfenced = false;
	}
}

static int leg_confirm_checked(struct istripe_leg_dir *leg, u32 path, const char *label)
{
	lockdep_assert_held(&leg->base.volume->lock);
	if (leg->base.volume->phase != ISTRIPE_VOLUME_DOWN) {
		pr_err("%s: unfenced: is refused, the volume is not down: of one that is up, see fence_confirm\n",
		       label);
		return -EBUSY;
	}
	if (!istripe_leg_dir_unfenced(leg, path) && !leg_owes_drain(leg, path)) {
		pr_err("%s: unfenced: is refused, path %u has left no writes\n", label, path);
		return -ENOENT;
	}
	leg_confirm(leg, path);
	pr_warn("%s/%u: the administrator says that its target carries out nothing that was sent before: the volume may come up without it\n",
		label, path);
	return 0;
}

static ssize_t leg_unfenced_store(struct config_item *item, const char *page, size_t count)
{
	struct istripe_leg_dir *leg = istripe_dir_of(item)->leg;
	char label[ISTRIPE_DIR_LABEL_BYTES];
	u32 path;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	istripe_dir_label(&leg->base, label);
	if (kstrtou32(page, 10, &path) || path >= ISTRIPE_PATHS_MAX) {
		istripe_dir_refuse(label, "unfenced", page, "a number from 0 to 15");
		return -EINVAL;
	}
	mutex_lock(&leg->base.volume->lock);
	ret = leg_confirm_checked(leg, path, label);
	mutex_unlock(&leg->base.volume->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(leg_, unfenced);

static void leg_release(struct config_item *item)
{
	kvfree(istripe_dir_of(item)->leg);
}

static struct configfs_attribute *leg_attrs[] = {
	ISTRIPE_LEG_SETTINGS(LEG_ATTR)
	&leg_attr_unfenced,
	NULL,
};
ISTRIPE_DIR_TYPE(leg);

static struct istripe_volume_dir *legs_group_volume(struct config_group *group)
{
	return container_of(group, struct istripe_volume_dir, legs_group);
}

static struct config_group *legs_make_group(struct config_group *group, const char *name)
{
	struct istripe_volume_dir *volume = legs_group_volume(group);
	struct istripe_leg_dir *leg;
	int ret = -EBUSY;
	u32 index;

	if (!capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	if (istripe_dir_index(name, ISTRIPE_LEGS_MAX, &index)) {
		istripe_dir_refuse(volume->params.name, "leg", name, "a number from 0 to 63");
		return ERR_PTR(-EINVAL);
	}
	leg = kvzalloc(sizeof(*leg), GFP_KERNEL);
	if (!leg)
		return ERR_PTR(-ENOMEM);
	leg->base = (struct istripe_dir) {
		.volume = volume, .leg = leg, .params = &leg->params,
	};
	leg->index = index;
	istripe_settings_default(istripe_leg_settings, ISTRIPE_LEG_SETTING_COUNT, &leg->params);
	config_group_init_type_name(&leg->base.group, name, &leg_type);
	config_group_init_type_name(&leg->paths_group, "paths", &istripe_paths_type);
	configfs_add_default_group(&leg->paths_group, &leg->base.group);

	mutex_lock(&volume->lock);
	if (volume->phase == ISTRIPE_VOLUME_DOWN) {
		volume->legs[index] = leg;
		ret = 0;
	}
	mutex_unlock(&volume->lock);
	if (!ret)
		return &leg->base.group;
	config_group_put(&leg->base.group);
	return ERR_PTR(ret);
}

static void legs_disconnect(struct config_group *group, struct config_item *item)
{
	struct istripe_volume_dir *volume = legs_group_volume(group);

	mutex_lock(&volume->lock);
	volume->legs[istripe_dir_of(item)->leg->index] = NULL;
	mutex_unlock(&volume->lock);
}

static struct configfs_group_operations legs_group_ops = {
	.make_group = legs_make_group,
	.disconnect_notify = legs_disconnect,
};

const struct config_item_type istripe_legs_type = {
	.ct_group_ops = &legs_group_ops,
	.ct_owner = THIS_MODULE,
};
