/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a portal answers over an interface: tried with TCP connections. */
#ifndef ISTRIPECTL_REACH_H
#define ISTRIPECTL_REACH_H

#include <stdbool.h>
#include <stddef.h>

#define REACH_MS	5000	/* ARP gives up after three seconds, and says so */

struct reach {
	const char *portal;	/* address and port, 3260 without one */
	const char *nic;	/* empty: the route decides */
	const char *from;	/* source address, NULL or empty: the kernel chooses */
	int error;		/* set: 0, or -errno; -ETIMEDOUT: no answer within REACH_MS */
	bool rejected;		/* set: -ECONNREFUSED that a firewall has told, with ICMP */
};

/**
 * reach_try() - connect to portals over interfaces, many at the same time
 * @tries: portals and interfaces; a socket is bound to its interface (SO_BINDTODEVICE)
 * @count: how many
 *
 * That is 256 at a time, or as many as this process may open files.
 */
void reach_try(struct reach *tries, size_t count);

/**
 * reach_untried() - whether an error is not of the portal: not one more file could be opened
 * @error: of a try
 *
 * Return: whether it is.
 */
bool reach_untried(int error);

/**
 * reach_same() - whether one try tells of another one
 * @one: a try
 * @other: another one
 *
 * Return: whether portal, interface and source are the same.
 */
bool reach_same(const struct reach *one, const struct reach *other);

#endif
