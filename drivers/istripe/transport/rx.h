/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_RX_H
#define ISTRIPE_TRANSPORT_RX_H

#include <linux/types.h>

#include <istripe/reason.h>
#include "iscsi/framing.h"
#include "iscsi/pdu.h"
#include "transport/progress.h"
#include "transport/session.h"

struct istripe_conn;
struct istripe_task;

/* Bytes kept of a data segment that is not Data-In: always, and when there is memory. */
#define ISTRIPE_CONTROL_BYTES		4096
#define ISTRIPE_CONTROL_BYTES_MAX	65536

struct istripe_receive {
	struct istripe_framing framing;
	struct istripe_pdu pdu;
	struct istripe_task *task;	/* of the PDU being received */
	u8 *control;			/* data segment of what is not Data-In */
	u32 control_bytes;		/* its size */
	u32 control_used_bytes;
	u32 exp_stat_sn;		/* published when the PDU is complete */
	struct istripe_moved moved;	/* data, R2Ts and statuses, of all commands */
	unsigned long moved_of;		/* jiffies, when the newest of these was submitted */
	int error;
	struct istripe_reason why;
};

/*
 * Takes what TCP has received. For the receive side. Returns 0, 1 when there may be more, or
 * -errno with the reason in conn->rx.why.
 */
int istripe_rx_receive(struct istripe_conn *conn);

/* Are Data-In so long that it pays to gather what several packets bring? For the receive side. */
bool istripe_rx_is_much(const struct istripe_conn *conn);

/* @conn is logged in, with its keys, and not started. */
void istripe_rx_init(struct istripe_conn *conn);

/* Notes why what the target sent is not acceptable. For the receive side. Returns @error. */
__printf(3, 4) int istripe_rx_reject(struct istripe_conn *conn, int error, const char *fmt, ...);

#endif
