// SPDX-License-Identifier: GPL-2.0
#include "block/growth.h"
#include "block/leg.h"
#include "block/past.h"
#include "block/path.h"

void istripe_past_inherit(struct istripe_path *path, const struct istripe_path_past *past)
{
	path->unfenced = past->unfenced;
	path->tpgt_known = past->unfenced;
	path->tpgt = past->tpgt;
}

void istripe_past_bequeath(struct istripe_path *path, struct istripe_path_past *past)
{
	struct istripe_leg *leg = path->leg;

	*past = (struct istripe_path_past) {};
	spin_lock_bh(&leg->lock);
	/* What has grown may be written again, it is the same. */
	past->unfenced = path->unfenced || (path->marked && istripe_growth_begun(leg->volume));
	if (past->unfenced)
		past->tpgt = path->tpgt;
	spin_unlock_bh(&leg->lock);
}
