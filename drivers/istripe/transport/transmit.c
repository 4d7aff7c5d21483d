// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit side: one PDU after the other, each in resumable steps, until there
 * is nothing to send or the socket is full. Order: control PDUs, then Data-Out that
 * the target waits for, then new commands (P6, P15).
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <compat/sock.h>
#include <compat/unaligned.h>
#include <trace/events/istripe.h>

#include "proto/digest.h"
#include "transport/conn.h"

#define SEGMENTS_MAX	16
#define PDUS_MAX	64	/* in one go */
#define SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

/* Pushed last comes first in a lock-free list: turn it round. */
static void transmit_collect_commands(struct istripe_conn *conn)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->submitted));
	struct istripe_task *task, *next;

	llist_for_each_entry_safe(task, next, node, submit_node) {
		/* Others may have to wait for its answer: see istripe_session_settle(). */
		if (istripe_session_is_own(conn->session, task))
			list_add(&task->tx_entry, &conn->tx.commands);
		else
			list_add_tail(&task->tx_entry, &conn->tx.commands);
	}
}

static void transmit_collect_sequences(struct istripe_conn *conn)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->solicited));
	struct istripe_task *task, *next;

	llist_for_each_entry_safe(task, next, node, solicit_node)
		list_add_tail(&task->tx_entry, &conn->tx.sequences);
}

static bool header_digest_on(const struct istripe_conn *conn)
{
	return conn->keys.value[ISTRIPE_KEY_HEADER_DIGEST] == ISTRIPE_DIGEST_CRC32C;
}

static bool data_digest_on(const struct istripe_conn *conn)
{
	return conn->keys.value[ISTRIPE_KEY_DATA_DIGEST] == ISTRIPE_DIGEST_CRC32C;
}

/* Where the next header is encoded: behind those that wait to be sent with it. */
static void *transmit_header_room(struct istripe_transmit *tx)
{
	return tx->header + tx->header_bytes;
}

/* A header is encoded in transmit_header_room(). */
static void transmit_add_header(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	u8 *header = transmit_header_room(tx);

	tx->header_bytes += ISCSI_HDR_LEN;
	conn->pdus_sent++;
	if (!header_digest_on(conn))
		return;
	put_unaligned_le32(istripe_digest_of(header, ISCSI_HDR_LEN), header + ISCSI_HDR_LEN);
	tx->header_bytes += ISTRIPE_DIGEST_BYTES;
}

/* What has been added goes out, the last one with its data segment. */
static void transmit_begin(struct istripe_conn *conn, u32 payload_bytes)
{
	struct istripe_transmit *tx = &conn->tx;

	tx->active = true;
	tx->header_sent_bytes = 0;
	tx->payload_bytes = payload_bytes;
	tx->payload_sent_bytes = 0;
	tx->crc = istripe_digest_init();
	tx->trailer_sent_bytes = 0;
	tx->trailer_bytes = 0;
	if (!payload_bytes)
		return;
	tx->trailer_bytes = -payload_bytes & (ISCSI_PAD_LEN - 1);
	memset(tx->trailer, 0, tx->trailer_bytes);
	if (data_digest_on(conn))
		tx->trailer_bytes += ISTRIPE_DIGEST_BYTES;
}

