// SPDX-License-Identifier: GPL-2.0
/* Notifiers run under the RTNL, so nothing here waits for anything recovery needs. */
#include <linux/netdevice.h>
#include <net/fib_notifier.h>

#include "block/carrier.h"
#include "block/handover.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "block/workqueue.h"
#include "iscsi/error.h"
#include "transport/nic.h"
#include "transport/socket.h"

/* An address is announced before its route is in use. */
#define ROUTE_MS	100
/* By then the kernel, or a daemon, has taken away the routes over a link that is lost. */
#define REROUTE_MS	500
/* Other NICs may lose theirs all the time. */
#define REROUTE_MAX_MS	2000

/*
 * Other NICs come and go at any time. A refusal is mended neither by them nor by a route. A VRF has
 * the links of its ports.
 */
static bool carrier_concerns(const struct istripe_nexus *nexus, struct net_device *dev)
{
	const struct net_device *named;
	char nic[IFNAMSIZ];

	istripe_params_read(nic, nexus->path->params.nic, sizeof(nic));
	if (!dev || !*nic)
		return !READ_ONCE(nexus->backoff.refusals);
	named = __dev_get_by_name(dev_net(dev), nic);
	return named && (named == dev || (netif_is_l3_master(named) &&
					  named == netdev_master_upper_dev_get(dev)));
}

static void carrier_wake(struct istripe_leg *leg, struct net_device *dev)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (carrier_concerns(nexus, dev))
			istripe_nexus_wake(nexus);
	srcu_read_unlock(&leg->srcu, section);
}

static bool carrier_serves(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	bool serves = session && READ_ONCE(nexus->live) &&
		      istripe_handover_may_serve(&nexus->access) &&
		      !test_bit(ISTRIPE_SESSION_FAULTED, &session->flags) &&
		      istripe_session_has_link(session);

	srcu_read_unlock(&nexus->srcu, section);
	return serves;
}

static bool carrier_elsewhere(const struct istripe_nexus *nexus)
{
	struct istripe_nexus *other;
	bool found = false;

	istripe_leg_for_each_nexus(nexus->leg, other)
		found = found || (other != nexus && carrier_serves(other));
	return found;
}

static void carrier_give_up(struct istripe_nexus *nexus, bool rerouted)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);

	if (session && (rerouted || istripe_session_is_bound(session)) &&
	    !istripe_session_has_link(session))
		istripe_session_fault(session, -ENETDOWN, "%s",
				      istripe_nic_named_is_port(nexus->leg->volume->net,
								session->way.nic) ?
				      "the NIC has become a port of a bridge, bond or team" :
				      "the NIC has no link");
	srcu_read_unlock(&nexus->srcu, section);
}

/* Not left to the nexus's worker, which may wait for an answer over the link that is down. */
static void carrier_check(struct istripe_leg *leg, bool rerouted)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	/* A link may go down meanwhile: never the last session that has one. */
	istripe_leg_for_each_nexus(leg, nexus)
		if (carrier_elsewhere(nexus))
			carrier_give_up(nexus, rerouted);
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_carrier_check(struct istripe_leg *leg)
{
	carrier_check(leg, !delayed_work_pending(&leg->volume->carrier.reroute));
}

static void carrier_reroute(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(to_delayed_work(work), struct istripe_volume,
						     carrier.reroute);
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		carrier_check(volume->legs[i], true);
}

/* From the last link on that is lost. One that comes takes no routes away. */
static void carrier_await_routes(struct istripe_carrier *carrier, bool link)
{
	bool pending = delayed_work_pending(&carrier->reroute);
	unsigned long now = jiffies, wait = msecs_to_jiffies(REROUTE_MS), last;

	if (pending && link)
		return;
	if (!pending)
		carrier->rerouted_since = now;
	last = carrier->rerouted_since + msecs_to_jiffies(REROUTE_MAX_MS);
	if (time_after(now + wait, last))
		wait = time_after(last, now) ? last - now : 0;
	mod_delayed_work(istripe_recovery_wq, &carrier->reroute, wait);
}

