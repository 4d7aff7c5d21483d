// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit side sends one tx batch after the other, each as far as the socket has space, until
 * there is nothing to send. Order: control PDUs, then small commands, then Data-Out that the target
 * waits for, then other commands (P6, P15). Small commands get half of the bytes at most while
 * there are others. Data-Out of a task goes out in one go; once a task has waited for long, the one
 * that has waited longest is next, PDU by PDU (P64).
 */
#include <linux/sizes.h>
#include <linux/slab.h>
#include <compat/unaligned.h>
#include <trace/events/istripe.h>

#include "iscsi/error.h"
#include "transport/conn.h"
#include "transport/inject.h"
#include "transport/tx.h"

#define SENDS_MAX	16	/* in one go */
/* A task that waits longer with Data-Out has its turn after the next PDU of another task. */
#define WAIT_MS		250
/* A task that has waited for so long is not alone: it gets no more than this at a time. */
#define LATE_MS		500
#define LATE_BYTES	SZ_8K
/* Small commands go ahead of the others for so many bytes, at most, without one of the others. */
#define AHEAD_MAX	SZ_64K
/* As many bytes, at least, a command counts. */
#define AHEAD_EACH	SZ_4K

static bool task_is_small(const struct istripe_task *task)
{
	const struct istripe_transfer *transfer = &task->transfer;

	return transfer->length_bytes <= ISTRIPE_TASK_SMALL_BYTES &&
	       (!task->write || transfer->immediate_bytes == transfer->length_bytes);
}

/* llist is LIFO; restore submission order. */
static void transmit_collect_commands(struct istripe_conn *conn)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->submitted));
	struct istripe_transmit *tx = &conn->tx;
	struct istripe_task *task, *next;

	llist_for_each_entry_safe(task, next, node, submit_node) {
		/* The others may wait for its answer: see istripe_session_validate(). */
		if (istripe_session_is_own(conn->session, task))
			list_add(&task->tx_entry, &tx->small);
		else
			list_add_tail(&task->tx_entry,
				      task_is_small(task) ? &tx->small : &tx->commands);
	}
}

static void transmit_enter_sequences(struct istripe_conn *conn, struct istripe_task *task)
{
	task->waits_since = jiffies;
	list_add_tail(&task->tx_entry, &conn->tx.sequences);
	conn->tx.sequence_count++;
}

static void transmit_collect_sequences(struct istripe_conn *conn)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&conn->solicited));
	struct istripe_task *task, *next;

	llist_for_each_entry_safe(task, next, node, solicit_node)
		transmit_enter_sequences(conn, task);
}

static struct istripe_control *transmit_take_control(struct istripe_conn *conn,
						     struct iscsi_nopout *header)
{
	struct istripe_control *control;
	bool resume;

	if (!READ_ONCE(conn->control_count))
		return NULL;
	spin_lock_bh(&conn->control_lock);
	control = list_first_entry_or_null(&conn->controls, struct istripe_control, entry);
	if (control) {
		list_del_init(&control->entry);
		conn->control_count--;
		memcpy(header, &control->header, ISCSI_HDR_LEN);
		/* Nothing may follow it (RFC 7143 11.14). */
		if ((header->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_LOGOUT)
			set_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags);
	}
	resume = (conn->control_count <= ISTRIPE_CONTROLS_MAX / 2 ||
		  test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags)) &&
		 test_and_clear_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags);
	spin_unlock_bh(&conn->control_lock);
	if (resume) {
		/* TCP does not repeat the callback for data that it has kept. */
		set_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags);
		istripe_conn_kick(conn);
	}
	return control;
}

/*
 * CmdSN of an immediate PDU is the next one, and it is not consumed (P11). It and ExpStatSN are in
 * the same place in NOP-Out, task management and logout.
 */
