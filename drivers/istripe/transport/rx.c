// SPDX-License-Identifier: GPL-2.0
/*
 * The receive side takes bytes from TCP and makes PDUs of them. Data-In goes straight from the
 * socket buffer into the request's pages; all other data segments are gathered in rx->control.
 *
 * The socket is locked, mostly in softirq: nothing here may sleep or send.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/tcp.h>
#include <compat/unaligned.h>
#include <trace/events/istripe.h>

#include "iscsi/error.h"
#include "scsi/sense.h"
#include "scsi/vpd.h"
#include "transport/conn.h"
#include "transport/control_req.h"
#include "transport/inject.h"
#include "transport/keepalive.h"
#include "transport/rx.h"

#define RECEIVE_BUDGET_BYTES	(1024 * 1024)
/* A data segment for which the tasklet pays, and a stretch for which the short way does. */
#define MUCH_BYTES		(16 * 1024)
#define IN_PLACE_BYTES		(8 * 1024)

int istripe_rx_reject(struct istripe_conn *conn, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(conn->rx.why.text, sizeof(conn->rx.why.text), fmt, args);
	va_end(args);
	conn->rx.error = error;
	return error;
}

void istripe_rx_init(struct istripe_conn *conn)
{
	const u32 *value = conn->keys.value;

	istripe_framing_init(&conn->rx.framing,
			     value[ISTRIPE_KEY_HEADER_DIGEST] == ISTRIPE_DIGEST_CRC32C,
			     value[ISTRIPE_KEY_DATA_DIGEST] == ISTRIPE_DIGEST_CRC32C,
			     value[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH]);
	conn->rx.task = NULL;
	conn->rx.error = 0;
}

static int receive_find_task(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;

	rx->task = istripe_session_find_task(conn->session, conn, rx->pdu.itt);
	if (rx->task)
		return 0;
	return istripe_rx_reject(conn, -EPROTO,
				 "%s for task 0x%08x, which is not in flight on this connection",
				 istripe_pdu_opcode_name(rx->pdu.opcode), rx->pdu.itt);
}

/*
 * See istripe_session_task_moves(). Data of all commands of the connection count together, as many
 * commands may have a little each. They count for commands up to the newest of these.
 */
static void receive_note_move(struct istripe_conn *conn, struct istripe_task *task, u32 bytes)
{
	struct istripe_receive *rx = &conn->rx;

	istripe_moved_note(&task->received, bytes, task->data.length_bytes);
	if (rx->moved.bytes == rx->moved.noted_bytes ||
	    time_after(task->submitted_at, rx->moved_of))
		WRITE_ONCE(rx->moved_of, task->submitted_at);
	istripe_moved_note(&rx->moved, bytes, U32_MAX);
}

static void receive_note_status(struct istripe_conn *conn, struct istripe_task *task)
{
	WRITE_ONCE(conn->rx.moved_of, task->submitted_at);
	WRITE_ONCE(conn->rx.moved.at, jiffies);
}

static int receive_data_in_header(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	int ret = receive_find_task(conn);

	if (ret)
		return ret;
	ret = istripe_transfer_data_in(&rx->task->transfer, &rx->pdu);
	if (ret)
		return istripe_rx_reject(conn, ret, "Data-In for task 0x%08x: %s", rx->pdu.itt,
					 rx->task->transfer.problem);
	if (rx->pdu.data_segment_bytes)
		istripe_cursor_seek(&rx->task->rx_cursor, &rx->task->data,
				    rx->pdu.data_in.offset);
	return 0;
}

/* Accounts for the R2Ts that the transmit side has taken up since. */
static void receive_account_solicited(struct istripe_task *task)
{
	/* Pairs with the release when the transmit side takes one up. */
	u32 tail = smp_load_acquire(&task->solicited.tail);

	while (task->solicited.accounted != tail) {
		istripe_transfer_r2t_done(&task->transfer);
		task->solicited.accounted++;
	}
}

