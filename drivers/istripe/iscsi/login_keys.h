/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inside of the login machine that login.c and login_keys.c share. Nobody
 * else includes this.
 */
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

/**
 * istripe_login_fail() - end a login
 * @login: login
 * @err: verdict to return
 * @fmt: why, one line
 *
 * Context: any.
 * Return: @err.
 */
int istripe_login_fail(struct istripe_login *login, int err, const char *fmt, ...) __printf(3, 4);

/**
 * istripe_login_too_long() - end a login whose request does not fit its buffer
 * @login: login
 *
 * Context: any.
 * Return: -EMSGSIZE.
 */
int istripe_login_too_long(struct istripe_login *login);

/**
 * istripe_login_methods() - the authentication methods to offer
 * @login: login
 *
 * Context: any.
 * Return: value of AuthMethod, a constant string. RFC 7143 section 12.1.
 */
const char *istripe_login_methods(const struct istripe_login *login);

/**
 * istripe_login_take_keys() - take the keys of a whole response
 * @login: login; replies that are due go to its writer
 * @text: text of the response, all PDUs together
 * @bytes: its length
 *
 * Context: any.
 * Return: 0, or what istripe_login_response() returns for errors; then the login
 * has ended.
 */
int istripe_login_take_keys(struct istripe_login *login, const char *text, u32 bytes);

#endif
