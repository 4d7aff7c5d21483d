// SPDX-License-Identifier: GPL-2.0
/*
 * PDUs of the target besides data: responses, NOP-In, asynchronous messages, Reject. Each is
 * complete, its digests verified, its data segment in rx->control. All of this is the receive side.
 */
#include <compat/unaligned.h>

#include "iscsi/error.h"
#include "scsi/sense.h"
#include "scsi/vpd.h"
#include "transport/conn.h"
#include "transport/control_req.h"
#include "transport/keepalive.h"
#include "transport/response.h"

/* GOOD after a Reject: one of them is wrong. */
static int response_check_rejected(struct istripe_conn *conn, const struct istripe_task *task)
{
	if (!test_bit(ISTRIPE_TASK_REJECTED, &task->flags) ||
	    istripe_sense_verdict(task->status, &task->sense) != ISTRIPE_SCSI_GOOD)
		return 0;
	return istripe_rx_reject(conn, -EPROTO, "GOOD for task 0x%08x, which it has rejected",
				 task->itt);
}

/*
 * GOOD for a write is not believed before all its data were sent and acknowledged. Any other answer
 * counts; the task ends when TCP does not hold data of it any more (istripe_task_put()).
 */
static int response_check_write(struct istripe_conn *conn, const struct istripe_task *task)
{
	if (istripe_sense_verdict(task->status, &task->sense) != ISTRIPE_SCSI_GOOD)
		return 0;
	if (READ_ONCE(task->offered_bytes) < task->transferred_bytes)
		return istripe_rx_reject(conn, -EPROTO,
					 "GOOD for task 0x%08x before all its data were sent",
					 task->itt);
	if (!istripe_task_released(task))
		return istripe_rx_reject(conn, -EPROTO,
					 "status 0x%02x of task 0x%08x, but TCP still holds its data",
					 task->status, task->itt);
	return 0;
}

/* Sense data that do not fit their length are none. Other statuses have none. */
static void response_take_sense(const struct istripe_receive *rx, struct istripe_task *task)
{
	const u8 *sense;
	u32 bytes;

	if (task->status == SAM_STAT_CHECK_CONDITION &&
	    !istripe_pdu_sense(rx->control, rx->control_used_bytes, &sense, &bytes) && bytes)
		scsi_normalize_sense(sense, bytes, &task->sense);
}

static int response_scsi(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	struct istripe_task *task = istripe_session_find_task(conn->session, conn, rx->pdu.itt);
	int ret;

	if (!task)
		return istripe_rx_reject(conn, -EPROTO,
					 "SCSI Response for task 0x%08x, which is not in flight",
					 rx->pdu.itt);
	ret = istripe_rx_take_status(conn, task);
	if (ret)
		return ret;
	if (rx->pdu.scsi_response != ISCSI_STATUS_CMD_COMPLETED) {
		/* The target has dropped the command (RFC 7143 11.4.3). */
		task->response = rx->pdu.scsi_response;
		istripe_task_answer(task, -ECANCELED);
		return 0;
	}
	response_take_sense(rx, task);
	ret = response_check_rejected(conn, task);
	if (!ret && task->write)
		ret = response_check_write(conn, task);
	if (!ret)
		istripe_task_answer(task, 0);
	return ret;
}

/* RFC 7143 11.19: a ping of the target is echoed with its data (P56). */
static int response_answer_ping(struct istripe_conn *conn, const struct scsi_lun *lun, u32 ttt,
				u32 data_bytes)
{
	struct istripe_receive *rx = &conn->rx;
	u32 echo_bytes = min(data_bytes,
			     conn->keys.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH]);
	struct istripe_pdu_nop_out pong = {
		.lun = *lun,
		.itt = ISTRIPE_TAG_RESERVED,
		.ttt = ttt,
		.data_segment_bytes = echo_bytes,
	};
	struct iscsi_hdr header;
	int ret;

	/* The answer would never be sent. */
	if (test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
		return 0;
	istripe_pdu_encode_nop_out((struct iscsi_nopout *)&header, &pong);
	ret = istripe_conn_send_control(conn, &header, rx->control, echo_bytes);
	if (ret == -ENOMEM && echo_bytes) {
		/* An answer without the data beats none. */
		hton24(header.dlength, 0);
		ret = istripe_conn_send_control(conn, &header, NULL, 0);
	}
	if (ret)
		return istripe_rx_reject(conn, ret, "cannot answer the target's pings: %s (%pe)",
					 istripe_error_words(ret), ERR_PTR(ret));
	return 0;
}

