// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <net/tcp.h>

#include "transport/conn.h"
#include "transport/control_req.h"

#define LOGOUT_TIMEOUT_MS	2000
/* Before a request is sent again of which the target has too many. */
#define CROWDED_MS	20
/* So often it looks whether another request of the session is over. */
#define TURN_MS		5

static u32 control_req_tag(struct istripe_session *session, u16 slot)
{
	return istripe_itt_make(++session->control_req.generation, slot);
}

static int control_req_run(struct istripe_conn *conn, u32 itt, const struct iscsi_hdr *header,
			   u32 payload_bytes, unsigned long deadline)
{
	struct istripe_session *session = conn->session;
	struct istripe_control_req *control_req = &session->control_req;
	long left = max((long)(deadline - jiffies), 1L);
	int ret;

	reinit_completion(&control_req->done);
	reinit_completion(&control_req->finished);
	WRITE_ONCE(control_req->conn, conn);
	WRITE_ONCE(control_req->sent, false);
	/* Connection before tag; the control list's lock orders the tag before the PDU. */
	smp_store_release(&control_req->itt, itt);
	/* A fault from now on completes @done. */
	smp_mb();
	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		ret = -ENOTCONN;
	else
		ret = istripe_conn_send_control(conn, header, NULL, payload_bytes);
	if (!ret && !wait_for_completion_timeout(&control_req->done, left))
		ret = -ETIMEDOUT;
	/* From here on an answer is ignored: see control_req_answered(). */
	if (cmpxchg(&control_req->itt, itt, ISTRIPE_TAG_RESERVED) == itt)
		return ret ?: test_bit(ISTRIPE_SESSION_FAULTED, &session->flags) ? -ENOTCONN :
										   -ETIMEDOUT;
	/* Answered, perhaps while others woke us: wait until it has been acted on. */
	wait_for_completion(&control_req->finished);
	return 0;
}

/* Takes an answer that request @itt waits for: of its kind, on the connection that carried it. */
static bool control_req_answered(struct istripe_conn *conn, u32 itt, u16 slot, u8 response)
{
	struct istripe_control_req *control_req = &conn->session->control_req;

	/* Pairs with the release in control_req_run(): the connection is the tag's. */
	if (istripe_itt_slot(itt) != slot || smp_load_acquire(&control_req->itt) != itt ||
	    READ_ONCE(control_req->conn) != conn)
		return false;
	/* An answer before the request was sent is a guess. Pairs with the release there. */
	if (!smp_load_acquire(&control_req->sent))
		return false;
	/* After the cmpxchg: a late answer must not replace that of the next request. */
	if (cmpxchg(&control_req->itt, itt, ISTRIPE_TAG_RESERVED) != itt)
		return false;
	control_req->response = response;
	return true;
}

/* The answer has been acted on. Afterwards the next request may come. */
static void control_req_finish(struct istripe_control_req *control_req)
{
	complete(&control_req->done);
	complete(&control_req->finished);
}

