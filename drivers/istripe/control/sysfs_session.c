// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs directories of a nexus's sessions and of its connections.
 *
 * The directories are there as long as the nexus; sessions come and go. A file
 * is read under the nexus's session_lock, which the nexus's worker takes to make
 * the session unfindable before it closes it. Without a session: -ENOTCONN.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kernfs.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "block/last_error.h"
#include "block/nexus.h"
#include "block/path.h"
#include "control/sysfs_dir.h"
#include "iscsi/keys.h"
#include "transport/conn.h"
#include "transport/session.h"

static ssize_t session_locked(const struct istripe_sysfs_file *file, void *object, char *page)
{
	struct istripe_nexus *nexus = object;
	struct istripe_session *session;
	ssize_t ret = -ENOTCONN;

	mutex_lock(&nexus->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&nexus->owned);
	if (session)
		ret = file->show(file, session, page);
	mutex_unlock(&nexus->session_lock);
	return ret;
}

/* A login has agreed on the keys. */
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

#define SESSION_FILES(_row)								\
	_row(state, sysfs_emit(page, "%s\n", istripe_state_name(&istripe_session_states,	\
								READ_ONCE(session->state))))	\
	_row(isid, sysfs_emit(page, "%*phN\n", (int)sizeof(session->isid), session->isid))	\
	_row(tsih, sysfs_emit(page, "%u\n", READ_ONCE(session->tsih)))			\
	_row(target_portal_group_tag, sysfs_emit(page, "%u\n", READ_ONCE(session->tpgt.tag)))	\
	_row(cmd_sn, sysfs_emit(page, "%u\n", READ_ONCE(session->cmd_sn)))		\
	_row(exp_cmd_sn, sysfs_emit(page, "%u\n", READ_ONCE(session->exp_cmd_sn)))	\
	_row(max_cmd_sn, sysfs_emit(page, "%u\n", READ_ONCE(session->max_cmd_sn)))	\
	_row(commands_sent, sysfs_emit(page, "%llu\n", session_commands_sent(session)))	\
	_row(connections, sysfs_emit(page, "%u\n", READ_ONCE(session->conn_count)))

#define SESSION_FILE(_name, _emit)							\
	ISTRIPE_SYSFS_SHOW(session, _name, session_locked,				\
			   const struct istripe_session *session, _emit);
#define SESSION_ATTR(_name, ...)	ISTRIPE_SYSFS_ATTR(session, _name)

SESSION_FILES(SESSION_FILE)

/* Of what brings the session up again and again: there whether or not there is a session. */
#define NEXUS_FILES(_row)								\
	_row(path_state, sysfs_emit(page, "%s\n", istripe_state_name(&istripe_nexus_states,	\
								     READ_ONCE(nexus->state))))	\
	_row(last_error, ISTRIPE_SYSFS_EMIT_REASON(page, istripe_last_error_read, nexus))	\
	_row(reconnects, sysfs_emit(page, "%llu\n", READ_ONCE(nexus->reconnects)))	\
	_row(faults, sysfs_emit(page, "%llu\n", READ_ONCE(nexus->faults)))

#define NEXUS_FILE(_name, _emit)							\
	ISTRIPE_SYSFS_SHOW(session, _name, NULL, struct istripe_nexus *nexus, _emit);

NEXUS_FILES(NEXUS_FILE)

static struct attribute *session_attrs[] = {
	SESSION_FILES(SESSION_ATTR)
	NEXUS_FILES(SESSION_ATTR)
	NULL,
};

static const struct attribute_group session_group = {
	.attrs = session_attrs,
};

/* Keys: one file for each in two directories, named by the table of keys. */

static ssize_t key_show(const struct istripe_sysfs_file *file, void *object, char *page)
{
	const struct istripe_session *session = object;
	const struct istripe_negotiation *negotiation = &session->negotiation;
	const struct istripe_keys *keys = &negotiation->result;
	char text[ISTRIPE_KEY_TEXT_BYTES];
	int ret;

	if (!session_is_logged_in(session))
		return -ENOTCONN;
	if (file->offered) {
		if (!(negotiation->offered & BIT(file->key)))
			return sysfs_emit(page, "\n");
		keys = &negotiation->offer;
	}
	ret = istripe_key_format(file->key, keys->value[file->key], text, sizeof(text));
	return ret < 0 ? ret : sysfs_emit(page, "%s\n", text);
}

static struct istripe_sysfs_file key_files[2][ISTRIPE_KEY_COUNT];
static struct attribute *key_attrs[2][ISTRIPE_KEY_COUNT + 1];

static const struct attribute_group negotiated_group = {
	.name = "negotiated",
	.attrs = key_attrs[false],
};

static const struct attribute_group offered_group = {
	.name = "offered",
	.attrs = key_attrs[true],
};

