// SPDX-License-Identifier: GPL-2.0
#include <linux/srcu.h>

#include "block/holding.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"

static const char *nexus_holding(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	const struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	const char *holding = NULL;

	if (session && READ_ONCE(nexus->state) == ISTRIPE_NEXUS_LIVE)
		holding = READ_ONCE(nexus->leg->unfenced_nexuses) ?
			  "fence" : istripe_session_holding(session);
	srcu_read_unlock(&nexus->srcu, section);
	return holding;
}

const char *istripe_holding(const struct istripe_path *path)
{
	const char *holding = NULL;
	struct istripe_nexus *nexus;
	u32 at;

	istripe_path_for_each_nexus(path, nexus, at)
		holding = holding ?: nexus_holding(nexus);
	return holding ?: "none";
}
