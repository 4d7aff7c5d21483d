/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task: one SCSI command on the wire (SAM), from submission to its status.
 *
 * Writers:
 *   owner		the first block, then submits; reads the result in done()
 *   transmit side	(holder of conn->tx_mutex) tx_*, solicited.tail
 *   receive side	(holder of the socket lock) transfer, rx_cursor, solicited.head, the result
 * @refs has one for the answer, one for the command on the transmit side, one for the stay on the
 * list of tasks with Data-Out to send, and one for every PDU with data of the task that is in the
 * tx batch and not yet TCP's. The task is done with the last of them. If TCP holds data of it then,
 * since the target has answered early, it is done when TCP has let go of these. A connection that
 * has been halted has no sides any more: then the session collects the task.
 */
#ifndef ISTRIPE_TRANSPORT_TASK_H
#define ISTRIPE_TRANSPORT_TASK_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <scsi/scsi_common.h>

#include "iscsi/keys.h"
#include "iscsi/transfer.h"
#include "scsi/cdb.h"
#include "transport/data.h"
#include "transport/progress.h"

struct istripe_conn;

/* R2Ts of one task that may be outstanding; MaxOutstandingR2T is offered and taken up to this. */
#define ISTRIPE_TASK_R2T_MAX	ISTRIPE_KEY_R2T_MAX

/* A task with no more data is small: see tx.c and istripe_path_lane(). */
#define ISTRIPE_TASK_SMALL_BYTES	(16 * 1024)

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

/* When a submitted task is sent. */
enum istripe_submit {
	ISTRIPE_SUBMIT_LATER,		/* by a worker */
	ISTRIPE_SUBMIT_NOW,		/* from here, unless waiting for others is cheaper */
	ISTRIPE_SUBMIT_MORE,		/* with tasks that follow, or by istripe_session_push() */
};

enum istripe_task_flag {
	ISTRIPE_TASK_ANSWERED,		/* the answer has come, or will not come any more */
	ISTRIPE_TASK_SENT,		/* the command PDU has a CmdSN and is on its way */
	ISTRIPE_TASK_REJECTED,		/* the target has rejected a PDU of it */
	ISTRIPE_TASK_REJECTED_ONCE,	/* ... and may take it when it is sent again */
	ISTRIPE_TASK_DATA_REJECTED,	/* ... of its data, while task management is to end it */
	ISTRIPE_TASK_SOLICITED,		/* on the transmit side's list for its R2Ts */
};

struct istripe_task {
	struct istripe_data data;	/* length_bytes 0 for none */
	u8 cdb[ISTRIPE_CDB_BYTES];	/* zero padded */
	struct scsi_lun lun;
	bool read;			/* data come in */
	bool write;			/* data go out */
	u16 slot;			/* in the session's table: of no other task in flight */
	u32 lane;			/* any number: one lane keeps to one connection */
	bool polled;			/* the submitter polls: a sender thread would not run */
	/*
	 * Called once when the task is finished, from the receive side (softirq, socket locked:
	 * must not send), the transmit side, release_work (socket locked), or
	 * istripe_session_close().
	 */
	void (*done)(struct istripe_task *task);

	int error;			/* 0: the target answered; else why it never will */
	u8 status;			/* SAM, if @error is 0 */
	u8 response;			/* not 0: of the SCSI Response that ended it, -ECANCELED */
	struct scsi_sense_hdr sense;	/* response_code 0: none */
	u32 transferred_bytes;		/* by the residual */

	/* Private to the transport. */
	struct istripe_conn *conn;
	atomic_t refs;
	unsigned long flags;
	u32 itt;
	u32 cmd_sn;

	unsigned long submitted_at;	/* jiffies */
	struct istripe_transfer transfer;
	struct istripe_cursor rx_cursor;
	struct istripe_moved received;	/* receive side: data; of a write: R2Ts */

	struct llist_node submit_node;
	struct llist_node solicit_node;
	struct list_head tx_entry;
	struct istripe_cursor tx_cursor;
	struct istripe_sequence tx_sequence;
	unsigned long waits_since;	/* jiffies */
	struct istripe_moved sent;	/* transmit side: data that went out */
	u32 offered_bytes;		/* written by the transmit side before TCP gets them */
	bool referenced;		/* transmit side: TCP has been given pages */
	u32 referenced_seq;		/* TCP sequence number behind the last of them */
	u64 referenced_bytes;		/* the batch's total_bytes then */
	struct {
		u32 head;		/* written by the receive side */
		u32 tail;		/* written by the transmit side */
		u32 accounted;		/* receive side: the tail it has told transfer about */
		struct istripe_solicitation ring[ISTRIPE_TASK_R2T_MAX];
	} solicited;
	struct llist_node unreleased_node;	/* when there are no references */
};

/*
 * The receive side lets go of a task: @error is 0, or negative when there will be no answer. The
 * task completes now, or when the transmit side has let go of it. Also after the connection's stop.
 */
void istripe_task_answer(struct istripe_task *task, int error);

/**
 * istripe_task_session_fault() - a task's answer says that the LUN is not served here any more
 * @task: being answered
 * @why: the target's words
 *
 * Ends the session: nothing is sent until another login has revalidated the LUN.
 *
 * Context: done() of @task.
 */
void istripe_task_session_fault(struct istripe_task *task, const char *why);

/**
 * istripe_task_invalidate() - istripe_session_invalidate() because of a task's answer
 * @task: being answered
 * Context: done() of @task.
 */
void istripe_task_invalidate(struct istripe_task *task);

/**
 * istripe_task_session_is_invalid() - istripe_session_is_invalid() of a task's session
 * @task: being answered
 * Context: done() of @task.
 * Return: true or false; if false, the answers to the revalidation are seen.
 */
bool istripe_task_session_is_invalid(const struct istripe_task *task);

/*
 * True when the target's TCP has acknowledged all of the task that ours was given by reference. A
 * target has to take the data before it answers (RFC 7143 11.4.2). Before one that does not has
 * taken them, another owner's data could go out from the pages (P22). For either side of the task's
 * connection.
 */
bool istripe_task_released(const struct istripe_task *task);

/* Drops a reference; @task may be gone afterwards. For either side of its connection. */
void istripe_task_put(struct istripe_task *task);

/* Ends the connection's answered tasks that TCP has let go of. Of conn->release_work. */
void istripe_task_release_work(struct work_struct *work);

#endif