/* CmdSN of an immediate PDU is the next one, and it is not consumed (P11). */
static bool transmit_next_control(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	struct iscsi_nopout *header = transmit_header_room(tx);
	u32 cmd_sn;

	spin_lock_bh(&conn->control_lock);
	tx->control = list_first_entry_or_null(&conn->controls, struct istripe_control, entry);
	if (tx->control) {
		list_del_init(&tx->control->entry);
		conn->control_count--;
		/* Here, for the next ping replaces the header of conn->ping. */
		memcpy(header, &tx->control->header, ISCSI_HDR_LEN);
	}
	spin_unlock_bh(&conn->control_lock);
	if (!tx->control)
		return false;
	/* NOP-Out, task management, logout and text have these two in one place. */
	cmd_sn = READ_ONCE(conn->session->cmd_sn);
	header->cmdsn = cpu_to_be32(cmd_sn);
	header->exp_statsn = cpu_to_be32(READ_ONCE(conn->exp_stat_sn));
	switch (header->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_SCSI_TMFUNC:
		/* What has a lower number is covered by a LUN reset. */
		WRITE_ONCE(conn->session->exchange.cmd_sn, cmd_sn);
		break;
	case ISCSI_OP_LOGOUT:
		/* Nothing may follow it (RFC 7143 11.14). */
		set_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags);
		break;
	}
	if (get_unaligned_be32(&header->itt) == READ_ONCE(conn->session->exchange.itt))
		/* After cmd_sn: pairs with the acquire when an answer comes. */
		smp_store_release(&conn->session->exchange.sent, true);
	trace_istripe_pdu_send(conn->session->label, conn->cid, header->opcode & ISCSI_OPCODE_MASK,
			       get_unaligned_be32(&header->itt), be32_to_cpu(header->cmdsn),
			       tx->control->payload_bytes);
	transmit_add_header(conn);
	transmit_begin(conn, tx->control->payload_bytes);
	return true;
}

/* The next sequence of a task: what the target has asked for longest. */
static bool task_next_solicitation(struct istripe_task *task)
{
	const struct istripe_solicitation *r2t;
	u32 tail = task->solicited.tail;

	/* Pairs with the release in the receive side's R2T. */
	if (tail == smp_load_acquire(&task->solicited.head))
		return false;
	r2t = &task->solicited.ring[tail % ISTRIPE_TASK_R2T_MAX];
	task->tx_sequence = (struct istripe_sequence) {
		.ttt = r2t->ttt,
		.offset_bytes = r2t->offset_bytes,
		.left_bytes = r2t->length_bytes,
	};
	/* Pairs with the acquire where the receive side counts what is outstanding. */
	smp_store_release(&task->solicited.tail, tail + 1);
	return true;
}

/*
 * Nothing left to send for this stay on the list. The receive side may have added
 * an R2T after we looked: it tests the flag after adding, we look again after
 * clearing it, so one of us keeps the task on a list.
 */
static void task_leave_sequences(struct istripe_conn *conn, struct istripe_task *task)
{
	list_del(&task->tx_entry);
	clear_bit(ISTRIPE_TASK_SOLICITED, &task->flags);
	/* Flag before head: see above. */
	smp_mb__after_atomic();
	if (READ_ONCE(task->solicited.head) != task->solicited.tail &&
	    !test_and_set_bit(ISTRIPE_TASK_SOLICITED, &task->flags)) {
		list_add_tail(&task->tx_entry, &conn->tx.sequences);
		return;
	}
	istripe_task_put(task);
}

/* The target has said that it has forgotten the task: it wants no data for it. */
static bool task_is_aborted(const struct istripe_task *task)
{
	return test_bit(ISTRIPE_TASK_ANSWERED, &task->flags) && task->error;
}

static void task_drop_sequences(struct istripe_task *task)
{
	task->tx_sequence.left_bytes = 0;
	task->solicited.tail = READ_ONCE(task->solicited.head);
}

static bool transmit_next_data_out(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	struct istripe_pdu_data_out data_out = {};
	struct istripe_sequence *sequence;
	struct istripe_task *task;

	for (;;) {
		task = list_first_entry_or_null(&tx->sequences, struct istripe_task, tx_entry);
		if (!task)
			return false;
		sequence = &task->tx_sequence;
		if (task_is_aborted(task))
			task_drop_sequences(task);
		if (sequence->left_bytes || task_next_solicitation(task))
			break;
		task_leave_sequences(conn, task);
	}
	data_out.lun = task->lun;
	data_out.itt = task->itt;
	data_out.ttt = sequence->ttt;
	data_out.exp_stat_sn = READ_ONCE(conn->exp_stat_sn);
	data_out.data_sn = sequence->data_sn++;
	data_out.offset = sequence->offset_bytes;
	data_out.data_segment_bytes =
		istripe_transfer_segment_bytes(&task->transfer, sequence->left_bytes);
	data_out.final = data_out.data_segment_bytes == sequence->left_bytes;
	istripe_cursor_seek(&task->tx_cursor, &task->data, sequence->offset_bytes);
	sequence->offset_bytes += data_out.data_segment_bytes;
	sequence->left_bytes -= data_out.data_segment_bytes;
	istripe_pdu_encode_data_out(transmit_header_room(tx), &data_out);
	tx->task = task;
	tx->command_pdu = false;
	trace_istripe_pdu_send(conn->session->label, conn->cid, ISCSI_OP_SCSI_DATA_OUT, task->itt,
			       data_out.data_sn, data_out.data_segment_bytes);
	transmit_add_header(conn);
	transmit_begin(conn, data_out.data_segment_bytes);
	return true;
}

