/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection: one TCP connection of a session.
 *
 * Two sides work on it and share no field that both write:
 *   transmit side	whoever holds @tx_mutex: a submitter, @io_work, or @sender_work for
 *			what submitters have deferred. Owns @tx and the two lists in it.
 *   receive side	whoever holds the socket's lock: TCP's softirq, @io_work for what
 *			that left over. Owns @rx. Must neither sleep nor send.
 * Between them: @submitted (submitters push, transmit pops), @solicited (receive
 * pushes, transmit pops), @control (any pushes under @control_lock, transmit
 * pops), exp_stat_sn (receive writes, transmit reads).
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

#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "iscsi/pdu.h"
#include "iscsi/state.h"
#include "transport/rx.h"
#include "transport/session.h"
#include "transport/tx.h"

#define ISTRIPE_CONTROLS_MAX	16	/* with so many waiting to be sent nothing is received */

enum istripe_conn_flag {
	ISTRIPE_CONN_STOPPED,		/* no work may be queued or done any more */
	ISTRIPE_CONN_PEER_CLOSED,	/* TCP says: nothing more will come */
	ISTRIPE_CONN_WINDOW_CLOSED,	/* transmit side waits for MaxCmdSN to move */
	ISTRIPE_CONN_WRITES_PACED,	/* transmit side waits for an answer: the link is slow */
	ISTRIPE_CONN_PINGING,		/* a NOP-Out of ours is unanswered */
	ISTRIPE_CONN_TX_MISSED,		/* somebody found tx_mutex taken */
	ISTRIPE_CONN_LOGGING_OUT,	/* the logout request is the last PDU */
	ISTRIPE_CONN_RX_PENDING,	/* the worker shall receive */
	ISTRIPE_CONN_RX_PAUSED,		/* nothing is received: see istripe_conn_send_control() */
};

struct istripe_conn {
	struct istripe_session *session;
	u16 cid;
	enum istripe_conn_state state;
	unsigned long flags;
	struct socket *sock;
	struct istripe_socket_params tuned;	/* what @sock is, under socket_lock */
	struct istripe_keys keys;	/* what its login came to */

	struct mutex tx_mutex;		/* @tx: the transmit side */
	struct istripe_transmit tx;
	struct llist_head submitted;
	bool held;			/* submitters' hint: more was said to follow */
	u32 deferred;			/* submitters' hints: see conn_defers() */
	const void *submitter;
	unsigned long submitter_sleeps;
	struct llist_head solicited;
	spinlock_t control_lock;	/* @controls, @control_count */
	struct list_head controls;
	u32 control_count;

	struct istripe_receive rx;
	u32 exp_stat_sn;

	struct work_struct io_work;		/* at once */
	struct kthread_worker *sender;
	struct kthread_work sender_work;	/* when the submitter pauses */
	struct delayed_work keepalive_work;
	struct istripe_control ping;	/* must not fail for want of memory */
	unsigned long last_receive;	/* jiffies */
	unsigned long ping_sent;	/* jiffies, while PINGING */
	ktime_t ping_time;
	u32 ping_itt;
	u16 control_generation;

