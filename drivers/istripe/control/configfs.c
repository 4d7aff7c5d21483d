// SPDX-License-Identifier: GPL-2.0
/*
 * The configfs tree: the subsystem, the directories of volumes, and what all
 * directories share. Locks and lives are described in configfs_dir.h.
 */
#include <linux/capability.h>
#include <linux/configfs.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <compat/disk.h>

#include "block/volume.h"
#include "control/configfs.h"
#include "control/configfs_dir.h"
#include "control/sysfs_dir.h"

ssize_t istripe_dir_show(struct config_item *item, const struct istripe_setting *setting,
			 char *page)
{
	const struct istripe_dir *dir = istripe_dir_of(item);
	ssize_t ret;

	mutex_lock(&dir->volume->lock);
	ret = istripe_setting_show(setting, dir->params + setting->offset, page);
	mutex_unlock(&dir->volume->lock);
	return ret;
}

void istripe_dir_label(const struct istripe_dir *dir, char *label)
{
	int used = scnprintf(label, ISTRIPE_DIR_LABEL_BYTES, "%s", dir->volume->params.name);

	if (dir->leg)
		used += scnprintf(label + used, ISTRIPE_DIR_LABEL_BYTES - used, "/%u",
				  dir->leg->index);
	if (dir->path)
		scnprintf(label + used, ISTRIPE_DIR_LABEL_BYTES - used, "/%u", dir->path->index);
}

/* No running volume has the directory, and none is being made of it. */
static bool dir_is_free(const struct istripe_dir *dir)
{
	lockdep_assert_held(&dir->volume->lock);
	return dir->volume->phase == ISTRIPE_VOLUME_DOWN ||
	       (dir->volume->phase == ISTRIPE_VOLUME_UP && dir->path && !dir->pinned);
}

/* The running volume, leg or path of the directory; NULL: none, or it is being changed. */
static void *dir_running(const struct istripe_dir *dir)
{
	const struct istripe_volume_dir *volume = dir->volume;

	lockdep_assert_held(&volume->lock);
	if (!istripe_volume_dir_is_up(volume))
		return NULL;
	if (!dir->leg)
		return volume->running;
	if (!dir->path)
		return volume->running->legs[dir->leg->index];
	if (!dir->pinned || dir->path == volume->changing)
		return NULL;
	return volume->running->legs[dir->leg->index]->paths[dir->path->index];
}

static bool dir_takes_login(const struct istripe_dir *dir, const struct istripe_setting *setting)
{
	return dir->pinned && istripe_volume_dir_is_up(dir->volume) &&
	       istripe_setting_is_of_login(setting);
}

static ssize_t dir_refuse_busy(const struct istripe_dir *dir,
			       const struct istripe_setting *setting, const char *label)
{
	const struct istripe_volume_dir *volume = dir->volume;

	lockdep_assert_held(&volume->lock);
	/* A setting of these kinds has another function, which is called now. */
	if (setting->file != ISTRIPE_SETTING_HOTPLUG && !dir_takes_login(dir, setting))
		pr_err("%s: %s: is refused while %s\n", label, setting->name,
		       volume->phase == ISTRIPE_VOLUME_UP ? "the volume is up" :
		       "the volume or a path comes, goes or changes");
	return -EBUSY;
}

/* Both trees change without a release of the lock: they are never seen to differ. */
static ssize_t dir_store_live(struct istripe_dir *dir, const struct istripe_setting *setting,
			      const char *label, const char *page, size_t count)
{
	union istripe_setting_live value = {};
	void *running;
	ssize_t ret;

	/* Without the lock: it may wait until user space has loaded a module. */
	ret = istripe_setting_store(setting, label, &value, page, count);
	if (ret < 0)
		return ret;
	mutex_lock(&dir->volume->lock);
	running = dir_running(dir);
	if (running || dir_is_free(dir))
		memcpy(dir->params + setting->offset, &value, setting->size);
	else
		ret = dir_refuse_busy(dir, setting, label);
	if (running)
		istripe_setting_change(setting, running, &value);
	mutex_unlock(&dir->volume->lock);
	return ret;
}

