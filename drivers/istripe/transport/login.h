/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The login driver: carries the PDUs of the pure login machine (iscsi/login.h)
 * over a connection, and the memory that a login needs. Recovery must not wait
 * for memory, so that memory and the hashes of CHAP live as long as the path.
 */
#ifndef ISTRIPE_TRANSPORT_LOGIN_H
#define ISTRIPE_TRANSPORT_LOGIN_H

#include <istripe/params.h>
#include "iscsi/login.h"

struct crypto_shash;
struct istripe_conn;
struct istripe_session_params;

#define ISTRIPE_CHAP_ALGORITHMS		9	/* indexed by enum istripe_chap_algorithm */

/**
 * struct istripe_login_buffers - what logins of one path work with
 * @login: the machine
 * @chap: CHAP credentials, pointing into the path's parameters
 * @hash: transforms by algorithm number, NULL where the kernel has none
 * @text: work buffer of the machine
 * @segment: data segment of a response, with padding
 */
struct istripe_login_buffers {
	struct istripe_login login;
	struct istripe_chap_config chap;
	struct crypto_shash *hash[ISTRIPE_CHAP_ALGORITHMS];
	char text[ISTRIPE_LOGIN_BUFFER_BYTES];
	char segment[ISTRIPE_LOGIN_SEGMENT_BYTES + ISCSI_PAD_LEN];
};

/**
 * istripe_login_buffers_alloc() - memory and hashes for the logins of a path
 * @path: the path's parameters; must outlive the buffers
 *
 * Context: process, may load crypto modules.
 * Return: the buffers or NULL.
 */
struct istripe_login_buffers *istripe_login_buffers_alloc(const struct istripe_path_params *path);

/**
 * istripe_login_buffers_free() - free them, wiping what may be secret
 * @buffers: from istripe_login_buffers_alloc(), or NULL
 *
 * Context: process.
 */
void istripe_login_buffers_free(struct istripe_login_buffers *buffers);

/**
 * istripe_conn_login() - the login phase, as far as @conn is concerned
 * @conn: connected
 * @params: the session's
 * @why: filled on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps.
 * Return: ISTRIPE_LOGIN_DONE, ISTRIPE_LOGIN_REDIRECT or -errno.
 */
int istripe_conn_login(struct istripe_conn *conn, const struct istripe_session_params *params,
		       char *why, size_t why_bytes);

#endif
