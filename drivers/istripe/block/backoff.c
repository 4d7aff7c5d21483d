// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "block/backoff.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/workqueue.h"

#define BACKOFF_FIRST_MS	100
/* Of a login that is refused; with the jitter not more than a minute. */
#define REFUSED_MAX_MS		50000
/* While I/O, or writes of the lost session, wait for the nexus; with the jitter less than 2 s. */
#define URGENT_MAX_MS		1750
/* Between two attempts of which the second one is woken. */
#define WAKE_INTERVAL_MS	1000
#define TIME2WAIT_MAX_MS	60000
#define BUSY_MS			120000	/* longer than another login takes, see ask_lun.h */
/* Failures in a row of logins that begin at the portal that the target has moved to. */
#define MOVED_TRIES	3

/* Exponential, with a quarter of jitter, so that many hosts do not come back at the same time. */
static u32 backoff_jittered_ms(u32 failures, u32 max_ms)
{
	u32 ms = min(BACKOFF_FIRST_MS << min(failures, 13u), max_ms);

	return ms - ms / 8 + get_random_u32() % (ms / 4);
}

/*
 * A target that starts refuses logins until it has its settings, so the wait is about as long as
 * the refusals have lasted, and earlier failures do not count.
 */
u32 istripe_backoff_ms(const struct istripe_nexus *nexus)
{
	u32 max_ms = READ_ONCE(nexus->path->params.timers.login_retry_max_ms);

	if (nexus->ops->urgent(nexus))
		max_ms = min_t(u32, max_ms, URGENT_MAX_MS);
	else if (nexus->backoff.refusals)
		max_ms = max_t(u32, max_ms, REFUSED_MAX_MS);
	return backoff_jittered_ms(nexus->backoff.refusals ?: nexus->backoff.failures, max_ms);
}

static u32 backoff_asked_ms(const struct istripe_session *session)
{
	u32 asked_ms = min_t(u32, session->time2wait_s * MSEC_PER_SEC, TIME2WAIT_MAX_MS);

	/*
	 * Linux's own target (seen with 6.12) crashes when a session of several connections is
	 * reinstated before it has cleaned up the first of them: it follows a freed one. They have
	 * just been reset: give it time. That is no guarantee.
	 */
	if (session->conns[1])
		asked_ms = max_t(u32, asked_ms, ISTRIPE_SEVERAL_WAIT_MS);
	return asked_ms;
}

u32 istripe_backoff_asked_left_ms(const struct istripe_nexus *nexus)
{
	u32 asked_ms = READ_ONCE(nexus->backoff.asked_ms);
	u32 passed_ms = jiffies_to_msecs(jiffies - READ_ONCE(nexus->backoff.asked_at));

	return asked_ms - min(asked_ms, passed_ms);
}

void istripe_backoff_lost(struct istripe_nexus *nexus)
{
	u32 left_ms = istripe_backoff_asked_left_ms(nexus);

	WRITE_ONCE(nexus->backoff.asked_ms, max(left_ms, backoff_asked_ms(nexus->owned)));
	WRITE_ONCE(nexus->backoff.asked_at, jiffies);
	/* One that failed to join counts, too: the target may have it. */
	if (nexus->owned->conns[1])
		nexus->several = true;
}

void istripe_backoff_note_busy(struct istripe_nexus *nexus, bool busy)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	/* The work finds out anew how much time is left. */
	if (nexus->busy && !busy && delayed_work_pending(&leg->recovery_work))
		mod_delayed_work(istripe_recovery_wq, &leg->recovery_work, 0);
	nexus->busy = busy;
	nexus->busy_end = jiffies + msecs_to_jiffies(BUSY_MS);
	spin_unlock_bh(&leg->lock);
}

void istripe_backoff_begin(struct istripe_nexus *nexus, u32 wait_ms)
{
	unsigned long asked_at = jiffies + msecs_to_jiffies(istripe_backoff_asked_left_ms(nexus));
	unsigned long retry_at = jiffies + msecs_to_jiffies(wait_ms);
	unsigned long wake_at = nexus->backoff.attempt_at + msecs_to_jiffies(WAKE_INTERVAL_MS);

	if (time_before(wake_at, asked_at))
		wake_at = asked_at;
	WRITE_ONCE(nexus->backoff.retry_at, retry_at);
	WRITE_ONCE(nexus->backoff.wake_at, time_after(wake_at, retry_at) ? retry_at : wake_at);
}

