// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/inet.h>
#include <scsi/scsi_common.h>
#include <trace/events/istripe.h>

#include <istripe/reason.h>
#include "iscsi/error.h"
#include "scsi/sense.h"
#include "transport/conn.h"
#include "transport/keepalive.h"
#include "transport/nic.h"
#include "transport/resolve.h"
#include "transport/session.h"
#include "transport/submitter.h"
#include "transport/zerocopy.h"

#define REDIRECT_HOPS_MAX	4
#define FINISH_MAX_MS		3000u
#define FINISH_STEP_MS		10u

static atomic64_t session_last_id;

struct istripe_task *istripe_session_find_task(struct istripe_session *session,
					       const struct istripe_conn *conn, u32 itt)
{
	struct istripe_task *task;

	if (istripe_itt_slot(itt) >= session->slot_count)
		return NULL;
	/* Pairs with the release in istripe_session_submit(). */
	task = smp_load_acquire(&session->slots[istripe_itt_slot(itt)].task);
	if (!task || READ_ONCE(task->conn) != conn)
		return NULL;
	/*
	 * Another connection's receive side may end the task meanwhile, and it may be
	 * submitted anew: then its flags are clear before it has our conn (pairs with the
	 * barrier in istripe_session_submit()), and it has another tag before it is SENT.
	 */
	smp_rmb();
	if (!test_bit(ISTRIPE_TASK_SENT, &task->flags) ||
	    test_bit(ISTRIPE_TASK_ANSWERED, &task->flags))
		return NULL;
	/* Flags before tag. */
	smp_rmb();
	return task->itt == itt ? task : NULL;
}

bool istripe_session_task_answered(struct istripe_session *session,
				   const struct istripe_conn *conn, u32 itt)
{
	const struct istripe_task *task;

	if (istripe_itt_slot(itt) >= session->slot_count)
		return false;
	/* As in istripe_session_find_task(). */
	task = smp_load_acquire(&session->slots[istripe_itt_slot(itt)].task);
	return task && READ_ONCE(task->conn) == conn && READ_ONCE(task->itt) == itt &&
	       test_bit(ISTRIPE_TASK_ANSWERED, &task->flags);
}

static struct istripe_conn *session_pick_conn(struct istripe_session *session, u32 lane)
{
	if (session->conn_count == 1)
		return session->conns[0];
	return session->conns[lane % session->conn_count];
}

void istripe_session_submit(struct istripe_session *session, struct istripe_task *task,
			    enum istripe_submit when)
{
	struct istripe_conn *conn = session_pick_conn(session, task->lane);
	struct istripe_slot *slot = &session->slots[task->slot];

	task->error = 0;
	task->status = SAM_STAT_GOOD;
	task->response = 0;
	task->sense = (struct scsi_sense_hdr) {};
	task->transferred_bytes = 0;
	task->flags = 0;
	/* Pairs with the barriers of the receive sides, which read the connection first. */
	smp_wmb();
	WRITE_ONCE(task->conn, conn);
	task->cmd_sn = 0;
	WRITE_ONCE(task->itt, istripe_itt_make(++slot->generation, task->slot));
	WRITE_ONCE(task->submitted_at, jiffies);
	task->received = (struct istripe_moved) { .at = jiffies };
	task->sent = (struct istripe_moved) { .at = jiffies };
	task->rx_cursor = (struct istripe_cursor) {};
	task->tx_cursor = (struct istripe_cursor) {};
	task->tx_sequence = (struct istripe_sequence) {};
	task->solicited.head = 0;
	task->solicited.tail = 0;
	task->solicited.accounted = 0;
	task->offered_bytes = 0;
	task->referenced = false;
	istripe_transfer_init(&task->transfer, &conn->keys, task->read, task->write,
			      task->data.length_bytes);
	/* One for the answer, one for the transmit side until the command is sent. */
	atomic_set(&task->refs, 2);
	/* Pairs with the acquire in istripe_session_find_task(). */
	smp_store_release(&slot->task, task);
	istripe_conn_submit(conn, task, when);
}

void istripe_session_push(struct istripe_session *session)
{
	struct istripe_conn *conn;
	u32 i;

	/* Commands left to the sender thread stay there. */
	for (i = 0; i < session->conn_count; i++) {
		conn = session->conns[i];
		if (!READ_ONCE(conn->batching))
			continue;
		WRITE_ONCE(conn->batching, false);
		istripe_conn_flush(conn);
	}
}

