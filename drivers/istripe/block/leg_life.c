// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>

#include "block/allowance.h"
#include "block/delay.h"
#include "block/ghost.h"
#include "block/leg.h"
#include "block/leg_life.h"
#include "block/nexus.h"
#include "block/overlay.h"
#include "block/path.h"

void istripe_leg_stop_begin(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	u32 at;

	istripe_leg_expire(leg);
	mutex_lock(&leg->paths_lock);
	istripe_leg_for_each_nexus(leg, nexus, at)
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_STOP);
	mutex_unlock(&leg->paths_lock);
}

void istripe_leg_stop(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;
	u32 at;

	istripe_leg_expire(leg);
	mutex_lock(&leg->paths_lock);
	istripe_leg_for_each_nexus(leg, nexus, at)
		istripe_nexus_stop(nexus);
	mutex_unlock(&leg->paths_lock);
	istripe_ghosts_warn(leg, "it stops");
	/* In this order: the first one may queue the second one. */
	cancel_delayed_work_sync(&leg->fence_work);
	istripe_overlays_stop(leg);
	cancel_delayed_work_sync(&leg->recovery_work);
	istripe_delay_stop(leg);
	istripe_allowance_stop(leg);
}

void istripe_leg_add_path(struct istripe_leg *leg, struct istripe_path *path)
{
	lockdep_assert_held(&leg->paths_lock);
	spin_lock_bh(&leg->lock);
	/* Readers take no lock: complete first (pairs with their READ_ONCE() of leg->paths). */
	smp_store_release(&leg->paths[path->index], path);
	WRITE_ONCE(leg->path_end, max(leg->path_end, path->index + 1));
	WRITE_ONCE(leg->path_count, leg->path_count + 1);
	WRITE_ONCE(leg->nexus_count, leg->nexus_count + path->nexus_count);
	/* Those that are unfenced since before: the leg serves nothing until their fence. */
	WRITE_ONCE(leg->unfenced_nexuses, leg->unfenced_nexuses + istripe_path_unfenced(path));
	spin_unlock_bh(&leg->lock);
}

static int leg_create_paths(struct istripe_leg *leg, const struct istripe_leg_params *params)
{
	struct istripe_path *path;
	u32 i;

	for (i = 0; i < params->path_count; i++) {
		path = istripe_path_create(leg, &params->paths[i]);
		if (IS_ERR(path))
			return PTR_ERR(path);
		mutex_lock(&leg->paths_lock);
		istripe_leg_add_path(leg, path);
		mutex_unlock(&leg->paths_lock);
	}
	return 0;
}

struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params,
				       const struct istripe_nexus_ops *nexus_ops)
{
	struct istripe_leg *leg = kzalloc(sizeof(*leg), GFP_KERNEL);
	int ret;

	if (!leg)
		return ERR_PTR(-ENOMEM);
	leg->volume = volume;
	leg->index = index;
	leg->nexus_ops = nexus_ops;
	strscpy(leg->lun.designator, params->designator, sizeof(leg->lun.designator));
	leg->designator_given = params->designator[0];
	leg->policy = params->policy;
	leg->fence = params->fence;
	leg->fence_timeout_ms = params->fence_timeout_ms;
	leg->ghost_timeout_ms = params->ghost_timeout_ms;
	leg->alua = params->alua;
	mutex_init(&leg->identify_lock);
	mutex_init(&leg->paths_lock);
	spin_lock_init(&leg->lock);
	INIT_LIST_HEAD(&leg->parked);
	init_waitqueue_head(&leg->usable);
	istripe_leg_init_works(leg);
	istripe_delay_init(leg);
	istripe_overlays_init(leg);
	ret = istripe_allowance_init(leg) ?: init_srcu_struct(&leg->srcu);
	if (ret) {
		istripe_allowance_free(leg);
		kfree(leg);
		return ERR_PTR(ret);
	}
	ret = leg_create_paths(leg, params);
	if (ret) {
		istripe_leg_destroy(leg);
		return ERR_PTR(ret);
	}
	return leg;
}

void istripe_leg_destroy(struct istripe_leg *leg)
{
	u32 i;

	if (IS_ERR_OR_NULL(leg))
		return;
	/* The disk is gone, nexuses are idle: no reader is left. A reservation may have queued: */
	cancel_delayed_work_sync(&leg->fence_work);
	for (i = 0; i < leg->path_end; i++)
		istripe_path_destroy(leg->paths[i]);
	cleanup_srcu_struct(&leg->srcu);
	istripe_overlays_free(leg);
	istripe_allowance_free(leg);
	kfree(leg);
}
