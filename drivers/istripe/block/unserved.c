// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/printk.h>

#include "block/elapsed.h"
#include "block/leg.h"
#include "block/unserved.h"
#include "block/volume.h"

/* Between two sessions that are given up because the paths with I/O serve none. */
#define GIVE_UP_MS	10000

/* A path has just failed to serve it. Returns since when none has, without times of outages. */
static unsigned long unserved_resume(struct istripe_leg_task *leg_task)
{
	if (!leg_task->unserved)
		return jiffies;
	if (leg_task->unserved_stopped)
		leg_task->unserved_since = jiffies - leg_task->unserved_for;
	leg_task->unserved_stopped = false;
	return leg_task->unserved_since;
}

bool istripe_unserved_may_wait(struct istripe_leg_task *leg_task)
{
	s32 recovery_ms = READ_ONCE(leg_task->leg->volume->recovery_timeout_ms);
	unsigned long since = unserved_resume(leg_task);

	return !READ_ONCE(leg_task->leg->stopping) &&
	       (recovery_ms < 0 || time_before(jiffies, since + msecs_to_jiffies(recovery_ms)));
}

bool istripe_unserved_may_give_up_session(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_unserved *unserved = &leg->unserved;
	bool may;

	if (!leg_task->unserved)
		return false;
	spin_lock_bh(&leg->lock);
	may = time_after_eq(jiffies, unserved->gave_up_at + msecs_to_jiffies(GIVE_UP_MS));
	if (may)
		unserved->gave_up_at = jiffies;
	spin_unlock_bh(&leg->lock);
	return may;
}

void istripe_unserved_stop(struct istripe_leg_task *leg_task)
{
	lockdep_assert_held(&leg_task->leg->lock);
	if (!leg_task->unserved || leg_task->unserved_stopped)
		return;
	leg_task->unserved_for = jiffies - leg_task->unserved_since;
	leg_task->unserved_stopped = true;
}

bool istripe_unserved_begin(struct istripe_leg_task *leg_task, const struct istripe_reason *why)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_unserved *unserved = &leg->unserved;
	bool first = false;

	spin_lock_bh(&leg->lock);
	unserved->why = *why;
	if (!leg_task->unserved) {
		leg_task->unserved = true;
		leg_task->unserved_since = jiffies;
		first = !unserved->tasks;
		WRITE_ONCE(unserved->tasks, unserved->tasks + 1);
		if (first) {
			WRITE_ONCE(unserved->since, jiffies);
			unserved->gave_up_at = jiffies;
		}
	}
	spin_unlock_bh(&leg->lock);
	if (!first)
		return false;
	pr_warn_ratelimited("%s/%u: %s: no path serves it: it is tried again until recovery_timeout_ms is over\n",
			    leg->volume->name, leg->index, why->text);
	istripe_announce(&leg->volume->announce);
	return true;
}

void istripe_unserved_end(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	bool last;

	leg_task->unserved = false;
	spin_lock_bh(&leg->lock);
	WRITE_ONCE(leg->unserved.tasks, leg->unserved.tasks - 1);
	last = !leg->unserved.tasks;
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
		ms = istripe_elapsed_ms(leg->unserved.since);
	spin_unlock_bh(&leg->lock);
	return ms;
}
