/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a target sends an initiator: the value of TargetAddress, RFC 7143
 * section 13.8, "domainname[:port][,portal-group-tag]".
 */
#ifndef ISTRIPE_ISCSI_REDIRECT_H
#define ISTRIPE_ISCSI_REDIRECT_H

#include <linux/types.h>

#define ISTRIPE_REDIRECT_HOST_MAX	255	/* bytes without the final NUL */

/**
 * struct istripe_redirect - another portal
 * @host: name or address, an IPv6 address without its brackets.
 * @port: TCP port, 3260 when the target named none.
 * @tpgt: portal group tag, when @tpgt_known.
 * @tpgt_known: the target named a portal group.
 */
struct istripe_redirect {
	char host[ISTRIPE_REDIRECT_HOST_MAX + 1];
	u16 port;
	u16 tpgt;
	bool tpgt_known;
};

/**
 * istripe_redirect_parse() - read the value of TargetAddress
 * @redirect: overwritten on success, untouched on error
 * @value: NUL-terminated value
 *
 * Takes a DNS name, an IPv4 address, or an IPv6 address in brackets; only
 * letters, digits, '.', '-' and '_' make a name, so that it can be shown and
 * looked up safely. Whether the host exists is for the caller to find out.
 *
 * Context: any.
 * Return: 0, or -EPROTO when @value does not have that form.
 */
int istripe_redirect_parse(struct istripe_redirect *redirect, const char *value);

/**
 * istripe_redirect_read() - find the new address in a login response
 * @redirect: as of istripe_redirect_parse()
 * @text: text of the response
 * @bytes: its length
 *
 * A target may name many portals, the first one counts.
 *
 * Context: any.
 * Return: 0, or -EPROTO when there is no usable TargetAddress.
 */
int istripe_redirect_read(struct istripe_redirect *redirect, const char *text, u32 bytes);

#endif
