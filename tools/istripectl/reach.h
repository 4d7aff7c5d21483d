/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a portal answers over an interface: tried with TCP connections. */
#ifndef ISTRIPECTL_REACH_H
#define ISTRIPECTL_REACH_H

#include <stddef.h>

#define REACH_MS	5000	/* ARP gives up after three seconds, and says so */

struct reach {
	const char *portal;	/* address and port, 3260 without one */
	const char *nic;	/* empty: the route decides */
	const char *from;	/* source address, NULL or empty: the kernel chooses */
	int error;		/* set: 0, or -errno; -ETIMEDOUT: no answer within REACH_MS */
};

/**
 * reach_try() - connect to portals over interfaces, all at the same time
 * @tries: portals and interfaces; a socket is bound to its interface (SO_BINDTODEVICE)
 * @count: how many
 */
void reach_try(struct reach *tries, size_t count);

#endif
