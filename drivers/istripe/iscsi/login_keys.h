/* SPDX-License-Identifier: GPL-2.0 */
/* Private to login.c and login_keys.c. */
#ifndef ISTRIPE_ISCSI_LOGIN_KEYS_H
#define ISTRIPE_ISCSI_LOGIN_KEYS_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct istripe_login;

/* Bits of istripe_login.seen. */
enum istripe_login_seen {
	ISTRIPE_LOGIN_SEEN_METHOD	= BIT(0),	/* once in a login */
	ISTRIPE_LOGIN_SEEN_TPGT		= BIT(1),	/* once in a message, as the next */
	ISTRIPE_LOGIN_SEEN_ALIAS	= BIT(2),
	ISTRIPE_LOGIN_SEEN_MESSAGE	= BIT(3),	/* a whole response came */
};

#define ISTRIPE_LOGIN_SEEN_EACH_MESSAGE	(ISTRIPE_LOGIN_SEEN_TPGT | ISTRIPE_LOGIN_SEEN_ALIAS)

/* Ends the login with a reason; returns @err. */
int istripe_login_fail(struct istripe_login *login, int err, const char *fmt, ...) __printf(3, 4);

/* Ends the login whose request does not fit its buffer; returns -EMSGSIZE. */
int istripe_login_too_long(struct istripe_login *login);

/* The value of AuthMethod, RFC 7143 section 12.1. */
const char *istripe_login_methods(const struct istripe_login *login);

/* Takes the text of a whole response; returns 0, or as istripe_login_response() for errors. */
int istripe_login_take_keys(struct istripe_login *login, const char *text, u32 bytes);

#endif
