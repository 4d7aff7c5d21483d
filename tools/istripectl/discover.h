/* SPDX-License-Identifier: GPL-2.0 */
/* Targets that a portal offers, as iscsiadm(8) and iscsi-ls(1) find them. */
#ifndef ISTRIPECTL_DISCOVER_H
#define ISTRIPECTL_DISCOVER_H

#include <stddef.h>

#include "fault.h"
#include "model.h"

struct target_portal {
	char *portal;		/* as 192.0.2.10:3260 */
	char *group;		/* its portal group tag */
};

struct target_lun {
	char *number;
	char *size;		/* as iscsi-ls says it: 64G */
};

struct target {
	char *name;
	struct target_portal *portals;
	size_t portal_count;
	struct target_lun *luns;
	size_t lun_count;
};

struct targets {
	struct target *items;
	size_t count;
};

/**
 * targets_find() - ask a portal for its targets (SendTargets)
 * @portal: address or name, with a port or without
 * @nic: the interface to ask over, to which an iface of open-iscsi is bound; or NULL
 * @chap: chap_user and so on of the discovery session, empty for none
 * @targets: zeroed by the caller, filled
 * @fault: set on failure
 *
 * The database of open-iscsi is not changed, and no secret is in a command line or a file.
 *
 * Return: 0; -errno.
 */
int targets_find(const char *portal, const char *nic, const struct settings *chap,
		 struct targets *targets, struct fault *fault);

/**
 * target_portal_on() - a portal as one of a link
 * @portal: as it was found: a link-local address may be without its interface
 * @nic: that interface
 *
 * Return: it, for free(), with the interface behind a link-local address that has none.
 */
char *target_portal_on(const char *portal, const char *nic);

/**
 * targets_find_luns() - ask for the LUNs of targets, for which iscsi-ls logs in to each
 * @portal: as targets_find()
 * @chap: chap_user and chap_secret of the sessions, empty for none
 * @targets: get the disks among their LUNs
 * @fault: set on failure
 *
 * Return: 0; -errno: -EAGAIN iscsi-ls has failed twice, -EIO it has taken too long.
 */
int targets_find_luns(const char *portal, const struct settings *chap, struct targets *targets,
		      struct fault *fault);

/**
 * targets_free() - free what has been found
 * @targets: empty afterwards
 */
void targets_free(struct targets *targets);

#endif
