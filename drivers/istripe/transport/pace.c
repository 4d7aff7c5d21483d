// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "transport/conn.h"
#include "transport/pace.h"

/* Bytes on their way shall be acknowledged within this time and a round trip. */
#define PACE_MS			400
/* The unloaded round trip, at most. */
#define ROUND_TRIP_MAX_US	5000000
/* For a new connection: less than TCP's first window. */
#define LIMIT_FIRST_BYTES	SZ_8K
#define LIMIT_MIN_BYTES		SZ_4K
/* No limit from here on: 9 MB/s. */
#define LIMIT_MAX_BYTES		SZ_4M
#define SEGMENT_MIN_BYTES	512
#define SEGMENT_ROUND_BYTES	SZ_4K
/* Of a second: bytes that TCP has not sent yet shall be sent within this time. */
#define UNSENT_RATE		1000
#define UNSENT_MIN_BYTES	SZ_16K
#define UNSENT_MAX_BYTES	SZ_16M
/* Of the limit, for each write: about 5 KiB a second. */
#define WRITE_BYTES		SZ_2K
#define WRITES_MIN		4u

static const struct tcp_sock *pace_tcp(const struct istripe_conn *conn)
{
	return tcp_sk(conn->sock->sk);
}

static u32 pace_unacknowledged_bytes(const struct istripe_conn *conn)
{
	const struct tcp_sock *tcp = pace_tcp(conn);

	/* In this order: the difference is never less than 0. */
	u32 una = READ_ONCE(tcp->snd_una);

	return READ_ONCE(tcp->write_seq) - una;
}

void istripe_pace_init(struct istripe_pace *pace)
{
	*pace = (struct istripe_pace) { .limit_bytes = LIMIT_FIRST_BYTES };
}

void istripe_pace_mark(struct istripe_conn *conn)
{
	struct istripe_pace *pace = &conn->tx.pace;

	if (pace->marked)
		return;
	pace->marked = true;
	pace->marked_at = jiffies;
	pace->mark_seq = READ_ONCE(pace_tcp(conn)->write_seq);
	pace->mark_bytes = pace_unacknowledged_bytes(conn);
}

/* Jiffies within which bytes on their way shall be acknowledged. */
static u32 pace_time(const struct istripe_conn *conn)
{
	u32 round_trip_us = min_t(u32, tcp_min_rtt(pace_tcp(conn)), ROUND_TRIP_MAX_US);

	return msecs_to_jiffies(PACE_MS) + usecs_to_jiffies(round_trip_us);
}

/*
 * From the time that the bytes took follows how many the link carries in the wanted time, or more
 * if the link was not busy. The measurement of an idle connection ends late, at its next send:
 * such a time does not lower the limit, nor does that of a few bytes. A connection that waits for
 * room is not idle: TCP's callback ends its measurement.
 */
static void pace_check(struct istripe_conn *conn, u32 elapsed, bool idle)
{
	struct istripe_pace *pace = &conn->tx.pace;
	u32 limit_bytes = pace->limit_bytes;
	u32 time;
	u64 bytes;

	/* The common case. */
	if (!limit_bytes && elapsed <= msecs_to_jiffies(PACE_MS))
		return;
	time = pace_time(conn);
	bytes = div_u64((u64)pace->mark_bytes * time, max(elapsed, 1u));
	if (elapsed > time && !idle && pace->mark_bytes >= LIMIT_MIN_BYTES)
		limit_bytes = clamp_t(u64, bytes, LIMIT_MIN_BYTES, LIMIT_MAX_BYTES - 1);
	else if (limit_bytes && bytes > limit_bytes)
		limit_bytes = bytes < LIMIT_MAX_BYTES ? bytes : 0;
	WRITE_ONCE(pace->limit_bytes, limit_bytes);
}

void istripe_pace_update(struct istripe_conn *conn)
{
	struct istripe_pace *pace = &conn->tx.pace;
	u32 una = READ_ONCE(pace_tcp(conn)->snd_una);
	bool awaited = pace->awaited;

	pace->awaited = false;
	if (!pace->marked || before(una, pace->mark_seq))
		return;
	pace->marked = false;
	pace_check(conn, jiffies - pace->marked_at, !awaited && !pace_unacknowledged_bytes(conn));
}

void istripe_pace_await(struct istripe_conn *conn)
{
	conn->tx.pace.awaited = true;
}

static u32 pace_unsent_bytes(const struct istripe_conn *conn)
{
	const struct tcp_sock *tcp = pace_tcp(conn);

	/* In this order: the difference is never less than 0. */
	u32 next = READ_ONCE(tcp->snd_nxt);

	return READ_ONCE(tcp->write_seq) - next;
}

/* Bytes that wait in TCP to be sent: a command that is submitted now goes out behind them. */
static u32 pace_unsent_limit_bytes(const struct istripe_conn *conn)
{
	/* A little more than the link carries, in bytes a second. */
	unsigned long rate = READ_ONCE(conn->sock->sk->sk_pacing_rate);

	return clamp_t(unsigned long, rate / UNSENT_RATE, UNSENT_MIN_BYTES, UNSENT_MAX_BYTES);
}

u32 istripe_pace_room_bytes(const struct istripe_conn *conn)
{
	u32 limit_bytes = conn->tx.pace.limit_bytes;
	u32 unsent_limit_bytes = pace_unsent_limit_bytes(conn);
	u32 room = unsent_limit_bytes - min(unsent_limit_bytes, pace_unsent_bytes(conn));

	if (!limit_bytes)
		return room;
	return min(room, limit_bytes - min(limit_bytes, pace_unacknowledged_bytes(conn)));
}

bool istripe_pace_is_slow(const struct istripe_conn *conn)
{
	return conn->tx.pace.limit_bytes;
}

bool istripe_pace_may_wake(const struct istripe_conn *conn)
{
	u32 limit_bytes = READ_ONCE(conn->tx.pace.limit_bytes);

	return pace_unsent_bytes(conn) <= pace_unsent_limit_bytes(conn) / 2 &&
	       (!limit_bytes ||
		pace_unacknowledged_bytes(conn) <= limit_bytes - limit_bytes / 4);
}

u32 istripe_pace_segment_bytes(const struct istripe_conn *conn, u32 waiting)
{
	u32 limit_bytes = conn->tx.pace.limit_bytes;
	u32 bytes;

	if (!limit_bytes)
		return round_down(pace_unsent_limit_bytes(conn), SEGMENT_ROUND_BYTES);
	/* All have had their turn when the limit has been sent. */
	bytes = limit_bytes / max(waiting, WRITES_MIN);
	return max(round_down(bytes, SEGMENT_MIN_BYTES), SEGMENT_MIN_BYTES);
}

u32 istripe_pace_writes(const struct istripe_conn *conn)
{
	u32 limit_bytes = conn->tx.pace.limit_bytes;

	return limit_bytes ? max(limit_bytes / WRITE_BYTES, WRITES_MIN) : U32_MAX;
}