/* The window may open between our look and the flag: look again after setting it. */
static bool transmit_take_cmd_sn(struct istripe_conn *conn, struct istripe_task *task)
{
	bool own = istripe_session_is_own(conn->session, task);

	if (istripe_session_take_cmd_sn(conn->session, own, &task->cmd_sn))
		return true;
	set_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags);
	/* Flag before MaxCmdSN: pairs with istripe_session_window(). */
	smp_mb__after_atomic();
	if (!istripe_session_take_cmd_sn(conn->session, own, &task->cmd_sn))
		return false;
	clear_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags);
	return true;
}

/* A CmdSN once taken is sent, or the connection dies: no holes (P7, P8). */
static struct istripe_task *transmit_take_command(struct istripe_conn *conn)
{
	struct istripe_task *task = list_first_entry_or_null(&conn->tx.commands,
							     struct istripe_task, tx_entry);

	if (!task || !transmit_take_cmd_sn(conn, task))
		return NULL;
	list_del(&task->tx_entry);
	return task;
}

/* Returns the bytes of the data segment that follows the header. */
static u32 transmit_encode_command(struct istripe_conn *conn, struct istripe_task *task)
{
	u32 unsolicited = istripe_transfer_unsolicited_bytes(&task->transfer);
	struct istripe_pdu_scsi_command command = {
		.lun = task->lun,
		.itt = task->itt,
		.cmd_sn = task->cmd_sn,
		.exp_stat_sn = READ_ONCE(conn->exp_stat_sn),
		.expected_data_bytes = task->data.length_bytes,
		.data_segment_bytes = istripe_transfer_immediate_bytes(&task->transfer),
		.cdb_bytes = sizeof(task->cdb),
		.read = task->read,
		.write = task->write,
		.final = !unsolicited,
		.attribute = ISCSI_ATTR_SIMPLE,
	};

	memcpy(command.cdb, task->cdb, sizeof(command.cdb));
	task->tx_sequence = (struct istripe_sequence) {
		.ttt = ISTRIPE_TAG_RESERVED,
		.offset_bytes = command.data_segment_bytes,
		.left_bytes = unsolicited,
	};
	istripe_pdu_encode_scsi_command(transmit_header_room(&conn->tx), &command);
	istripe_cursor_seek(&task->tx_cursor, &task->data, 0);
	conn->commands_sent++;
	/* From here on an answer may come, and finds the task complete. */
	smp_mb__before_atomic();
	set_bit(ISTRIPE_TASK_SENT, &task->flags);
	trace_istripe_pdu_send(conn->session->label, conn->cid, ISCSI_OP_SCSI_CMD, task->itt,
			       task->cmd_sn, command.data_segment_bytes);
	transmit_add_header(conn);
	return command.data_segment_bytes;
}

/* Commands that wait go out together, as far as one that has data to send. */
static bool transmit_next_commands(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	u32 payload_bytes = 0;
	struct istripe_task *task;
	u32 count;

	for (count = 0; count < ISTRIPE_HEADERS_MAX && !tx->task; count++) {
		task = transmit_take_command(conn);
		if (!task)
			break;
		payload_bytes = transmit_encode_command(conn, task);
		if (payload_bytes || task->tx_sequence.left_bytes)
			tx->task = task;
		else
			istripe_task_put(task);	/* the header is all we needed of it */
	}
	if (!count)
		return false;
	tx->command_pdu = true;
	transmit_begin(conn, payload_bytes);
	return true;
}

