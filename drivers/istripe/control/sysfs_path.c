// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs directory of a path: where it leads, how it is, its timers and sockets.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#include "block/bundle.h"
#include "block/fence.h"
#include "block/leg.h"
#include "block/path.h"
#include "control/node.h"
#include "control/setting.h"
#include "transport/socket.h"

/* Members may go while a file is read: not before the section ends. */
static int members_lock(const struct istripe_bundle *bundle)
	__acquires(&bundle->leg->srcu)
{
	return srcu_read_lock(&bundle->leg->srcu);
}

static void members_unlock(const struct istripe_bundle *bundle, int section)
	__releases(&bundle->leg->srcu)
{
	srcu_read_unlock(&bundle->leg->srcu, section);
}

static ssize_t path_state_show(const struct istripe_node_file *file, void *object, char *page)
{
	int section = members_lock(object);
	ssize_t ret = sysfs_emit(page, "%s\n", istripe_bundle_state(object));

	members_unlock(object, section);
	return ret;
}

ISTRIPE_NODE_FILE(path, state, 0444, .show = path_state_show);

static ssize_t path_last_error_show(const struct istripe_node_file *file, void *object,
				    char *page)
{
	int section = members_lock(object);
	char why[ISTRIPE_WHY_BYTES];

	istripe_bundle_last_error(object, why, sizeof(why));
	members_unlock(object, section);
	return sysfs_emit(page, "%s\n", why);
}

ISTRIPE_NODE_FILE(path, last_error, 0444, .show = path_last_error_show);

static bool bundle_may_fence_member(const struct istripe_path *path,
				    const struct istripe_bundle *through)
{
	const struct istripe_path *sibling;
	u32 at;

	istripe_bundle_for_each_member(through, sibling, at)
		if (istripe_fence_may(path, sibling))
			return true;
	return false;
}

/* Whichever of its sessions is lost. */
static bool bundle_may_fence(const struct istripe_bundle *bundle,
			     const struct istripe_bundle *through)
{
	const struct istripe_path *path;
	bool any = false;
	u32 at;

	istripe_bundle_for_each_member(bundle, path, at) {
		if (!path->wanted)
			continue;
		any = true;
		if (!bundle_may_fence_member(path, through))
			return false;
	}
	return any;
}

static ssize_t path_fenced_through_show(const struct istripe_node_file *file, void *object,
					char *page)
{
	const struct istripe_bundle *bundle = object;
	struct istripe_leg *leg = bundle->leg;
	int used = 0;
	u32 i;

	spin_lock_bh(&leg->lock);
	for (i = 0; i < leg->bundle_end; i++)
		if (leg->bundles[i] && bundle_may_fence(bundle, leg->bundles[i]))
			used += sysfs_emit_at(page, used, "%s%u", used ? " " : "", i);
	spin_unlock_bh(&leg->lock);
	return used + sysfs_emit_at(page, used, "\n");
}

ISTRIPE_NODE_FILE(path, fenced_through, 0444, .show = path_fenced_through_show);

/* Of the first of its sessions that has no sibling. */
static ssize_t path_unproven_show(const struct istripe_node_file *file, void *object, char *page)
{
	const struct istripe_bundle *bundle = object;
	struct istripe_leg *leg = bundle->leg;
	const struct istripe_path *path;
	const char *why = "";
	ssize_t used;
	u32 at;

	spin_lock_bh(&leg->lock);
	if (READ_ONCE(leg->fence) == ISTRIPE_FENCE_PORTAL_GROUP)
		istripe_bundle_for_each_member(bundle, path, at)
			if (!*why)
				why = path->unproven;
	used = sysfs_emit(page, "%s\n", why);
	spin_unlock_bh(&leg->lock);
	return used;
}

ISTRIPE_NODE_FILE(path, unproven, 0444, .show = path_unproven_show);