static int response_nop_in(struct istripe_conn *conn)
{
	const struct istripe_pdu *pdu = &conn->rx.pdu;

	if (pdu->itt != ISTRIPE_TAG_RESERVED) {
		if (!istripe_control_req_nop_in(conn))
			istripe_keepalive_pong(conn, pdu->itt);
	} else if (pdu->ttt != ISTRIPE_TAG_RESERVED) {
		return response_answer_ping(conn, &pdu->lun, pdu->ttt,
					    conn->rx.control_used_bytes);
	}
	return 0;
}

/* Some targets (SCST) use this instead of a unit attention. One without sense data may be ours. */
static void response_async_sense(struct istripe_conn *conn)
{
	const struct istripe_receive *rx = &conn->rx;
	struct istripe_session *session = conn->session;
	struct scsi_sense_hdr header = {};
	const u8 *sense;
	u32 bytes;

	if (!istripe_pdu_sense(rx->control, rx->control_used_bytes, &sense, &bytes) && bytes)
		scsi_normalize_sense(sense, bytes, &header);
	if (session->ops->async_sense &&
	    (istripe_vpd_lun_may_be(&rx->pdu.lun, session->path->lun) ||
	     !scsi_sense_valid(&header) || istripe_sense_of_target(&header)))
		session->ops->async_sense(session, &header);
}

static int response_async(struct istripe_conn *conn)
{
	const struct istripe_pdu_async *async = &conn->rx.pdu.async;
	struct istripe_session *session = conn->session;
	const char *name = istripe_pdu_async_event_name(async->event);

	switch (async->event) {
	case ISCSI_ASYNC_MSG_SCSI_EVENT:
		response_async_sense(conn);
		return 0;
	case ISCSI_ASYNC_MSG_REQUEST_LOGOUT:
	case ISCSI_ASYNC_MSG_PARAM_NEGOTIATION:
		/* RFC 7143 11.9.1: a logout is a right answer to both. */
		session->logout_s = async->parameter3;
		if (session->ops->logout_requested)
			session->ops->logout_requested(session, name);
		return 0;
	case ISCSI_ASYNC_MSG_DROPPING_CONNECTION:
	case ISCSI_ASYNC_MSG_DROPPING_ALL_CONNECTIONS:
		session->time2wait_s = async->parameter2;
		return istripe_rx_reject(conn, -ECONNRESET, "the target says: %s", name);
	default:
		return 0;
	}
}

/*
 * Too many immediate commands: it may be sent again (RFC 7143 11.17.1). An echo is, without its
 * data, which are gone; who waits for an answer learns of it.
 */
static int response_crowded(struct istripe_conn *conn, u8 opcode, u32 itt)
{
	const struct iscsi_nopout *rejected = (const struct iscsi_nopout *)conn->rx.control;

	if (opcode == ISCSI_OP_NOOP_OUT && itt == ISTRIPE_TAG_RESERVED)
		return response_answer_ping(conn, &rejected->lun,
					    get_unaligned_be32(&rejected->ttt), 0);
	if (!istripe_control_req_rejected(conn, itt) && opcode == ISCSI_OP_NOOP_OUT)
		/* It has come, which is what it was to show. */
		istripe_keepalive_pong(conn, itt);
	return 0;
}

