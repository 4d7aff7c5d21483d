/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exchanges: requests that are not SCSI commands and have one answer: task
 * management (RFC 7143 11.5, 11.6) and logout (11.14, 11.15). One at a time per
 * session, by the owner of the session.
 */
#ifndef ISTRIPE_TRANSPORT_EXCHANGE_H
#define ISTRIPE_TRANSPORT_EXCHANGE_H

struct istripe_conn;

/**
 * istripe_exchange_task_management() - a task management response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_exchange_task_management(struct istripe_conn *conn);

/**
 * istripe_exchange_logout() - a logout response has come
 * @conn: its rx.pdu
 *
 * Context: receive side.
 * Return: 0; -EPROTO nobody waits for it.
 */
int istripe_exchange_logout(struct istripe_conn *conn);

#endif
