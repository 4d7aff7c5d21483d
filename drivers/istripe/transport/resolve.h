/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of hosts, by way of the kernel's DNS resolver: a program in user space, which is waited for
 * without a bound, and may lie on the disk that the login is to bring back. So a work of its own
 * waits for it. The login waits no longer than it may; the work may outlive it, and its path.
 */
#ifndef ISTRIPE_TRANSPORT_RESOLVE_H
#define ISTRIPE_TRANSPORT_RESOLVE_H

#include <linux/inet.h>

struct istripe_reason;
struct istripe_resolve;
struct istripe_session;
struct istripe_session_params;

#define ISTRIPE_RESOLVED_BYTES	INET6_ADDRSTRLEN

/*
 * An address of @host as text: of @family, or else, unless the path has a source address, of the
 * other one. 0; -EHOSTUNREACH there is none; -EPROTO this kernel cannot resolve; -ENOMEM; -EINTR
 * after istripe_session_interrupt(); -ETIMEDOUT after login_timeout_ms.
 */
int istripe_resolve(const struct istripe_session *session,
		    const struct istripe_session_params *params, const char *host, int family,
		    char *address, struct istripe_reason *why);

/* Those who wait look whether their session is interrupted. */
void istripe_resolve_interrupt(void);

/* Leaves it to its work, if that goes on. @resolve may be NULL. */
void istripe_resolve_put(struct istripe_resolve *resolve);

int istripe_resolve_init(void);

void istripe_resolve_exit(void);

#endif
