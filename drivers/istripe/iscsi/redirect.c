// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/redirect.h"
#include "iscsi/text.h"

#define ADDRESS_BYTES	(ISTRIPE_REDIRECT_HOST_MAX + sizeof("[]:65535,65535"))

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define HEX_CHARS	"0123456789abcdefABCDEF"
/* An IPv4 tail has dots. Zones ("%eth0") mean nothing to another host. */
#define IPV6_CHARS	HEX_CHARS ":."

/* kstrtou16() would take a sign. */
static bool redirect_number(const char *text, u16 *number)
{
	return isdigit(*text) && !kstrtou16(text, 10, number);
}

static bool redirect_is_ipv4(const char *text)
{
	char copy[sizeof("255.255.255.255")], *rest = copy;
	u32 numbers = 0;
	u16 number;

	if (strscpy(copy, text, sizeof(copy)) < 0)
		return false;
	for (; rest; numbers++)
		if (!redirect_number(strsep(&rest, "."), &number) || number > U8_MAX)
			return false;
	return numbers == 4;
}

/* RFC 4291 section 2.2: eight groups, or fewer and "::"; an IPv4 tail is two. */
static bool redirect_is_ipv6(const char *text)
{
	bool gap = !strncmp(text, "::", 2);
	u32 groups = 0, bytes;

	text += gap ? 2 : 0;
	while (*text) {
		bytes = strspn(text, HEX_CHARS);
		if (text[bytes] == '.') {
			groups += redirect_is_ipv4(text) ? 2 : 9;
			break;
		}
		if (!bytes || bytes > 4 || (text[bytes] && text[bytes] != ':'))
			return false;
		groups++;
		text += bytes;
		if (!*text)
			break;
		text++;
		if (!*text || (*text == ':' && gap))
			return false;
		if (*text == ':') {
			gap = true;
			text++;
		}
	}
	return gap ? groups < 8 : groups == 8;
}

/* IPv6 without brackets: the port is behind the last colon, unless only the whole is an address. */
static char *redirect_split(char **port)
{
	char *host = *port, *colon = strrchr(host, ':');

	*colon = '\0';
	*port = colon + 1;
	if (!redirect_is_ipv6(host)) {
		*colon = ':';
		*port = NULL;
	}
	return host;
}

bool istripe_redirect_is_name(const char *host)
{
	return !strchr(host, ':') && host[strspn(host, "0123456789.")];
}

static bool redirect_is_host(const char *host)
{
	return istripe_redirect_is_name(host) || redirect_is_ipv4(host) || redirect_is_ipv6(host);
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
	} else if (strchr(port_text, ':') != strrchr(port_text, ':')) {
		allowed = IPV6_CHARS;
		host = redirect_split(&port_text);
	} else {
		host = strsep(&port_text, ":");
	}
	if (strlen(host) > ISTRIPE_REDIRECT_HOST_MAX || host[strspn(host, allowed)] ||
	    !redirect_is_host(host))
		return -EPROTO;
	if (port_text && (!redirect_number(port_text, &port) || !port))
		return -EPROTO;
	if (tag_text && !redirect_number(tag_text, &tag))
		return -EPROTO;
	strscpy(redirect->host, host, sizeof(redirect->host));
	redirect->port = port;
	return 0;
}

static int redirect_rank(const char *host, bool prefer_ipv6)
{
	if (istripe_redirect_is_name(host))
		return 1;
	return redirect_is_ipv6(host) == prefer_ipv6 ? 3 : 2;
}

int istripe_redirect_read(struct istripe_redirect *redirect, const char *text, u32 bytes,
			  bool prefer_ipv6)
{
	int err, rank, best = -1, result = -EPROTO;
	struct istripe_text_reader reader;
	struct istripe_redirect candidate;
	struct istripe_text_pair pair;

	istripe_text_reader_init(&reader, text, bytes);
	while (istripe_text_next(&reader, &pair) > 0) {
		if (!istripe_text_pair_is(&pair, "TargetAddress"))
			continue;
		err = istripe_redirect_parse(&candidate, pair.value);
		rank = err ? 0 : redirect_rank(candidate.host, prefer_ipv6);
		if (rank <= best)
			continue;
		best = rank;
		result = err;
		if (!err)
			*redirect = candidate;
	}
	return result;
}