static void transmit_number_control(struct istripe_conn *conn, struct iscsi_nopout *header)
{
	u32 cmd_sn = READ_ONCE(conn->session->cmd_sn);

	header->cmdsn = cpu_to_be32(cmd_sn);
	header->exp_statsn = cpu_to_be32(READ_ONCE(conn->exp_stat_sn));
	/* A LUN reset covers commands with lower numbers. */
	if ((header->opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_SCSI_TMFUNC)
		WRITE_ONCE(conn->session->control_req.cmd_sn, cmd_sn);
	if (get_unaligned_be32(&header->itt) == READ_ONCE(conn->session->control_req.itt))
		/* After cmd_sn: pairs with the acquire when an answer comes. */
		smp_store_release(&conn->session->control_req.sent, true);
}

static bool transmit_next_control(struct istripe_conn *conn)
{
	struct iscsi_nopout *header = istripe_tx_batch_header_room(&conn->tx.batch);
	struct istripe_control *control = transmit_take_control(conn, header);

	if (!control)
		return false;
	transmit_number_control(conn, header);
	trace_istripe_pdu_send(conn->session->label, conn->cid, header->opcode & ISCSI_OPCODE_MASK,
			       get_unaligned_be32(&header->itt), be32_to_cpu(header->cmdsn),
			       control->payload_bytes);
	istripe_tx_batch_add_header(&conn->tx.batch);
	if (control->payload_bytes)
		istripe_tx_batch_add_control(&conn->tx.batch, control);
	else if (control != &conn->ping)
		kfree(control);
	return true;
}

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
 * No R2T is left. The receive side adds an R2T, then tests the flag; here the flag is cleared, then
 * the ring is read again. So one of them puts the task on a list.
 */
static void task_leave_sequences(struct istripe_conn *conn, struct istripe_task *task)
{
	list_del(&task->tx_entry);
	conn->tx.sequence_count--;
	clear_bit(ISTRIPE_TASK_SOLICITED, &task->flags);
	/* Flag before head. */
	smp_mb__after_atomic();
	if (READ_ONCE(task->solicited.head) != task->solicited.tail &&
	    !test_and_set_bit(ISTRIPE_TASK_SOLICITED, &task->flags)) {
		transmit_enter_sequences(conn, task);
		return;
	}
	istripe_task_put(task);
}

/* The target has dropped the task and wants no data for it. */
static bool task_is_aborted(const struct istripe_task *task)
{
	return test_bit(ISTRIPE_TASK_ANSWERED, &task->flags) && task->error;
}

/* It is being aborted. Looked at before task_is_aborted(). */
static bool task_is_held(const struct istripe_conn *conn, const struct istripe_task *task)
{
	/* Pairs with the release in task_data_go_on(). */
	return smp_load_acquire(&conn->session->control_req.held_itt) == task->itt;
}

/* Data of a held task stay, and do not hold up those of others. */
static struct istripe_task *transmit_first_sequence(const struct istripe_conn *conn)
{
	struct istripe_task *task;

	list_for_each_entry(task, &conn->tx.sequences, tx_entry)
		if (!task_is_held(conn, task) || task_is_aborted(task))
			return task;
	return NULL;
}

static void task_drop_sequences(struct istripe_task *task)
{
	task->tx_sequence.left_bytes = 0;
	task->solicited.tail = READ_ONCE(task->solicited.head);
}

/*
 * A PDU of @task, the first that is not held, is on its way. It stays so until it has sent
 * everything that was asked for, unless the next one has waited for long.
 */
static void transmit_choose_next(struct istripe_conn *conn, struct istripe_task *task)
{
	struct list_head *sequences = &conn->tx.sequences;
	struct istripe_task *next;

	if (!task->tx_sequence.left_bytes && !task_next_solicitation(task)) {
		task_leave_sequences(conn, task);
		return;
	}
	task->waits_since = jiffies;
	if (list_is_last(&task->tx_entry, sequences))
		return;
	next = list_next_entry(task, tx_entry);
	if (time_after(jiffies, next->waits_since + msecs_to_jiffies(WAIT_MS)))
		list_move_tail(&task->tx_entry, sequences);
}

static u32 transmit_segment_bytes(const struct istripe_conn *conn, const struct istripe_task *task)
{
	u32 bytes = istripe_transfer_segment_bytes(&task->transfer, task->tx_sequence.left_bytes);

	if (time_after(jiffies, task->waits_since + msecs_to_jiffies(LATE_MS)))
		bytes = min_t(u32, bytes, LATE_BYTES);
	return min(bytes, istripe_pace_segment_bytes(conn, conn->tx.sequence_count));
}

/* As many bytes of small commands may go ahead of the next PDU. */
static void transmit_allow_ahead(struct istripe_transmit *tx, u32 bytes)
{
	tx->ahead_bytes = min_t(s64, (s64)tx->ahead_bytes + bytes, AHEAD_MAX);
}

static bool transmit_next_data_out(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	struct istripe_pdu_data_out data_out = {};
	struct istripe_sequence *sequence;
	struct istripe_task *task;

	for (;;) {
		task = transmit_first_sequence(conn);
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
	data_out.data_segment_bytes = transmit_segment_bytes(conn, task);
	data_out.final = data_out.data_segment_bytes == sequence->left_bytes;
	istripe_cursor_seek(&task->tx_cursor, &task->data, sequence->offset_bytes);
	sequence->offset_bytes += data_out.data_segment_bytes;
	sequence->left_bytes -= data_out.data_segment_bytes;
	istripe_pdu_encode_data_out(istripe_tx_batch_header_room(&tx->batch), &data_out);
	trace_istripe_pdu_send(conn->session->label, conn->cid, ISCSI_OP_SCSI_DATA_OUT, task->itt,
			       data_out.data_sn, data_out.data_segment_bytes);
	istripe_tx_batch_add_header(&tx->batch);
	/* The list's reference may be put before this PDU is out. */
	atomic_inc(&task->refs);
	istripe_tx_batch_add_task(&tx->batch, task, data_out.data_segment_bytes);
	transmit_allow_ahead(tx, data_out.data_segment_bytes);
	transmit_choose_next(conn, task);
	return true;
}

/* The window may open before the flag is set: try again afterwards. */
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

/*
 * On a slow link only so many writes are in flight as get their data in time. A write may end
 * before the flag is set: count again afterwards.
 */
static bool transmit_may_write(struct istripe_conn *conn)
{
	u32 writes = istripe_pace_writes(conn);

	if (writes == U32_MAX || istripe_session_open_writes(conn->session, conn) < writes)
		return true;
	set_bit(ISTRIPE_CONN_WRITES_PACED, &conn->flags);
	/* Flag before flags: pairs with istripe_task_answer(). */
	smp_mb__after_atomic();
	if (istripe_session_open_writes(conn->session, conn) >= writes)
		return false;
	clear_bit(ISTRIPE_CONN_WRITES_PACED, &conn->flags);
	return true;
}

/* Commands without data to send do not wait behind writes. */
static struct istripe_task *transmit_pick_command(struct istripe_conn *conn,
						  struct list_head *commands)
{
	struct istripe_task *task = list_first_entry_or_null(commands, struct istripe_task,
							     tx_entry);

	if (!task || !task->write || transmit_may_write(conn))
		return task;
	list_for_each_entry(task, commands, tx_entry)
		if (!task->write)
			return task;
	return NULL;
}

/* A CmdSN once taken is sent, or the connection dies: no holes (P7, P8). */
static struct istripe_task *transmit_take_command(struct istripe_conn *conn,
						  struct list_head *commands)
{
	struct istripe_task *task = transmit_pick_command(conn, commands);

	if (!task || !transmit_take_cmd_sn(conn, task))
		return NULL;
	list_del(&task->tx_entry);
	return task;
}

/*
 * Immediate data are as short as other data segments, but on a link that is not slow the target is
 * not made to ask for what would have gone unasked.
 */
static void transmit_shorten_command(struct istripe_conn *conn, struct istripe_task *task)
{
	u32 most_bytes = istripe_pace_segment_bytes(conn, conn->tx.sequence_count);

	if (task->transfer.immediate_bytes > most_bytes &&
	    (istripe_pace_is_slow(conn) || task->transfer.covered_bytes < task->data.length_bytes))
		istripe_transfer_shorten(&task->transfer, most_bytes);
}

static u32 transmit_encode_command(struct istripe_conn *conn, struct istripe_task *task)
{
	u32 unsolicited_bytes = task->transfer.unsolicited_bytes;
	struct istripe_pdu_scsi_command command = {
		.lun = task->lun,
		.itt = task->itt,
		.cmd_sn = task->cmd_sn,
		.exp_stat_sn = READ_ONCE(conn->exp_stat_sn),
		.expected_data_bytes = task->data.length_bytes,
		.data_segment_bytes = task->transfer.immediate_bytes,
		.cdb = task->cdb,
		.read = task->read,
		.write = task->write,
		.final = !unsolicited_bytes,
		.attribute = ISCSI_ATTR_SIMPLE,
	};

	task->tx_sequence = (struct istripe_sequence) {
		.ttt = ISTRIPE_TAG_RESERVED,
		.offset_bytes = command.data_segment_bytes,
		.left_bytes = unsolicited_bytes,
	};
	istripe_pdu_encode_scsi_command(istripe_tx_batch_header_room(&conn->tx.batch), &command);
	istripe_cursor_seek(&task->tx_cursor, &task->data, 0);
	conn->commands_sent++;
	WRITE_ONCE(task->sent.at, jiffies);
	/* An answer may come from here on, so the task is complete. */
	smp_mb__before_atomic();
	set_bit(ISTRIPE_TASK_SENT, &task->flags);
	trace_istripe_pdu_send(conn->session->label, conn->cid, ISCSI_OP_SCSI_CMD, task->itt,
			       task->cmd_sn, command.data_segment_bytes);
	istripe_tx_batch_add_header(&conn->tx.batch);
	return command.data_segment_bytes;
}

static void transmit_add_sequence(struct istripe_conn *conn, struct istripe_task *task)
{
	if (!test_and_set_bit(ISTRIPE_TASK_SOLICITED, &task->flags))
		transmit_enter_sequences(conn, task);
	else
		istripe_task_put(task);
}

/*
 * The command's own reference becomes that of the batch or of the list of tasks with Data-Out;
 * both need a second one. Without either it is put.
 */
static bool transmit_next_command(struct istripe_conn *conn, struct list_head *commands,
				  u32 *sent_bytes)
{
	struct istripe_task *task = transmit_take_command(conn, commands);
	u32 payload_bytes;
	bool more;

	if (!task)
		return false;
	transmit_shorten_command(conn, task);
	payload_bytes = transmit_encode_command(conn, task);
	*sent_bytes = max_t(u32, payload_bytes, AHEAD_EACH);
	more = task->tx_sequence.left_bytes;
	if (payload_bytes && more)
		atomic_inc(&task->refs);
	if (more)
		transmit_add_sequence(conn, task);
	if (payload_bytes)
		istripe_tx_batch_add_task(&conn->tx.batch, task, payload_bytes);
	else if (!more)
		istripe_task_put(task);
	return true;
}

static bool transmit_next_large(struct istripe_conn *conn)
{
	u32 bytes;

	if (transmit_next_data_out(conn))
		return true;
	if (!transmit_next_command(conn, &conn->tx.commands, &bytes))
		return false;
	transmit_allow_ahead(&conn->tx, bytes);
	return true;
}

/*
 * Small commands go first, as long as the others get as many bytes: neither waits for all of
 * the other.
 */
static bool transmit_next_task(struct istripe_conn *conn)
{
	struct istripe_transmit *tx = &conn->tx;
	u32 bytes;

	if (tx->ahead_bytes > 0 && transmit_next_command(conn, &tx->small, &bytes)) {
		if (!list_empty(&tx->sequences) || !list_empty(&tx->commands))
			tx->ahead_bytes -= bytes;
		return true;
	}
	return transmit_next_large(conn) || transmit_next_command(conn, &tx->small, &bytes);
}

static bool transmit_next(struct istripe_conn *conn)
{
	if (test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
		return false;
	if (transmit_next_control(conn))
		return true;
	return conn->tx.batch.bytes < conn->tx.room_bytes && transmit_next_task(conn);
}

static bool transmit_has_commands(const struct istripe_transmit *tx)
{
	return !list_empty(&tx->small) || !list_empty(&tx->commands);
}

static bool transmit_fill(struct istripe_conn *conn)
{
	struct istripe_tx_batch *batch = &conn->tx.batch;

	istripe_pace_update(conn);
	conn->tx.room_bytes = istripe_pace_room_bytes(conn);
	istripe_tx_batch_begin(batch);
	transmit_collect_commands(conn);
	transmit_collect_sequences(conn);
	while (!istripe_tx_batch_is_full(batch) && transmit_next(conn))
		;
	conn->pdus_sent += batch->header_count;
	return batch->bytes || batch->error;
}

/*
 * Will another batch follow at once? Then TCP need not push this one out. When the guess was wrong,
 * istripe_tx_batch_push() follows.
 */
static bool transmit_more_follows(const struct istripe_conn *conn)
{
	const struct istripe_transmit *tx = &conn->tx;

	if (tx->batch.bytes >= tx->room_bytes)
		return false;
	return !list_empty(&tx->sequences) || !llist_empty(&conn->solicited) ||
	       ((transmit_has_commands(tx) || !llist_empty(&conn->submitted)) &&
		!test_bit(ISTRIPE_CONN_WINDOW_CLOSED, &conn->flags) &&
		!test_bit(ISTRIPE_CONN_WRITES_PACED, &conn->flags));
}

/*
 * Asks for TCP's callback when data wait until TCP has less on its way. Returns false when there
 * is room by now.
 */
static bool transmit_awaits_room(struct istripe_conn *conn)
{
	const struct istripe_transmit *tx = &conn->tx;

	if (tx->room_bytes || (list_empty(&tx->sequences) && !transmit_has_commands(tx)))
		return true;
	istripe_pace_await(conn);
	set_bit(SOCK_NOSPACE, &conn->sock->flags);
	/* Flag before snd_una: TCP has a barrier between them, too. */
	smp_mb__after_atomic();
	return !istripe_pace_room_bytes(conn);
}

void istripe_conn_transmit_init(struct istripe_conn *conn)
{
	const u32 *value = conn->keys.value;

	conn->tx.batch.header_digest = value[ISTRIPE_KEY_HEADER_DIGEST] == ISTRIPE_DIGEST_CRC32C;
	conn->tx.batch.data_digest = value[ISTRIPE_KEY_DATA_DIGEST] == ISTRIPE_DIGEST_CRC32C;
}

static int transmit_send(struct istripe_conn *conn)
{
	int ret;

	if (istripe_inject(ISTRIPE_INJECT_SEND))
		return -EPIPE;
	ret = istripe_tx_batch_send(&conn->tx.batch, conn->sock, conn->zerocopy,
				    transmit_more_follows(conn));
	if (ret > 0) {
		conn->bytes_sent += ret;
		istripe_pace_mark(conn);
	}
	return ret;
}

/*
 * Under tx_mutex. Returns 1 when something was sent, 0 when there is nothing to send or the socket
 * is full, or -errno.
 */
static int transmit_batches(struct istripe_conn *conn)
{
	u32 budget = SENDS_MAX;
	int sent = 0;
	int ret;

	for (;;) {
		if (!budget--) {
			/* A submitter has sent enough for others: io_work goes on. */
			set_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags);
			return sent;
		}
		/* After a fault not a byte more goes to this target (P48). */
		if (test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
			return sent;
		if (istripe_tx_batch_is_sent(&conn->tx.batch) && !transmit_fill(conn)) {
			if (!transmit_awaits_room(conn))
				continue;
			istripe_tx_batch_push(&conn->tx.batch, conn->sock);
			return sent;
		}
		ret = transmit_send(conn);
		if (ret == -EAGAIN) {
			/* TCP must not wait for what MSG_MORE has announced. */
			istripe_tx_batch_push(&conn->tx.batch, conn->sock);
			return sent;
		}
		if (ret < 0)
			return ret;
		sent = 1;
	}
}

void istripe_conn_take_unsent(struct istripe_conn *conn, struct list_head *list)
{
	struct istripe_transmit *tx = &conn->tx;

	mutex_lock(&conn->tx_mutex);
	transmit_collect_commands(conn);
	list_splice_tail_init(&tx->small, list);
	list_splice_tail_init(&tx->commands, list);
	mutex_unlock(&conn->tx_mutex);
	/* Others may have found tx_mutex taken. */
	istripe_conn_kick(conn);
}

/* A caller that finds tx_mutex taken sets TX_MISSED; the holder checks it after unlocking (P41). */
int istripe_conn_send(struct istripe_conn *conn)
{
	int ret;

	if (!mutex_trylock(&conn->tx_mutex)) {
		set_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags);
		/* Flag before the second try; the holder unlocks before it checks the flag. */
		smp_mb__after_atomic();
		if (!mutex_trylock(&conn->tx_mutex))
			return 0;
	}
	clear_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags);
	/* Flag before the read of @submitted. */
	smp_mb__after_atomic();
	ret = transmit_batches(conn);
	mutex_unlock(&conn->tx_mutex);
	/* The loss of a connection may show here first, or in conn_io_receive(). A cut is none. */
	if (ret < 0 && !test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		istripe_session_fault(conn->session, ret, "%s: %s (%pe)",
				      ret == -EIO || ret == -ENOMEM ? "cannot send" :
				      "the connection was lost", istripe_error_words(ret),
				      ERR_PTR(ret));
	/* Unlock before the flag: see above. */
	smp_mb();
	return ret ?: test_bit(ISTRIPE_CONN_TX_MISSED, &conn->flags);
}
