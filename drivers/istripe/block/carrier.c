// SPDX-License-Identifier: GPL-2.0
/* Runs under the RTNL, so it only wakes workers and does not wait for anything recovery needs. */
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/netdevice.h>

#include "block/carrier.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "iscsi/error.h"

/* The login may lead to another target now. Other NICs come and go all the time. */
static void carrier_retry(struct istripe_leg *leg, const struct net_device *dev)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;
	bool found = false;
	u32 at;

	istripe_leg_for_each_nexus(leg, nexus, at)
		found = found || !strcmp(nexus->path->params.nic, dev->name);
	srcu_read_unlock(&leg->srcu, section);
	if (found)
		istripe_leg_retry(leg);
}

static int carrier_event(struct notifier_block *notifier, unsigned long event, void *data)
{
	struct istripe_volume *volume = container_of(notifier, struct istripe_volume, nics);
	const struct net_device *dev = netdev_notifier_info_to_dev(data);
	bool link = netif_running(dev) && netif_carrier_ok(dev);
	u32 i;

	for (i = 0; i < volume->leg_count; i++) {
		if (link && (event == NETDEV_UP || event == NETDEV_CHANGE))
			carrier_retry(volume->legs[i], dev);
		if (!link && (event == NETDEV_DOWN || event == NETDEV_CHANGE))
			istripe_leg_tell(volume->legs[i], NULL, ISTRIPE_NEXUS_CARRIER);
	}
	return NOTIFY_DONE;
}

void istripe_carrier_watch(struct istripe_volume *volume)
{
	int ret;

	volume->nics.notifier_call = carrier_event;
	ret = register_netdevice_notifier_net(volume->net, &volume->nics);
	if (ret)
		pr_warn("%s: links are not watched: %s (%pe)\n", volume->name,
			istripe_error_words(ret), ERR_PTR(ret));
}

void istripe_carrier_ignore(struct istripe_volume *volume)
{
	unregister_netdevice_notifier_net(volume->net, &volume->nics);
}

static bool carrier_serves(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	bool serves = session && READ_ONCE(nexus->live) &&
		      !test_bit(ISTRIPE_SESSION_FAULTED, &session->flags) &&
		      istripe_session_has_link(session);

	srcu_read_unlock(&nexus->srcu, section);
	return serves;
}

static bool carrier_elsewhere(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *other;
	bool found = false;
	u32 at;

	istripe_leg_for_each_nexus(leg, other, at)
		found = found || (other != nexus && carrier_serves(other));
	srcu_read_unlock(&leg->srcu, section);
	return found;
}

void istripe_carrier_check(struct istripe_nexus *nexus)
{
	if (!istripe_session_has_link(nexus->owned) && carrier_elsewhere(nexus))
		istripe_session_fault(nexus->owned, -ENETDOWN, "the NIC has no link");
}