static int receive_r2t(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	struct istripe_task *task;
	u32 head;
	int ret;

	/* Another thread of the target has refused the write meanwhile. */
	if (istripe_session_task_answered(conn->session, conn, rx->pdu.itt))
		return 0;
	ret = receive_find_task(conn);
	if (ret)
		return ret;
	task = rx->task;
	receive_account_solicited(task);
	ret = istripe_transfer_r2t(&task->transfer, &rx->pdu);
	if (ret)
		return istripe_rx_reject(conn, ret, "R2T for task 0x%08x: %s", rx->pdu.itt,
					 task->transfer.problem);
	receive_note_move(conn, task, rx->pdu.r2t.desired_bytes);
	head = task->solicited.head;
	if (head - task->solicited.accounted >= ISTRIPE_TASK_R2T_MAX)
		return istripe_rx_reject(conn, -EPROTO, "too many R2Ts for task 0x%08x",
					 rx->pdu.itt);
	task->solicited.ring[head % ISTRIPE_TASK_R2T_MAX] = (struct istripe_solicitation) {
		.ttt = rx->pdu.ttt,
		.offset_bytes = rx->pdu.r2t.offset,
		.length_bytes = rx->pdu.r2t.desired_bytes,
	};
	/* Pairs with the acquire where the transmit side takes it up. */
	smp_store_release(&task->solicited.head, head + 1);
	/* A full barrier: see task_leave_sequences() for the other half. */
	if (!test_and_set_bit(ISTRIPE_TASK_SOLICITED, &task->flags)) {
		/* The reference for the answer keeps it above 0 until here. */
		atomic_inc(&task->refs);
		llist_add(&task->solicit_node, &conn->solicited);
	}
	return 0;
}

/* Sense data and rejected headers always fit. Without memory a ping is echoed in part. */
static void receive_make_room(struct istripe_receive *rx)
{
	u32 bytes = min_t(u32, rx->pdu.data_segment_bytes, ISTRIPE_CONTROL_BYTES_MAX);
	u8 *more;

	rx->control_used_bytes = 0;
	if (bytes <= rx->control_bytes)
		return;
	more = kmalloc(bytes, GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!more)
		return;
	kfree(rx->control);
	rx->control = more;
	rx->control_bytes = bytes;
}

static int receive_header(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	struct istripe_pdu *pdu = &rx->pdu;
	int ret = istripe_pdu_decode(istripe_framing_header(&rx->framing), pdu);

	if (ret)
		return istripe_rx_reject(conn, ret, "%s: %s",
					 istripe_pdu_opcode_name(pdu->opcode), pdu->problem);
	rx->exp_stat_sn = conn->exp_stat_sn;
	ret = istripe_pdu_check_stat_sn(pdu, &rx->exp_stat_sn);
	if (ret)
		return istripe_rx_reject(conn, ret, "%s: %s (StatSN %u, expected %u)",
					 istripe_pdu_opcode_name(pdu->opcode), pdu->problem,
					 pdu->stat_sn, conn->exp_stat_sn);
	conn->pdus_received++;
	trace_istripe_pdu_receive(conn->session->label, conn->cid, pdu->opcode, pdu->itt,
				  pdu->stat_sn, pdu->data_segment_bytes);
	istripe_session_window(conn->session, pdu->exp_cmd_sn, pdu->max_cmd_sn);
	rx->task = NULL;
	if (pdu->opcode == ISCSI_OP_SCSI_DATA_IN)
		return receive_data_in_header(conn);
	receive_make_room(rx);
	return 0;
}

static void receive_data(struct istripe_conn *conn, const u8 *data, u32 bytes)
{
	struct istripe_receive *rx = &conn->rx;

	if (rx->pdu.opcode == ISCSI_OP_SCSI_DATA_IN) {
		receive_note_move(conn, rx->task, bytes);
		istripe_cursor_copy_in(&rx->task->rx_cursor, &rx->task->data, data, bytes);
		return;
	}
	/* Longer ones are legal, but the rest is of no use (P56). */
	bytes = min_t(u32, bytes, rx->control_bytes - rx->control_used_bytes);
	memcpy(rx->control + rx->control_used_bytes, data, bytes);
	rx->control_used_bytes += bytes;
}

static int receive_take_status(struct istripe_conn *conn, struct istripe_task *task)
{
	struct istripe_receive *rx = &conn->rx;
	int ret;

	receive_note_status(conn, task);
	receive_account_solicited(task);
	/* A target need not say that it has less than INQUIRY and its like allow. */
	task->transfer.self_describing = istripe_session_is_own(conn->session, task) &&
					 task->read && task->cdb[0] != READ_16;
	ret = istripe_transfer_status(&task->transfer, &rx->pdu, &task->transferred_bytes);
	if (ret)
		return istripe_rx_reject(conn, ret, "status of task 0x%08x: %s", rx->pdu.itt,
					 task->transfer.problem);
	/* GOOD for a transfer of another length than ours. */
	if (rx->pdu.overflow && !task->transfer.self_describing)
		task->transferred_bytes = 0;
	task->status = rx->pdu.status;
	return 0;
}

