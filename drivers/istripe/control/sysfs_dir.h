/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories of a volume's sysfs tree, and what their files show.
 *
 * They are made after the volume, or the path, has started and removed before it is freed.
 * Recovery does not depend on memory for them. Removing one waits until no show or store
 * callback of it runs (kernfs), so its object is there whenever a callback runs. Sessions and
 * connections come and go without notice: each callback looks them up under their own lock.
 */
#ifndef ISTRIPE_CONTROL_SYSFS_DIR_H
#define ISTRIPE_CONTROL_SYSFS_DIR_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include <istripe/reason.h>
#include "block/latency.h"
#include "iscsi/keys.h"

struct istripe_path;
struct istripe_nexus;
struct istripe_setting;

/**
 * struct istripe_sysfs_dir - a directory
 * @kobj:	the directory; the last reference frees it
 * @entry:	on the list of the tree
 * @object:	what the files show
 */
struct istripe_sysfs_dir {
	struct kobject kobj;
	struct list_head entry;
	void *object;
};

/**
 * struct istripe_sysfs_file - a file
 * @attr:	name and mode
 * @within:	calls @show with what it shows, in a section or under a lock; NULL: nothing to enter
 * @show:	value and newline to a page
 * @store:	page to value, or NULL
 * @setting:	for files that are a setting: which
 * @key:	for files that are a key of RFC 7143: which
 * @offered:	the key as it was offered, not as it was negotiated
 * @latency:	for files that are a histogram of times: of which requests
 */
struct istripe_sysfs_file {
	struct attribute attr;
	ssize_t (*within)(const struct istripe_sysfs_file *file, void *object, char *page);
	ssize_t (*show)(const struct istripe_sysfs_file *file, void *object, char *page);
	ssize_t (*store)(const struct istripe_sysfs_file *file, void *object, const char *page,
			 size_t count);
	const struct istripe_setting *setting;
	enum istripe_key key;
	bool offered;
	enum istripe_latency_kind latency;
};

/* A file named @_name as a variable @_prefix_file_@_name; what it does follows. */
#define ISTRIPE_SYSFS_FILE(_prefix, _name, _mode, ...)				\
static struct istripe_sysfs_file _prefix##_file_##_name = {			\
	.attr = { .name = __stringify(_name), .mode = (_mode) }, __VA_ARGS__	\
}

/*
 * A file that shows what @_emit writes to page, called by @_within; it is of the object that the
 * pointer @_object is declared for.
 */
#define ISTRIPE_SYSFS_SHOW(_prefix, _name, _within, _object, _emit)		\
static ssize_t _prefix##_##_name##_show(const struct istripe_sysfs_file *file,	\
					void *object, char *page)		\
{										\
	_object = object;							\
										\
	return _emit;								\
}										\
ISTRIPE_SYSFS_FILE(_prefix, _name, 0444, .within = _within, .show = _prefix##_##_name##_show)

/* Writes the reason that @_read, a function of @_object, tells, to page. */
#define ISTRIPE_SYSFS_EMIT_REASON(_page, _read, _object) ({			\
	struct istripe_reason why;						\
										\
	_read(_object, &why);							\
	sysfs_emit(_page, "%s\n", why.text);					\
})

/* Its place in a list of attributes. */
#define ISTRIPE_SYSFS_ATTR(_prefix, _name)	&_prefix##_file_##_name.attr,

/*
 * The files of a row of the table of settings, and their place in a list of attributes, by the
 * row's column "file".
 */
#define ISTRIPE_SYSFS_SETTING_fixed(...)
#define ISTRIPE_SYSFS_SETTING_secret(...)
#define ISTRIPE_SYSFS_SETTING_hotplug(...)
#define ISTRIPE_SYSFS_SETTING_shown(_prefix, _name, _setting)			\
	ISTRIPE_SYSFS_FILE(_prefix, _name, 0444,				\
			   .show = istripe_sysfs_setting_show, .setting = (_setting));
#define ISTRIPE_SYSFS_SETTING_live	ISTRIPE_SYSFS_SETTING_shown

#define ISTRIPE_SYSFS_ATTR_fixed(...)
#define ISTRIPE_SYSFS_ATTR_secret(...)
#define ISTRIPE_SYSFS_ATTR_hotplug(...)
#define ISTRIPE_SYSFS_ATTR_shown	ISTRIPE_SYSFS_ATTR
#define ISTRIPE_SYSFS_ATTR_live		ISTRIPE_SYSFS_ATTR

ssize_t istripe_sysfs_setting_show(const struct istripe_sysfs_file *file, void *object,
				   char *page);

/* The three histograms of an object, which _prefix_latency_show() shows, and their attributes. */
#define ISTRIPE_SYSFS_LATENCY_FILE(_prefix, _name, _kind)			\
	ISTRIPE_SYSFS_FILE(_prefix, latency_##_name, 0444,			\
			   .show = _prefix##_latency_show, .latency = (_kind))
#define ISTRIPE_SYSFS_LATENCY_FILES(_prefix)					\
	ISTRIPE_SYSFS_LATENCY_FILE(_prefix, read, ISTRIPE_LATENCY_READ);	\
	ISTRIPE_SYSFS_LATENCY_FILE(_prefix, write, ISTRIPE_LATENCY_WRITE);	\
	ISTRIPE_SYSFS_LATENCY_FILE(_prefix, other, ISTRIPE_LATENCY_OTHER)
#define ISTRIPE_SYSFS_LATENCY_ATTRS(_prefix)					\
	ISTRIPE_SYSFS_ATTR(_prefix, latency_read)				\
	ISTRIPE_SYSFS_ATTR(_prefix, latency_write)				\
	ISTRIPE_SYSFS_ATTR(_prefix, latency_other)

/* The sum, then the buckets. */
ssize_t istripe_sysfs_latency_emit(char *page, const struct istripe_latency *latency);

extern const struct kobj_type istripe_sysfs_dir_plain_type;
extern const struct sysfs_ops istripe_sysfs_dir_ops;

void istripe_sysfs_dir_release(struct kobject *kobj);

/* @_prefix_dir_type: of a directory with the files of @_prefix_groups. */
#define ISTRIPE_SYSFS_DIR_TYPE(_prefix)						\
static const struct kobj_type _prefix##_dir_type = {				\
	.release = istripe_sysfs_dir_release,					\
	.sysfs_ops = &istripe_sysfs_dir_ops,					\
	.default_groups = _prefix##_groups,					\
}

/* Makes a directory in @parent with the files of @type, and puts it on the list @tree. */
__printf(5, 6)
struct istripe_sysfs_dir *istripe_sysfs_dir_add(struct list_head *tree,
						const struct kobj_type *type,
						struct kobject *parent, void *object,
						const char *fmt, ...);

/*
 * Children are behind their parents on the list. Sleeps until no callback is running, so must not
 * be called from one.
 */
void istripe_sysfs_dirs_remove(struct list_head *tree);

/* When they fail, some directories are there perhaps. */
int istripe_sysfs_path_dirs_add(struct kobject *parent, struct istripe_path *path);

/* Names the files of the keys, once, before the first directory is made. */
void istripe_sysfs_session_dirs_init(void);

int istripe_sysfs_session_dirs_add(struct istripe_path *path);

/*
 * Wakes poll(2) on the states of a session and of its connections. @path_kobj is the directory of
 * the path, which stays; those below may come and go. In a section of leg->srcu. Sleeps.
 */
void istripe_sysfs_session_notify(struct kobject *path_kobj, const struct istripe_nexus *nexus);

#endif
