// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs directory of a path: where it leads, how it is, its timers and sockets.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "block/fence.h"
#include "block/leg.h"
#include "block/path.h"
#include "control/node.h"
#include "control/setting.h"
#include "transport/socket.h"

static ssize_t path_state_show(const struct istripe_node_file *file, void *object, char *page)
{
	struct istripe_path *path = object;

	return sysfs_emit(page, "%s\n", istripe_path_state_name(READ_ONCE(path->state)));
}

ISTRIPE_NODE_FILE(path, state, 0444, .show = path_state_show);

static ssize_t path_last_error_show(const struct istripe_node_file *file, void *object,
				    char *page)
{
	char why[ISTRIPE_WHY_BYTES];

	istripe_path_last_error(object, why, sizeof(why));
	return sysfs_emit(page, "%s\n", why);
}

ISTRIPE_NODE_FILE(path, last_error, 0444, .show = path_last_error_show);

static ssize_t path_fenced_through_show(const struct istripe_node_file *file, void *object,
					char *page)
{
	struct istripe_path *path = object;
	struct istripe_leg *leg = path->leg;
	int used = 0;
	u32 i;

	spin_lock_bh(&leg->lock);
	for (i = 0; i < leg->path_count; i++)
		if (istripe_fence_may(path, leg->paths[i]))
			used += sysfs_emit_at(page, used, "%s%u", used ? " " : "",
					      leg->paths[i]->index);
	spin_unlock_bh(&leg->lock);
	return used + sysfs_emit_at(page, used, "\n");
}

ISTRIPE_NODE_FILE(path, fenced_through, 0444, .show = path_fenced_through_show);

