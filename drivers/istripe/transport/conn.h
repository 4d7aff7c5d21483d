/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection: one TCP connection of a session.
 *
 * Two sides work on it, and no field is written by both:
 *   transmit side	the holder of @tx_mutex: a submitter, @io_work, or the work of one of
 *			@submitters for what was deferred. It owns @tx.
 *   receive side	the holder of the socket's lock: TCP's softirq, @receive_tasklet behind it
 *			where much comes, or @io_work for what these left over. It owns @rx. It
 *			must neither sleep nor send.
 * Between them: @submitted (submitters push, transmit pops), @solicited (receive pushes,
 * transmit pops), @controls (any context pushes under @control_lock, transmit pops),
 * @exp_stat_sn (receive writes, transmit reads), @unreleased (both push, @release_work pops with
 * the socket locked).
 *
 * Lock order:
 *   session->socket_lock
 *     conn->tx_mutex
 *       socket lock (inside the kernel's TCP; the receive side)
 *         sk->sk_callback_lock
 *         conn->control_lock
 */
#ifndef ISTRIPE_TRANSPORT_CONN_H
#define ISTRIPE_TRANSPORT_CONN_H

#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "iscsi/state.h"
#include "transport/rx.h"
#include "transport/session.h"
#include "transport/transport.h"
#include "transport/tx.h"

struct istripe_submitter;

#define ISTRIPE_CONTROLS_MAX	16	/* with so many waiting to be sent nothing is received */

enum istripe_conn_flag {
	ISTRIPE_CONN_STOPPED,		/* no work may be queued or done any more */
	ISTRIPE_CONN_PEER_CLOSED,	/* TCP says: nothing more will come */
	ISTRIPE_CONN_WINDOW_CLOSED,	/* transmit side waits for MaxCmdSN to move */
	ISTRIPE_CONN_WRITES_PACED,	/* transmit side waits for an answer: the link is slow */
	ISTRIPE_CONN_PINGING,		/* a NOP-Out of ours is unanswered */
	ISTRIPE_CONN_TX_MISSED,		/* a caller found tx_mutex taken */
	ISTRIPE_CONN_LOGGING_OUT,	/* the logout request is the last PDU */
	ISTRIPE_CONN_RX_PENDING,	/* the worker, or the tasklet, shall receive */
	ISTRIPE_CONN_RX_PAUSED,		/* nothing is received: see istripe_conn_send_control() */
};

struct istripe_conn {
	struct istripe_session *session;
	u16 cid;
	enum istripe_conn_state state;
	unsigned long flags;
	struct socket *sock;
	struct istripe_zerocopy *zerocopy;	/* segments of @sock with pages of tasks */
	bool probed;			/* pages that @zerocopy does not count were on their way */
	struct istripe_socket_params tuned;	/* the settings of @sock, under socket_lock */
	struct istripe_keys keys;	/* as negotiated by its login */

	struct mutex tx_mutex;		/* @tx: the transmit side */
	struct istripe_transmit tx;
	struct llist_head submitted;
	bool batching;			/* submitters' hint: a batch goes on */
	struct istripe_submitter *submitters;	/* for each processor */
	struct llist_head solicited;
	spinlock_t control_lock;	/* @controls, @control_count */
	struct list_head controls;
	u32 control_count;

	struct istripe_receive rx;
	u32 exp_stat_sn;

	struct tasklet_struct receive_tasklet;	/* when the softirq is through */
	struct work_struct io_work;		/* at once */
	struct work_struct release_work;	/* @unreleased: at once, and when TCP calls */
	struct llist_head unreleased;		/* answered tasks, data of which TCP holds */
	struct delayed_work keepalive_work;
	bool watched;			/* under socket_lock: others may queue the last one */
	struct istripe_control ping;	/* must not fail for want of memory */
	unsigned long last_receive;	/* jiffies */
	unsigned long ping_sent;	/* jiffies, while PINGING */
	ktime_t ping_time;
	u32 ping_itt;
	u16 ping_generation;

	/* The socket's own callbacks. */
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);

	int nic;			/* index of the one it was connected through; 0: unknown */
	struct sockaddr_storage local_address;
	struct sockaddr_storage remote_address;
	u64 bytes_sent;
	u64 bytes_received;
	u64 pdus_sent;
	u64 pdus_received;
	u64 commands_sent;		/* transmit side */
	u64 commands_answered;		/* receive side */
	u64 digest_errors;
	u32 ping_rtt_us;
};