	/* What sk_user_data and the callbacks were before. */
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

/**
 * istripe_conn_alloc() - make a connection that is not connected
 * @session: its session
 * @cid: connection id
 *
 * Context: process, GFP_NOIO.
 * Return: the connection or NULL.
 */
struct istripe_conn *istripe_conn_alloc(struct istripe_session *session, u16 cid);

/**
 * istripe_conn_free() - free a connection
 * @conn: stopped, or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_conn_free(struct istripe_conn *conn);

/**
 * istripe_conn_connect() - open the TCP connection
 * @conn: fresh
 * @portal: address and port
 * @net: network namespace
 * @timeout_ms: for the connect, and for each send and receive until istripe_conn_start()
 *
 * Context: process, sleeps, session->socket_lock not held.
 * Return: 0 or the error of TCP; -ENODEV no such NIC; -EINTR.
 */
int istripe_conn_connect(struct istripe_conn *conn, const struct sockaddr_storage *portal,
			 struct net *net, u32 timeout_ms);

/**
 * istripe_conn_tune() - let the socket follow the path's socket settings
 * @conn: has a socket
 *
 * Context: process, session->socket_lock.
 */
void istripe_conn_tune(struct istripe_conn *conn);

/**
 * istripe_conn_has_link() - has the NIC that it was connected through a link?
 * @conn: connected
 *
 * Context: process; nobody may stop the connection meanwhile.
 * Return: false when the NIC is gone, down, or without a carrier.
 */
bool istripe_conn_has_link(struct istripe_conn *conn);

/**
 * istripe_conn_start() - enter the full feature phase
 * @conn: logged in
 *
 * From here on the socket belongs to the two sides.
 *
 * Context: process.
 */
void istripe_conn_start(struct istripe_conn *conn);

/**
 * istripe_conn_cut() - reset the TCP connection: the beginning of istripe_conn_halt()
 * @conn: may be in any state; no submitters; idempotent
 *
 * Context: process, sleeps.
 */
void istripe_conn_cut(struct istripe_conn *conn);

/**
 * istripe_conn_halt() - end both sides: the beginning of istripe_conn_stop()
 * @conn: may be in any state; no submitters; idempotent
 *
 * Afterwards neither side runs, unless another connection of the session does; what was
 * sent may still be on its way to the wire. When all connections of a session are halted,
 * its tasks that send no data belong to the caller.
 *
 * Context: process, sleeps.
 */
void istripe_conn_halt(struct istripe_conn *conn);

/**
 * istripe_conn_stop() - take the socket away from everybody and release it
 * @conn: may be in any state; no submitters; idempotent
 *
 * Afterwards neither side runs, nothing of the tasks' memory is on its way to the
 * wire (P22), and the tasks that send data belong to the caller, too.
 *
 * Context: process, sleeps.
 */
void istripe_conn_stop(struct istripe_conn *conn);

/**
 * istripe_conn_set_state() - move to another state and trace it
 * @conn: the connection
 * @state: a state that may follow the present one
 *
 * Context: whoever owns the connection then: its opener or its stopper.
 */
void istripe_conn_set_state(struct istripe_conn *conn, enum istripe_conn_state state);

/**
 * istripe_conn_kick() - let the connection's worker look at both sides
 * @conn: the connection
 *
 * Context: any.
 */
void istripe_conn_kick(struct istripe_conn *conn);

/**
 * istripe_conn_submit() - hand a task to the transmit side
 * @conn: in full feature phase
 * @task: with ITT, holders and transfer set up
 * @may_send: see istripe_session_submit()
 * @more: see istripe_session_submit()
 *
 * Context: see istripe_session_submit().
 */
void istripe_conn_submit(struct istripe_conn *conn, struct istripe_task *task, bool may_send,
			 bool more);

/**
 * istripe_conn_flush() - send what submitters have queued
 * @conn: in full feature phase
 *
 * What another one is sending just now is left to him, or to the worker.
 *
 * Context: process, sleeps; holds no socket.
 */
void istripe_conn_flush(struct istripe_conn *conn);

/**
 * istripe_conn_poll() - look for answers
 * @conn: in full feature phase, kept by the caller
 *
 * Whoever calls does what the NIC's interrupt would make softirq do later: takes packets
 * from the NIC and carries them up to TCP, which calls the receive side. So what has
 * come is complete on return, and who may receive is decided as ever, by the socket's lock.
 * There is nothing else to look at: what TCP has, the receive side has had. Where packets
 * come from nothing that can be polled (a loopback), this does nothing.
 *
 * Context: process, must not hold a socket; does not sleep. Tasks of any connection may be
 * done meanwhile.
 */
void istripe_conn_poll(struct istripe_conn *conn);

/**
 * istripe_conn_send_control() - queue a PDU that goes ahead of data
 * @conn: in full feature phase
 * @header: basic header segment; ExpStatSN, CmdSN are filled in when it is sent
 * @payload: data segment, copied, or NULL
 * @payload_bytes: its length
 *
 * Each ping of the target's must be answered (RFC 7143 11.18), however many come: when
 * ISTRIPE_CONTROLS_MAX wait to be sent, what the target sends is left in TCP, whose window
 * closes, until half of them have gone.
 *
 * Context: any that may allocate with GFP_NOWAIT.
 * Return: 0; -ENOMEM.
 */
int istripe_conn_send_control(struct istripe_conn *conn, const struct iscsi_hdr *header,
			      const void *payload, u32 payload_bytes);

/**
 * istripe_conn_send_ping() - queue conn->ping
 * @conn: in full feature phase
 * @header: as for istripe_conn_send_control(); replaces that of a ping not yet sent
 *
 * Context: keepalive work.
 */
void istripe_conn_send_ping(struct istripe_conn *conn, const struct iscsi_hdr *header);

#endif
