/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_KEEPALIVE_H
#define ISTRIPE_TRANSPORT_KEEPALIVE_H

#include <linux/types.h>

struct istripe_conn;
struct work_struct;

/**
 * istripe_keepalive_start() - begin to watch for silence
 * @conn: entering the full feature phase
 *
 * Context: process.
 */
void istripe_keepalive_start(struct istripe_conn *conn);

/**
 * istripe_keepalive_pong() - a NOP-In with a tag of ours has come
 * @conn: the connection
 * @itt: its Initiator Task Tag
 *
 * Context: receive side.
 */
void istripe_keepalive_pong(struct istripe_conn *conn, u32 itt);

/**
 * istripe_keepalive_work() - the body of conn->keepalive_work
 * @work: the work
 *
 * Context: workqueue.
 */
void istripe_keepalive_work(struct work_struct *work);

#endif
