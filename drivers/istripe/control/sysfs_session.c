// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs directories of a path's sessions and of its connections.
 *
 * The directories are there as long as the path; sessions come and go. A file
 * is read under the path's session_lock, which the path's worker takes to make
 * the session unfindable before it closes it. Without a session: -ENOTCONN.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "block/bundle.h"
#include "block/path.h"
#include "control/node.h"
#include "proto/keys.h"
#include "transport/conn.h"
#include "transport/session.h"

typedef ssize_t (*session_show_fn)(const struct istripe_node_file *file,
				   const struct istripe_session *session, char *page);

static ssize_t session_show(const struct istripe_node_file *file, struct istripe_path *path,
			    char *page, session_show_fn show)
{
	const struct istripe_session *session;
	ssize_t ret = -ENOTCONN;

	mutex_lock(&path->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&path->owned);
	if (session)
		ret = show(file, session, page);
	mutex_unlock(&path->session_lock);
	return ret;
}

/* What a login has agreed on; before, there is nothing. */
static bool session_is_logged_in(const struct istripe_session *session)
{
	enum istripe_session_state state = READ_ONCE(session->state);

	return state == ISTRIPE_SESSION_LOGGED_IN || state == ISTRIPE_SESSION_LOGOUT;
}

/* Session */

static u64 session_commands_sent(const struct istripe_session *session)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < READ_ONCE(session->conn_count); i++)
		sum += READ_ONCE(session->conns[i]->commands_sent);
	return sum;
}