/* Process context, GFP_NOIO. Returns NULL without memory. */
struct istripe_conn *istripe_conn_alloc(struct istripe_session *session, u16 cid);

/* How long a stop, or a session's close, waits for the network stack to let go of pages. */
#define ISTRIPE_DRAIN_TIMEOUT_MS	10000

/* @conn is stopped, was never started, or is NULL. */
void istripe_conn_free(struct istripe_conn *conn);

/*
 * Opens the TCP connection within @timeout_ms, which also bounds each send and receive until
 * istripe_conn_start(). Sleeps; the caller does not hold session->socket_lock. Returns 0,
 * -ENODEV without the configured NIC, -EADDRNOTAVAIL while that has no address, -EINTR, or an error
 * of TCP.
 */
int istripe_conn_connect(struct istripe_conn *conn, const struct sockaddr_storage *portal,
			 struct net *net, u32 timeout_ms);

/* Lets the socket follow the path's socket settings; under session->socket_lock. */
void istripe_conn_tune(struct istripe_conn *conn);

/*
 * False when its NIC is gone, down or without a carrier, or has become a port of a bridge or bond,
 * and TCP would find no route over another one. Nobody may stop @conn meanwhile.
 */
bool istripe_conn_has_link(struct istripe_conn *conn);

/* Is the NIC of its socket gone? One of the same name is another. Under socket_lock. */
bool istripe_conn_is_orphaned(const struct istripe_conn *conn);

/* Enters the full feature phase: from here on the socket belongs to the two sides. */
void istripe_conn_start(struct istripe_conn *conn);

/*
 * The end of a connection has three steps, in this order. Each is idempotent, includes those
 * before it, may be called in any state without submitters, and sleeps.
 */

/* Resets the TCP connection. */
void istripe_conn_cut(struct istripe_conn *conn);

/*
 * Ends both sides, unless another connection of the session runs. Data that were sent may still
 * be on their way to the wire. When all connections of a session are halted, its tasks belong to
 * the caller, but not the memory of those that send data.
 */
void istripe_conn_halt(struct istripe_conn *conn);

/*
 * Releases the socket. Nothing of the tasks' memory is on its way to the wire any more (P22), so
 * it belongs to the caller, too. False: that is not certain, as with istripe_session_close().
 */
bool istripe_conn_stop(struct istripe_conn *conn);

/* For the opener and the stopper; traces the change. */
void istripe_conn_set_state(struct istripe_conn *conn, enum istripe_conn_state state);

/* Lets io_work run both sides. Any context. */
static inline void istripe_conn_kick(struct istripe_conn *conn)
{
	if (!test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		queue_work(istripe_io_wq, &conn->io_work);
}

/* Are all commands answered? Any context. */
static inline bool istripe_conn_is_idle(const struct istripe_conn *conn)
{
	return READ_ONCE(conn->commands_sent) == READ_ONCE(conn->commands_answered);
}

/* Lets release_work look at @unreleased, now and with each acknowledgment. Any context. */
void istripe_conn_await_release(struct istripe_conn *conn);

/*
 * Does what the NIC's interrupt would make softirq do later: it takes packets from the NIC and
 * carries them up to TCP, which calls the receive side. The answers that have arrived are complete
 * on return; the socket's lock decides who receives, as always. TCP keeps nothing else to look
 * at, since the receive side takes everything before the softirqs are through. Without a NIC queue
 * that can be polled (loopback) this does nothing. Does not sleep; the caller keeps @conn and holds
 * no socket lock. Tasks of any connection may be done meanwhile.
 */
void istripe_conn_poll(struct istripe_conn *conn);

/*
 * Queues a PDU that goes ahead of data. ExpStatSN and CmdSN are filled in when it is sent;
 * @payload is copied. Each ping of the target must be answered (RFC 7143 11.18), however many
 * come: when ISTRIPE_CONTROLS_MAX PDUs wait, what the target sends is left in TCP, whose window
 * closes, until half of them have gone. Without @payload it is zeros. Any context; GFP_NOWAIT.
 * Returns 0 or -ENOMEM.
 */
int istripe_conn_send_control(struct istripe_conn *conn, const struct iscsi_hdr *header,
			      const void *payload, u32 payload_bytes);

/* A data segment that fills the largest packets of TCP, if the target takes so many bytes. */
u32 istripe_conn_large_bytes(const struct istripe_conn *conn);

/* Queues conn->ping; @header replaces that of a ping not sent yet. For the keepalive work. */
void istripe_conn_send_ping(struct istripe_conn *conn, const struct iscsi_hdr *header);

#endif
