// SPDX-License-Identifier: GPL-2.0
/*
 * legs/<n>/paths/<n>: how a leg is reached.
 */
#include <linux/configfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "control/dir.h"
#include "control/params.h"
#include "transport/task.h"

static struct istripe_path_dir *to_path(struct config_item *item)
{
	return container_of(to_config_group(item), struct istripe_path_dir, group);
}

static ssize_t path_show(struct config_item *item, const struct istripe_setting *setting,
			 char *page)
{
	struct istripe_path_dir *path = to_path(item);

	return istripe_dir_show(path->leg->volume, setting, &path->params, page);
}

/* What a path that is in use may change, too. */
static ssize_t path_store_connections(struct istripe_path_dir *path, const char *label,
				      const char *page, size_t count)
{
	static const struct istripe_setting live = {
		.name = "connections", .kind = &istripe_setting_key, .size = sizeof(u32),
		.key = ISTRIPE_KEY_MAX_CONNECTIONS, .max = ISTRIPE_CONNECTIONS_MAX,
		.range = "a number from 1 to " __stringify(ISTRIPE_CONNECTIONS_MAX),
	};
	ssize_t ret;
	u32 value;

	ret = istripe_setting_store(&live, label, &value, page, count);
	if (ret > 0)
		ret = istripe_path_dir_connections(path, value);
	return ret ?: count;
}

static ssize_t path_object_store(struct config_item *item, const struct istripe_setting *setting,
				 void *object, const char *page, size_t count)
{
	struct istripe_path_dir *path = to_path(item);
	struct istripe_leg_dir *leg = path->leg;
	char label[ISTRIPE_DIR_LABEL_BYTES];
	ssize_t ret;

	scnprintf(label, sizeof(label), "%s/%u/%u", leg->volume->params.name, leg->index,
		  path->index);
	ret = istripe_dir_store(leg->volume, &path->pinned, setting, label, object, page, count);
	if (ret == -EBUSY && setting->kind == &istripe_setting_key &&
	    setting->key == ISTRIPE_KEY_MAX_CONNECTIONS)
		ret = path_store_connections(path, label, page, count);
	return ret;
}

static ssize_t path_store(struct config_item *item, const struct istripe_setting *setting,
			  const char *page, size_t count)
{
	return path_object_store(item, setting, &to_path(item)->params, page, count);
}

static ssize_t path_socket_show(struct config_item *item, const struct istripe_setting *setting,
				char *page)
{
	struct istripe_path_dir *path = to_path(item);

	return istripe_dir_show(path->leg->volume, setting, &path->params.socket, page);
}

static ssize_t path_socket_store(struct config_item *item, const struct istripe_setting *setting,
				 const char *page, size_t count)
{
	return path_object_store(item, setting, &to_path(item)->params.socket, page, count);
}

#define ISCSI_NAME	"an iSCSI name of at most 223 bytes that begins with iqn., eui. or naa."
#define ADDRESS		"an IPv4 or IPv6 address, or nothing for any"
#define PORTAL		"address, address:port or [IPv6 address]:port"
#define NIC		"the name of a network interface, or nothing for any"
#define ISID		"12 hexadecimal digits of a type that RFC 7143 defines, or nothing"
#define USER		"at most 255 bytes of text"
#define SECRET		"12 to 255 bytes of text, or nothing to clear it"
#define ALGORITHMS	"a list of SHA3-256, SHA256, SHA1 and MD5, or nothing for all"

#define PATH_NUMBER(_name, _field, _min, _max)						\
ISTRIPE_DIR_SETTING(path, _name,							\
		    ISTRIPE_SETTING_NUMBER(struct istripe_path_params, _field, _min, _max))

#define PATH_OF(_name, _field, _kind, _range)						\
ISTRIPE_DIR_SETTING(path, _name,							\
		    ISTRIPE_SETTING_OF(struct istripe_path_params, _field, _kind, _range))

