// SPDX-License-Identifier: GPL-2.0
#include "block/leg.h"
#include "block/nexus.h"
#include "block/past.h"
#include "block/resize_super.h"

void istripe_nexus_restore_unfenced(struct istripe_nexus *nexus,
				    const struct istripe_unfenced *saved)
{
	nexus->unfenced = saved->unfenced;
	nexus->tpgt_known = saved->unfenced;
	nexus->login_unsure = saved->unfenced;
	nexus->tpgt = saved->tpgt;
}

void istripe_nexus_save_unfenced(struct istripe_nexus *nexus, struct istripe_unfenced *saved)
{
	struct istripe_leg *leg = nexus->leg;

	*saved = (struct istripe_unfenced) {};
	spin_lock_bh(&leg->lock);
	/* What has grown may be written again, it is the same. */
	saved->unfenced = nexus->unfenced ||
			  (nexus->super_unfenced && istripe_super_growth_begun(leg->volume));
	if (saved->unfenced)
		saved->tpgt = nexus->tpgt;
	spin_unlock_bh(&leg->lock);
}
