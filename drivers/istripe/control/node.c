// SPDX-License-Identifier: GPL-2.0
/*
 * Directories of sysfs, and how their files find their object.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "control/node.h"

static struct istripe_node *to_node(struct kobject *kobj)
{
	return container_of(kobj, struct istripe_node, kobj);
}

static struct istripe_node_file *to_file(struct attribute *attr)
{
	return container_of(attr, struct istripe_node_file, attr);
}

static ssize_t node_show(struct kobject *kobj, struct attribute *attr, char *page)
{
	const struct istripe_node_file *file = to_file(attr);

	return file->show(file, to_node(kobj)->object, page);
}

static ssize_t node_store(struct kobject *kobj, struct attribute *attr, const char *page,
			  size_t count)
{
	const struct istripe_node_file *file = to_file(attr);

	if (!file->store)
		return -EACCES;
	return file->store(file, to_node(kobj)->object, page, count);
}

const struct sysfs_ops istripe_node_ops = {
	.show = node_show,
	.store = node_store,
};

/* Callbacks have ended with kobject_del(); whoever else held the node only held a name. */
void istripe_node_release(struct kobject *kobj)
{
	kfree(to_node(kobj));
}

/* A directory of directories. */
const struct kobj_type istripe_node_plain_type = {
	.release = istripe_node_release,
	.sysfs_ops = &istripe_node_ops,
};

struct istripe_node *istripe_node_add(struct list_head *tree, const struct kobj_type *type,
				      struct kobject *parent, void *object, const char *name)
{
	struct istripe_node *node = kzalloc(sizeof(*node), GFP_KERNEL);
	int ret;

	if (!node)
		return ERR_PTR(-ENOMEM);
	node->object = object;
	ret = kobject_init_and_add(&node->kobj, type, parent, "%s", name);
	if (ret) {
		kobject_put(&node->kobj);
		return ERR_PTR(ret);
	}
	list_add_tail(&node->entry, tree);
	return node;
}

struct istripe_node *istripe_node_add_index(struct list_head *tree, const struct kobj_type *type,
					    struct kobject *parent, void *object, u32 index)
{
	char name[12];

	scnprintf(name, sizeof(name), "%u", index);
	return istripe_node_add(tree, type, parent, object, name);
}

void istripe_nodes_remove(struct list_head *tree)
{
	struct istripe_node *node, *next;

	list_for_each_entry_safe_reverse(node, next, tree, entry) {
		list_del(&node->entry);
		kobject_del(&node->kobj);
		kobject_put(&node->kobj);
	}
}
