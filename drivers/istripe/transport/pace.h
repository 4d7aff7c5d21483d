/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pace of a connection: how much TCP is given of what the link carries.
 *
 * A target waits for the data that it has asked for, some for 3 s only, and for answers to its
 * pings. TCP sends in order, so on a slow link it is given no more than is carried in a fraction of
 * a second. Then all commands with Data-Out get their turn in time, however many they are (P64).
 *
 * The time until the bytes on their way are acknowledged is measured. A new connection begins with
 * a small limit. A link that carries some megabytes a second loses it after a few round trips.
 *
 * TCP also keeps bytes that it may not send yet. A command that is submitted later goes out behind
 * these, so TCP is given no more than it can send within a millisecond, and 16 KiB on any link.
 */
#ifndef ISTRIPE_TRANSPORT_PACE_H
#define ISTRIPE_TRANSPORT_PACE_H

#include <linux/types.h>

struct istripe_conn;

struct istripe_pace {
	u32 limit_bytes;		/* unacknowledged; 0: no limit. Others may read it */
	bool awaited;			/* data wait until less than the limit is unacknowledged */
	bool marked;			/* a measurement is under way: */
	u32 mark_seq;			/* it ends with the acknowledgment of this TCP sequence */
	u32 mark_bytes;			/* unacknowledged before @mark_seq when it began */
	unsigned long marked_at;	/* jiffies */
};

/* All of these belong to the transmit side, unless they say otherwise. */
void istripe_pace_init(struct istripe_pace *pace);

/* TCP has just been given data: begins a measurement, unless one is under way. */
void istripe_pace_mark(struct istripe_conn *conn);

/* Ends a measurement when its bytes have been acknowledged. */
void istripe_pace_update(struct istripe_conn *conn);

/* Data wait for room until the next update; TCP's callback has been asked for. */
void istripe_pace_await(struct istripe_conn *conn);

/* Bytes that may be given to TCP now. */
u32 istripe_pace_room_bytes(const struct istripe_conn *conn);

/* True while there is a limit of unacknowledged bytes. */
bool istripe_pace_is_slow(const struct istripe_conn *conn);

/* True when a part of both limits is free. For anybody that keeps the socket. */
bool istripe_pace_may_wake(const struct istripe_conn *conn);

/*
 * The longest data segment with which @waiting commands have their turns in time, and a command
 * that is submitted now goes out soon: at least 512 bytes.
 */
u32 istripe_pace_segment_bytes(const struct istripe_conn *conn, u32 waiting);

/* Writes that the target may ask data for at a time; U32_MAX without a limit. */
u32 istripe_pace_writes(const struct istripe_conn *conn);

#endif