#define PATH_COUNTER(_name, _now)							\
static ssize_t path_##_name##_show(const struct istripe_node_file *file, void *object,	\
				   char *page)						\
{											\
	struct istripe_path *path = object;						\
											\
	return sysfs_emit(page, "%llu\n", READ_ONCE(_now));				\
}											\
ISTRIPE_NODE_FILE(path, _name, 0444, .show = path_##_name##_show)

PATH_COUNTER(reconnects, path->reconnects);
PATH_COUNTER(faults, path->faults);

static ssize_t path_setting_show(const struct istripe_node_file *file, void *object, char *page)
{
	struct istripe_path *path = object;

	return istripe_setting_show(file->setting, &path->params, page);
}

static ssize_t path_setting_store(const struct istripe_node_file *file, void *object,
				  const char *page, size_t count)
{
	struct istripe_path *path = object;

	return istripe_setting_store(file->setting, path->label, &path->params, page, count);
}

/* What cannot change while the volume is up. */
#define PATH_FIXED(_name, _kind)							\
static const struct istripe_setting path_setting_##_name = {				\
	.name = __stringify(_name),							\
	ISTRIPE_SETTING_OF(struct istripe_path_params, _name, _kind, ""),		\
};											\
ISTRIPE_NODE_FILE(path, _name, 0444, .show = path_setting_show,				\
		  .setting = &path_setting_##_name)

/* One word each, read live by whoever waits: the store is a single one. */
#define PATH_TIMER(_name, _min, _max)							\
static const struct istripe_setting path_setting_##_name = {				\
	.name = __stringify(_name),							\
	ISTRIPE_SETTING_NUMBER(struct istripe_path_params, timers._name, _min, _max),	\
};											\
ISTRIPE_NODE_FILE(path, _name, 0644, .show = path_setting_show,				\
		  .store = path_setting_store, .setting = &path_setting_##_name)

#define PATH_LIVE(_name, _min, _max)							\
static const struct istripe_setting path_setting_##_name = {				\
	.name = __stringify(_name),							\
	ISTRIPE_SETTING_NUMBER(struct istripe_path_params, _name, _min, _max),		\
};											\
ISTRIPE_NODE_FILE(path, _name, 0644, .show = path_setting_show,				\
		  .store = path_setting_store, .setting = &path_setting_##_name)

/* Sockets: all settings are read, one is changed, all are put back. */
static DEFINE_MUTEX(path_socket_lock);

static ssize_t path_socket_show(const struct istripe_node_file *file, void *object, char *page)
{
	struct istripe_socket_params now;
	struct istripe_path *path = object;

	istripe_socket_params_copy(&now, &path->params.socket);
	return istripe_setting_show(file->setting, &now, page);
}

static ssize_t path_socket_store(const struct istripe_node_file *file, void *object,
				 const char *page, size_t count)
{
	struct istripe_socket_params wanted;
	struct istripe_path *path = object;
	ssize_t ret;

	mutex_lock(&path_socket_lock);
	istripe_socket_params_copy(&wanted, &path->params.socket);
	ret = istripe_setting_store(file->setting, path->label, &wanted, page, count);
	if (ret > 0)
		istripe_path_tune(path, &wanted);
	mutex_unlock(&path_socket_lock);
	return ret;
}

#define PATH_SOCKET(_name, ...)								\
static const struct istripe_setting path_setting_##_name = {				\
	.name = __stringify(_name), __VA_ARGS__						\
};											\
ISTRIPE_NODE_FILE(path, _name, 0644, .show = path_socket_show,				\
		  .store = path_socket_store, .setting = &path_setting_##_name)

PATH_SOCKET(dscp, ISTRIPE_SETTING_DSCP);
PATH_SOCKET(priority, ISTRIPE_SETTING_PRIORITY);
PATH_SOCKET(congestion_control, ISTRIPE_SETTING_CONGESTION_CONTROL);
PATH_SOCKET(user_timeout_ms, ISTRIPE_SETTING_USER_TIMEOUT);
PATH_SOCKET(send_buffer_bytes, ISTRIPE_SETTING_SEND_BUFFER);
PATH_SOCKET(receive_buffer_bytes, ISTRIPE_SETTING_RECEIVE_BUFFER);
PATH_LIVE(weight, 1, 1000);
PATH_FIXED(portal, portal);
PATH_FIXED(source_address, address);
PATH_FIXED(nic, nic);
PATH_FIXED(target_name, iscsi_name);
PATH_FIXED(lun, number);
PATH_TIMER(login_timeout_ms, 100, 600000);
PATH_TIMER(ping_interval_ms, 0, 3600000);
PATH_TIMER(ping_timeout_ms, 100, 3600000);

static struct attribute *path_attrs[] = {
	&path_file_state.attr,
	&path_file_last_error.attr,
	&path_file_reconnects.attr,
	&path_file_faults.attr,
	&path_file_fenced_through.attr,
	&path_file_portal.attr,
	&path_file_source_address.attr,
	&path_file_nic.attr,
	&path_file_target_name.attr,
	&path_file_lun.attr,
	&path_file_weight.attr,
	&path_file_login_timeout_ms.attr,
	&path_file_ping_interval_ms.attr,
	&path_file_ping_timeout_ms.attr,
	&path_file_dscp.attr,
	&path_file_priority.attr,
	&path_file_congestion_control.attr,
	&path_file_user_timeout_ms.attr,
	&path_file_send_buffer_bytes.attr,
	&path_file_receive_buffer_bytes.attr,
	NULL,
};
ATTRIBUTE_GROUPS(path);

static const struct kobj_type path_node_type = {
	.release = istripe_node_release,
	.sysfs_ops = &istripe_node_ops,
	.default_groups = path_groups,
};

int istripe_path_nodes_add(struct list_head *tree, struct kobject *parent,
			   struct istripe_path *path)
{
	struct istripe_node *node;

	node = istripe_node_add_index(tree, &path_node_type, parent, path, path->index);
	if (IS_ERR(node))
		return PTR_ERR(node);
	return istripe_session_nodes_add(tree, &node->kobj, path);
}
