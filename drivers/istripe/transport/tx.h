/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_TX_H
#define ISTRIPE_TRANSPORT_TX_H

#include <linux/list.h>
#include <linux/types.h>

#include "transport/pace.h"
#include "transport/tx_batch.h"

struct istripe_conn;

struct istripe_transmit {
	struct list_head small;		/* waiting for their first PDU; see transmit_next_task() */
	struct list_head commands;	/* the others that do */
	s32 ahead_bytes;		/* that @small may send now ahead of the others */
	struct list_head sequences;	/* with Data-Out to send */
	u32 sequence_count;
	struct istripe_pace pace;
	u32 room_bytes;			/* of the pace, when the batch was begun */

	struct istripe_tx_batch batch;	/* on its way out */
};

/* @conn is logged in, with its keys, and not started. */
void istripe_conn_transmit_init(struct istripe_conn *conn);

/*
 * Sends what there is to send; when another thread is sending, that one goes on with it. An error
 * is a fault of the session. Returns more than 0 when there may be more to send, or -errno. Sleeps.
 */
int istripe_conn_send(struct istripe_conn *conn);

/*
 * Moves the tasks whose commands have no CmdSN to @list, by tx_entry. All others are SENT when it
 * returns. The session is quiesced and has no submitters. Sleeps.
 */
void istripe_conn_take_unsent(struct istripe_conn *conn, struct list_head *list);

#endif
