// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include <istripe/reason.h>
#include "block/elapsed.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/outage_report.h"
#include "block/path.h"
#include "block/volume.h"

u32 istripe_outage_report_ms(struct istripe_leg *leg)
{
	u32 ms = 0;

	spin_lock_bh(&leg->lock);
	if (!istripe_leg_serving(leg))
		ms = istripe_elapsed_ms(leg->down_since);
	spin_unlock_bh(&leg->lock);
	return ms;
}

s32 istripe_outage_report_left_ms(struct istripe_leg *leg)
{
	s32 recovery_ms = READ_ONCE(leg->volume->recovery_timeout_ms);
	unsigned long end;
	s32 left_ms = 0;

	spin_lock_bh(&leg->lock);
	end = istripe_leg_outage_end(leg, max(recovery_ms, 0));
	if (!istripe_leg_serving(leg) && !leg->failed) {
		if (recovery_ms < 0)
			left_ms = -1;
		else if (time_before(jiffies, end))
			left_ms = min_t(u32, jiffies_to_msecs(end - jiffies), S32_MAX);
	}
	spin_unlock_bh(&leg->lock);
	return left_ms;
}

static void outage_say(const struct istripe_leg *leg, struct istripe_reason *why)
{
	const struct istripe_nexus *nexus;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus) {
		if (leg->unfenced_nexuses && nexus->unfenced) {
			istripe_reason_set(why,
					   "path %u: writes have failed that its target may still carry out: no I/O before a login through it%s, or fence_confirm",
					   nexus->path->index,
					   READ_ONCE(leg->fence_timeout_ms) >= 0 ?
					   ", the end of fence_timeout_ms" : "");
			return;
		}
		if (!leg->unfenced_nexuses && nexus->live) {
			istripe_reason_set(why, "path %u: its target port is %s",
					   nexus->path->index,
					   istripe_alua_state_name(nexus->access.state));
			return;
		}
	}
}

void istripe_outage_report_why(struct istripe_leg *leg, struct istripe_reason *why)
{
	if (istripe_unserved_ms(leg, why))
		return;
	spin_lock_bh(&leg->lock);
	if (!istripe_leg_serving(leg))
		outage_say(leg, why);
	spin_unlock_bh(&leg->lock);
}
