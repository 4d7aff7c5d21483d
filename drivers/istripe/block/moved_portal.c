// SPDX-License-Identifier: GPL-2.0
#include <linux/printk.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "block/leg.h"
#include "block/moved_portal.h"
#include "block/nexus.h"
#include "block/path.h"

/* Failures in a row of logins that begin at the portal that the target has moved to. */
#define MOVED_TRIES	3

static bool portal_is_moved(const struct istripe_nexus *nexus)
{
	return nexus->moved_to.ss_family != AF_UNSPEC;
}

const struct sockaddr_storage *istripe_moved_portal_next(const struct istripe_nexus *nexus)
{
	u32 failed = nexus->failed_logins;
	bool configured = failed >= MOVED_TRIES && failed % 2 == MOVED_TRIES % 2;

	return portal_is_moved(nexus) && !configured ?
		&nexus->moved_to : &nexus->path->params.portal;
}

bool istripe_moved_portal_in_turn(const struct istripe_nexus *nexus)
{
	return portal_is_moved(nexus) && nexus->failed_logins > MOVED_TRIES;
}

static void portal_set(struct istripe_nexus *nexus, const struct sockaddr_storage *moved_to)
{
	spin_lock_bh(&nexus->leg->lock);
	nexus->moved_to = *moved_to;
	spin_unlock_bh(&nexus->leg->lock);
}

static bool portal_same(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	return !memcmp(one, other, sizeof(*one));
}

void istripe_moved_portal_live(struct istripe_nexus *nexus)
{
	const struct sockaddr_storage *portal = &nexus->owned->next_portal;

	if (portal_same(portal, &nexus->path->params.portal)) {
		if (!portal_is_moved(nexus))
			return;
		pr_info("%s: logins begin at the configured portal again\n", nexus->label);
		istripe_moved_portal_forget(nexus);
	} else if (!portal_same(portal, &nexus->moved_to)) {
		pr_info("%s: the target has moved permanently: logins begin at %pISpc from now on\n",
			nexus->label, portal);
		portal_set(nexus, portal);
	}
}

void istripe_moved_portal_forget(struct istripe_nexus *nexus)
{
	static const struct sockaddr_storage nowhere = { .ss_family = AF_UNSPEC };

	portal_set(nexus, &nowhere);
}
