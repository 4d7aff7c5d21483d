/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The login driver carries the PDUs of the pure login machine (iscsi/login.h) over a connection.
 * Recovery must not wait for memory, so a login's memory and the hashes of CHAP live as long as
 * the path.
 */
#ifndef ISTRIPE_TRANSPORT_LOGIN_H
#define ISTRIPE_TRANSPORT_LOGIN_H

#include <istripe/params.h>
#include "iscsi/login.h"

struct crypto_shash;
struct istripe_conn;
struct istripe_reason;
struct istripe_resolve;
struct istripe_session_params;

#define ISTRIPE_CHAP_ALGORITHMS		9	/* indexed by enum istripe_chap_algorithm */

/* For all logins of a path, one at a time. */
struct istripe_login_buffers {
	struct istripe_login login;
	struct istripe_chap_config chap;	/* points into the path's parameters */
	struct istripe_resolve *resolve;	/* has no answer yet, or it was none; or NULL */
	struct crypto_shash *hash[ISTRIPE_CHAP_ALGORITHMS];	/* NULL: the kernel has none */
	char text[ISTRIPE_LOGIN_BUFFER_BYTES];	/* for @login */
	char segment[ISTRIPE_LOGIN_SEGMENT_BYTES + ISCSI_PAD_LEN];	/* of a response */
};

/**
 * istripe_login_chap_config() - the credentials of a path
 * @path: the path's parameters
 * Context: any.
 * Return: the credentials; they point into @path.
 */
struct istripe_chap_config istripe_login_chap_config(const struct istripe_path_params *path);

/**
 * istripe_login_buffers_alloc() - memory and hashes for the logins of a path
 * @path: the path's parameters; must outlive the buffers
 * Context: process, may load crypto modules.
 * Return: the buffers or NULL.
 */
struct istripe_login_buffers *istripe_login_buffers_alloc(const struct istripe_path_params *path);

/**
 * istripe_login_buffers_free() - wipe and free them
 * @buffers: from istripe_login_buffers_alloc(), or NULL
 * Context: process.
 */
void istripe_login_buffers_free(struct istripe_login_buffers *buffers);

/*
 * The login phase of a connected @conn. Sleeps. Returns ISTRIPE_LOGIN_DONE,
 * ISTRIPE_LOGIN_REDIRECT, or -errno with the reason in @why.
 */
int istripe_conn_login(struct istripe_conn *conn, const struct istripe_session_params *params,
		       struct istripe_reason *why);

/*
 * After a login that was refused for good: whether to log in once more, with fewer hashes of CHAP
 * (istripe_login_hashes_left()). It stays so until a login fails.
 */
bool istripe_login_with_other_hash(const struct istripe_session_params *params);

#endif
