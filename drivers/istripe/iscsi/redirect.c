// SPDX-License-Identifier: GPL-2.0
/*
 * TargetAddress, read from left to right; every reader moves a cursor past what
 * it took and writes nothing until it knows that it fits.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/redirect.h"
#include "iscsi/text.h"

static bool redirect_name_char(char c)
{
	return isascii(c) && (isalnum(c) || c == '.' || c == '-' || c == '_');
}

/* An IPv4 tail has dots. Zones ("%eth0") mean nothing to another host. */
static bool redirect_ipv6_char(char c)
{
	return isascii(c) && (isxdigit(c) || c == ':' || c == '.');
}

/* Takes what @allowed allows. */
static int redirect_host(struct istripe_redirect *redirect, const char **cursor,
			 bool (*allowed)(char c))
{
	const char *start = *cursor;
	size_t bytes = 0;

	while (start[bytes] && allowed(start[bytes]))
		bytes++;
	if (!bytes || bytes > ISTRIPE_REDIRECT_HOST_MAX)
		return -EPROTO;
	memcpy(redirect->host, start, bytes);
	redirect->host[bytes] = '\0';
	*cursor += bytes;
	return 0;
}

static int redirect_bracketed(struct istripe_redirect *redirect, const char **cursor)
{
	int err;

	(*cursor)++;
	err = redirect_host(redirect, cursor, redirect_ipv6_char);
	if (err)
		return err;
	if (**cursor != ']' || !strchr(redirect->host, ':'))
		return -EPROTO;
	(*cursor)++;
	return 0;
}

/* Takes a decimal number of at most 65535. */
static int redirect_number(const char **cursor, u16 *number)
{
	const char *start = *cursor;
	u32 value = 0;

	for (; isascii(**cursor) && isdigit(**cursor); (*cursor)++) {
		value = value * 10 + (**cursor - '0');
		if (value > U16_MAX)
			return -EPROTO;
	}
	if (*cursor == start)
		return -EPROTO;
	*number = value;
	return 0;
}

static int redirect_port(struct istripe_redirect *redirect, const char **cursor)
{
	int err;

	redirect->port = ISCSI_LISTEN_PORT;
	if (**cursor != ':')
		return 0;
	(*cursor)++;
	err = redirect_number(cursor, &redirect->port);
	if (err)
		return err;
	return redirect->port ? 0 : -EPROTO;
}

static int redirect_tpgt(const char **cursor)
{
	u16 tpgt;

	if (**cursor != ',')
		return 0;
	(*cursor)++;
	return redirect_number(cursor, &tpgt);
}

int istripe_redirect_parse(struct istripe_redirect *redirect, const char *value)
{
	struct istripe_redirect found = {};
	const char *cursor = value;
	int err;

	if (*cursor == '[')
		err = redirect_bracketed(&found, &cursor);
	else
		err = redirect_host(&found, &cursor, redirect_name_char);
	if (!err)
		err = redirect_port(&found, &cursor);
	if (!err)
		err = redirect_tpgt(&cursor);
	if (err)
		return err;
	if (*cursor)
		return -EPROTO;
	*redirect = found;
	return 0;
}

int istripe_redirect_read(struct istripe_redirect *redirect, const char *text, u32 bytes)
{
	struct istripe_text_reader reader;
	struct istripe_text_pair pair;

	istripe_text_reader_init(&reader, text, bytes);
	while (istripe_text_next(&reader, &pair) > 0) {
		if (istripe_text_pair_is(&pair, "TargetAddress"))
			return istripe_redirect_parse(redirect, pair.value);
	}
	return -EPROTO;
}