#define PATH_KEY(_name, _key)								\
ISTRIPE_DIR_SETTING(path, _name,							\
		    ISTRIPE_SETTING_KEY(struct istripe_path_params, offer, ISTRIPE_KEY_##_key))

#define PATH_KEY_MAX(_name, _key, _max, _range)						\
ISTRIPE_DIR_SETTING(path, _name,							\
		    ISTRIPE_SETTING_KEY_MAX(struct istripe_path_params, offer,		\
					    ISTRIPE_KEY_##_key, _max, _range))

#define PATH_SECRET(_name, _field)							\
ISTRIPE_DIR_SECRET(path, _name,								\
		   ISTRIPE_SETTING_OF(struct istripe_path_params, _field, chap_secret, SECRET), \
		   .min = 12, .max = 255)

PATH_OF(portal, portal, portal, PORTAL);
PATH_OF(source_address, source_address, address, ADDRESS);
PATH_OF(nic, nic, nic, NIC);
PATH_OF(target_name, target_name, iscsi_name, ISCSI_NAME);
PATH_NUMBER(lun, lun, 0, 16383);
PATH_NUMBER(weight, weight, 1, 1000);
PATH_OF(isid, isid, isid, ISID);
PATH_OF(chap_user, chap.name, string, USER);
PATH_SECRET(chap_secret, chap);
PATH_OF(chap_mutual_user, chap_mutual.name, string, USER);
PATH_SECRET(chap_mutual_secret, chap_mutual);
PATH_OF(chap_algorithms, chap_algorithms, algorithms, ALGORITHMS);
PATH_KEY(header_digest, HEADER_DIGEST);
PATH_KEY(data_digest, DATA_DIGEST);
PATH_KEY_MAX(connections, MAX_CONNECTIONS, ISTRIPE_CONNECTIONS_MAX,
	     "a number from 1 to " __stringify(ISTRIPE_CONNECTIONS_MAX));
PATH_OF(multi, multi, multi, ISTRIPE_SETTING_MULTIS);
PATH_KEY(initial_r2t, INITIAL_R2T);
PATH_KEY(immediate_data, IMMEDIATE_DATA);
PATH_KEY(max_recv_data_segment_length, MAX_RECV_DATA_SEGMENT_LENGTH);
PATH_KEY(max_burst_length, MAX_BURST_LENGTH);
PATH_KEY(first_burst_length, FIRST_BURST_LENGTH);
PATH_KEY_MAX(max_outstanding_r2t, MAX_OUTSTANDING_R2T, ISTRIPE_TASK_R2T_MAX,
	     "a number from 1 to " __stringify(ISTRIPE_TASK_R2T_MAX));
PATH_KEY(default_time2wait, DEFAULT_TIME2WAIT);
PATH_KEY(default_time2retain, DEFAULT_TIME2RETAIN);
PATH_KEY(error_recovery_level, ERROR_RECOVERY_LEVEL);
PATH_NUMBER(login_timeout_ms, timers.login_timeout_ms, 100, 600000);
PATH_NUMBER(ping_interval_ms, timers.ping_interval_ms, 0, 3600000);
PATH_NUMBER(ping_timeout_ms, timers.ping_timeout_ms, 100, 3600000);
ISTRIPE_DIR_SETTING(path_socket, dscp, ISTRIPE_SETTING_DSCP);
ISTRIPE_DIR_SETTING(path_socket, priority, ISTRIPE_SETTING_PRIORITY);
ISTRIPE_DIR_SETTING(path_socket, congestion_control, ISTRIPE_SETTING_CONGESTION_CONTROL);
ISTRIPE_DIR_SETTING(path_socket, user_timeout_ms, ISTRIPE_SETTING_USER_TIMEOUT);
ISTRIPE_DIR_SETTING(path_socket, send_buffer_bytes, ISTRIPE_SETTING_SEND_BUFFER);
ISTRIPE_DIR_SETTING(path_socket, receive_buffer_bytes, ISTRIPE_SETTING_RECEIVE_BUFFER);

static ssize_t path_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_path(item)->pinned));
}

static ssize_t path_enable_store(struct config_item *item, const char *page, size_t count)
{
	static const struct istripe_setting enable = {
		.name = "enable", .kind = &istripe_setting_number, .size = sizeof(u32),
		.min = 0, .max = 1, .range = "0 or 1",
	};
	struct istripe_path_dir *path = to_path(item);
	ssize_t ret;
	u32 value;

	ret = istripe_setting_store(&enable, path->leg->volume->params.name, &value, page, count);
	if (ret < 0)
		return ret;
	ret = value ? istripe_path_dir_enable(path) : istripe_path_dir_disable(path);
	return ret ?: count;
}
CONFIGFS_ATTR(path_, enable);

static void path_release(struct config_item *item)
{
	kfree_sensitive(to_path(item));
}

static struct configfs_item_operations path_item_ops = {
	.release = path_release,
};

static struct configfs_attribute *path_attrs[] = {
	&path_attr_portal,
	&path_attr_source_address,
	&path_attr_nic,
	&path_attr_target_name,
	&path_attr_lun,
	&path_attr_weight,
	&path_attr_isid,
	&path_attr_chap_user,
	&path_attr_chap_secret,
	&path_attr_chap_mutual_user,
	&path_attr_chap_mutual_secret,
	&path_attr_chap_algorithms,
	&path_attr_header_digest,
	&path_attr_data_digest,
	&path_attr_connections,
	&path_attr_multi,
	&path_attr_initial_r2t,
	&path_attr_immediate_data,
	&path_attr_max_recv_data_segment_length,
	&path_attr_max_burst_length,
	&path_attr_first_burst_length,
	&path_attr_max_outstanding_r2t,
	&path_attr_default_time2wait,
	&path_attr_default_time2retain,
	&path_attr_error_recovery_level,
	&path_attr_login_timeout_ms,
	&path_attr_ping_interval_ms,
	&path_attr_ping_timeout_ms,
	&path_socket_attr_dscp,
	&path_socket_attr_priority,
	&path_socket_attr_congestion_control,
	&path_socket_attr_user_timeout_ms,
	&path_socket_attr_send_buffer_bytes,
	&path_socket_attr_receive_buffer_bytes,
	&path_attr_enable,
	NULL,
};

static const struct config_item_type path_type = {
	.ct_item_ops = &path_item_ops,
	.ct_attrs = path_attrs,
	.ct_owner = THIS_MODULE,
};

static struct istripe_leg_dir *paths_group_leg(struct config_group *group)
{
	return container_of(group, struct istripe_leg_dir, paths_group);
}

static struct config_group *paths_make_group(struct config_group *group, const char *name)
{
	struct istripe_leg_dir *leg = paths_group_leg(group);
	struct istripe_volume_dir *volume = leg->volume;
	struct istripe_path_dir *path;
	char label[ISTRIPE_DIR_LABEL_BYTES];
	int ret = -EBUSY;
	u32 index;

	if (istripe_dir_index(name, ISTRIPE_PATHS_MAX, &index)) {
		scnprintf(label, sizeof(label), "%s/%u", volume->params.name, leg->index);
		istripe_dir_refuse(label, "path", name, "a number from 0 to 15");
		return ERR_PTR(-EINVAL);
	}
	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);
	path->leg = leg;
	path->index = index;
	istripe_path_params_default(&path->params);
	path->params.index = index;
	config_group_init_type_name(&path->group, name, &path_type);

	mutex_lock(&volume->lock);
	if (volume->phase == ISTRIPE_VOLUME_DOWN || volume->phase == ISTRIPE_VOLUME_UP) {
		leg->paths[index] = path;
		ret = 0;
	}
	mutex_unlock(&volume->lock);
	if (!ret)
		return &path->group;
	config_group_put(&path->group);
	return ERR_PTR(ret);
}

static void paths_drop_item(struct config_group *group, struct config_item *item)
{
	struct istripe_leg_dir *leg = paths_group_leg(group);

	mutex_lock(&leg->volume->lock);
	leg->paths[to_path(item)->index] = NULL;
	mutex_unlock(&leg->volume->lock);
	config_item_put(item);
}

static struct configfs_group_operations paths_group_ops = {
	.make_group = paths_make_group,
	.drop_item = paths_drop_item,
};

const struct config_item_type istripe_paths_type = {
	.ct_group_ops = &paths_group_ops,
	.ct_owner = THIS_MODULE,
};