void istripe_session_poll(struct istripe_session *session, u32 lane)
{
	istripe_conn_poll(session_pick_conn(session, lane));
}

u64 istripe_session_digest_errors(const struct istripe_session *session, u32 cid)
{
	/* Pairs with the release where a connection joins. */
	const struct istripe_conn *conn = smp_load_acquire(&session->conns[cid]);

	return conn ? READ_ONCE(conn->digest_errors) : 0;
}

bool istripe_session_is_idle(const struct istripe_session *session)
{
	u32 i;

	/* The last slot is for commands of our own. */
	for (i = 0; i < session->slot_count - 1; i++)
		if (READ_ONCE(session->slots[i].task))
			return false;
	return true;
}

bool istripe_session_is_asking(const struct istripe_session *session)
{
	return READ_ONCE(session->slots[session->slot_count - 1].task);
}

static void session_return_unsent(struct istripe_session *session)
{
	struct istripe_task *task, *next;
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < session->conn_count; i++)
		istripe_conn_take_unsent(session->conns[i], &list);
	list_for_each_entry_safe(task, next, &list, tx_entry) {
		WRITE_ONCE(session->slots[task->slot].task, NULL);
		task->error = -ECONNRESET;
		atomic_set(&task->refs, 0);
		task->done(task);
	}
}

bool istripe_session_finish_tasks(struct istripe_session *session)
{
	u32 left_ms = min_t(u32, session->logout_s * MSEC_PER_SEC / 2, FINISH_MAX_MS);

	istripe_session_quiesce(session);
	session_return_unsent(session);
	while (left_ms && istripe_session_awaits_answers(session) &&
	       istripe_session_has_link(session) &&
	       !test_bit(ISTRIPE_SESSION_FAULTED, &session->flags)) {
		msleep(FINISH_STEP_MS);
		left_ms -= min_t(u32, left_ms, FINISH_STEP_MS);
	}
	return istripe_session_has_link(session);
}

bool istripe_session_has_link(const struct istripe_session *session)
{
	u32 i;

	for (i = 0; i < session->conn_count; i++)
		if (!istripe_conn_has_link(session->conns[i]))
			return false;
	return true;
}

bool istripe_session_is_bound(const struct istripe_session *session)
{
	const struct istripe_conn *conn = session->conns[0];
	int bound = conn->sock ? READ_ONCE(conn->sock->sk->sk_bound_dev_if) : 0;

	return bound && bound == conn->nic;
}

bool istripe_session_is_orphaned(struct istripe_session *session)
{
	bool orphaned = false;
	u32 i;

	mutex_lock(&session->socket_lock);
	for (i = 0; i < ARRAY_SIZE(session->conns); i++)
		if (session->conns[i])
			orphaned = orphaned || istripe_conn_is_orphaned(session->conns[i]);
	mutex_unlock(&session->socket_lock);
	return orphaned;
}

void istripe_session_invalidate(struct istripe_session *session)
{
	atomic_inc(&session->invalidations);
	/* Increment before the event: the worker reads the count after it sees the event. */
	smp_mb__after_atomic();
}

static bool session_has_flag(const struct istripe_session *session, u32 flag)
{
	u32 i;

	for (i = 0; i < session->conn_count; i++)
		if (test_bit(flag, &session->conns[i]->flags))
			return true;
	return false;
}

/* The first two may have WINDOW_CLOSED set as well: see istripe_session_take_cmd_sn(). */
const char *istripe_session_holding(const struct istripe_session *session)
{
	if (istripe_session_is_quiesced(session))
		return "reset";
	if (istripe_session_is_invalid(session))
		return "revalidation";
	if (session_has_flag(session, ISTRIPE_CONN_WINDOW_CLOSED))
		return "window";
	return session_has_flag(session, ISTRIPE_CONN_WRITES_PACED) ? "pace" : NULL;
}

bool istripe_session_take_cmd_sn(struct istripe_session *session, bool own, u32 *cmd_sn)
{
	u32 next = READ_ONCE(session->cmd_sn);

	if (istripe_session_is_quiesced(session) ||
	    (!own && istripe_session_is_invalid(session)))
		return false;
	do {
		if (!iscsi_sna_lte(next, READ_ONCE(session->max_cmd_sn)))
			return false;
	} while (!try_cmpxchg(&session->cmd_sn, &next, next + 1));
	*cmd_sn = next;
	return true;
}

