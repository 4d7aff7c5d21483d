/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_RESPONSE_H
#define ISTRIPE_TRANSPORT_RESPONSE_H

struct istripe_conn;

/**
 * istripe_conn_received() - act on a complete PDU that is neither Data-In nor R2T
 * @conn: the connection, its rx.pdu and rx.control
 *
 * Context: receive side.
 * Return: 0 or -errno with the reason in conn->rx.why.
 */
int istripe_conn_received(struct istripe_conn *conn);

#endif