/*
 * The target takes no part of a command, or not its data, and may know it all the same, or miss its
 * CmdSN (RFC 7143 11.17): an abort ends both. True: the owner sees to that.
 */
static bool response_command_rejected(struct istripe_conn *conn, u8 opcode, u32 itt)
{
	struct istripe_session *session = conn->session;
	struct istripe_task *task = istripe_session_find_task(session, conn, itt);
	u8 reason = conn->rx.pdu.reject_reason;

	/* Any other command would be rejected, too. */
	if (!task || istripe_session_is_own(session, task) ||
	    reason == ISTRIPE_REASON_WAITING_FOR_LOGOUT)
		return false;
	/* These may be sent again (RFC 7143 11.17.1). */
	if (reason == ISCSI_REASON_DATA_DIGEST_ERROR ||
	    reason == ISCSI_REASON_BOOKMARK_NO_RESOURCES)
		set_bit(ISTRIPE_TASK_REJECTED_ONCE, &task->flags);
	set_bit(ISTRIPE_TASK_REJECTED, &task->flags);
	/* How much of the data the target has taken is not known. */
	if (opcode == ISCSI_OP_SCSI_DATA_OUT || !session->ops->rejected(session, itt))
		return false;
	pr_warn_ratelimited("%s: the target rejects our %s, task 0x%08x: %s: aborting it\n",
			    session->label, istripe_pdu_opcode_name(opcode), itt,
			    istripe_pdu_reject_reason_name(reason));
	return true;
}

static int response_reject(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	u8 opcode = 0;
	u32 itt = ISTRIPE_TAG_RESERVED;
	int ret = istripe_pdu_rejected(rx->control, rx->control_used_bytes, &opcode, &itt);

	if (rx->pdu.reject_reason == ISCSI_REASON_IMM_CMD_REJECT)
		return ret ? 0 : response_crowded(conn, opcode, itt);
	if (!ret && opcode == ISCSI_OP_SCSI_TMFUNC && istripe_control_req_rejected(conn, itt))
		return 0;
	if (!ret && (opcode == ISCSI_OP_SCSI_CMD || opcode == ISCSI_OP_SCSI_DATA_OUT) &&
	    response_command_rejected(conn, opcode, itt))
		return 0;
	/* No task, and no answer either, depends on it (EqualLogic does so). */
	if (!ret && opcode == ISCSI_OP_NOOP_OUT && itt == ISTRIPE_TAG_RESERVED) {
		pr_notice_ratelimited("%s: the target rejects our answer to its ping: %s\n",
				      conn->session->label,
				      istripe_pdu_reject_reason_name(rx->pdu.reject_reason));
		return 0;
	}
	if (ret)
		return istripe_rx_reject(conn, -EPROTO, "the target rejects a PDU: %s",
					 istripe_pdu_reject_reason_name(rx->pdu.reject_reason));
	return istripe_rx_reject(conn, -EPROTO, "the target rejects our %s, task 0x%08x: %s",
				 istripe_pdu_opcode_name(opcode), itt,
				 istripe_pdu_reject_reason_name(rx->pdu.reject_reason));
}

int istripe_response_handle(struct istripe_conn *conn)
{
	const struct istripe_pdu *pdu = &conn->rx.pdu;

	switch (pdu->opcode) {
	case ISCSI_OP_SCSI_CMD_RSP:
		return response_scsi(conn);
	case ISCSI_OP_NOOP_IN:
		return response_nop_in(conn);
	case ISCSI_OP_ASYNC_EVENT:
		return response_async(conn);
	case ISCSI_OP_REJECT:
		return response_reject(conn);
	case ISCSI_OP_SCSI_TMFUNC_RSP:
		return istripe_control_req_tm_response(conn);
	case ISCSI_OP_LOGOUT_RSP:
		return istripe_control_req_logout_response(conn);
	default:
		return istripe_rx_reject(conn, -EPROTO, "%s, which nobody asked for",
					 istripe_pdu_opcode_name(pdu->opcode));
	}
}