static bool transmit_next(struct istripe_conn *conn)
{
	if (test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
		return false;
	conn->tx.header_bytes = 0;
	transmit_collect_commands(conn);
	transmit_collect_sequences(conn);
	return transmit_next_control(conn) || transmit_next_data_out(conn) ||
	       transmit_next_commands(conn);
}

/*
 * Will another PDU follow at once? Then TCP need not push this one out. A guess:
 * when it was wrong, transmit_push() mends it.
 */
static bool transmit_more_follows(const struct istripe_conn *conn)
{
	const struct istripe_transmit *tx = &conn->tx;

	return !list_empty(&tx->sequences) || !llist_empty(&conn->solicited) ||
	       (tx->task && tx->command_pdu && tx->task->tx_sequence.left_bytes) ||
	       ((!list_empty(&tx->commands) || !llist_empty(&conn->submitted)) &&
		!test_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags));
}

static int transmit_bytes(struct istripe_conn *conn, const void *from, u32 bytes, bool more)
{
	struct kvec part = { .iov_base = (void *)from, .iov_len = bytes };
	struct msghdr msg = { .msg_flags = SEND_FLAGS | (more ? MSG_MORE : MSG_EOR) };
	int ret = kernel_sendmsg(conn->sock, &msg, &part, 1, bytes);

	conn->tx.corked = more;
	if (ret > 0)
		conn->bytes_sent += ret;
	return ret;
}

/* Nothing follows after all: what was sent with MSG_MORE must not wait in TCP. */
static void transmit_push(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;

	if (!tx->corked)
		return;
	tcp_sock_set_nodelay(conn->sock->sk);
	tx->corked = false;
}

static int transmit_header(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	bool more = tx->payload_bytes || transmit_more_follows(conn);
	int ret = transmit_bytes(conn, tx->header + tx->header_sent_bytes,
				 tx->header_bytes - tx->header_sent_bytes, more);

	if (ret > 0)
		tx->header_sent_bytes += ret;
	return ret;
}

/* Gather segments that can go the same way: by reference, or by copy. */
static u32 transmit_gather(struct istripe_conn *conn, struct bio_vec *segments, u32 *count,
			   bool *by_reference)
{
	struct istripe_transmit *tx = &conn->tx;
	const struct istripe_data *data = &tx->task->data;
	struct istripe_cursor cursor = tx->task->tx_cursor;
	u32 left = tx->payload_bytes - tx->payload_sent_bytes;
	u32 bytes = 0;
	bool ok;

	for (*count = 0; *count < SEGMENTS_MAX && bytes < left; ++*count) {
		struct bio_vec *segment = &segments[*count];

		if (WARN_ON_ONCE(!istripe_cursor_segment(&cursor, data, left - bytes, segment)))
			break;
		ok = !data->copy && istripe_compat_segment_ok(segment);
		if (!*count)
			*by_reference = ok;
		else if (*by_reference != ok)
			break;
		istripe_cursor_advance(&cursor, data, segment->bv_len);
		bytes += segment->bv_len;
	}
	return bytes;
}

/* The digest covers exactly what TCP took; pages are stable while one is on (P21). */
static void transmit_account(struct istripe_conn *conn, u32 bytes)
{
	struct istripe_transmit *tx = &conn->tx;
	struct istripe_task *task = tx->task;
	struct bio_vec segment;

	tx->payload_sent_bytes += bytes;
	conn->bytes_sent += bytes;
	if (!data_digest_on(conn)) {
		istripe_cursor_advance(&task->tx_cursor, &task->data, bytes);
		return;
	}
	while (bytes) {
		istripe_cursor_segment(&task->tx_cursor, &task->data, bytes, &segment);
		tx->crc = istripe_data_digest(tx->crc, &segment);
		istripe_cursor_advance(&task->tx_cursor, &task->data, segment.bv_len);
		bytes -= segment.bv_len;
	}
}

