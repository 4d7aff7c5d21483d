// SPDX-License-Identifier: GPL-2.0
/*
 * Keepalive (RFC 7143 11.18): a ping follows silence for ping_interval_ms, and silence for
 * ping_timeout_ms after that ends the session. Any received byte is a sign of life, and a ping goes
 * ahead of data, so a busy connection is not taken for a dead one (P15).
 */
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "transport/conn.h"
#include "transport/keepalive.h"
#include "transport/transport.h"

static void keepalive_rearm(struct istripe_conn *conn, u32 ms)
{
	if (!test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		queue_delayed_work(istripe_io_wq, &conn->keepalive_work,
				   msecs_to_jiffies(max(ms, 10u)));
}

static void keepalive_set_watched(struct istripe_conn *conn, bool watched)
{
	mutex_lock(&conn->session->socket_lock);
	conn->watched = watched;
	mutex_unlock(&conn->session->socket_lock);
}

void istripe_keepalive_start(struct istripe_conn *conn)
{
	conn->last_receive = jiffies;
	clear_bit(ISTRIPE_CONN_PINGING, &conn->flags);
	keepalive_set_watched(conn, true);
	keepalive_rearm(conn, READ_ONCE(conn->session->path->timers.ping_interval_ms) ?: 1000);
}

void istripe_keepalive_begin_anew(struct istripe_conn *conn)
{
	lockdep_assert_held(&conn->session->socket_lock);
	if (conn->watched)
		mod_delayed_work(istripe_io_wq, &conn->keepalive_work, 0);
}

void istripe_keepalive_stop(struct istripe_conn *conn)
{
	/* After that only the work itself queues it. */
	keepalive_set_watched(conn, false);
	cancel_delayed_work_sync(&conn->keepalive_work);
}

static void keepalive_ping(struct istripe_conn *conn)
{
	struct istripe_pdu_nop_out ping = {
		.itt = istripe_itt_make(++conn->ping_generation,
					ISTRIPE_SLOT_PING + conn->cid),
		.ttt = ISTRIPE_TAG_RESERVED,
	};
	struct iscsi_hdr header;

	if (test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
		return;
	istripe_pdu_encode_nop_out((struct iscsi_nopout *)&header, &ping);
	/* Recorded before it is sent: the answer may come at once (P14). */
	conn->ping_itt = ping.itt;
	conn->ping_time = ktime_get();
	conn->ping_sent = jiffies;
	/* Tag before flag. */
	smp_mb__before_atomic();
	set_bit(ISTRIPE_CONN_PINGING, &conn->flags);
	istripe_conn_send_ping(conn, &header);
}

void istripe_keepalive_pong(struct istripe_conn *conn, u32 itt)
{
	if (!test_bit(ISTRIPE_CONN_PINGING, &conn->flags) || itt != READ_ONCE(conn->ping_itt))
		return;
	WRITE_ONCE(conn->ping_rtt_us, ktime_us_delta(ktime_get(), conn->ping_time));
	clear_bit(ISTRIPE_CONN_PINGING, &conn->flags);
}

void istripe_keepalive_work(struct work_struct *work)
{
	struct istripe_conn *conn = container_of(to_delayed_work(work), struct istripe_conn,
						 keepalive_work);
	const struct istripe_timers *timers = &conn->session->path->timers;
	u32 interval_ms = READ_ONCE(timers->ping_interval_ms);
	u32 timeout_ms = READ_ONCE(timers->ping_timeout_ms);
	u32 silent_ms = jiffies_to_msecs(jiffies - READ_ONCE(conn->last_receive));
	u32 asked_ms = min(jiffies_to_msecs(jiffies - conn->ping_sent), silent_ms);

	if (!interval_ms) {
		/* The interval may be set later: nothing is asked then. */
		clear_bit(ISTRIPE_CONN_PINGING, &conn->flags);
		keepalive_rearm(conn, 1000);
	} else if (silent_ms < interval_ms) {
		clear_bit(ISTRIPE_CONN_PINGING, &conn->flags);
		keepalive_rearm(conn, interval_ms - silent_ms);
	} else if (!test_bit(ISTRIPE_CONN_PINGING, &conn->flags)) {
		keepalive_ping(conn);
		keepalive_rearm(conn, timeout_ms);
	} else if (asked_ms < timeout_ms) {
		keepalive_rearm(conn, timeout_ms - asked_ms);
	} else {
		istripe_session_fault(conn->session, -ETIMEDOUT,
				      "the target has been silent for %u ms, %u ms of them after a ping",
				      silent_ms, asked_ms);
	}
}
