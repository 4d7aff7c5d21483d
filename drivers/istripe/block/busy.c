// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "block/busy.h"
#include "block/leg.h"

/* Answers in a row after which a path is busy. */
#define REFUSED_MIN	4
/* It gets no command for so long. */
#define PAUSE_MS	1000
/* multipathd, too, looks at a path after 5 to 20 seconds. */
#define LONG_MS		10000

void istripe_busy_refused(struct istripe_path *path)
{
	u32 refused = READ_ONCE(path->refused) + 1;

	if (refused == 1)
		WRITE_ONCE(path->refused_since, jiffies);
	WRITE_ONCE(path->refused, min(refused, REFUSED_MIN));
	if (refused < REFUSED_MIN)
		return;
	WRITE_ONCE(path->busy_until, jiffies + msecs_to_jiffies(PAUSE_MS));
	WRITE_ONCE(path->leg->busy, true);
}

bool istripe_busy_for_long(const struct istripe_path *path)
{
	return READ_ONCE(path->refused) >= REFUSED_MIN &&
	       time_after(jiffies, READ_ONCE(path->refused_since) + msecs_to_jiffies(LONG_MS));
}

static u16 busy_survey(struct istripe_leg *leg)
{
	bool any = false;
	u16 bits = 0;
	u32 i;

	for (i = 0; i < leg->path_end; i++) {
		const struct istripe_path *path = READ_ONCE(leg->paths[i]);

		if (!path || READ_ONCE(path->refused) < REFUSED_MIN)
			continue;
		any = true;
		if (time_before(jiffies, READ_ONCE(path->busy_until)))
			bits |= BIT(i);
	}
	if (!any)
		WRITE_ONCE(leg->busy, false);
	return bits;
}

u16 istripe_busy_paths(struct istripe_leg *leg)
{
	return unlikely(READ_ONCE(leg->busy)) ? busy_survey(leg) : 0;
}
