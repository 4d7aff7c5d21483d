// SPDX-License-Identifier: GPL-2.0
/*
 * Directories of sysfs, and how their files find their object.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "control/sysfs_dir.h"
#include "control/table.h"

static struct istripe_sysfs_dir *to_dir(struct kobject *kobj)
{
	return container_of(kobj, struct istripe_sysfs_dir, kobj);
}

static struct istripe_sysfs_file *to_file(struct attribute *attr)
{
	return container_of(attr, struct istripe_sysfs_file, attr);
}

static ssize_t dir_show(struct kobject *kobj, struct attribute *attr, char *page)
{
	const struct istripe_sysfs_file *file = to_file(attr);

	if (!file->show)
		return -EACCES;
	return (file->within ?: file->show)(file, to_dir(kobj)->object, page);
}

static ssize_t dir_store(struct kobject *kobj, struct attribute *attr, const char *page,
			 size_t count)
{
	const struct istripe_sysfs_file *file = to_file(attr);

	if (!file->store)
		return -EACCES;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return file->store(file, to_dir(kobj)->object, page, count);
}

ssize_t istripe_sysfs_setting_show(const struct istripe_sysfs_file *file, void *object,
				   char *page)
{
	return istripe_setting_show_running(file->setting, object, page);
}

ssize_t istripe_sysfs_latency_emit(char *page, const struct istripe_latency *latency)
{
	int used = sysfs_emit(page, "%llu", latency->sum_ns);
	u32 i;

	for (i = 0; i < ISTRIPE_LATENCY_BUCKETS; i++)
		used += sysfs_emit_at(page, used, " %llu", latency->counts[i]);
	return used + sysfs_emit_at(page, used, "\n");
}

const struct sysfs_ops istripe_sysfs_dir_ops = {
	.show = dir_show,
	.store = dir_store,
};

/* Callbacks have ended with kobject_del(): other references only need the name. */
void istripe_sysfs_dir_release(struct kobject *kobj)
{
	kfree(to_dir(kobj));
}

/* A directory of directories. */
const struct kobj_type istripe_sysfs_dir_plain_type = {
	.release = istripe_sysfs_dir_release,
	.sysfs_ops = &istripe_sysfs_dir_ops,
};

struct istripe_sysfs_dir *istripe_sysfs_dir_add(struct list_head *tree,
						const struct kobj_type *type,
						struct kobject *parent, void *object,
						const char *fmt, ...)
{
	struct istripe_sysfs_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	char name[16];	/* "connections" is the longest */
	va_list args;
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	va_start(args, fmt);
	vscnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	dir->object = object;
	ret = kobject_init_and_add(&dir->kobj, type, parent, "%s", name);
	if (ret) {
		kobject_put(&dir->kobj);
		return ERR_PTR(ret);
	}
	list_add_tail(&dir->entry, tree);
	return dir;
}

void istripe_sysfs_dirs_remove(struct list_head *tree)
{
	struct istripe_sysfs_dir *dir, *next;

	list_for_each_entry_safe_reverse(dir, next, tree, entry) {
		list_del(&dir->entry);
		kobject_del(&dir->kobj);
		kobject_put(&dir->kobj);
	}
}
