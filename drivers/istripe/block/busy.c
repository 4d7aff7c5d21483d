// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "block/busy.h"
#include "block/leg.h"

/* Answers in a row after which a path is busy. */
#define BUSY_MIN	4
/* It gets no command for so long. */
#define PAUSE_MS	1000
/* With failover, for so long first: an array may move the LUN for a command over another port. */
#define FAILOVER_MS	1000
/* An answer so long ago does not count. */
#define FORGET_MS	5000
/* multipathd, too, looks at a path after 5 to 20 seconds. */
#define LONG_MS		10000

void istripe_busy_refused(struct istripe_path *path)
{
	unsigned long forget = READ_ONCE(path->busy_last) + msecs_to_jiffies(FORGET_MS);
	u32 answers = READ_ONCE(path->busy_answers);

	if (!answers || time_after(jiffies, forget)) {
		WRITE_ONCE(path->busy_since, jiffies);
		answers = 0;
	}
	WRITE_ONCE(path->busy_last, jiffies);
	WRITE_ONCE(path->busy_answers, min_t(u32, answers + 1, BUSY_MIN));
	if (answers + 1 >= BUSY_MIN)
		WRITE_ONCE(path->leg->busy, true);
}

bool istripe_busy_for_long(const struct istripe_path *path)
{
	return READ_ONCE(path->busy_answers) >= BUSY_MIN &&
	       time_after(jiffies, READ_ONCE(path->busy_since) + msecs_to_jiffies(LONG_MS));
}

static bool path_is_paused(const struct istripe_leg *leg, const struct istripe_path *path)
{
	unsigned long since = READ_ONCE(path->busy_since);
	unsigned long at = READ_ONCE(path->busy_last);

	return time_before(jiffies, at + msecs_to_jiffies(PAUSE_MS)) &&
	       (READ_ONCE(leg->policy) != ISTRIPE_POLICY_FAILOVER ||
		time_after_eq(at, since + msecs_to_jiffies(FAILOVER_MS)));
}

static u16 busy_survey(struct istripe_leg *leg)
{
	const struct istripe_path *path;
	bool any = false;
	u16 bits = 0;

	istripe_leg_for_each_path(leg, path) {
		if (READ_ONCE(path->busy_answers) < BUSY_MIN)
			continue;
		any = true;
		if (path_is_paused(leg, path))
			bits |= BIT(path->index);
	}
	if (!any)
		WRITE_ONCE(leg->busy, false);
	return bits;
}

u16 istripe_busy_paths(struct istripe_leg *leg)
{
	return unlikely(READ_ONCE(leg->busy)) ? busy_survey(leg) : 0;
}
