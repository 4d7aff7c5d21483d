/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pace of a connection: how much TCP is given of what the link carries.
 *
 * A target waits for the data that it has asked for, some for 3 s only, and a ping for its
 * answer. What TCP has been given goes out in order, so on a slow link it must not be
 * given more than is carried in a fraction of a second; then commands that wait for their
 * turn with Data-Out get it in time, however many they are (P64).
 *
 * Measured is how long it takes until what is on its way has been acknowledged. A link that
 * carries some megabytes a second has no limit. A new connection begins with a small one
 * and has lost it after a few round trips.
 */
#ifndef ISTRIPE_TRANSPORT_PACE_H
#define ISTRIPE_TRANSPORT_PACE_H

#include <linux/types.h>

struct istripe_conn;

/**
 * struct istripe_pace - what the transmit side knows of the link
 * @limit_bytes: that may be unacknowledged; 0: as many as TCP takes. Others may read it
 * @awaited: something waits until less than the limit is unacknowledged
 * @marked: a measurement is under way
 * @mark_seq: it ends when this TCP sequence number is acknowledged
 * @mark_bytes: unacknowledged bytes before @mark_seq, when it began
 * @marked_at: jiffies, when it began
 */
struct istripe_pace {
	u32 limit_bytes;
	bool awaited;
	bool marked;
	u32 mark_seq;
	u32 mark_bytes;
	unsigned long marked_at;
};

/**
 * istripe_pace_init() - nothing is known yet
 * @pace: of a new connection
 *
 * Context: any.
 */
void istripe_pace_init(struct istripe_pace *pace);

/**
 * istripe_pace_mark() - begin a measurement, unless one is under way
 * @conn: TCP has just been given something
 *
 * Context: transmit side.
 */
void istripe_pace_mark(struct istripe_conn *conn);

/**
 * istripe_pace_update() - end a measurement, if it has come to its end
 * @conn: the connection
 *
 * Context: transmit side.
 */
void istripe_pace_update(struct istripe_conn *conn);

/**
 * istripe_pace_await() - something waits for room, until the next look
 * @conn: TCP's callback has been asked for
 *
 * Context: transmit side.
 */
void istripe_pace_await(struct istripe_conn *conn);

/**
 * istripe_pace_room_bytes() - what may be given to TCP now
 * @conn: the connection
 *
 * Context: transmit side.
 * Return: bytes; U32_MAX without a limit.
 */
u32 istripe_pace_room_bytes(const struct istripe_conn *conn);

/**
 * istripe_pace_may_wake() - is it worth while to go on after a wait for room
 * @conn: the connection
 *
 * Context: any that keeps the connection's socket.
 * Return: true when a part of the limit is free.
 */
bool istripe_pace_may_wake(const struct istripe_conn *conn);

/**
 * istripe_pace_segment_bytes() - longest data segment, so that all have their turn in time
 * @conn: the connection
 * @waiting: commands that share the link
 *
 * Context: transmit side.
 * Return: bytes, at least 512; U32_MAX without a limit.
 */
u32 istripe_pace_segment_bytes(const struct istripe_conn *conn, u32 waiting);

/**
 * istripe_pace_writes() - how many writes the target may be asking data for
 * @conn: the connection
 *
 * Context: transmit side.
 * Return: their number; U32_MAX without a limit.
 */
u32 istripe_pace_writes(const struct istripe_conn *conn);

#endif
