/* SPDX-License-Identifier: GPL-2.0 */
/* Private to login.c and login_keys.c. */
#ifndef ISTRIPE_ISCSI_LOGIN_KEYS_H
#define ISTRIPE_ISCSI_LOGIN_KEYS_H

#include <linux/compiler.h>
#include <linux/types.h>

struct istripe_login;

/* Ends the login with a reason; returns @err. */
int istripe_login_fail(struct istripe_login *login, int err, const char *fmt, ...) __printf(3, 4);

/* Ends the login whose request does not fit its buffer; returns -EMSGSIZE. */
int istripe_login_too_long(struct istripe_login *login);

/* The value of AuthMethod, RFC 7143 section 12.1. */
const char *istripe_login_methods(const struct istripe_login *login);

/* Takes the text of a whole response; returns 0, or as istripe_login_response() for errors. */
int istripe_login_take_keys(struct istripe_login *login, const char *text, u32 bytes);

#endif