/* All sessions together. */
#define PATH_COUNTER(_name, _now)							\
static ssize_t path_##_name##_show(const struct istripe_node_file *file, void *object,	\
				   char *page)						\
{											\
	int section = members_lock(object);						\
	const struct istripe_bundle *bundle = object;					\
	const struct istripe_path *path;						\
	u64 sum = 0;									\
	u32 at;										\
											\
	istripe_bundle_for_each_member(bundle, path, at)				\
		sum += READ_ONCE(_now);							\
	members_unlock(bundle, section);						\
	return sysfs_emit(page, "%llu\n", sum);						\
}											\
ISTRIPE_NODE_FILE(path, _name, 0444, .show = path_##_name##_show)

PATH_COUNTER(reconnects, path->reconnects);
PATH_COUNTER(faults, path->faults);

static ssize_t path_multi_show(const struct istripe_node_file *file, void *object, char *page)
{
	const struct istripe_bundle *bundle = object;

	return istripe_setting_show(file->setting, &bundle->multi, page);
}

static const struct istripe_setting path_setting_multi = {
	.name = "multi", .kind = &istripe_setting_multi,
};

ISTRIPE_NODE_FILE(path, multi, 0444, .show = path_multi_show, .setting = &path_setting_multi);

/* The members' settings are the same. */
static ssize_t path_setting_show(const struct istripe_node_file *file, void *object, char *page)
{
	const struct istripe_bundle *bundle = object;

	return istripe_setting_show(file->setting, &bundle->members[0]->params, page);
}

static ssize_t members_store(struct istripe_bundle *bundle, const struct istripe_setting *setting,
			     const char *page, size_t count)
{
	int section = members_lock(bundle);
	struct istripe_path *path;
	ssize_t ret = count;
	u32 at;

	istripe_bundle_for_each_member(bundle, path, at) {
		ret = istripe_setting_store(setting, bundle->members[0]->label, &path->params,
					    page, count);
		if (ret < 0)
			break;
	}
	members_unlock(bundle, section);
	return ret;
}

static ssize_t path_setting_store(const struct istripe_node_file *file, void *object,
				  const char *page, size_t count)
{
	struct istripe_bundle *bundle = object;
	ssize_t ret;

	mutex_lock(&bundle->settings_lock);
	ret = members_store(bundle, file->setting, page, count);
	mutex_unlock(&bundle->settings_lock);
	return ret;
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

static ssize_t path_socket_show(const struct istripe_node_file *file, void *object, char *page)
{
	const struct istripe_bundle *bundle = object;
	struct istripe_socket_params now;

	istripe_socket_params_copy(&now, &bundle->members[0]->params.socket);
	return istripe_setting_show(file->setting, &now, page);
}

static void members_tune(const struct istripe_bundle *bundle,
			 const struct istripe_socket_params *wanted)
{
	int section = members_lock(bundle);
	struct istripe_path *path;
	u32 at;

	istripe_bundle_for_each_member(bundle, path, at)
		istripe_path_tune(path, wanted);
	members_unlock(bundle, section);
}

/* Sockets: all settings are read, one is changed, all are put back. */
static ssize_t path_socket_store(const struct istripe_node_file *file, void *object,
				 const char *page, size_t count)
{
	struct istripe_bundle *bundle = object;
	struct istripe_path *first = bundle->members[0];
	struct istripe_socket_params wanted;
	ssize_t ret;

	mutex_lock(&bundle->settings_lock);
	istripe_socket_params_copy(&wanted, &first->params.socket);
	ret = istripe_setting_store(file->setting, first->label, &wanted, page, count);
	if (ret > 0)
		members_tune(bundle, &wanted);
	mutex_unlock(&bundle->settings_lock);
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
	&path_file_unproven.attr,
	&path_file_multi.attr,
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

int istripe_path_nodes_add(struct kobject *parent, struct istripe_bundle *bundle)
{
	struct istripe_node *node;

	node = istripe_node_add_index(&bundle->nodes, &path_node_type, parent, bundle,
				      bundle->index);
	return IS_ERR(node) ? PTR_ERR(node) : istripe_session_nodes_add(bundle);
}
