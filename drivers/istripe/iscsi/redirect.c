// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/redirect.h"
#include "iscsi/text.h"

#define ADDRESS_BYTES	(ISTRIPE_REDIRECT_HOST_MAX + sizeof("[]:65535,65535"))

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
/* An IPv4 tail has dots. Zones ("%eth0") mean nothing to another host. */
#define IPV6_CHARS	"0123456789abcdefABCDEF:."

/* kstrtou16() would take a sign. */
static bool redirect_number(const char *text, u16 *number)
{
	return isdigit(*text) && !kstrtou16(text, 10, number);
}

/* Writes nothing before all of @value is known to be good. */
int istripe_redirect_parse(struct istripe_redirect *redirect, const char *value)
{
	char address[ADDRESS_BYTES], *host, *port_text, *tag_text = address;
	const char *allowed = NAME_CHARS;
	u16 tag, port = ISCSI_LISTEN_PORT;

	if (strscpy(address, value, sizeof(address)) < 0)
		return -EPROTO;
	port_text = strsep(&tag_text, ",");
	if (*port_text == '[') {
		allowed = IPV6_CHARS;
		port_text++;
		host = strsep(&port_text, "]");
		/* Nothing is between the bracket and the colon. */
		if (!port_text || *strsep(&port_text, ":") || !strchr(host, ':'))
			return -EPROTO;
	} else {
		host = strsep(&port_text, ":");
	}
	if (!*host || strlen(host) > ISTRIPE_REDIRECT_HOST_MAX || host[strspn(host, allowed)])
		return -EPROTO;
	if (port_text && (!redirect_number(port_text, &port) || !port))
		return -EPROTO;
	if (tag_text && !redirect_number(tag_text, &tag))
		return -EPROTO;
	strscpy(redirect->host, host, sizeof(redirect->host));
	redirect->port = port;
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
