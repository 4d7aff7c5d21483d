// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include "proto/serial.h"
#include "transport/conn.h"
#include "transport/exchange.h"

static u32 exchange_tag(struct istripe_session *session, u16 slot)
{
	return (u32)(++session->exchange.generation & 0x7fff) << 16 | slot;
}

/* Send a request and wait until its answer, a fault or the time is up. */
static int exchange_run(struct istripe_conn *conn, u32 itt, const struct iscsi_hdr *header,
			u32 timeout_ms)
{
	struct istripe_session *session = conn->session;
	struct istripe_exchange *exchange = &session->exchange;
	int ret;

	reinit_completion(&exchange->done);
	/* Ordered before the PDU by the lock of the control list. */
	WRITE_ONCE(exchange->itt, itt);
	/* In this order: a fault from now on completes what we wait for. */
	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		ret = -ENOTCONN;
	else
		ret = istripe_conn_send_control(conn, header, NULL, 0);
	if (!ret && !wait_for_completion_timeout(&exchange->done, msecs_to_jiffies(timeout_ms)))
		ret = -ETIMEDOUT;
	/* From here on an answer finds nobody: see exchange_answered(). */
	if (cmpxchg(&exchange->itt, itt, ISTRIPE_TAG_RESERVED) == itt)
		return ret ?: -ENOTCONN;
	/* Answered, perhaps at the last moment: wait until all of that is done. */
	if (ret)
		wait_for_completion(&exchange->done);
	return 0;
}

/* Is this the answer that is waited for? Then it is taken, with what it says. */
static bool exchange_answered(struct istripe_session *session, u32 itt, u8 response)
{
	struct istripe_exchange *exchange = &session->exchange;

	if (itt == ISTRIPE_TAG_RESERVED || READ_ONCE(exchange->itt) != itt)
		return false;
	exchange->response = response;
	return cmpxchg(&exchange->itt, itt, ISTRIPE_TAG_RESERVED) == itt;
}

static int task_management_result(u8 response)
{
	switch (response) {
	case ISCSI_TMF_RSP_COMPLETE:
		return 0;
	case ISCSI_TMF_RSP_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

int istripe_session_task_management(struct istripe_session *session, u8 function, u32 itt,
				    u32 timeout_ms)
{
	struct istripe_exchange *exchange = &session->exchange;
	struct istripe_pdu_task_management request = {
		.lun = session->lun,
		.itt = exchange_tag(session, ISTRIPE_SLOT_TASK_MANAGEMENT),
		.referenced_itt = itt,
		.ref_cmd_sn = istripe_session_task_cmd_sn(session, itt),
		.function = function,
		.immediate = true,
	};
	struct istripe_conn *conn = istripe_session_task_conn(session, itt);
	struct iscsi_hdr header;
	int ret;

	/*
	 * The tasks of the other connections would have to end on their receive sides:
	 * a new session costs less than the means for that.
	 */
	if (function != ISCSI_TM_FUNC_ABORT_TASK && session->conn_count > 1)
		return -EOPNOTSUPP;
	istripe_pdu_encode_task_management((struct iscsi_tm *)&header, &request);
	exchange->function = function;
	exchange->referenced_itt = itt;
	ret = exchange_run(conn, request.itt, &header, timeout_ms);
	if (ret)
		return ret;
	/* The task has ended by itself: its answer is here or just behind this one. */
	if (function == ISCSI_TM_FUNC_ABORT_TASK && exchange->response == ISCSI_TMF_RSP_NO_TASK)
		return 0;
	return task_management_result(exchange->response);
}

static void task_management_collect_one(struct istripe_conn *conn, u32 itt)
{
	struct istripe_task *task = istripe_session_find_task(conn->session, conn, itt);

	if (task)
		istripe_task_answer(task, -ECANCELED);
}

/* What was sent before the reset is gone; what came after it is none of its business. */
static void task_management_collect_all(struct istripe_conn *conn)
{
	struct istripe_session *session = conn->session;
	struct istripe_task *task;
	u32 i;

	for (i = 0; i < session->slot_count; i++) {
		task = READ_ONCE(session->slots[i].task);
		if (!task || !test_bit(ISTRIPE_TASK_SENT, &task->flags) ||
		    test_bit(ISTRIPE_TASK_ANSWERED, &task->flags) || task->conn != conn)
			continue;
		/* SENT before CmdSN: a task submitted anew has its own before it is SENT. */
		smp_rmb();
		if (!istripe_serial_lt(task->cmd_sn, READ_ONCE(session->exchange.cmd_sn)))
			continue;
		istripe_task_answer(task, -ECANCELED);
	}
}

int istripe_exchange_task_management(struct istripe_conn *conn)
{
	struct istripe_exchange *exchange = &conn->session->exchange;
	u8 response = conn->rx.pdu.task_management_response.response;

	if (!exchange_answered(conn->session, conn->rx.pdu.itt, response))
		/* Too late: whoever asked has moved on to harder means. */
		return 0;
	/*
	 * The tasks finish here, on the receive side, before anything that the target
	 * sends later can be taken for their answer (P45).
	 */
	if (!task_management_result(response) && exchange->function == ISCSI_TM_FUNC_ABORT_TASK)
		task_management_collect_one(conn, exchange->referenced_itt);
	else if (!task_management_result(response))
		task_management_collect_all(conn);
	complete(&exchange->done);
	return 0;
}

int istripe_session_logout(struct istripe_session *session, u32 timeout_ms)
{
	struct istripe_exchange *exchange = &session->exchange;
	struct istripe_pdu_logout request = {
		.itt = exchange_tag(session, ISTRIPE_SLOT_LOGOUT),
		.reason = ISCSI_LOGOUT_REASON_CLOSE_SESSION,
		.immediate = true,
	};
	struct iscsi_hdr header;
	int ret;

	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return -ENOTCONN;
	istripe_session_set_state(session, ISTRIPE_SESSION_LOGOUT);
	istripe_pdu_encode_logout((struct iscsi_logout *)&header, &request);
	ret = exchange_run(session->conns[0], request.itt, &header, timeout_ms);
	if (ret)
		return ret;
	return exchange->response == ISCSI_LOGOUT_SUCCESS ? 0 : -EIO;
}

int istripe_exchange_logout(struct istripe_conn *conn)
{
	const struct istripe_pdu_logout_response *response = &conn->rx.pdu.logout_response;
	struct istripe_session *session = conn->session;

	if (!exchange_answered(session, conn->rx.pdu.itt, response->response))
		return istripe_conn_reject(conn, -EPROTO, "a logout response nobody waits for");
	session->time2wait_s = response->time2wait_s;
	/* The end of the connection that comes now is the one we asked for. */
	set_bit(ISTRIPE_SESSION_FAULTED, &session->flags);
	complete(&session->exchange.done);
	return 0;
}