unsigned long istripe_backoff_left(const struct istripe_nexus *nexus, bool woken)
{
	unsigned long at = woken ? READ_ONCE(nexus->backoff.wake_at) :
				   READ_ONCE(nexus->backoff.retry_at);
	unsigned long now = jiffies;

	return time_before(now, at) ? at - now : 0;
}

u32 istripe_backoff_next_ms(const struct istripe_nexus *nexus)
{
	/* Pairs with the release in nexus_set_state(): that back-off, or a later one. */
	enum istripe_nexus_state state = smp_load_acquire(&nexus->state);
	bool woken = test_bit(ISTRIPE_NEXUS_WAKE, &nexus->events);
	u32 ms;

	if (state == ISTRIPE_NEXUS_CONNECTING)
		return 0;
	if (state != ISTRIPE_NEXUS_BACKOFF && state != ISTRIPE_NEXUS_REFUSED)
		return U32_MAX;
	ms = jiffies_to_msecs(istripe_backoff_left(nexus, woken));
	/* The back-off may end in a fence: the login comes after that. */
	return READ_ONCE(nexus->fence_first) ? max(ms, istripe_backoff_asked_left_ms(nexus)) : ms;
}

/* Not twice within a second, so that the back-off grows; then the event stays. */
void istripe_backoff_attempt(struct istripe_nexus *nexus)
{
	unsigned long again_at = nexus->backoff.attempt_at + msecs_to_jiffies(WAKE_INTERVAL_MS);

	if (time_after_eq(jiffies, again_at) &&
	    test_and_clear_bit(ISTRIPE_NEXUS_WAKE, &nexus->events)) {
		WRITE_ONCE(nexus->backoff.refusals, 0);
		nexus->backoff.failures = 0;
	}
	nexus->backoff.attempt_at = jiffies;
	WRITE_ONCE(nexus->backoff.asked_ms, 0);
}

void istripe_backoff_init(struct istripe_nexus *nexus)
{
	nexus->backoff.attempt_at = jiffies - msecs_to_jiffies(WAKE_INTERVAL_MS);
}

/* Where */

static bool portal_is_moved(const struct istripe_nexus *nexus)
{
	return nexus->moved_to.ss_family != AF_UNSPEC;
}

const struct sockaddr_storage *istripe_moved_portal_next(const struct istripe_nexus *nexus)
{
	u32 failed = nexus->failed_logins;
	bool configured = failed >= MOVED_TRIES && failed % 2 == MOVED_TRIES % 2;

	return portal_is_moved(nexus) && !configured ?
		&nexus->moved_to : &nexus->path->params.portal;
}

bool istripe_moved_portal_in_turn(const struct istripe_nexus *nexus)
{
	return portal_is_moved(nexus) && nexus->failed_logins > MOVED_TRIES;
}

static void portal_set(struct istripe_nexus *nexus, const struct sockaddr_storage *moved_to)
{
	spin_lock_bh(&nexus->leg->lock);
	nexus->moved_to = *moved_to;
	spin_unlock_bh(&nexus->leg->lock);
}

static bool portal_same(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	return !memcmp(one, other, sizeof(*one));
}

void istripe_moved_portal_live(struct istripe_nexus *nexus)
{
	const struct sockaddr_storage *portal = &nexus->owned->next_portal;

	if (portal_same(portal, &nexus->path->params.portal)) {
		if (!portal_is_moved(nexus))
			return;
		pr_info("%s: logins begin at the configured portal again\n", nexus->label);
		istripe_moved_portal_forget(nexus);
	} else if (!portal_same(portal, &nexus->moved_to)) {
		pr_info("%s: the target has moved permanently: logins begin at %pISpc from now on\n",
			nexus->label, portal);
		portal_set(nexus, portal);
	}
}

void istripe_moved_portal_forget(struct istripe_nexus *nexus)
{
	static const struct sockaddr_storage nowhere = { .ss_family = AF_UNSPEC };

	portal_set(nexus, &nowhere);
}
