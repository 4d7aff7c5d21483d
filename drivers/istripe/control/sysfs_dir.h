/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node: one directory of a volume's sysfs tree, and what its files show.
 *
 * Nodes are made after the volume has started and removed before it is stopped;
 * those of a path that comes or goes while the volume is up are made when it has
 * come, and removed before it is freed. Recovery does not depend on memory for
 * them. Removing one waits until nobody is inside a show or store callback of it
 * (kernfs), so its object, which belongs to the running volume, is there whenever
 * a callback runs. What comes and goes without notice, sessions and connections,
 * is looked up by each callback under its own lock.
 */
#ifndef ISTRIPE_CONTROL_SYSFS_DIR_H
#define ISTRIPE_CONTROL_SYSFS_DIR_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "iscsi/keys.h"

struct istripe_path;
struct istripe_nexus;
struct istripe_setting;

/**
 * struct istripe_sysfs_dir - a directory
 * @kobj:	the directory; the last reference frees the node
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
 * @show:	value and newline to a page
 * @store:	page to value, or NULL
 * @setting:	for files that are a setting: which
 * @key:	for files that are a key of RFC 7143: which
 */
struct istripe_sysfs_file {
	struct attribute attr;
	ssize_t (*show)(const struct istripe_sysfs_file *file, void *object, char *page);
	ssize_t (*store)(const struct istripe_sysfs_file *file, void *object, const char *page,
			 size_t count);
	const struct istripe_setting *setting;
	enum istripe_key key;
};

/* A file named @_name as a variable @_prefix_file_@_name; what it does follows. */
#define ISTRIPE_SYSFS_FILE(_prefix, _name, _mode, ...)				\
static struct istripe_sysfs_file _prefix##_file_##_name = {			\
	.attr = { .name = __stringify(_name), .mode = (_mode) }, __VA_ARGS__	\
}

/*
 * The files of a row of the table of settings, and their place in a list of attributes, by the
 * row's column "file". @_prefix_setting_store() is the includer's.
 */
#define ISTRIPE_SYSFS_SETTING_fixed(...)
#define ISTRIPE_SYSFS_SETTING_secret(...)
#define ISTRIPE_SYSFS_SETTING_hotplug(...)
#define ISTRIPE_SYSFS_SETTING_shown(_prefix, _name, _setting)			\
	ISTRIPE_SYSFS_FILE(_prefix, _name, 0444,				\
			   .show = istripe_sysfs_setting_show, .setting = (_setting));
#define ISTRIPE_SYSFS_SETTING_live(_prefix, _name, _setting)			\
	ISTRIPE_SYSFS_FILE(_prefix, _name, 0644,				\
			   .show = istripe_sysfs_setting_show,			\
			   .store = _prefix##_setting_store, .setting = (_setting));

#define ISTRIPE_SYSFS_ATTR_fixed(...)
#define ISTRIPE_SYSFS_ATTR_secret(...)
#define ISTRIPE_SYSFS_ATTR_hotplug(...)
#define ISTRIPE_SYSFS_ATTR_shown(_prefix, _name)	&_prefix##_file_##_name.attr,
#define ISTRIPE_SYSFS_ATTR_live(_prefix, _name)		&_prefix##_file_##_name.attr,

/**
 * istripe_sysfs_setting_show() - the show function of settings
 * @file: has a setting
 * @object: the running volume, leg or path
 * @page: filled
 *
 * Context: process.
 * Return: bytes in @page.
 */
ssize_t istripe_sysfs_setting_show(const struct istripe_sysfs_file *file, void *object,
				   char *page);

extern const struct kobj_type istripe_sysfs_dir_plain_type;
extern const struct sysfs_ops istripe_sysfs_dir_ops;

/**
 * istripe_sysfs_dir_release() - release function of every kobj_type of a node
 * @kobj: of a struct istripe_sysfs_dir
 *
 * Context: kobject_put().
 */
void istripe_sysfs_dir_release(struct kobject *kobj);

/**
 * istripe_sysfs_dir_add() - make a directory
 * @tree: list that the node is put on
 * @type: its files; release is istripe_sysfs_dir_release()
 * @parent: directory that it is made in
 * @object: what its files show
 * @name: its name
 *
 * Context: process, GFP_KERNEL.
 * Return: the node; ERR_PTR(-ENOMEM) or another error of sysfs.
 */
struct istripe_sysfs_dir *istripe_sysfs_dir_add(struct list_head *tree,
						const struct kobj_type *type,
						struct kobject *parent, void *object,
						const char *name);

/**
 * istripe_sysfs_dir_add_index() - make a directory whose name is a number
 * @tree: see istripe_sysfs_dir_add()
 * @type: see there
 * @parent: see there
 * @object: see there
 * @index: its name
 *
 * Context: process, GFP_KERNEL.
 * Return: see istripe_sysfs_dir_add().
 */
struct istripe_sysfs_dir *istripe_sysfs_dir_add_index(struct list_head *tree,
						      const struct kobj_type *type,
						      struct kobject *parent, void *object,
						      u32 index);

/**
 * istripe_sysfs_dirs_remove() - remove all directories of a tree
 * @tree: list of nodes, children after their parents; empty afterwards
 *
 * Context: process, sleeps until no callback is running; not from a callback.
 */
void istripe_sysfs_dirs_remove(struct list_head *tree);

/**
 * istripe_sysfs_path_dirs_add() - make the directory of a path and those below it
 * @parent: directory "paths" of the leg
 * @path: of a running volume; its nodes are put on its lists
 *
 * Context: process, GFP_KERNEL.
 * Return: 0 or -errno; then there are some nodes perhaps.
 */
int istripe_sysfs_path_dirs_add(struct kobject *parent, struct istripe_path *path);

/**
 * istripe_sysfs_session_dirs_init() - name the files of the keys
 *
 * Once, before the first node is made.
 *
 * Context: module init.
 */
void istripe_sysfs_session_dirs_init(void);

/**
 * istripe_sysfs_session_dirs_add() - make the directories of a path's sessions and connections
 * @path: of a running volume, with a directory; it may have no session
 *
 * Context: process, GFP_KERNEL.
 * Return: 0 or -errno; then there are some nodes perhaps.
 */
int istripe_sysfs_session_dirs_add(struct istripe_path *path);

#endif
