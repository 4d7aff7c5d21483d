/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_KEEPALIVE_H
#define ISTRIPE_TRANSPORT_KEEPALIVE_H

#include <linux/types.h>

struct istripe_conn;
struct work_struct;

/* Begins to watch for silence; @conn enters the full feature phase. */
void istripe_keepalive_start(struct istripe_conn *conn);

/* Looks for silence now: the times have changed. In any state; under session->socket_lock. */
void istripe_keepalive_begin_anew(struct istripe_conn *conn);

/* @conn is cut. Idempotent; sleeps. */
void istripe_keepalive_stop(struct istripe_conn *conn);

/* A NOP-In with the tag @itt of ours has come. For the receive side. */
void istripe_keepalive_pong(struct istripe_conn *conn, u32 itt);

/* The body of conn->keepalive_work. */
void istripe_keepalive_work(struct work_struct *work);

#endif
