// SPDX-License-Identifier: GPL-2.0
#include "block/delay.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/workqueue.h"

/* Sorted by @due. The search starts at the end, where most tasks belong. */
static void delay_add(struct istripe_leg_task *leg_task)
{
	struct istripe_leg *leg = leg_task->leg;
	struct istripe_leg_task *before;

	lockdep_assert_held(&leg->lock);
	list_for_each_entry_reverse(before, &leg->delay.tasks, entry)
		if (time_before_eq(before->due, leg_task->due))
			break;
	list_add(&leg_task->entry, &before->entry);
}

static void delay_arm(struct istripe_leg *leg)
{
	struct istripe_leg_task *first = list_first_entry_or_null(&leg->delay.tasks,
								  struct istripe_leg_task, entry);

	lockdep_assert_held(&leg->lock);
	if (first)
		mod_delayed_work(istripe_recovery_wq, &leg->delay.work,
				 time_after(first->due, jiffies) ? first->due - jiffies : 0);
}

void istripe_delay_task(struct istripe_leg_task *leg_task, u32 delay_ms)
{
	struct istripe_leg *leg = leg_task->leg;
	bool stopping;

	leg_task->due = jiffies + msecs_to_jiffies(delay_ms);
	spin_lock_bh(&leg->lock);
	stopping = leg->stopping;
	if (!stopping) {
		delay_add(leg_task);
		delay_arm(leg);
	}
	spin_unlock_bh(&leg->lock);
	if (stopping)
		istripe_leg_task_fail(leg_task, BLK_STS_IOERR);
}

static void delay_take_due(struct istripe_leg *leg, struct list_head *due)
{
	struct istripe_leg_task *leg_task, *next;

	spin_lock_bh(&leg->lock);
	list_for_each_entry_safe(leg_task, next, &leg->delay.tasks, entry) {
		if (time_after(leg_task->due, jiffies))
			break;
		list_move_tail(&leg_task->entry, due);
	}
	delay_arm(leg);
	spin_unlock_bh(&leg->lock);
}

static void delay_work(struct work_struct *work)
{
	struct istripe_leg *leg = container_of(to_delayed_work(work), struct istripe_leg,
					       delay.work);
	LIST_HEAD(due);

	delay_take_due(leg, &due);
	istripe_leg_redrive(leg, &due);
}

void istripe_delay_init(struct istripe_leg *leg)
{
	INIT_LIST_HEAD(&leg->delay.tasks);
	INIT_DELAYED_WORK(&leg->delay.work, delay_work);
}

void istripe_delay_stop(struct istripe_leg *leg)
{
	cancel_delayed_work_sync(&leg->delay.work);
}