/* Several receive sides at a time: forward only, by cmpxchg (P9). */
static bool serial_forward(u32 *number, u32 to)
{
	u32 now = READ_ONCE(*number);

	do {
		if (!iscsi_sna_lt(now, to))
			return false;
	} while (!try_cmpxchg(number, &now, to));
	return true;
}

/* Another connection comes first each time: the room in the window may not be enough for all. */
static void session_wake(struct istripe_session *session)
{
	u32 count = READ_ONCE(session->conn_count);
	u32 first = READ_ONCE(session->max_cmd_sn) % count;
	struct istripe_conn *conn;
	u32 i;

	for (i = 0; i < count; i++) {
		conn = session->conns[(first + i) % count];
		/* A plain test first: each answer comes here, and the flag is hardly ever set. */
		if (test_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags) &&
		    test_and_clear_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags))
			istripe_conn_kick(conn);
	}
}

void istripe_session_quiesce(struct istripe_session *session)
{
	atomic_inc(&session->quiesced);
}

void istripe_session_unquiesce(struct istripe_session *session)
{
	if (!atomic_dec_and_test(&session->quiesced))
		return;
	/* A full barrier: the transmit side sets its flag, then reads @quiesced again. */
	session_wake(session);
}

void istripe_session_validate(struct istripe_session *session, int invalidations)
{
	/* The LUN's answers are written before; pairs with istripe_task_session_is_invalid(). */
	smp_store_release(&session->validated, invalidations);
	/* As in istripe_session_unquiesce(). */
	smp_mb();
	session_wake(session);
}

void istripe_session_window(struct istripe_session *session, u32 exp_cmd_sn, u32 max_cmd_sn)
{
	/* RFC 7143 11.4.9: both are to be ignored. */
	if (iscsi_sna_lt(max_cmd_sn, exp_cmd_sn - 1))
		return;
	serial_forward(&session->exp_cmd_sn, exp_cmd_sn);
	if (!serial_forward(&session->max_cmd_sn, max_cmd_sn))
		return;
	/* cmpxchg before the test of the flag: pairs with transmit_take_cmd_sn(). */
	session_wake(session);
}

