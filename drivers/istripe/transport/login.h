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

/* Of all logins of a path. They come one after the other, and none goes before the path does. */
struct istripe_chap_hashes {
	struct crypto_shash *of[ISTRIPE_CHAP_ALGORITHMS];	/* NULL: the kernel has none */
	u32 asked;			/* mask: those that the kernel has been asked for */
};

/* For logins of a path, one at a time. */
struct istripe_login_buffers {
	struct istripe_login login;
	struct istripe_credentials credentials;	/* of this login */
	struct istripe_credentials next;	/* for a moment: those that the path has now */
	struct istripe_chap_config chap;	/* points into @credentials */
	const struct istripe_chap_hashes *hashes;
	struct istripe_resolve *resolve;	/* has no answer yet, or it was none; or NULL */
	char text[ISTRIPE_LOGIN_BUFFER_BYTES];	/* for @login */
	char segment[ISTRIPE_LOGIN_SEGMENT_BYTES + ISCSI_PAD_LEN];	/* of a response */
};

/**
 * istripe_login_chap_config() - credentials as the login machine reads them
 * @chap: the credentials
 * Context: any.
 * Return: the same; they point into @chap.
 */
struct istripe_chap_config istripe_login_chap_config(const struct istripe_credentials *chap);

/**
 * istripe_chap_hashes_add() - get those that logins with @chap may need, and that are not there
 * @hashes: zeroed at first
 * @chap: the credentials
 * Context: process, one call at a time, logins may be under way; may load crypto modules.
 * Return: 0 or -ENOMEM.
 */
int istripe_chap_hashes_add(struct istripe_chap_hashes *hashes,
			    const struct istripe_credentials *chap);

/**
 * istripe_chap_hashes_free() - free them
 * @hashes: that no buffers refer to any more
 * Context: process.
 */
void istripe_chap_hashes_free(struct istripe_chap_hashes *hashes);

/**
 * istripe_login_buffers_alloc() - memory for logins of a path
 * @hashes: of the path; must outlive the buffers
 * Context: process.
 * Return: the buffers or NULL.
 */
struct istripe_login_buffers *
istripe_login_buffers_alloc(const struct istripe_chap_hashes *hashes);

/* Takes the credentials that the path has now, all at a time, for the next logins. */
void istripe_login_take(struct istripe_login_buffers *buffers,
			const struct istripe_path_params *path);

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
