/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task: one SCSI command on the wire (SAM), from submission to its status.
 *
 * Who touches what:
 *   owner		fills the first block, then submits; reads the result in done()
 *   transmit side	(holder of conn->tx_mutex) tx_*, solicited.tail
 *   receive side	(holder of the socket lock) transfer, rx_cursor, solicited.head, the result
 * The task is done when the answer has come and the transmit side has let go of
 * it: each of the two counts in @refs, and so does every stay on the
 * transmit side's list of tasks with Data-Out to send, and every PDU with its data that
 * is in the load (tx_batch.h) and not yet TCP's. After the connection has been halted there
 * are no sides any more, and the session collects the task.
 */
#ifndef ISTRIPE_TRANSPORT_TASK_H
#define ISTRIPE_TRANSPORT_TASK_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>
#include <scsi/scsi_common.h>

#include "iscsi/transfer.h"
#include "scsi/cdb.h"
#include "transport/data.h"
#include "transport/progress.h"

struct istripe_conn;

/* R2Ts of one task that may be outstanding; MaxOutstandingR2T is offered up to this. */
#define ISTRIPE_TASK_R2T_MAX	16

/* One Data-Out sequence that the target asked for (RFC 7143 11.8). */
struct istripe_solicitation {
	u32 ttt;
	u32 offset_bytes;
	u32 length_bytes;
};

/* The Data-Out sequence being sent. */
struct istripe_sequence {
	u32 ttt;
	u32 offset_bytes;
	u32 left_bytes;
	u32 data_sn;
};

enum istripe_task_flag {
	ISTRIPE_TASK_ANSWERED,		/* the answer has come, or will not come any more */
	ISTRIPE_TASK_SENT,		/* the command PDU has a CmdSN and is on its way */
	ISTRIPE_TASK_SOLICITED,		/* on the transmit side's list for its R2Ts */
};

/**
 * struct istripe_task - one SCSI command
 * @data:	what it transfers; length_bytes 0 for none
 * @cdb:	command descriptor block, zero padded
 * @lun:	logical unit
 * @read:	data come in
 * @write:	data go out
 * @slot:	index in the session's table; no two tasks in flight share one
 * @lane:	any number: tasks of one lane keep to one connection of the session
 * @polled:	its submitter looks for the answer and does not pause: it is not left to the
 *		batch worker, whom he would keep from his processor
 * @done:	called once when the task is finished, from the receive side (softirq,
 *		socket locked: must not send), the transmit side, or whoever stops
 *		the session
 * @error:	0 when the target answered, then @status holds; else why it never will
 * @status:	SAM status byte
 * @sense:	decoded sense data, response_code 0 when there are none
 * @transferred_bytes: what was transferred, by the residual
 */
struct istripe_task {
	struct istripe_data data;
	u8 cdb[ISTRIPE_CDB_BYTES];
	struct scsi_lun lun;
	bool read;
	bool write;
	u16 slot;
	u32 lane;
	bool polled;
	void (*done)(struct istripe_task *task);

	int error;
	u8 status;
	struct scsi_sense_hdr sense;
	u32 transferred_bytes;

	/* private: the transport's own */
	struct istripe_conn *conn;
	atomic_t refs;
	unsigned long flags;
	u32 itt;
	u32 cmd_sn;

	unsigned long submitted_at;	/* jiffies */
	struct istripe_transfer transfer;
	struct istripe_cursor rx_cursor;
	struct istripe_moved received;	/* receive side: data and, of a write, what R2Ts ask for */

	struct llist_node submit_node;
	struct llist_node solicit_node;
	struct list_head tx_entry;
	struct istripe_cursor tx_cursor;
	struct istripe_sequence tx_sequence;
	unsigned long waits_since;	/* jiffies, since when it waits for its turn */
	struct istripe_moved sent;	/* transmit side: data that went out */
	u32 offered_bytes;		/* written by the transmit side before TCP gets them */
	bool referenced;		/* transmit side: TCP has been given pages */
	u32 referenced_seq;		/* TCP sequence number behind the last of them */
	struct {
		u32 head;		/* written by the receive side */
		u32 tail;		/* written by the transmit side */
		u32 accounted;		/* receive side: the tail it has told transfer about */
		struct istripe_solicitation ring[ISTRIPE_TASK_R2T_MAX];
	} solicited;
};

/**
 * istripe_task_answer() - the receive side lets go of a task
 * @task: a task that has not been answered yet
 * @error: 0, or a negative errno when there will be no answer
 *
 * The task completes now or when the transmit side has let go of it.
 *
 * Context: receive side of the task's connection, or after its stop.
 */
void istripe_task_answer(struct istripe_task *task, int error);

/**
 * istripe_task_session_fault() - a task's answer says that the LUN is not served here any more
 * @task: being answered
 * @why: what the target said
 *
 * Ends the session: nothing is sent any more until a login has looked again.
 *
 * Context: done() of @task.
 */
void istripe_task_session_fault(struct istripe_task *task, const char *why);

/**
 * istripe_task_invalidate() - a task's answer says that something about the LUN has changed
 * @task: being answered
 *
 * See istripe_session_invalidate().
 *
 * Context: done() of @task.
 */
void istripe_task_invalidate(struct istripe_task *task);

/**
 * istripe_task_released() - has TCP let go of the task's pages
 * @task: in flight
 *
 * An honest target has acknowledged what it answers. One that answers without taking
 * the data could read from the pages what their next owner writes there (P22).
 *
 * Context: either side of the task's connection.
 * Return: true when all that was given by reference has been acknowledged.
 */
bool istripe_task_released(const struct istripe_task *task);

/**
 * istripe_task_put() - drop one hold on a task
 * @task: the task; may be gone afterwards
 *
 * Context: either side of the task's connection.
 */
void istripe_task_put(struct istripe_task *task);

#endif
