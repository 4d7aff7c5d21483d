// SPDX-License-Identifier: GPL-2.0
/*
 * The configfs tree: the subsystem, the directories of volumes, and what all
 * directories share. Locks and lives are described in dir.h.
 */
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/configfs.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <compat/disk.h>

#include "block/volume.h"
#include "control/configfs.h"
#include "control/dir.h"
#include "control/params.h"
#include "control/sysfs_dir.h"

ssize_t istripe_dir_show(struct istripe_volume_dir *volume, const struct istripe_setting *setting,
			 const void *object, char *page)
{
	ssize_t ret;

	mutex_lock(&volume->lock);
	ret = istripe_setting_show(setting, object, page);
	mutex_unlock(&volume->lock);
	return ret;
}

ssize_t istripe_dir_store(struct istripe_volume_dir *volume, const bool *pinned,
			  const struct istripe_setting *setting, const char *label, void *object,
			  const char *page, size_t count)
{
	ssize_t ret = -EBUSY;

	mutex_lock(&volume->lock);
	if (volume->phase == ISTRIPE_VOLUME_DOWN ||
	    (volume->phase == ISTRIPE_VOLUME_UP && pinned && !*pinned))
		ret = istripe_setting_store(setting, label, object, page, count);
	mutex_unlock(&volume->lock);
	return ret;
}

/* Only "0", "1", ... "9", "10", ...: one name for one number. */
int istripe_dir_index(const char *name, u32 max, u32 *index)
{
	if (!isdigit(name[0]) || (name[0] == '0' && name[1]))
		return -EINVAL;
	if (kstrtou32(name, 10, index) || *index >= max)
		return -EINVAL;
	return 0;
}

/* A new directory's name, as somebody typed it. */
void istripe_dir_refuse(const char *label, const char *what, const char *name, const char *range)
{
	pr_err("%s: %s \"%*pE\" is refused, allowed is %s\n", label, what,
	       (int)strnlen(name, ISTRIPE_NAME_BYTES), name, range);
}

static struct istripe_volume_dir *to_volume(struct config_item *item)
{
	return container_of(to_config_group(item), struct istripe_volume_dir, group);
}

static ssize_t volume_show(struct config_item *item, const struct istripe_setting *setting,
			   char *page)
{
	struct istripe_volume_dir *volume = to_volume(item);

	return istripe_dir_show(volume, setting, &volume->params, page);
}

static ssize_t volume_store(struct config_item *item, const struct istripe_setting *setting,
			    const char *page, size_t count)
{
	struct istripe_volume_dir *volume = to_volume(item);

	return istripe_dir_store(volume, NULL, setting, volume->params.name, &volume->params,
				 page, count);
}

#define ISCSI_NAME	"an iSCSI name of at most 223 bytes that begins with iqn., eui. or naa."

#define VOLUME_NUMBER(_name, _min, _max)						\
ISTRIPE_DIR_SETTING(volume, _name,							\
		    ISTRIPE_SETTING_NUMBER(struct istripe_volume_params, _name, _min, _max))

#define VOLUME_OF(_name, _kind, _range)							\
ISTRIPE_DIR_SETTING(volume, _name,							\
		    ISTRIPE_SETTING_OF(struct istripe_volume_params, _name, _kind, _range))

VOLUME_OF(initiator_name, iscsi_name, ISCSI_NAME);
VOLUME_OF(metadata, metadata, "none or md");
VOLUME_OF(metadata_create, metadata_create, "0, 1 or force");
VOLUME_OF(host_disks, host_disks, "refuse or claim");
ISTRIPE_DIR_SETTING(volume, chunk_bytes,
		    ISTRIPE_SETTING_OF(struct istripe_volume_params, chunk, chunk,
				       "a power of two from 4096 to 4194304"),
		    .min = 4096, .max = 4194304);
VOLUME_NUMBER(queue_depth, 1, 1024);
VOLUME_NUMBER(poll_queues, 0, 1024);
VOLUME_NUMBER(command_timeout_ms, 1000, 3600000);
VOLUME_NUMBER(recovery_timeout_ms, -1, 2147483647);

static ssize_t volume_enable_show(struct config_item *item, char *page)
{
	const struct istripe_volume_dir *volume = to_volume(item);

	return sysfs_emit(page, "%d\n", istripe_volume_dir_is_up(volume) ||
			  READ_ONCE(volume->phase) == ISTRIPE_VOLUME_STOPPING);
}

static ssize_t volume_enable_store(struct config_item *item, const char *page, size_t count)
{
	static const struct istripe_setting enable = {
		.name = "enable", .kind = &istripe_setting_power, .size = sizeof(u32),
		.range = "0, 1 or force",
	};
	struct istripe_volume_dir *volume = to_volume(item);
	enum istripe_power power;
	ssize_t ret;

	ret = istripe_setting_store(&enable, volume->params.name, &power, page, count);
	if (ret < 0)
		return ret;
	if (power == ISTRIPE_POWER_ON)
		ret = istripe_volume_dir_enable(volume);
	else
		ret = istripe_volume_dir_disable(volume, power == ISTRIPE_POWER_FORCE_OFF);
	return ret ?: count;
}
CONFIGFS_ATTR(volume_, enable);