static int transmit_task_payload(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	struct bio_vec segments[SEGMENTS_MAX];
	bool by_reference = false;
	u32 bytes, count;
	int flags, ret;

	bytes = transmit_gather(conn, segments, &count, &by_reference);
	if (!bytes)
		return -EIO;
	flags = SEND_FLAGS;
	if (tx->payload_sent_bytes + bytes < tx->payload_bytes || tx->trailer_bytes ||
	    transmit_more_follows(conn))
		flags |= MSG_MORE;
	else
		flags |= MSG_EOR;
	/* Before TCP has them: the answer may be faster than the return from there. */
	WRITE_ONCE(tx->task->offered_bytes,
		   max(tx->task->offered_bytes, tx->task->tx_cursor.position_bytes + bytes));
	if (by_reference)
		ret = istripe_compat_send_pages(conn->sock, segments, count, bytes, flags);
	else
		ret = istripe_compat_send_copy(conn->sock, segments, count, bytes, flags);
	tx->corked = flags & MSG_MORE;
	if (ret <= 0)
		return ret;
	if (by_reference) {
		tx->task->referenced = true;
		WRITE_ONCE(tx->task->referenced_seq,
			   READ_ONCE(tcp_sk(conn->sock->sk)->write_seq));
	}
	transmit_account(conn, ret);
	return ret;
}

static int transmit_control_payload(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	const u8 *from = tx->control->payload + tx->payload_sent_bytes;
	int ret = transmit_bytes(conn, from, tx->payload_bytes - tx->payload_sent_bytes,
				 tx->trailer_bytes);

	if (ret > 0) {
		tx->crc = istripe_digest_update(tx->crc, from, ret);
		tx->payload_sent_bytes += ret;
	}
	return ret;
}

static int transmit_trailer(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	u32 pad = -tx->payload_bytes & (ISCSI_PAD_LEN - 1);
	int ret;

	/* The digest covers the padding too (RFC 7143 11.2.3); P23. */
	if (!tx->trailer_sent_bytes && tx->trailer_bytes > pad)
		put_unaligned_le32(istripe_digest_final(istripe_digest_update(tx->crc, tx->trailer,
									      pad)),
				   tx->trailer + pad);
	ret = transmit_bytes(conn, tx->trailer + tx->trailer_sent_bytes,
			     tx->trailer_bytes - tx->trailer_sent_bytes,
			     transmit_more_follows(conn));
	if (ret > 0)
		tx->trailer_sent_bytes += ret;
	return ret;
}

/* One step of the PDU on its way; 0: it is out. */
static int transmit_step(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;

	if (tx->header_sent_bytes < tx->header_bytes)
		return transmit_header(conn);
	if (tx->payload_sent_bytes < tx->payload_bytes)
		return tx->control ? transmit_control_payload(conn) : transmit_task_payload(conn);
	if (tx->trailer_sent_bytes < tx->trailer_bytes)
		return transmit_trailer(conn);
	return 0;
}

static void transmit_free_control(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;

	if (tx->control != &conn->ping)
		kfree(tx->control);
	tx->control = NULL;
}

static void transmit_end(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	struct istripe_task *task = tx->task;

	tx->active = false;
	transmit_free_control(conn);
	tx->task = NULL;
	if (!task || !tx->command_pdu)
		return;
	/* The command's own hold turns into the one of the list, or ends. */
	if (!task->tx_sequence.left_bytes) {
		istripe_task_put(task);
		return;
	}
	if (!test_and_set_bit(ISTRIPE_TASK_SOLICITED, &task->flags))
		list_add_tail(&task->tx_entry, &tx->sequences);
	else
		istripe_task_put(task);
}

int istripe_conn_transmit(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	u32 budget = PDUS_MAX;
	int sent = 0;
	int ret;

	for (;;) {
		if (!budget) {
			/* A submitter has sent enough for others: the worker goes on. */
			set_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags);
			return sent;
		}
		/* After a fault not a byte more goes to this target (P48). */
		if (test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
			return sent;
		if (!tx->active && !transmit_next(conn)) {
			transmit_push(conn);
			return sent;
		}
		ret = transmit_step(conn);
		if (ret == -EAGAIN)
			return sent;
		if (ret < 0)
			return ret;
		if (!ret) {
			transmit_end(conn);
			budget--;
		}
		sent = 1;
	}
}

bool istripe_conn_has_output(struct istripe_conn *conn)
{
	return !llist_empty(&conn->submitted) || !llist_empty(&conn->solicited) ||
	       READ_ONCE(conn->control_count);
}