static int carrier_link_event(struct notifier_block *notifier, unsigned long event, void *data)
{
	struct istripe_volume *volume = container_of(notifier, struct istripe_volume,
						     carrier.links);
	struct istripe_carrier *carrier = &volume->carrier;
	struct net_device *dev = netdev_notifier_info_to_dev(data);
	bool link = netif_running(dev) && netif_carrier_ok(dev);
	bool changed = event == NETDEV_UP || event == NETDEV_DOWN || event == NETDEV_CHANGE ||
		       event == NETDEV_CHANGEUPPER;
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		if (link && (event == NETDEV_UP || event == NETDEV_CHANGE ||
			     event == NETDEV_CHANGENAME || event == NETDEV_CHANGEUPPER))
			carrier_wake(volume->legs[i], dev);
		/* Also with a link: those that were kept for want of one may be given up now. */
		if (changed)
			carrier_check(volume->legs[i], false);
	}
	if (changed)
		carrier_await_routes(carrier, link);
	/* Also comes for each NIC that is there when we stop to listen: the work looks for it. */
	if (event == NETDEV_UNREGISTER)
		queue_delayed_work(istripe_recovery_wq, &carrier->work, 0);
	return NOTIFY_DONE;
}

/* Also one that goes: it may have led elsewhere, or nowhere. */
static bool carrier_is_new_way(unsigned long event, const struct fib_notifier_info *info)
{
	if (info->family != AF_INET && info->family != AF_INET6)
		return false;
	switch (event) {
	case FIB_EVENT_ENTRY_REPLACE:
	case FIB_EVENT_ENTRY_APPEND:
	case FIB_EVENT_ENTRY_ADD:
	case FIB_EVENT_ENTRY_DEL:
	case FIB_EVENT_RULE_ADD:
	case FIB_EVENT_RULE_DEL:
	case FIB_EVENT_NH_ADD:
		return true;
	default:
		return false;
	}
}

/*
 * Each new address has a route, in the local table, when it can be used. May be called for each of
 * many routes, within RCU: the work is queued once.
 */
static int carrier_route_event(struct notifier_block *notifier, unsigned long event, void *data)
{
	struct istripe_carrier *carrier = container_of(notifier, struct istripe_carrier, routes);

	if (carrier_is_new_way(event, data))
		queue_delayed_work(istripe_recovery_wq, &carrier->work,
				   msecs_to_jiffies(ROUTE_MS));
	return NOTIFY_DONE;
}

static bool carrier_end_orphan(struct istripe_nexus *nexus)
{
	struct istripe_session *session;
	bool orphaned;

	mutex_lock(&nexus->session_lock);
	session = nexus->owned;
	orphaned = session && istripe_session_is_orphaned(session);
	if (orphaned)
		istripe_session_fault(session, -ENODEV, "the NIC is gone");
	mutex_unlock(&nexus->session_lock);
	return orphaned;
}

/* Also the only session of the leg: none comes back with a NIC that is made anew. */
static void carrier_end_orphans(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (carrier_end_orphan(nexus))
			istripe_nexus_relogin(nexus);
	srcu_read_unlock(&leg->srcu, section);
}

static void carrier_work(struct work_struct *work)
{
	struct istripe_volume *volume = container_of(to_delayed_work(work), struct istripe_volume,
						     carrier.work);
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		carrier_end_orphans(volume->legs[i]);
		carrier_wake(volume->legs[i], NULL);
	}
}

static void carrier_warn(const struct istripe_volume *volume, const char *what, int error)
{
	if (error)
		pr_warn("%s: %s are not watched: %s (%pe)\n", volume->name, what,
			istripe_error_words(error), ERR_PTR(error));
}

void istripe_carrier_watch(struct istripe_volume *volume)
{
	struct istripe_carrier *carrier = &volume->carrier;

	INIT_DELAYED_WORK(&carrier->work, carrier_work);
	INIT_DELAYED_WORK(&carrier->reroute, carrier_reroute);
	carrier->links.notifier_call = carrier_link_event;
	carrier->routes.notifier_call = carrier_route_event;
	carrier_warn(volume, "links",
		     register_netdevice_notifier_net(volume->net, &carrier->links));
	carrier_warn(volume, "routes",
		     register_fib_notifier(volume->net, &carrier->routes, NULL, NULL));
}

void istripe_carrier_ignore(struct istripe_volume *volume)
{
	struct istripe_carrier *carrier = &volume->carrier;

	unregister_netdevice_notifier_net(volume->net, &carrier->links);
	unregister_fib_notifier(volume->net, &carrier->routes);
	cancel_delayed_work_sync(&carrier->work);
	cancel_delayed_work_sync(&carrier->reroute);
}