static ssize_t volume_device_show(struct config_item *item, char *page)
{
	struct istripe_volume_dir *volume = to_volume(item);
	const char *name = "";
	ssize_t ret;

	mutex_lock(&volume->lock);
	if (istripe_volume_dir_is_up(volume))
		name = istripe_volume_device_name(volume->running);
	ret = sysfs_emit(page, "%s\n", name);
	mutex_unlock(&volume->lock);
	return ret;
}
CONFIGFS_ATTR_RO(volume_, device);

static ssize_t volume_last_error_show(struct config_item *item, char *page)
{
	struct istripe_volume_dir *volume = to_volume(item);
	ssize_t ret;

	mutex_lock(&volume->lock);
	ret = sysfs_emit(page, "%s\n", volume->last_error);
	mutex_unlock(&volume->lock);
	return ret;
}
CONFIGFS_ATTR_RO(volume_, last_error);

/* A volume that is up pins its directory, so what is released here is down. */
static void volume_release(struct config_item *item)
{
	struct istripe_volume_dir *volume = to_volume(item);

	mutex_destroy(&volume->lock);
	kfree(volume);
}

static struct configfs_item_operations volume_item_ops = {
	.release = volume_release,
};

static struct configfs_attribute *volume_attrs[] = {
	&volume_attr_initiator_name,
	&volume_attr_chunk_bytes,
	&volume_attr_metadata,
	&volume_attr_metadata_create,
	&volume_attr_host_disks,
	&volume_attr_queue_depth,
	&volume_attr_poll_queues,
	&volume_attr_command_timeout_ms,
	&volume_attr_recovery_timeout_ms,
	&volume_attr_enable,
	&volume_attr_device,
	&volume_attr_last_error,
	NULL,
};

static const struct config_item_type volume_type = {
	.ct_item_ops = &volume_item_ops,
	.ct_attrs = volume_attrs,
	.ct_owner = THIS_MODULE,
};

/* The name becomes a file name below /dev and part of every log line. */
static bool volume_name_valid(const char *name)
{
	size_t i, bytes = strlen(name);

	if (!bytes || bytes >= ISTRIPE_NAME_BYTES || name[0] == '.' || name[0] == '-')
		return false;
	for (i = 0; i < bytes; i++)
		if (!isascii(name[i]) || !(isalnum(name[i]) || strchr("._-", name[i])))
			return false;
	return true;
}

static struct config_group *volumes_make_group(struct config_group *group, const char *name)
{
	struct istripe_volume_dir *volume;

	if (!volume_name_valid(name)) {
		istripe_dir_refuse("configfs", "volume", name,
				   "1 to 63 letters, digits, '.', '_' and '-', not '.' or '-' first");
		return ERR_PTR(-EINVAL);
	}
	volume = kzalloc(sizeof(*volume), GFP_KERNEL);
	if (!volume)
		return ERR_PTR(-ENOMEM);
	mutex_init(&volume->lock);
	istripe_volume_params_default(&volume->params);
	strscpy(volume->params.name, name, sizeof(volume->params.name));
	config_group_init_type_name(&volume->group, name, &volume_type);
	config_group_init_type_name(&volume->legs_group, "legs", &istripe_legs_type);
	configfs_add_default_group(&volume->legs_group, &volume->group);
	return &volume->group;
}

static struct configfs_group_operations volumes_group_ops = {
	.make_group = volumes_make_group,
};

/* Words that scripts may test for; only what works is listed. */
static ssize_t volumes_features_show(struct config_item *item, char *page)
{
	return sysfs_emit(page,
			  "legs\n"
			  "paths\n"
			  "mcs\n"
			  "sessions\n"
			  "live-paths\n"
			  "chap\n"
			  "mutual-chap\n"
			  "header-digest\n"
			  "data-digest\n"
			  "ipv6\n"
			  "redirect\n"
			  "flush\n"
			  "fua\n"
			  "discard\n"
			  "write-zeroes\n"
			  "md\n"
			  "reservations\n%s",
			  ISTRIPE_COMPAT_ATOMIC_WRITES ? "atomic-writes\n" : "");
}
CONFIGFS_ATTR_RO(volumes_, features);

static struct configfs_attribute *volumes_attrs[] = {
	&volumes_attr_features,
	NULL,
};

static const struct config_item_type volumes_type = {
	.ct_group_ops = &volumes_group_ops,
	.ct_attrs = volumes_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem istripe_subsystem = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "istripe",
			.ci_type = &volumes_type,
		},
	},
};

int istripe_configfs_register(void)
{
	istripe_sysfs_session_dirs_init();
	config_group_init(&istripe_subsystem.su_group);
	mutex_init(&istripe_subsystem.su_mutex);
	return configfs_register_subsystem(&istripe_subsystem);
}

void istripe_configfs_unregister(void)
{
	configfs_unregister_subsystem(&istripe_subsystem);
	mutex_destroy(&istripe_subsystem.su_mutex);
}