/* Of a path that is in use. */
static ssize_t dir_store_connections(struct istripe_dir *dir,
				     const struct istripe_setting *setting, const char *label,
				     const char *page, size_t count)
{
	ssize_t ret;
	u32 value;

	ret = istripe_setting_store(setting, label, &value, page, count);
	if (ret > 0)
		ret = istripe_path_dir_connections(dir->path, value);
	return ret ?: count;
}

static ssize_t dir_store(struct istripe_dir *dir, const struct istripe_setting *setting,
			 const char *page, size_t count)
{
	char label[ISTRIPE_DIR_LABEL_BYTES];
	bool of_login;
	ssize_t ret;

	istripe_dir_label(dir, label);
	if (setting->file == ISTRIPE_SETTING_LIVE)
		return dir_store_live(dir, setting, label, page, count);
	mutex_lock(&dir->volume->lock);
	if (dir_is_free(dir))
		ret = istripe_setting_store(setting, label, dir->params + setting->offset, page,
					    count);
	else
		ret = dir_refuse_busy(dir, setting, label);
	of_login = dir_takes_login(dir, setting);
	mutex_unlock(&dir->volume->lock);
	if (ret == -EBUSY && setting->file == ISTRIPE_SETTING_HOTPLUG)
		ret = dir_store_connections(dir, setting, label, page, count);
	else if (ret == -EBUSY && of_login)
		ret = istripe_path_dir_login(dir->path, setting, label, page, count) ?: count;
	return ret;
}

