/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a target sends an initiator: the value of TargetAddress, RFC 7143 section 13.8,
 * "domainname[:port][,portal-group-tag]". The tag is checked, and not needed: the login tells it.
 */
#ifndef ISTRIPE_ISCSI_REDIRECT_H
#define ISTRIPE_ISCSI_REDIRECT_H

#include <linux/types.h>

#define ISTRIPE_REDIRECT_HOST_MAX	255	/* bytes without the final NUL */

/* Another portal. */
struct istripe_redirect {
	char host[ISTRIPE_REDIRECT_HOST_MAX + 1];	/* an IPv6 address without brackets */
	u16 port;		/* TCP port, 3260 when the target named none */
};

/*
 * Takes a DNS name, an IPv4 address, or an IPv6 address in brackets; a name has only letters,
 * digits, '.', '-' and '_', and not only digits and dots, so that it can be shown and resolved
 * safely. Returns 0, or -EPROTO and leaves @redirect alone.
 */
int istripe_redirect_parse(struct istripe_redirect *redirect, const char *value);

/**
 * istripe_redirect_is_name() - has a host to be resolved?
 * @host: of a redirect
 * Return: true for a name, false for an address.
 */
bool istripe_redirect_is_name(const char *host);

/*
 * Of the addresses of a login response the first numeric one counts, if possible of the preferred
 * family; without one the first name does. -EPROTO when there is none, or all are bad.
 */
int istripe_redirect_read(struct istripe_redirect *redirect, const char *text, u32 bytes,
			  bool prefer_ipv6);

#endif
