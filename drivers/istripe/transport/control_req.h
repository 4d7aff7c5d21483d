/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exchanges: requests that are not SCSI commands and have one answer: task
 * management (RFC 7143 11.5, 11.6), logout (11.14, 11.15), and a ping that is waited
 * for (11.18, 11.19). One at a time per session.
 */
#ifndef ISTRIPE_TRANSPORT_CONTROL_REQ_H
#define ISTRIPE_TRANSPORT_CONTROL_REQ_H

#include <linux/types.h>

struct istripe_conn;

/**
 * istripe_control_req_task_management() - a task management response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_control_req_task_management(struct istripe_conn *conn);

/**
 * istripe_control_req_rejected() - a Reject of a task management request has come
 * @conn: that it has come on
 * @itt: of the request
 *
 * It says as much as the response "function rejected": the session can go on.
 *
 * Context: receive side.
 * Return: true when the request is the one that is waited for.
 */
bool istripe_control_req_rejected(struct istripe_conn *conn, u32 itt);

/**
 * istripe_control_req_barrier() - a NOP-In with a tag of ours has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: true when it is what a barrier waits for; else it is a keepalive's, or nobody's.
 */
bool istripe_control_req_barrier(struct istripe_conn *conn);

/**
 * istripe_control_req_logout() - a logout response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_control_req_logout(struct istripe_conn *conn);

#endif