void istripe_session_fault(struct istripe_session *session, int error, const char *fmt, ...)
{
	struct istripe_reason why;
	va_list args;

	if (test_and_set_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return;
	va_start(args, fmt);
	vscnprintf(why.text, sizeof(why.text), fmt, args);
	va_end(args);
	trace_istripe_fault(session->label, error, why.text);
	session->ops->fault(session, error, why.text);
	complete(&session->internal.done);
	complete(&session->control_req.done);
}

static int session_alloc_slots(struct istripe_session *session, u16 task_slots)
{
	/* The last slot is for commands of our own. */
	session->slot_count = task_slots + 1;
	session->slots = kvcalloc(session->slot_count, sizeof(*session->slots), GFP_KERNEL);
	session->internal.page = alloc_page(GFP_NOIO | __GFP_ZERO);
	return session->slots && session->internal.page ? 0 : -ENOMEM;
}

static void session_free(struct istripe_session *session)
{
	u32 i;

	/*
	 * No references are left: submitters are gone (caller), the connections are stopped
	 * (works and tasklet ended, callbacks restored under sk_callback_lock), and sysfs reads
	 * under the nexus's lock, which the caller took to make the session unfindable.
	 */
	for (i = 0; i < ARRAY_SIZE(session->conns); i++)
		istripe_conn_free(session->conns[i]);
	if (session->internal.page)
		__free_page(session->internal.page);
	kvfree(session->slots);
	kfree(session);
}

static struct istripe_session *session_alloc(const struct istripe_session_params *params,
					     const struct istripe_session_ops *ops, void *owner)
{
	struct istripe_session *session = kzalloc(sizeof(*session), GFP_NOIO);

	if (!session)
		return NULL;
	session->ops = ops;
	session->owner = owner;
	session->id = atomic64_inc_return(&session_last_id);
	session->label = params->label;
	session->path = params->path;
	session->way = params->way;
	session->next_portal = params->way.portal;
	session->state = ISTRIPE_SESSION_FREE;
	int_to_scsilun(params->path->lun, &session->lun);
	memcpy(session->isid, params->isid, sizeof(session->isid));
	mutex_init(&session->socket_lock);
	init_completion(&session->internal.done);
	mutex_init(&session->control_req.lock);
	init_completion(&session->control_req.done);
	init_completion(&session->control_req.finished);
	session->control_req.itt = ISTRIPE_TAG_RESERVED;
	session->control_req.referenced_itt = ISTRIPE_TAG_RESERVED;
	session->control_req.held_itt = ISTRIPE_TAG_RESERVED;
	session->conns[0] = istripe_conn_alloc(session, 0);
	if (!session->conns[0] || session_alloc_slots(session, params->task_slots)) {
		session_free(session);
		return NULL;
	}
	return session;
}

void istripe_session_set_state(struct istripe_session *session, enum istripe_session_state state)
{
	trace_istripe_state(session->label, "session",
			    istripe_state_name(&istripe_session_states, session->state),
			    istripe_state_name(&istripe_session_states, state));
	WARN_ON_ONCE(!istripe_state_may(&istripe_session_states, session->state, state));
	WRITE_ONCE(session->state, state);
	if (session->ops->changed)
		session->ops->changed(session);
}

/* The numbers of a fresh session (P10): the login's own commands were immediate. */
static void session_adopt_login(struct istripe_session *session, const struct istripe_login *login)
{
	session->tsih = login->tsih;
	session->tpgt = login->tpgt;
	session->quirks = istripe_quirks_of(login->target_alias);
	session->negotiation = login->negotiation;
	session->time2wait_s = login->negotiation.result.value[ISTRIPE_KEY_DEFAULT_TIME2WAIT];
	session->cmd_sn = login->cmd_sn;
	session->exp_cmd_sn = login->exp_cmd_sn;
	session->max_cmd_sn = login->max_cmd_sn;
}

static int session_redirect(struct istripe_session *session,
			    const struct istripe_session_params *params,
			    struct sockaddr_storage *portal, struct istripe_reason *why)
{
	const struct istripe_login *login = &params->buffers->login;
	const struct istripe_redirect *redirect = &login->redirect;
	/* Where a temporary redirect has led does not speak for the portal that it came from. */
	bool permanent = login->status_detail == ISCSI_LOGIN_STATUS_TGT_MOVED_PERM &&
			 !memcmp(portal, &session->next_portal, sizeof(*portal));
	bool named = istripe_redirect_is_name(redirect->host);
	char port[6], found[ISTRIPE_RESOLVED_BYTES];
	const char *address = named ? found : redirect->host;
	int ret = 0;

	if (named)
		ret = istripe_resolve(session, params, redirect->host, portal->ss_family, found,
				      why);
	if (ret)
		return ret;
	scnprintf(port, sizeof(port), "%u", redirect->port);
	memset(portal, 0, sizeof(*portal));
	if (inet_pton_with_scope(params->net, AF_UNSPEC, address, port, portal))
		return istripe_reason_fail(why, -EPROTO,
					   "the target redirects to what is not a numeric address: %.60s",
					   address);
	if (named)
		pr_info("%s: the target redirects to %s port %s, which is %s\n", params->label,
			redirect->host, port, address);
	else
		pr_info("%s: the target redirects to %s port %s\n", params->label, address, port);
	if (permanent)
		session->next_portal = *portal;
	return 0;
}

/* Of a route that prohibits or drops, or of a policy: no setting is wrong. */
static bool session_is_forbidden(int error)
{
	return error == -EACCES || error == -EPERM || error == -EINVAL;
}

static const char *session_connect_words(const struct istripe_way *way, struct net *net, bool ipv6,
					 int error)
{
	if (way->nic[0] && istripe_nic_named_is_port(net, way->nic))
		return "the NIC is a port of a bridge, bond or team";
	if (session_is_forbidden(error))
		return "a route or a firewall forbids it";
	if (error == -EADDRNOTAVAIL && way->nic[0] && !ipv6 &&
	    way->source_address.ss_family == AF_UNSPEC)
		return "the NIC has no address, or no port is free";
	return istripe_error_words(error);
}

static void session_connect_why(const struct istripe_way *way, struct net *net,
				const struct sockaddr_storage *portal, int error,
				struct istripe_reason *why)
{
	istripe_reason_set(why, "cannot connect to %pISpc", portal);
	if (way->nic[0])
		istripe_reason_add(why, " over %s", way->nic);
	if (way->source_address.ss_family != AF_UNSPEC)
		istripe_reason_add(why, " from %pISc", &way->source_address);
	istripe_reason_add(why, ": %s (%pe)",
			   session_connect_words(way, net, portal->ss_family == AF_INET6, error),
			   ERR_PTR(error));
}

static int session_connect(const struct istripe_session_params *params, struct istripe_conn *conn,
			   const struct sockaddr_storage *portal, struct istripe_reason *why)
{
	int ret = istripe_conn_connect(conn, portal, params->net,
				       READ_ONCE(params->path->timers.login_timeout_ms));

	if (!ret)
		return istripe_conn_login(conn, params, why);
	session_connect_why(&params->way, params->net, portal, ret, why);
	return session_is_forbidden(ret) ? -ENETUNREACH : ret;
}

/* One login at one portal: 0, -errno, or -EREMCHG with @portal changed. */
static int session_login(struct istripe_session *session,
			 const struct istripe_session_params *params,
			 struct sockaddr_storage *portal, struct istripe_reason *why)
{
	const struct istripe_login *login = &params->buffers->login;
	int ret = session_connect(params, session->conns[0], portal, why);

	if (ret == ISTRIPE_LOGIN_REDIRECT && params->no_redirects)
		return istripe_reason_fail(why, -EREMCHG, "login: %s", login->reason);
	if (ret == ISTRIPE_LOGIN_REDIRECT) {
		ret = session_redirect(session, params, portal, why);
		return ret ?: -EREMCHG;
	}
	if (ret < 0)
		return ret;
	session_adopt_login(session, login);
	session->way.portal = *portal;
	session->conn_count = 1;
	return 0;
}

/* A login that joins the session: same ISID, its TSIH, a CID of its own (RFC 7143 6.3.1). */
static int session_join_one(struct istripe_session *session, struct istripe_conn *conn,
			    const struct istripe_session_params *params,
			    const struct sockaddr_storage *portal, struct istripe_reason *why)
{
	const struct istripe_login *login = &params->buffers->login;
	int ret = session_connect(params, conn, portal, why);

	if (ret == ISTRIPE_LOGIN_REDIRECT)
		return istripe_reason_fail(why, -EREMCHG, "login: %s", login->reason);
	if (ret < 0)
		return ret;
	/* No CmdSN has been taken yet. Another node may have the same TSIH. */
	if (login->exp_cmd_sn != session->cmd_sn)
		return istripe_reason_fail(why, -EPROTO,
					   "login: joined another session: ExpCmdSN %u, ours is %u",
					   login->exp_cmd_sn, session->cmd_sn);
	istripe_session_window(session, login->exp_cmd_sn, login->max_cmd_sn);
	return 0;
}

/* sysfs and istripe_session_interrupt() find it from here on. */
static struct istripe_conn *session_add_conn(struct istripe_session *session, u32 cid)
{
	struct istripe_conn *conn = istripe_conn_alloc(session, cid);

	mutex_lock(&session->socket_lock);
	/* Pairs with the acquire in sysfs. */
	smp_store_release(&session->conns[cid], conn);
	mutex_unlock(&session->socket_lock);
	return conn;
}

static int session_join_next(struct istripe_session *session,
			     const struct istripe_session_params *params,
			     struct istripe_reason *why)
{
	struct istripe_conn *conn = session_add_conn(session, session->conn_count);
	int ret;

	if (!conn)
		return istripe_reason_fail(why, -ENOMEM, "no memory for a connection");
	ret = session_join_one(session, conn, params, &session->conns[0]->remote_address, why);
	if (ret) {
		istripe_conn_stop(conn);
		return ret;
	}
	WRITE_ONCE(session->conn_count, session->conn_count + 1);
	istripe_conn_start(conn);
	return 0;
}

u32 istripe_session_connections_may(const struct istripe_session *session)
{
	return session->quirks.one_connection ?
		1 : session->negotiation.result.value[ISTRIPE_KEY_MAX_CONNECTIONS];
}

void istripe_session_join(struct istripe_session *session,
			  const struct istripe_session_params *params)
{
	u32 granted = min(istripe_session_connections_may(session), params->connections);
	unsigned int reclaim = memalloc_noreclaim_save();
	struct istripe_reason why = {};

	if (params->connections > 1 && session->quirks.one_connection)
		pr_info_ratelimited("%s: %s is not up to the loss of a session of several connections: each is a session\n",
				    params->label, session->quirks.target);
	while (session->conn_count < granted &&
	       !test_bit(ISTRIPE_SESSION_FAULTED, &session->flags)) {
		if (!session_join_next(session, params, &why))
			continue;
		if (!test_bit(ISTRIPE_SESSION_INTERRUPTED, &session->flags))
			pr_warn("%s: goes on with %u of %u connections: %s\n", params->label,
				session->conn_count, granted, why.text);
		break;
	}
	memalloc_noreclaim_restore(reclaim);
}

/* Redirects are counted; logins with other hashes are few, each has fewer of them. */
static int session_open_at(struct istripe_session *session,
			   const struct istripe_session_params *params, struct istripe_reason *why)
{
	struct sockaddr_storage portal = params->way.portal;
	u32 hops = 0;
	int ret;

	do {
		ret = session_login(session, params, &portal, why);
		trace_istripe_login(session->label, session->isid, session->tsih, ret);
		if (!ret) {
			istripe_session_set_state(session, ISTRIPE_SESSION_LOGGED_IN);
			istripe_conn_start(session->conns[0]);
			return 0;
		}
		if (test_bit(ISTRIPE_SESSION_REFUSED, &session->flags) &&
		    istripe_login_with_other_hash(params))
			clear_bit(ISTRIPE_SESSION_REFUSED, &session->flags);
		else if (ret == -EREMCHG && !params->no_redirects)
			hops++;
		else
			return ret;
		istripe_conn_stop(session->conns[0]);
	} while (hops <= REDIRECT_HOPS_MAX);
	return istripe_reason_fail(why, -ELOOP, "the target redirects more than %d times",
				   REDIRECT_HOPS_MAX);
}

int istripe_session_open(const struct istripe_session_params *params,
			 const struct istripe_session_ops *ops, void *owner,
			 struct istripe_session **session, struct istripe_reason *why)
{
	unsigned int reclaim = memalloc_noreclaim_save();
	struct istripe_session *opening = session_alloc(params, ops, owner);
	int ret = -ENOMEM;

	if (!opening) {
		istripe_reason_set(why, "no memory for a session");
		goto out;
	}
	/* Whole before istripe_session_interrupt() or sysfs can find it. */
	smp_store_release(session, opening);
	istripe_session_set_state(opening, ISTRIPE_SESSION_LOGIN);
	istripe_login_take(params->buffers, params->path);
	ret = session_open_at(opening, params, why);
	if (ret)
		istripe_session_set_state(opening, ISTRIPE_SESSION_FAILED);
out:
	memalloc_noreclaim_restore(reclaim);
	return ret;
}

void istripe_session_tune(struct istripe_session *session)
{
	u32 i;

	mutex_lock(&session->socket_lock);
	for (i = 0; i < ARRAY_SIZE(session->conns); i++)
		if (session->conns[i] && session->conns[i]->sock)
			istripe_conn_tune(session->conns[i]);
	mutex_unlock(&session->socket_lock);
}

void istripe_session_keepalive_anew(struct istripe_session *session)
{
	u32 i;

	mutex_lock(&session->socket_lock);
	for (i = 0; i < ARRAY_SIZE(session->conns); i++)
		if (session->conns[i])
			istripe_keepalive_begin_anew(session->conns[i]);
	mutex_unlock(&session->socket_lock);
}

void istripe_session_interrupt(struct istripe_session *session)
{
	u32 i;

	set_bit(ISTRIPE_SESSION_INTERRUPTED, &session->flags);
	mutex_lock(&session->socket_lock);
	for (i = 0; i < ARRAY_SIZE(session->conns); i++)
		if (session->conns[i] && session->conns[i]->sock)
			kernel_sock_shutdown(session->conns[i]->sock, SHUT_RDWR);
	mutex_unlock(&session->socket_lock);
	istripe_resolve_interrupt();
}

/*
 * An answered task stays in the table while its data are to be sent or with TCP. A write with GOOD
 * cannot have been carried out by then. One that is to be sent again later counts as lost, as there
 * is a bound to losses: BUSY that ends the session each time would have none.
 */
static bool task_counts_as_lost(const struct istripe_task *task)
{
	enum istripe_scsi_verdict verdict = istripe_sense_verdict(task->status, &task->sense);

	return task->write && !task->error &&
	       (verdict == ISTRIPE_SCSI_GOOD || verdict == ISTRIPE_SCSI_BUSY);
}

/*
 * All connections are halted. @held: TCP may still have the data of writes, so those that were
 * answered are left: they end now.
 */
static void session_collect(struct istripe_session *session, bool held)
{
	struct istripe_task *task;
	u32 i;

	for (i = 0; i < session->slot_count; i++) {
		task = session->slots[i].task;
		if (!task ||
		    (held && task->write && test_bit(ISTRIPE_TASK_ANSWERED, &task->flags)))
			continue;
		session->slots[i].task = NULL;
		/* An answer that came before the stop counts. */
		if (!test_bit(ISTRIPE_TASK_ANSWERED, &task->flags) || task_counts_as_lost(task))
			task->error = -ECONNRESET;
		atomic_set(&task->refs, 0);
		task->done(task);
	}
}

void istripe_session_halt(struct istripe_session *session)
{
	unsigned int noio = memalloc_noio_save();
	u32 i;

	/* Cut all first: each may have to wait until the network stack lets go. */
	for (i = 0; i < ARRAY_SIZE(session->conns) && session->conns[i]; i++)
		istripe_conn_cut(session->conns[i]);
	for (i = 0; i < ARRAY_SIZE(session->conns) && session->conns[i]; i++)
		istripe_conn_halt(session->conns[i]);
	session_collect(session, true);
	memalloc_noio_restore(noio);
}

bool istripe_session_holds_pages(const struct istripe_session *session)
{
	const struct istripe_conn *conn;
	bool holds = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(session->conns) && session->conns[i]; i++) {
		conn = session->conns[i];
		holds |= conn->sock && !istripe_zerocopy_is_over(conn->zerocopy);
	}
	return holds;
}

