// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/last_error.h"
#include "block/nexus.h"

void istripe_last_error_note(struct istripe_nexus *nexus, int error, const char *why)
{
	unsigned long flags;

	spin_lock_irqsave(&nexus->event_lock, flags);
	nexus->last_errno = error;
	WRITE_ONCE(nexus->error_time, ktime_get());
	strscpy(nexus->last_error, why, sizeof(nexus->last_error));
	spin_unlock_irqrestore(&nexus->event_lock, flags);
}

void istripe_last_error_read(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	unsigned long flags;

	spin_lock_irqsave(&nexus->event_lock, flags);
	strscpy(why->text, nexus->last_error, sizeof(why->text));
	spin_unlock_irqrestore(&nexus->event_lock, flags);
}

bool istripe_last_error_is(struct istripe_nexus *nexus, const char *why)
{
	unsigned long flags;
	bool same;

	spin_lock_irqsave(&nexus->event_lock, flags);
	same = !strcmp(nexus->last_error, why);
	spin_unlock_irqrestore(&nexus->event_lock, flags);
	return same;
}