static int task_management_result(u8 response)
{
	switch (response) {
	case ISCSI_TMF_RSP_COMPLETE:
		return 0;
	case ISCSI_TMF_RSP_NOT_SUPPORTED:
	case ISCSI_TMF_RSP_AUTH_FAILED:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

static int control_req_ping(struct istripe_conn *conn, u32 bytes, unsigned long deadline)
{
	struct istripe_pdu_nop_out ping = {
		.itt = control_req_tag(conn->session, ISTRIPE_SLOT_BARRIER),
		.ttt = ISTRIPE_TAG_RESERVED,
		.data_segment_bytes = bytes,
	};
	struct iscsi_hdr header;
	int ret;

	istripe_pdu_encode_nop_out((struct iscsi_nopout *)&header, &ping);
	ret = control_req_run(conn, ping.itt, &header, bytes, deadline);
	return !ret && conn->session->control_req.response ? -EAGAIN : ret;
}

/* With the answer the target has all that was sent over @conn before, and we all that it sent. */
static int control_req_barrier(struct istripe_conn *conn, unsigned long deadline)
{
	int ret;

	while ((ret = control_req_ping(conn, 0, deadline)) == -EAGAIN) {
		if (time_after_eq(jiffies, deadline))
			return -ETIMEDOUT;
		msleep(CROWDED_MS);
	}
	return ret;
}

static int control_req_barriers(struct istripe_session *session, u32 first, unsigned long deadline)
{
	int ret = 0;
	u32 i;

	for (i = first; !ret && i < session->conn_count; i++)
		ret = control_req_barrier(session->conns[i], deadline);
	return ret;
}

/* Ends the tasks of the connections behind the first as each of these answers a barrier. */
static int control_req_collect(struct istripe_session *session, unsigned long deadline)
{
	struct istripe_control_req *control_req = &session->control_req;
	int ret;

	WRITE_ONCE(control_req->collect, ISTRIPE_COLLECT_ALL);
	ret = control_req_barriers(session, 1, deadline);
	control_req->collect = ISTRIPE_COLLECT_NONE;
	return ret;
}

int istripe_session_ping(struct istripe_session *session, u32 timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	int ret = -ETIMEDOUT;

	mutex_lock(&session->control_req.lock);
	/* The wait for the lock counts: many callers do not add up their times. */
	if (time_before(jiffies, deadline))
		ret = control_req_barrier(session->conns[0], deadline);
	mutex_unlock(&session->control_req.lock);
	return ret;
}

int istripe_session_ping_large(struct istripe_session *session, u32 timeout_ms)
{
	struct istripe_conn *conn = session->conns[0];
	const struct tcp_sock *tcp = tcp_sk(conn->sock->sk);
	u32 bytes = istripe_conn_large_bytes(conn);
	u32 end = READ_ONCE(tcp->write_seq) + ISCSI_HDR_LEN + bytes;
	int ret;

	mutex_lock(&session->control_req.lock);
	ret = control_req_ping(conn, bytes, jiffies + msecs_to_jiffies(timeout_ms));
	mutex_unlock(&session->control_req.lock);
	/* It has come in full, and there are too many. */
	if (ret == -EAGAIN)
		return 0;
	/* A target that takes the data and gives no answer is not the network's fault. */
	return ret == -ETIMEDOUT && !before(READ_ONCE(tcp->snd_una), end) ? -EBADE : ret;
}

static int task_management_run(struct istripe_conn *conn, u8 function, u32 itt, u32 ref_cmd_sn,
			       unsigned long deadline)
{
	struct istripe_session *session = conn->session;
	struct istripe_control_req *control_req = &session->control_req;
	struct istripe_pdu_task_management request = {
		/* A question of a login may be to another LUN, or this one's address not known. */
		.lun = istripe_itt_slot(itt) == session->slot_count - 1 ?
		       session->internal.task.lun : session->lun,
		.itt = control_req_tag(session, ISTRIPE_SLOT_TASK_MANAGEMENT),
		.referenced_itt = itt,
		.ref_cmd_sn = ref_cmd_sn,
		.function = function,
	};
	struct iscsi_hdr header;

	istripe_pdu_encode_task_management((struct iscsi_tm *)&header, &request);
	WRITE_ONCE(control_req->function, function);
	if (function == ISCSI_TM_FUNC_ABORT_TASK)
		WRITE_ONCE(control_req->referenced_itt, itt);
	return control_req_run(conn, request.itt, &header, 0, deadline);
}

/* @error: of the task when it is aborted. */
static int session_send_abort(struct istripe_conn *conn, u32 itt, u32 ref_cmd_sn, int error,
			      unsigned long deadline)
{
	WRITE_ONCE(conn->session->control_req.abort_error, error);
	return task_management_run(conn, ISCSI_TM_FUNC_ABORT_TASK, itt, ref_cmd_sn, deadline);
}

/*
 * The target does not know the task. Either it has ended, and its answer is here or just behind
 * this one, or another host has aborted it, and there is no answer (SAM-5 5.3.1 with TAS=0). The
 * answer to a ping on its connection tells which.
 */
static int session_collect_task(struct istripe_conn *conn, u32 itt, unsigned long deadline)
{
	struct istripe_control_req *control_req = &conn->session->control_req;
	int ret;

	control_req->referenced_itt = itt;
	control_req->collect = ISTRIPE_COLLECT_TASK;
	ret = control_req_barrier(conn, deadline);
	control_req->collect = ISTRIPE_COLLECT_NONE;
	return ret;
}

/* The task may still be carried out (P102): unless its answer comes, the abort has failed. */
static int session_await_answer(struct istripe_conn *conn, u32 itt, unsigned long deadline)
{
	int ret = control_req_barrier(conn, deadline);

	if (!ret && istripe_session_task_progress(conn->session, itt) == ISTRIPE_TASK_IN_FLIGHT)
		return -EBUSY;
	return ret;
}

/*
 * None of the task's data follow its abort (P118), before task_data_go_on(). LIO answers the abort
 * when it has them, and is not believed that it does not know the task.
 */
static void task_data_hold(struct istripe_conn *conn, u32 itt)
{
	struct istripe_session *session = conn->session;

	/* The control list's lock orders it before the abort's PDU. */
	if (!session->quirks.unknown_task_lives)
		WRITE_ONCE(session->control_req.held_itt, itt);
}

/* The abort is over. If the task is, too, its place on the list is given up. */
static void task_data_go_on(struct istripe_conn *conn)
{
	/* After the task's end: pairs with the acquire in task_is_held(). */
	smp_store_release(&conn->session->control_req.held_itt, ISTRIPE_TAG_RESERVED);
	istripe_conn_kick(conn);
}

static int session_run_abort(struct istripe_conn *conn, u32 itt, u32 cmd_sn,
			     unsigned long deadline)
{
	struct istripe_session *session = conn->session;
	int ret = session_send_abort(conn, itt, cmd_sn, -ECANCELED, deadline);

	if (ret)
		return ret;
	if (session->control_req.response == ISCSI_TMF_RSP_NO_TASK)
		return session->quirks.unknown_task_lives ?
			session_await_answer(conn, itt, deadline) :
			session_collect_task(conn, itt, deadline);
	return task_management_result(session->control_req.response);
}

static int session_abort_task(struct istripe_session *session, u32 itt, unsigned long deadline)
{
	struct istripe_conn *conn;
	u32 cmd_sn;
	int ret;

	conn = istripe_session_task_conn(session, itt, &cmd_sn);
	/* As in session_collect_slot(): they are the task's if it is still unanswered. */
	smp_rmb();
	if (istripe_session_task_progress(session, itt) != ISTRIPE_TASK_IN_FLIGHT)
		return 0;
	task_data_hold(conn, itt);
	ret = session_run_abort(conn, itt, cmd_sn, deadline);
	task_data_go_on(conn);
	return ret;
}

/*
 * The request is immediate, as the window may be closed. So it could overtake a command on another
 * connection, which would be carried out after the reset that covers it. Hence no command may be
 * on its way on any connection meanwhile. The tasks of another connection end on its receive side,
 * after their answers that are on their way there.
 */
static int session_reset_lun(struct istripe_session *session, unsigned long deadline)
{
	int ret;

	istripe_session_quiesce(session);
	ret = control_req_barriers(session, 1, deadline);
	if (!ret)
		ret = task_management_run(session->conns[0], ISCSI_TM_FUNC_LOGICAL_UNIT_RESET, 0,
					  0, deadline);
	if (!ret)
		ret = task_management_result(session->control_req.response);
	if (!ret) {
		/* The LUN has been reset: 0, even if the session ends. */
		if (control_req_collect(session, deadline))
			istripe_session_fault(session, -ETIMEDOUT,
					      "the LUN has been reset, but not every connection says so");
	}
	istripe_session_unquiesce(session);
	return ret;
}

/*
 * Others may have the lock while they wait for a target that does not answer, but none while it
 * waits for this reset: leg->reset_lock is taken before the lock of any session.
 */
static bool control_req_lock(struct istripe_control_req *control_req, unsigned long deadline)
{
	while (!mutex_trylock(&control_req->lock)) {
		if (time_after_eq(jiffies, deadline))
			return false;
		msleep(TURN_MS);
	}
	return true;
}

int istripe_session_reset_begin(struct istripe_session *session, u32 *cmd_sn,
				unsigned long deadline)
{
	struct istripe_control_req *control_req = &session->control_req;
	int ret;

	if (!control_req_lock(control_req, deadline))
		return -EBUSY;
	istripe_session_quiesce(session);
	ret = control_req_barriers(session, 0, deadline);
	mutex_unlock(&control_req->lock);
	*cmd_sn = READ_ONCE(session->cmd_sn);
	if (ret)
		istripe_session_unquiesce(session);
	return ret;
}

/* The tag of the command in @slot if it is in flight and unanswered. */
static u32 session_unanswered(struct istripe_session *session, u32 slot)
{
	struct istripe_task *task = READ_ONCE(session->slots[slot].task);
	u32 itt = task ? READ_ONCE(task->itt) : ISTRIPE_TAG_RESERVED;

	if (istripe_session_task_progress(session, itt) != ISTRIPE_TASK_IN_FLIGHT)
		return ISTRIPE_TAG_RESERVED;
	return itt;
}

static int session_ask_task(struct istripe_conn *conn, u32 itt, u32 cmd_sn,
			    unsigned long deadline)
{
	struct istripe_control_req *control_req = &conn->session->control_req;
	int ret = session_send_abort(conn, itt, cmd_sn, -EAGAIN, deadline);

	if (!ret && control_req->response == ISCSI_TMF_RSP_NO_TASK)
		return session_collect_task(conn, itt, deadline);
	/* SCST says so of a task that it does not know, too. */
	if (!ret && !task_management_result(control_req->response))
		return 0;
	/* The others go on. Nothing ends this one, so its data may not be rejected. */
	WRITE_ONCE(control_req->referenced_itt, ISTRIPE_TAG_RESERVED);
	return ret ?: -EBUSY;
}

/*
 * Has the reset ended the command in @slot? One that the target does not know, and has not
 * answered, is dead. Each is asked for: a target may forget a command just before it answers it,
 * and one that shows the same LUN from another node, and goes on there, has the others, and ends
 * them now.
 */
static int session_collect_slot(struct istripe_session *session, u32 slot, u32 end,
				unsigned long deadline)
{
	u32 itt = session_unanswered(session, slot), cmd_sn;
	struct istripe_conn *conn;
	int ret;

	if (itt == ISTRIPE_TAG_RESERVED)
		return 0;
	/* A session that goes on uses the slot again: @cmd_sn is that of @itt, or none. */
	smp_rmb();
	conn = istripe_session_task_conn(session, itt, &cmd_sn);
	smp_rmb(); /* as above */
	if (session_unanswered(session, slot) != itt || !iscsi_sna_lt(cmd_sn, end))
		return 0;
	task_data_hold(conn, itt);
	ret = session_ask_task(conn, itt, cmd_sn, deadline);
	task_data_go_on(conn);
	return ret;
}

void istripe_session_reset_collect(struct istripe_session *session, u32 cmd_sn,
				   unsigned long deadline)
{
	struct istripe_control_req *control_req = &session->control_req;
	int ret;
	u32 i;

	if (!control_req_lock(control_req, deadline))
		return;
	ret = control_req_barriers(session, 0, deadline);
	for (i = 0; !ret && i < session->slot_count; i++)
		ret = session_collect_slot(session, i, cmd_sn, deadline);
	mutex_unlock(&control_req->lock);
}

int istripe_session_task_management(struct istripe_session *session, u8 function, u32 itt,
				    u32 timeout_ms)
{
	unsigned long deadline;
	int ret;

	mutex_lock(&session->control_req.lock);
	deadline = jiffies + msecs_to_jiffies(timeout_ms);
	if (function == ISCSI_TM_FUNC_ABORT_TASK)
		ret = session_abort_task(session, itt, deadline);
	else
		ret = session_reset_lun(session, deadline);
	mutex_unlock(&session->control_req.lock);
	return ret;
}

void istripe_session_hurry(struct istripe_session *session)
{
	complete(&session->control_req.done);
}

static void task_management_collect_one(struct istripe_conn *conn, u32 itt, int error)
{
	struct istripe_task *task = istripe_session_find_task(conn->session, conn, itt);

	if (task)
		istripe_task_answer(task, error);
}

/* Ends the tasks that were sent over @conn before the reset. */
static void task_management_collect_all(struct istripe_conn *conn)
{
	struct istripe_session *session = conn->session;
	struct istripe_task *task;
	unsigned long flags;
	u32 cmd_sn;
	u32 i;

	for (i = 0; i < session->slot_count; i++) {
		task = READ_ONCE(session->slots[i].task);
		if (!task || READ_ONCE(task->conn) != conn)
			continue;
		cmd_sn = READ_ONCE(task->cmd_sn);
		/*
		 * Other receive sides may end tasks meanwhile, and these be submitted anew,
		 * but none becomes SENT while the session is quiesced: a task that is SENT and
		 * unanswered now was so when cmd_sn was read.
		 */
		smp_rmb();
		flags = READ_ONCE(task->flags);
		if (!(flags & BIT(ISTRIPE_TASK_SENT)) || flags & BIT(ISTRIPE_TASK_ANSWERED) ||
		    !iscsi_sna_lt(cmd_sn, READ_ONCE(session->control_req.cmd_sn)))
			continue;
		istripe_task_answer(task, -ECANCELED);
	}
}

int istripe_control_req_tm_response(struct istripe_conn *conn)
{
	struct istripe_control_req *control_req = &conn->session->control_req;
	u8 response = conn->rx.pdu.task_management_response;
	/* Before the tag is taken: afterwards they may be those of the next request. */
	u8 function = READ_ONCE(control_req->function);
	u32 referenced_itt = READ_ONCE(control_req->referenced_itt);
	int error = READ_ONCE(control_req->abort_error);

	if (!control_req_answered(conn, conn->rx.pdu.itt, ISTRIPE_SLOT_TASK_MANAGEMENT,
				  response))
		/* Too late: its time is up. */
		return 0;
	/* On the receive side: no later PDU can be taken for their answer (P45). */
	if (!task_management_result(response) && function == ISCSI_TM_FUNC_ABORT_TASK)
		task_management_collect_one(conn, referenced_itt, error);
	else if (!task_management_result(response))
		task_management_collect_all(conn);
	control_req_finish(control_req);
	return 0;
}

bool istripe_control_req_ends(const struct istripe_session *session, u32 itt)
{
	const struct istripe_control_req *control_req = &session->control_req;

	/* After the answer, too: SPDK forgets the task, and then does not support the abort. */
	if (READ_ONCE(control_req->referenced_itt) == itt ||
	    READ_ONCE(control_req->collect) == ISTRIPE_COLLECT_ALL)
		return true;
	/* Pairs with the release in control_req_run(): the function is the tag's. */
	return istripe_itt_slot(smp_load_acquire(&control_req->itt)) ==
	       ISTRIPE_SLOT_TASK_MANAGEMENT &&
	       READ_ONCE(control_req->function) != ISCSI_TM_FUNC_ABORT_TASK;
}

bool istripe_control_req_rejected(struct istripe_conn *conn, u32 itt)
{
	u16 slot = istripe_itt_slot(itt);

	if (slot != ISTRIPE_SLOT_TASK_MANAGEMENT && slot != ISTRIPE_SLOT_BARRIER)
		return false;
	if (!control_req_answered(conn, itt, slot, ISCSI_TMF_RSP_REJECTED))
		return false;
	control_req_finish(&conn->session->control_req);
	return true;
}

bool istripe_control_req_nop_in(struct istripe_conn *conn)
{
	struct istripe_control_req *control_req = &conn->session->control_req;

	if (!control_req_answered(conn, conn->rx.pdu.itt, ISTRIPE_SLOT_BARRIER, 0))
		return false;
	if (control_req->collect == ISTRIPE_COLLECT_ALL)
		task_management_collect_all(conn);
	else if (control_req->collect == ISTRIPE_COLLECT_TASK)
		task_management_collect_one(conn, control_req->referenced_itt,
					    control_req->abort_error);
	control_req_finish(control_req);
	return true;
}

/* No new request on any connection of a session that ends (RFC 7143 11.14). */
static void logout_quiet_others(struct istripe_session *session)
{
	struct istripe_conn *conn;
	u32 i;

	for (i = 1; i < session->conn_count; i++) {
		conn = session->conns[i];
		mutex_lock(&conn->tx_mutex);
		set_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags);
		mutex_unlock(&conn->tx_mutex);
		/* A sender that found the lock taken has left its work. */
		istripe_conn_kick(conn);
	}
}

void istripe_session_logout(struct istripe_session *session)
{
	u32 itt = control_req_tag(session, ISTRIPE_SLOT_LOGOUT);
	struct iscsi_hdr header;

	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return;
	istripe_session_set_state(session, ISTRIPE_SESSION_LOGOUT);
	logout_quiet_others(session);
	istripe_pdu_encode_logout((struct iscsi_logout *)&header, itt);
	control_req_run(session->conns[0], itt, &header, 0,
			jiffies + msecs_to_jiffies(LOGOUT_TIMEOUT_MS));
}

int istripe_control_req_logout_response(struct istripe_conn *conn)
{
	const struct istripe_pdu_logout_response *response = &conn->rx.pdu.logout_response;
	struct istripe_session *session = conn->session;

	if (!control_req_answered(conn, conn->rx.pdu.itt, ISTRIPE_SLOT_LOGOUT, response->response))
		return istripe_rx_reject(conn, -EPROTO, "a logout response nobody waits for");
	/* RFC 7143 11.15.3: at recovery level 0 it says nothing after a session has ended well. */
	if (!response->response)
		session->time2wait_s = 0;
	else if (response->response >= ISCSI_LOGOUT_RECOVERY_UNSUPPORTED)
		session->time2wait_s = response->time2wait_s;
	/* The end of the connection that follows is no fault. */
	set_bit(ISTRIPE_SESSION_FAULTED, &session->flags);
	control_req_finish(&session->control_req);
	return 0;
}