void istripe_sysfs_session_dirs_init(void)
{
	u32 offered, key;

	BUILD_BUG_ON(ISTRIPE_KEY_COUNT > 32);
	for (offered = 0; offered < ARRAY_SIZE(key_files); offered++) {
		for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
			key_files[offered][key] = (struct istripe_sysfs_file) {
				.attr = { .name = istripe_key_name(key), .mode = 0444 },
				.within = session_locked,
				.show = key_show,
				.key = key,
				.offered = offered,
			};
			key_attrs[offered][key] = &key_files[offered][key].attr;
		}
	}
}

static const struct attribute_group *session_groups[] = {
	&session_group,
	&offered_group,
	&negotiated_group,
	NULL,
};

ISTRIPE_SYSFS_DIR_TYPE(session);

/* Connections: a directory for each one that is asked for. */

static ssize_t address_emit(const struct istripe_conn *conn,
			    const struct sockaddr_storage *address, char *page)
{
	if (address->ss_family == AF_UNSPEC || READ_ONCE(conn->state) == ISTRIPE_CONN_FREE)
		return -ENOTCONN;
	return sysfs_emit(page, "%pISpc\n", address);
}

/* Stands for a connection that was not granted, or has not joined. */
static const struct istripe_conn conn_absent = {
	.state = ISTRIPE_CONN_FREE,
	.local_address.ss_family = AF_UNSPEC,
	.remote_address.ss_family = AF_UNSPEC,
};

/* The index of a connection's session: that of its reserve nexus as long as this one is wanted. */
static u32 place_nexus(const struct istripe_conn_place *place)
{
	const struct istripe_path *path = place->path;

	return READ_ONCE(path->nexuses[place->index]->wanted) ? place->index : 0;
}

static u32 place_cid(const struct istripe_conn_place *place)
{
	return place_nexus(place) ? 0 : place->index;
}

static ssize_t conn_locked(const struct istripe_sysfs_file *file, void *object, char *page)
{
	const struct istripe_conn_place *place = object;
	struct istripe_nexus *nexus = place->path->nexuses[place_nexus(place)];
	const struct istripe_session *session;
	const struct istripe_conn *conn;
	ssize_t ret = -ENOTCONN;

	mutex_lock(&nexus->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&nexus->owned);
	if (session) {
		/* Pairs with the release where a connection joins. */
		conn = smp_load_acquire(&session->conns[place_cid(place)]);
		ret = file->show(file, (void *)(conn ?: &conn_absent), page);
	}
	mutex_unlock(&nexus->session_lock);
	return ret;
}

static u64 conn_commands_in_flight(const struct istripe_conn *conn)
{
	u64 answered = READ_ONCE(conn->commands_answered);
	u64 sent = READ_ONCE(conn->commands_sent);

	/* Both go on meanwhile. */
	return sent - min(sent, answered);
}

#define CONN_FILES(_row)								\
	_row(state, sysfs_emit(page, "%s\n", istripe_state_name(&istripe_conn_states,	\
								READ_ONCE(conn->state))))	\
	_row(local_address, address_emit(conn, &conn->local_address, page))		\
	_row(remote_address, address_emit(conn, &conn->remote_address, page))		\
	_row(bytes_sent, sysfs_emit(page, "%llu\n", READ_ONCE(conn->bytes_sent)))	\
	_row(bytes_received, sysfs_emit(page, "%llu\n", READ_ONCE(conn->bytes_received)))	\
	_row(pdus_sent, sysfs_emit(page, "%llu\n", READ_ONCE(conn->pdus_sent)))		\
	_row(pdus_received, sysfs_emit(page, "%llu\n", READ_ONCE(conn->pdus_received)))	\
	_row(commands_sent, sysfs_emit(page, "%llu\n", READ_ONCE(conn->commands_sent)))	\
	_row(commands_in_flight, sysfs_emit(page, "%llu\n", conn_commands_in_flight(conn)))	\
	_row(ping_rtt_us, sysfs_emit(page, "%u\n", READ_ONCE(conn->ping_rtt_us)))

#define CONN_FILE(_name, _emit)								\
	ISTRIPE_SYSFS_SHOW(conn, _name, conn_locked, const struct istripe_conn *conn, _emit);
#define CONN_ATTR(_name, ...)	ISTRIPE_SYSFS_ATTR(conn, _name)

CONN_FILES(CONN_FILE)

/* Each of them ends the session, so those of former sessions count as well. */
static u64 place_digest_errors(const struct istripe_conn_place *place)
{
	struct istripe_nexus *nexus = place->path->nexuses[place_nexus(place)];
	u32 cid = place_cid(place);
	u64 errors;

	mutex_lock(&nexus->session_lock);
	errors = nexus->digest_errors[cid];
	if (nexus->owned)
		errors += istripe_session_digest_errors(nexus->owned, cid);
	mutex_unlock(&nexus->session_lock);
	return errors;
}