ssize_t istripe_dir_store(struct config_item *item, const struct istripe_setting *setting,
			  const char *page, size_t count)
{
	ssize_t ret = -EPERM;

	if (capable(CAP_SYS_ADMIN))
		ret = dir_store(istripe_dir_of(item), setting, page, count);
	/* configfs keeps it until the file is closed, does not read it again, and only frees it. */
	if (setting->kind->secret)
		memzero_explicit((char *)page, count);
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

#define VOLUME_FILE(_name, _file, ...)							\
	ISTRIPE_DIR_FILE_##_file(volume, _name,						\
				 &istripe_volume_settings[ISTRIPE_VOLUME_SETTING_##_name])
#define VOLUME_ATTR(_name, ...)		&volume_attr_##_name,

ISTRIPE_VOLUME_SETTINGS(VOLUME_FILE)

/* The words for a volume's enable. */
enum {
	ISTRIPE_POWER_OFF,
	ISTRIPE_POWER_ON,
	ISTRIPE_POWER_FORCE_OFF,	/* also while the disk is open */
};

static ssize_t volume_enable_show(struct config_item *item, char *page)
{
	const struct istripe_volume_dir *volume = istripe_dir_of(item)->volume;

	return sysfs_emit(page, "%d\n", istripe_volume_dir_is_up(volume) ||
			  READ_ONCE(volume->phase) == ISTRIPE_VOLUME_STOPPING);
}

static ssize_t volume_enable_store(struct config_item *item, const char *page, size_t count)
{
	static const char *const names[] = {
		[ISTRIPE_POWER_OFF] = "0",
		[ISTRIPE_POWER_ON] = "1",
		[ISTRIPE_POWER_FORCE_OFF] = "force",
	};
	static const struct istripe_setting enable = {
		.name = "enable", .kind = &istripe_setting_choice,
		.names = names, .name_count = ARRAY_SIZE(names),
	};
	struct istripe_volume_dir *volume = istripe_dir_of(item)->volume;
	u32 power;
	ssize_t ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
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
	struct istripe_volume_dir *volume = istripe_dir_of(item)->volume;
	const char *name = "";
	ssize_t ret;

	mutex_lock(&volume->lock);
	if (istripe_volume_dir_is_up(volume))
		name = volume->running->disk->disk_name;
	ret = sysfs_emit(page, "%s\n", name);
	mutex_unlock(&volume->lock);
	return ret;
}
CONFIGFS_ATTR_RO(volume_, device);

static ssize_t volume_last_error_show(struct config_item *item, char *page)
{
	struct istripe_volume_dir *volume = istripe_dir_of(item)->volume;
	ssize_t ret;

	mutex_lock(&volume->lock);
	ret = sysfs_emit(page, "%s\n", volume->last_error);
	mutex_unlock(&volume->lock);
	return ret;
}
CONFIGFS_ATTR_RO(volume_, last_error);

static ssize_t volume_phase_show(struct config_item *item, char *page)
{
	static const char *const names[] = {
		[ISTRIPE_VOLUME_DOWN] = "down",
		[ISTRIPE_VOLUME_STARTING] = "starting",
		[ISTRIPE_VOLUME_UP] = "up",
		[ISTRIPE_VOLUME_CHANGING] = "changing",
		[ISTRIPE_VOLUME_STOPPING] = "stopping",
	};

	return sysfs_emit(page, "%s\n", names[READ_ONCE(istripe_dir_of(item)->volume->phase)]);
}
CONFIGFS_ATTR_RO(volume_, phase);

/* A volume that is up pins its directory, so what is released here is down. */
static void volume_release(struct config_item *item)
{
	struct istripe_volume_dir *volume = istripe_dir_of(item)->volume;

	mutex_destroy(&volume->lock);
	kfree(volume);
}

static struct configfs_attribute *volume_attrs[] = {
	ISTRIPE_VOLUME_SETTINGS(VOLUME_ATTR)
	&volume_attr_enable,
	&volume_attr_device,
	&volume_attr_last_error,
	&volume_attr_phase,
	NULL,
};
ISTRIPE_DIR_TYPE(volume);

/* Partition 1 of volume db has the link /dev/istripe/db-part1. */
static bool is_of_partition(const char *name)
{
	size_t end = strlen(name);

	if (!end || !isdigit(name[end - 1]))
		return false;
	while (end && isdigit(name[end - 1]))
		end--;
	return end >= strlen("-part") &&
	       !strncmp(name + end - strlen("-part"), "-part", strlen("-part"));
}

/* The name becomes a file name below /dev and part of every log line. */
static bool volume_name_valid(const char *name)
{
	size_t i, bytes = strlen(name);

	if (!bytes || bytes >= ISTRIPE_NAME_BYTES || name[0] == '.' || name[0] == '-')
		return false;
	for (i = 0; i < bytes; i++)
		if (!isascii(name[i]) || !(isalnum(name[i]) || strchr("._-", name[i])))
			return false;
	return !is_of_partition(name);
}

static struct config_group *volumes_make_group(struct config_group *group, const char *name)
{
	struct istripe_volume_dir *volume;

	if (!capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	if (!volume_name_valid(name)) {
		istripe_dir_refuse("configfs", "volume", name,
				   "1 to 63 letters, digits, '.', '_' and '-', not '.' or '-' first, not -part and digits last");
		return ERR_PTR(-EINVAL);
	}
	volume = kzalloc(sizeof(*volume), GFP_KERNEL);
	if (!volume)
		return ERR_PTR(-ENOMEM);
	volume->base = (struct istripe_dir) { .volume = volume, .params = &volume->params };
	mutex_init(&volume->lock);
	istripe_settings_default(istripe_volume_settings, ISTRIPE_VOLUME_SETTING_COUNT,
				 &volume->params);
	volume->params.chunk.given = false;
	strscpy(volume->params.name, name, sizeof(volume->params.name));
	config_group_init_type_name(&volume->base.group, name, &volume_type);
	config_group_init_type_name(&volume->legs_group, "legs", &istripe_legs_type);
	configfs_add_default_group(&volume->legs_group, &volume->base.group);
	return &volume->base.group;
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
			  "lost-login\n"
			  "chap\n"
			  "mutual-chap\n"
			  "header-digest\n"
			  "data-digest\n"
			  "redirect\n"
			  "flush\n"
			  "fua\n"
			  "discard\n"
			  "write-zeroes\n"
			  "md\n"
			  "grow\n"
			  "poll-queues\n"
			  "alua\n"
			  "fence-auto\n"
			  "fence-session\n"
			  "ghosts\n"
			  "reservations\n%s%s",
			  IS_ENABLED(CONFIG_IPV6) ? "ipv6\n" : "",
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
