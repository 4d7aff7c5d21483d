// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <compat/workqueue.h>

#include "block/announce.h"

static void announce_work(struct work_struct *work)
{
	struct istripe_announce *announce = container_of(to_delayed_work(work),
							 struct istripe_announce, work);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&announce->lock);
	WRITE_ONCE(announce->called_at, jiffies);
	if (announce->listener)
		announce->listener(announce->data);
	mutex_unlock(&announce->lock);
	memalloc_noio_restore(noio);
}

void istripe_announce_init(struct istripe_announce *announce)
{
	INIT_DELAYED_WORK(&announce->work, announce_work);
	mutex_init(&announce->lock);
	announce->called_at = jiffies - msecs_to_jiffies(ISTRIPE_ANNOUNCE_MS);
}

/* Not on the recovery queue: the listener may wait for memory, and so for recovery. */
void istripe_announce(struct istripe_announce *announce)
{
	unsigned long pause = msecs_to_jiffies(ISTRIPE_ANNOUNCE_MS);
	unsigned long since = jiffies - READ_ONCE(announce->called_at);

	/* The change before the listener: a new listener's first call sees it, or we see it. */
	smp_mb();
	if (READ_ONCE(announce->listener))
		queue_delayed_work(istripe_compat_unbound_wq(), &announce->work,
				   since < pause ? pause - since : 0);
}

void istripe_announce_listen(struct istripe_announce *announce, void (*listener)(void *data),
			     void *data)
{
	mutex_lock(&announce->lock);
	WRITE_ONCE(announce->listener, listener);
	announce->data = data;
	mutex_unlock(&announce->lock);
	istripe_announce(announce);
}

void istripe_announce_stop(struct istripe_announce *announce)
{
	cancel_delayed_work_sync(&announce->work);
}
