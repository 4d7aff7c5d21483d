/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A nexus whose NIC has no carrier, or is down, does not wait for its ping to time out. One that
 * waits to log in does so at once when its NIC, a port of its VRF, or any NIC if its path names
 * none, has a carrier again or gets its name, and when an address or route comes or goes. A
 * session whose NIC is gone ends: it is not bound to one of the same name. A bridge or bond takes
 * what its ports receive: one that has become a port is as one without a carrier. A session that is
 * bound to no NIC has a link as long as there is a route over any: TCP goes on there.
 */
#ifndef ISTRIPE_BLOCK_CARRIER_H
#define ISTRIPE_BLOCK_CARRIER_H

#include <linux/notifier.h>
#include <linux/workqueue.h>

struct istripe_leg;
struct istripe_volume;

/* Both notifiers are those of the volume's network namespace. */
struct istripe_carrier {
	struct notifier_block links;
	struct notifier_block routes;
	struct delayed_work work;	/* after a route has come, or a NIC has gone */
	struct delayed_work reroute;	/* after a link has come or gone */
	unsigned long rerouted_since;	/* jiffies, RTNL: @reroute was queued */
};

/* Process context, takes the RTNL. */
void istripe_carrier_watch(struct istripe_volume *volume);

/* Links and routes are no longer listened to. Process context, takes the RTNL. */
void istripe_carrier_ignore(struct istripe_volume *volume);

/*
 * Gives up the live sessions whose NICs have no link when another session of the leg has one, and
 * may serve: TCP may survive a short loss of carrier, which is better than no session. Any context.
 */
void istripe_carrier_check(struct istripe_leg *leg);

#endif