bool istripe_session_close(struct istripe_session *session)
{
	unsigned int noio = memalloc_noio_save();
	bool released = true;
	u32 i;

	istripe_session_halt(session);
	session->drain_until = get_jiffies_64() + msecs_to_jiffies(ISTRIPE_DRAIN_TIMEOUT_MS);
	for (i = 0; i < ARRAY_SIZE(session->conns) && session->conns[i]; i++)
		released &= istripe_conn_stop(session->conns[i]);
	session_collect(session, false);
	session_free(session);
	memalloc_noio_restore(noio);
	return released;
}

static void internal_done(struct istripe_task *task)
{
	complete(&container_of(task, struct istripe_internal, task)->done);
}

int istripe_session_execute(struct istripe_session *session, const u8 *cdb,
			    const struct scsi_lun *lun, u32 bytes, bool write, u32 timeout_ms)
{
	struct istripe_internal *internal = &session->internal;
	struct istripe_task *task = &internal->task;

	reinit_completion(&internal->done);
	/* A fault from now on completes it. */
	smp_mb();
	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return -ENOTCONN;
	memcpy(task->cdb, cdb, sizeof(task->cdb));
	task->lun = *lun;
	task->slot = session->slot_count - 1;
	task->read = bytes && !write;
	task->write = bytes && write;
	task->done = internal_done;
	if (!write)
		clear_page(page_address(internal->page));
	internal->bvec = (struct bio_vec) { .bv_page = internal->page, .bv_len = bytes };
	istripe_data_set_bvec(&task->data, &internal->bvec);
	istripe_session_submit(session, task, ISTRIPE_SUBMIT_NOW);
	return istripe_session_await(session, timeout_ms);
}

int istripe_session_await(struct istripe_session *session, u32 timeout_ms)
{
	struct istripe_internal *internal = &session->internal;

	if (!wait_for_completion_timeout(&internal->done, msecs_to_jiffies(timeout_ms)))
		return -ETIMEDOUT;
	/* After a fault the task is still the session's. */
	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return -ENOTCONN;
	return internal->task.error;
}