#define PLACE_FILES(_row)								\
	_row(cid, sysfs_emit(page, "%u\n", place_cid(place)))				\
	_row(session, sysfs_emit(page, "%u\n", place_nexus(place)))			\
	_row(digest_errors, sysfs_emit(page, "%llu\n", place_digest_errors(place)))

#define PLACE_FILE(_name, _emit)							\
	ISTRIPE_SYSFS_SHOW(conn, _name, NULL, const struct istripe_conn_place *place, _emit);

PLACE_FILES(PLACE_FILE)

static struct attribute *conn_attrs[] = {
	CONN_FILES(CONN_ATTR)
	PLACE_FILES(CONN_ATTR)
	NULL,
};
ATTRIBUTE_GROUPS(conn);
ISTRIPE_SYSFS_DIR_TYPE(conn);

static int conn_dirs_add(struct kobject *parent, struct istripe_path *path)
{
	struct istripe_conn_place *place;
	struct istripe_sysfs_dir *dir;
	u32 i;

	for (i = 0; i < path->nexus_count; i++) {
		place = &path->places[i];
		*place = (struct istripe_conn_place) { .path = path, .index = i };
		dir = istripe_sysfs_dir_add(&path->sysfs_session_dirs, &conn_dir_type, parent,
					    place, "%u", i);
		if (IS_ERR(dir))
			return PTR_ERR(dir);
	}
	return 0;
}

/* "session" is the first one; the others, if a path may have any, are below "sessions". */
static int session_dirs_add(struct kobject *parent, struct istripe_path *path)
{
	struct list_head *sysfs_dirs = &path->sysfs_session_dirs;
	struct istripe_sysfs_dir *dir;
	u32 i;

	dir = istripe_sysfs_dir_add(sysfs_dirs, &session_dir_type, parent, path->nexuses[0],
				    "session");
	if (!IS_ERR(dir) && path->nexus_count > 1)
		dir = istripe_sysfs_dir_add(sysfs_dirs, &istripe_sysfs_dir_plain_type, parent, path,
					    "sessions");
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	parent = &dir->kobj;
	for (i = 1; i < path->nexus_count; i++) {
		dir = istripe_sysfs_dir_add(sysfs_dirs, &session_dir_type, parent,
					    path->nexuses[i], "%u", i);
		if (IS_ERR(dir))
			return PTR_ERR(dir);
	}
	return 0;
}

int istripe_sysfs_session_dirs_add(struct istripe_path *path)
{
	struct istripe_sysfs_dir *path_dir =
		list_first_entry_or_null(&path->sysfs_dirs, struct istripe_sysfs_dir, entry);
	struct istripe_sysfs_dir *dir;
	int ret;

	/* It has come without any, for want of memory. */
	if (!path_dir)
		return 0;
	ret = session_dirs_add(&path_dir->kobj, path);
	if (ret)
		return ret;
	dir = istripe_sysfs_dir_add(&path->sysfs_session_dirs, &istripe_sysfs_dir_plain_type,
				    &path_dir->kobj, path, "connections");
	return IS_ERR(dir) ? PTR_ERR(dir) : conn_dirs_add(&dir->kobj, path);
}

/* poll(2). Node by node, with a reference: the directories below the path's may go meanwhile. */

/* Drops the reference to @dir, which may be NULL. NULL: there is none of that name. */
static struct kernfs_node *node_below(struct kernfs_node *dir, const char *name)
{
	struct kernfs_node *node = dir ? kernfs_find_and_get(dir, name) : NULL;

	kernfs_put(dir);
	return node;
}

/* @index: the name of a directory in @dir that has @file; NULL: @dir has it. */
static void file_notify(struct kobject *path_kobj, const char *dir, const char *index,
			const char *file)
{
	struct kernfs_node *node = kernfs_find_and_get(path_kobj->sd, dir);

	if (index)
		node = node_below(node, index);
	node = node_below(node, file);
	if (node)
		kernfs_notify(node);
	kernfs_put(node);
}

void istripe_sysfs_session_notify(struct kobject *path_kobj, const struct istripe_nexus *nexus)
{
	u32 i, index = nexus->index, end = index ? index + 1 : READ_ONCE(nexus->path->nexus_count);
	const char *dir = index ? "sessions" : "session";
	char name[12];

	snprintf(name, sizeof(name), "%u", index);
	file_notify(path_kobj, dir, index ? name : NULL, "path_state");
	file_notify(path_kobj, dir, index ? name : NULL, "state");
	/* The first session may have the connections of all places. */
	for (i = index; i < end; i++) {
		snprintf(name, sizeof(name), "%u", i);
		file_notify(path_kobj, "connections", name, "state");
	}
}
