/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_TRANSPORT_RESPONSE_H
#define ISTRIPE_TRANSPORT_RESPONSE_H

struct istripe_conn;

/*
 * Acts on a complete PDU that is neither Data-In nor R2T, in conn->rx.pdu and conn->rx.control.
 * For the receive side. Returns 0, or -errno with the reason in conn->rx.why.
 */
int istripe_response_handle(struct istripe_conn *conn);

#endif