#define SESSION_FILE(_name, _fmt, ...)							\
static ssize_t session_##_name##_emit(const struct istripe_node_file *file,		\
				      const struct istripe_session *session,		\
				      char *page)					\
{											\
	return sysfs_emit(page, _fmt "\n", __VA_ARGS__);				\
}											\
static ssize_t session_##_name##_show(const struct istripe_node_file *file,		\
				      void *object, char *page)				\
{											\
	return session_show(file, object, page, session_##_name##_emit);		\
}											\
ISTRIPE_NODE_FILE(session, _name, 0444, .show = session_##_name##_show)

SESSION_FILE(state, "%s", istripe_session_state_name(READ_ONCE(session->state)));
SESSION_FILE(isid, "%*phN", (int)sizeof(session->isid), session->isid);
SESSION_FILE(tsih, "%u", READ_ONCE(session->tsih));
SESSION_FILE(target_portal_group_tag, "%u", READ_ONCE(session->target_portal_group_tag));
SESSION_FILE(cmd_sn, "%u", READ_ONCE(session->cmd_sn));
SESSION_FILE(exp_cmd_sn, "%u", READ_ONCE(session->exp_cmd_sn));
SESSION_FILE(max_cmd_sn, "%u", READ_ONCE(session->max_cmd_sn));
SESSION_FILE(commands_sent, "%llu", session_commands_sent(session));
SESSION_FILE(connections, "%u", READ_ONCE(session->conn_count));

/* Of what brings the session up again and again: there whether or not there is a session. */
#define MEMBER_FILE(_file, _fmt, _value)						\
static ssize_t session_##_file##_show(const struct istripe_node_file *file,		\
				      void *object, char *page)				\
{											\
	const struct istripe_path *path = object;					\
											\
	return sysfs_emit(page, _fmt "\n", _value);					\
}											\
ISTRIPE_NODE_FILE(session, _file, 0444, .show = session_##_file##_show)

MEMBER_FILE(path_state, "%s", istripe_path_state_name(READ_ONCE(path->state)));
MEMBER_FILE(reconnects, "%llu", READ_ONCE(path->reconnects));
MEMBER_FILE(faults, "%llu", READ_ONCE(path->faults));

static ssize_t session_last_error_show(const struct istripe_node_file *file, void *object,
				       char *page)
{
	char why[ISTRIPE_WHY_BYTES];

	istripe_path_last_error(object, why, sizeof(why));
	return sysfs_emit(page, "%s\n", why);
}

ISTRIPE_NODE_FILE(session, last_error, 0444, .show = session_last_error_show);

static struct attribute *session_attrs[] = {
	&session_file_path_state.attr,
	&session_file_last_error.attr,
	&session_file_reconnects.attr,
	&session_file_faults.attr,
	&session_file_state.attr,
	&session_file_isid.attr,
	&session_file_tsih.attr,
	&session_file_target_portal_group_tag.attr,
	&session_file_cmd_sn.attr,
	&session_file_exp_cmd_sn.attr,
	&session_file_max_cmd_sn.attr,
	&session_file_commands_sent.attr,
	&session_file_connections.attr,
	NULL,
};

static const struct attribute_group session_group = {
	.attrs = session_attrs,
};

/* Keys: one file for each in two directories, named by the table of keys. */

static ssize_t key_emit(enum istripe_key key, const struct istripe_keys *keys, char *page)
{
	char text[ISTRIPE_KEY_TEXT_BYTES];
	int ret = istripe_key_format(key, keys->value[key], text, sizeof(text));

	return ret < 0 ? ret : sysfs_emit(page, "%s\n", text);
}

static ssize_t offered_format(const struct istripe_node_file *file,
			      const struct istripe_session *session, char *page)
{
	if (!session_is_logged_in(session))
		return -ENOTCONN;
	if (!(session->negotiation.offered & BIT(file->key)))
		return sysfs_emit(page, "\n");
	return key_emit(file->key, &session->negotiation.offer, page);
}

static ssize_t offered_show(const struct istripe_node_file *file, void *object, char *page)
{
	return session_show(file, object, page, offered_format);
}

static ssize_t negotiated_format(const struct istripe_node_file *file,
				 const struct istripe_session *session, char *page)
{
	if (!session_is_logged_in(session))
		return -ENOTCONN;
	return key_emit(file->key, &session->keys, page);
}

static ssize_t negotiated_show(const struct istripe_node_file *file, void *object, char *page)
{
	return session_show(file, object, page, negotiated_format);
}

static struct istripe_node_file offered_files[ISTRIPE_KEY_COUNT];
static struct attribute *offered_attrs[ISTRIPE_KEY_COUNT + 1];
static const struct attribute_group offered_group = {
	.name = "offered",
	.attrs = offered_attrs,
};

static struct istripe_node_file negotiated_files[ISTRIPE_KEY_COUNT];
static struct attribute *negotiated_attrs[ISTRIPE_KEY_COUNT + 1];
static const struct attribute_group negotiated_group = {
	.name = "negotiated",
	.attrs = negotiated_attrs,
};

static struct attribute *key_file_init(struct istripe_node_file *file, enum istripe_key key)
{
	file->attr.name = istripe_key_name(key);
	file->attr.mode = 0444;
	file->key = key;
	return &file->attr;
}

void istripe_session_nodes_init(void)
{
	u32 key;

	BUILD_BUG_ON(ISTRIPE_KEY_COUNT > 32);
	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		offered_attrs[key] = key_file_init(&offered_files[key], key);
		offered_files[key].show = offered_show;
		negotiated_attrs[key] = key_file_init(&negotiated_files[key], key);
		negotiated_files[key].show = negotiated_show;
	}
}

static const struct attribute_group *session_groups[] = {
	&session_group,
	&offered_group,
	&negotiated_group,
	NULL,
};

static const struct kobj_type session_node_type = {
	.release = istripe_node_release,
	.sysfs_ops = &istripe_node_ops,
	.default_groups = session_groups,
};

/* Connections: a directory for each one that is asked for. */

static ssize_t address_emit(const struct istripe_conn *conn,
			    const struct sockaddr_storage *address, char *page)
{
	if (address->ss_family == AF_UNSPEC || READ_ONCE(conn->state) == ISTRIPE_CONN_FREE)
		return -ENOTCONN;
	return sysfs_emit(page, "%pISpc\n", address);
}

/* What was not granted, or has not joined. */
static const struct istripe_conn conn_absent = {
	.state = ISTRIPE_CONN_FREE,
	.local_address.ss_family = AF_UNSPEC,
	.remote_address.ss_family = AF_UNSPEC,
};

typedef ssize_t (*conn_show_fn)(const struct istripe_conn *conn, char *page);

/* The session that a connection is, or would be, of: a spare's as long as it is wanted. */
static u32 place_member(const struct istripe_conn_place *place)
{
	const struct istripe_bundle *bundle = place->bundle;

	return READ_ONCE(bundle->members[place->index]->wanted) ? place->index : 0;
}

static u32 place_cid(const struct istripe_conn_place *place)
{
	return place_member(place) ? 0 : place->index;
}

static ssize_t conn_show(struct istripe_conn_place *place, char *page, conn_show_fn show)
{
	struct istripe_path *path = place->bundle->members[place_member(place)];
	const struct istripe_session *session;
	const struct istripe_conn *conn;
	ssize_t ret = -ENOTCONN;

	mutex_lock(&path->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&path->owned);
	if (session) {
		/* Pairs with the release where a connection joins. */
		conn = smp_load_acquire(&session->conns[place_cid(place)]);
		ret = show(conn ?: &conn_absent, page);
	}
	mutex_unlock(&path->session_lock);
	return ret;
}

#define CONN_SHOW(_name, _emit)								\
static ssize_t conn_##_name##_format(const struct istripe_conn *conn, char *page)	\
{											\
	return _emit;									\
}											\
static ssize_t conn_##_name##_show(const struct istripe_node_file *file,		\
				   void *object, char *page)				\
{											\
	return conn_show(object, page, conn_##_name##_format);				\
}											\
ISTRIPE_NODE_FILE(conn, _name, 0444, .show = conn_##_name##_show)

#define CONN_FILE(_name, _fmt, _value) CONN_SHOW(_name, sysfs_emit(page, _fmt "\n", _value))

CONN_FILE(state, "%s", istripe_conn_state_name(READ_ONCE(conn->state)));

static ssize_t conn_cid_show(const struct istripe_node_file *file, void *object, char *page)
{
	return sysfs_emit(page, "%u\n", place_cid(object));
}

ISTRIPE_NODE_FILE(conn, cid, 0444, .show = conn_cid_show);

static ssize_t conn_session_show(const struct istripe_node_file *file, void *object, char *page)
{
	return sysfs_emit(page, "%u\n", place_member(object));
}

ISTRIPE_NODE_FILE(conn, session, 0444, .show = conn_session_show);

CONN_SHOW(local_address, address_emit(conn, &conn->local_address, page));
CONN_SHOW(remote_address, address_emit(conn, &conn->remote_address, page));
CONN_FILE(bytes_sent, "%llu", READ_ONCE(conn->bytes_sent));
CONN_FILE(bytes_received, "%llu", READ_ONCE(conn->bytes_received));
CONN_FILE(pdus_sent, "%llu", READ_ONCE(conn->pdus_sent));
CONN_FILE(pdus_received, "%llu", READ_ONCE(conn->pdus_received));
CONN_FILE(digest_errors, "%llu", READ_ONCE(conn->digest_errors));
CONN_FILE(commands_sent, "%llu", READ_ONCE(conn->commands_sent));
CONN_FILE(ping_rtt_us, "%u", READ_ONCE(conn->ping_rtt_us));

static struct attribute *conn_attrs[] = {
	&conn_file_state.attr,
	&conn_file_cid.attr,
	&conn_file_session.attr,
	&conn_file_local_address.attr,
	&conn_file_remote_address.attr,
	&conn_file_bytes_sent.attr,
	&conn_file_bytes_received.attr,
	&conn_file_pdus_sent.attr,
	&conn_file_pdus_received.attr,
	&conn_file_commands_sent.attr,
	&conn_file_digest_errors.attr,
	&conn_file_ping_rtt_us.attr,
	NULL,
};
ATTRIBUTE_GROUPS(conn);

static const struct kobj_type conn_node_type = {
	.release = istripe_node_release,
	.sysfs_ops = &istripe_node_ops,
	.default_groups = conn_groups,
};

static int conn_nodes_add(struct kobject *parent, struct istripe_bundle *bundle)
{
	struct istripe_conn_place *place;
	struct istripe_node *node;
	u32 i;

	for (i = 0; i < bundle->member_count; i++) {
		place = &bundle->places[i];
		*place = (struct istripe_conn_place) { .bundle = bundle, .index = i };
		node = istripe_node_add_index(&bundle->session_nodes, &conn_node_type, parent,
					      place, i);
		if (IS_ERR(node))
			return PTR_ERR(node);
	}
	return 0;
}

/* "session" is the first one; the others, if a path may have any, are below "sessions". */
static int session_nodes_add(struct kobject *parent, struct istripe_bundle *bundle)
{
	struct list_head *nodes = &bundle->session_nodes;
	struct istripe_node *node;
	u32 i;

	node = istripe_node_add(nodes, &session_node_type, parent, bundle->members[0], "session");
	if (!IS_ERR(node) && bundle->member_count > 1)
		node = istripe_node_add(nodes, &istripe_node_plain_type, parent, bundle,
					"sessions");
	if (IS_ERR(node))
		return PTR_ERR(node);
	parent = &node->kobj;
	for (i = 1; i < bundle->member_count; i++) {
		node = istripe_node_add_index(nodes, &session_node_type, parent,
					      bundle->members[i], i);
		if (IS_ERR(node))
			return PTR_ERR(node);
	}
	return 0;
}

int istripe_session_nodes_add(struct istripe_bundle *bundle)
{
	struct istripe_node *path = list_first_entry_or_null(&bundle->nodes, struct istripe_node,
							      entry);
	struct istripe_node *node;
	int ret;

	/* It has come without any, for want of memory. */
	if (!path)
		return 0;
	ret = session_nodes_add(&path->kobj, bundle);
	if (ret)
		return ret;
	node = istripe_node_add(&bundle->session_nodes, &istripe_node_plain_type, &path->kobj,
				bundle, "connections");
	return IS_ERR(node) ? PTR_ERR(node) : conn_nodes_add(&node->kobj, bundle);
}
