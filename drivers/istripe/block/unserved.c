// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/jiffies.h>
#include <linux/printk.h>

#include "block/leg.h"
#include "block/unserved.h"
#include "block/volume.h"

void istripe_unserved_begin(struct istripe_leg_task *leg_task, const struct istripe_reason *why)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_unserved *unserved = &leg->unserved;
	bool first = false;

	spin_lock_bh(&leg->lock);
	unserved->why = *why;
	if (!leg_task->unserved) {
		leg_task->unserved = true;
		leg_task->unserved_at = jiffies;
		first = !unserved->tasks++;
		if (first)
			unserved->since = jiffies;
	}
	spin_unlock_bh(&leg->lock);
	if (!first)
		return;
	pr_warn_ratelimited("%s/%u: %s: no path serves it: it is tried again until recovery_timeout_ms is over\n",
			    leg->volume->name, leg->index, why->text);
	istripe_announce(&leg->volume->announce);
}

void istripe_unserved_end(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	bool last;

	leg_task->unserved = false;
	spin_lock_bh(&leg->lock);
	last = !--leg->unserved.tasks;
	if (last)
		leg->unserved.why.text[0] = '\0';
	spin_unlock_bh(&leg->lock);
	if (!last)
		return;
	pr_info_ratelimited("%s/%u: no command is left that no path serves\n", leg->volume->name,
			    leg->index);
	istripe_announce(&leg->volume->announce);
}

u32 istripe_unserved_ms(struct istripe_leg *leg, struct istripe_reason *why)
{
	u32 ms = 0;

	spin_lock_bh(&leg->lock);
	*why = leg->unserved.why;
	if (leg->unserved.tasks)
		ms = max(jiffies_to_msecs(jiffies - leg->unserved.since), 1u);
	spin_unlock_bh(&leg->lock);
	return ms;
}