static int receive_data_in_end(struct istripe_conn *conn)
{
	struct istripe_receive *rx = &conn->rx;
	struct istripe_task *task = rx->task;
	int ret;

	if (!rx->pdu.data_in.status_present)
		return 0;
	ret = receive_take_status(conn, task);
	if (ret)
		return ret;
	rx->task = NULL;
	/* Its data cannot be right. */
	if (unlikely(test_bit(ISTRIPE_TASK_REJECTED, &task->flags)))
		return istripe_rx_reject(conn, -EPROTO,
					 "data and status of task 0x%08x, which it has rejected",
					 task->itt);
	istripe_task_answer(task, 0);
	return 0;
}

/*
 * PDUs besides data: responses, NOP-In, asynchronous messages, Reject. Each is complete, its
 * digests verified, its data segment in rx->control.
 */

/* GOOD after a Reject: one of them is wrong. */
static int response_check_rejected(struct istripe_conn *conn, const struct istripe_task *task)
{
	if (!(READ_ONCE(task->flags) &
	      (BIT(ISTRIPE_TASK_REJECTED) | BIT(ISTRIPE_TASK_DATA_REJECTED))) ||
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

	/* Of a command that a LUN reset has ended, behind the answer to its abort (FreeBSD). */
	if (!task && rx->pdu.status == SAM_STAT_TASK_ABORTED)
		return 0;
	if (!task)
		return istripe_rx_reject(conn, -EPROTO,
					 "SCSI Response for task 0x%08x, which is not in flight",
					 rx->pdu.itt);
	ret = receive_take_status(conn, task);
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

/*
 * Data of a command that is answered, or that task management ends: the target has forgotten it
 * (SPDK rejects them then). They go on after an abort that has ended nothing, and until a reset
 * of the LUN is answered.
 */
static bool response_data_are_late(struct istripe_conn *conn, u32 itt)
{
	struct istripe_task *task = istripe_session_find_task(conn->session, conn, itt);

	if (conn->rx.pdu.reject_reason == ISTRIPE_REASON_WAITING_FOR_LOGOUT)
		return false;
	if (!task)
		return true;
	if (!istripe_control_req_ends(conn->session, itt))
		return false;
	set_bit(ISTRIPE_TASK_DATA_REJECTED, &task->flags);
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
	/* One that comes too late is ignored, as a response is. */
	if (!ret && opcode == ISCSI_OP_SCSI_TMFUNC &&
	    (istripe_control_req_rejected(conn, itt) ||
	     rx->pdu.reject_reason != ISTRIPE_REASON_WAITING_FOR_LOGOUT))
		return 0;
	if (!ret && opcode == ISCSI_OP_SCSI_DATA_OUT && response_data_are_late(conn, itt)) {
		pr_notice_ratelimited("%s: the target rejects late data of task 0x%08x: %s\n",
				      conn->session->label, itt,
				      istripe_pdu_reject_reason_name(rx->pdu.reject_reason));
		return 0;
	}
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

static int receive_response(struct istripe_conn *conn)
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

static int receive_end(struct istripe_conn *conn)
{
	if (istripe_inject(ISTRIPE_INJECT_DIGEST)) {
		conn->digest_errors++;
		return istripe_rx_reject(conn, -EBADMSG, "a wrong digest was asked for");
	}
	/* Acknowledged after the data digest has been checked. */
	WRITE_ONCE(conn->exp_stat_sn, conn->rx.exp_stat_sn);
	switch (conn->rx.pdu.opcode) {
	case ISCSI_OP_SCSI_DATA_IN:
		return receive_data_in_end(conn);
	case ISCSI_OP_R2T:
		return receive_r2t(conn);
	default:
		return receive_response(conn);
	}
}

static void receive_framing_error(struct istripe_conn *conn, int error)
{
	struct istripe_framing *framing = &conn->rx.framing;

	if (error == -EBADMSG)
		conn->digest_errors++;
	istripe_rx_reject(conn, error, "%s", framing->problem);
}

/* Returns the bytes taken: less than @len when a PDU has made the receive side pause. */
static u32 receive_bytes(struct istripe_conn *conn, const u8 *bytes, u32 len)
{
	u32 events, data_bytes, left = len;
	const u8 *data;
	int used, ret = 0;

	while (left && !ret && !test_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags)) {
		/* done() of a task may have ended the session: the rest is not believed. */
		if (test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
			return len;
		used = istripe_framing_feed(&conn->rx.framing, bytes, left, &events, &data,
					    &data_bytes);
		if (used < 0) {
			receive_framing_error(conn, used);
			return len;
		}
		if (events & ISTRIPE_FRAME_HEADER)
			ret = receive_header(conn);
		if (!ret && (events & ISTRIPE_FRAME_DATA))
			receive_data(conn, data, data_bytes);
		if (!ret && (events & ISTRIPE_FRAME_END))
			ret = receive_end(conn);
		bytes += used;
		left -= used;
	}
	return ret ? len : len - left;
}

/*
 * Copies to @place what lies in the linear part and in fragments that need no mapping; returns the
 * bytes. copy_to_iter() would ask for each fragment and page whether they are objects of a slab.
 */
static u32 receive_copy(const struct sk_buff *skb, u32 offset, u32 bytes, struct iov_iter *place)
{
	u32 start = skb_headlen(skb), done = 0, i, size, skip;
	const skb_frag_t *frag;
	struct page *page;

	if (offset < start)
		done = _copy_to_iter(skb->data + offset, min(bytes, start - offset), place);
	for (i = 0; i < skb_shinfo(skb)->nr_frags && done < bytes; i++, start += size) {
		frag = &skb_shinfo(skb)->frags[i];
		size = skb_frag_size(frag);
		skip = offset + done - start;
		if (skip >= size)
			continue;
		page = skb_frag_page(frag);
		if (!page || skb_frag_must_loop(page))
			break;
		done += _copy_to_iter(page_address(page) + skb_frag_off(frag) + skip,
				      min(bytes - done, size - skip), place);
	}
	return done;
}

/* The short way for many bytes of Data-In. Returns 0 when receive_bytes() has to take them. */
static u32 receive_in_place(struct istripe_conn *conn, const struct sk_buff *skb, u32 offset,
			    u32 len)
{
	struct istripe_receive *rx = &conn->rx;
	u32 bytes = min(len, istripe_framing_plain_data(&rx->framing));
	struct istripe_task *task = rx->task;
	struct iov_iter place;
	u32 events;

	if (bytes < IN_PLACE_BYTES || rx->pdu.opcode != ISCSI_OP_SCSI_DATA_IN ||
	    test_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags) ||
	    test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
		return 0;
	bytes = istripe_cursor_iter(&task->rx_cursor, &task->data, bytes, &place);
	bytes = receive_copy(skb, offset, bytes, &place);
	if (!bytes)
		return 0;
	receive_note_move(conn, task, bytes);
	istripe_cursor_advance(&task->rx_cursor, &task->data, bytes);
	istripe_framing_pass(&rx->framing, bytes, &events);
	if (events & ISTRIPE_FRAME_END)
		receive_end(conn);
	return bytes;
}

static int receive_skb(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
		       size_t len)
{
	struct istripe_conn *conn = desc->arg.data;
	struct skb_seq_state seq;
	u32 done = 0;
	const u8 *bytes;
	u32 stretch;
	u32 used;

	skb_prepare_seq_read(skb, offset, offset + len, &seq);
	while (done < len && !conn->rx.error) {
		used = len - done < IN_PLACE_BYTES ? 0 :
			receive_in_place(conn, skb, offset + done, len - done);
		done += used;
		if (used)
			continue;
		stretch = skb_seq_read(done, &bytes, &seq);
		if (!stretch)
			break;
		/* skb_seq_read() may offer more than TCP does: bytes behind an urgent one. */
		stretch = min_t(u32, stretch, len - done);
		used = receive_bytes(conn, bytes, stretch);
		done += used;
		if (used < stretch)
			break;
	}
	/* skb_seq_read() unmaps by itself at the end. */
	if (done < len || skb_seq_read(done, &bytes, &seq))
		skb_abort_seq_read(&seq);
	desc->count -= min(desc->count, len);
	/* transmit_take_control() ends the pause and has the rest received. */
	if (conn->rx.error || done < len)
		desc->count = 0;
	return conn->rx.error ? len : done;
}

bool istripe_rx_is_much(const struct istripe_conn *conn)
{
	const struct istripe_pdu *pdu = &conn->rx.pdu;

	return pdu->opcode == ISCSI_OP_SCSI_DATA_IN && pdu->data_segment_bytes >= MUCH_BYTES;
}

int istripe_rx_receive(struct istripe_conn *conn)
{
	read_descriptor_t desc = { .arg.data = conn, .count = RECEIVE_BUDGET_BYTES };
	int taken;

	if (istripe_inject(ISTRIPE_INJECT_RECEIVE))
		return istripe_rx_reject(conn, -ECONNRESET, "a fault was asked for");
	taken = tcp_read_sock(conn->sock->sk, &desc, receive_skb);
	if (taken > 0) {
		WRITE_ONCE(conn->last_receive, jiffies);
		conn->bytes_received += taken;
	}
	if (conn->rx.error)
		return conn->rx.error;
	/* An error of TCP shows in the socket's state, with its reason. */
	return !desc.count && !test_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags);
}
