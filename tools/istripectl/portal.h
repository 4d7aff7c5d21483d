/* SPDX-License-Identifier: GPL-2.0 */
/* Portals as they are typed: addresses, and host names in their place. */
#ifndef ISTRIPECTL_PORTAL_H
#define ISTRIPECTL_PORTAL_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

#define PORTAL_PORT	"3260"

/**
 * portal_equal() - whether two portals are the same address and port
 * @a: the one, as 192.0.2.10, [2001:db8::10]:3260 or 2001:db8::10
 * @b: the other
 *
 * Return: whether they are.
 */
bool portal_equal(const char *a, const char *b);

/**
 * address_equal() - whether two addresses are the same
 * @a: the one, as 192.0.2.10 or fe80::1%eth1; a host name is only the same as itself
 * @b: the other, whose interface may be a number, as the module shows it
 *
 * Return: whether they are.
 */
bool address_equal(const char *a, const char *b);

/**
 * portal_of_folder() - a portal as open-iscsi names the folder of a record
 * @folder: as 192.0.2.10,3260,1
 *
 * Return: as 192.0.2.10:3260 or [2001:db8::10]:3260, for free().
 */
char *portal_of_folder(const char *folder);

/**
 * portal_name_nic() - name an interface that may have another number after the next boot
 * @address: a portal or an address as the module shows it
 *
 * Return: it, for free(), with the name in the place of the number, if there is such an interface.
 */
char *portal_name_nic(const char *address);

/**
 * portal_keep() - a portal or an address as a file is to have it
 * @address: as the module shows it
 * @before: as the file had it, or empty; a host name that leads there stays
 * @nic: the interface of the path, or empty
 *
 * Return: it, for free(); NULL: it is link-local, and its interface is gone, name and all.
 */
char *portal_keep(const char *address, const char *before, const char *nic);

/**
 * portal_resolve() - put the address in the place of a host name, and nic to a link-local one
 * @settings: a path's; a portal that is an address, and a nic that is set, are left as they are
 * @fault: set on failure
 *
 * Return: 0; -EAGAIN: the name, or the interface of a link-local address, is not known, and nothing
 * tells whether the network or a name server is starting; -EINVAL: it has several addresses.
 */
int portal_resolve(struct settings *settings, struct fault *fault);

/**
 * portal_resolve_first() - the same, but take the first one when a name has several addresses
 * @settings: a path's
 * @taken: set when it has, to what is to be said; NULL: they are refused
 * @fault: set on failure
 *
 * Return: as portal_resolve().
 */
int portal_resolve_first(struct settings *settings, struct fault *taken, struct fault *fault);

/**
 * portal_resolve_to() - the same, but take the address that leads to a portal, if one does
 * @settings: a path's
 * @wanted: the portal, with an address; empty: none
 * @taken: as portal_resolve_first(); not set when @wanted is taken
 * @fault: set on failure
 *
 * Return: as portal_resolve().
 */
int portal_resolve_to(struct settings *settings, const char *wanted, struct fault *taken,
		      struct fault *fault);

/**
 * portal_resolve_all() - the same for all paths of a volume
 * @volume: the volume
 * @now: as the kernel has it, whose portals are wanted; or NULL
 * @taken: as portal_resolve_first(), of the last one of them
 * @fault: set on failure
 *
 * Return: as portal_resolve().
 */
int portal_resolve_all(struct volume *volume, const struct volume *now, struct fault *taken,
		       struct fault *fault);

#endif
