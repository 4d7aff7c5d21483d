// SPDX-License-Identifier: GPL-2.0
#include <istripe/reason.h>
#include "block/ask_lun.h"
#include "block/eh.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "scsi/alua.h"

#define REVALIDATE_INTERVAL_MS	500	/* of a target that reports changes all the time */
#define ANSWER_TIMEOUT_MS	10000	/* of a question: that also holds up error handling */
/* Longer than a command of our own takes. */
#define TOLERATE_MS		60000

/* A LUN that is busy is waited for. */
static const struct istripe_lun_time revalidate_time = {
	.timeout_ms = 30000,
	.all_ms = 30000,
};

struct istripe_lun_time istripe_nexus_login_time(const struct istripe_nexus *nexus)
{
	u32 timeout_ms = READ_ONCE(nexus->path->params.timers.login_timeout_ms);

	return (struct istripe_lun_time) { .timeout_ms = timeout_ms, .all_ms = 4 * timeout_ms };
}

int istripe_nexus_probe(struct istripe_nexus *nexus, const struct istripe_lun_time *time,
			struct istripe_reason *why)
{
	struct istripe_lun_before before;
	int ret;

	nexus->ops->probe_begin(nexus, &before);
	ret = istripe_lun_probe(nexus->owned, nexus->path->params.lun, READ_ONCE(nexus->leg->alua),
				time, &before, &nexus->found, why);
	WRITE_ONCE(nexus->reserved, nexus->found.reserved);
	return ret;
}

/* A reserved LUN tells some things to registered nexuses only. */
int istripe_nexus_ask_lun(struct istripe_nexus *nexus, const struct istripe_lun_time *time,
			  struct istripe_reason *why)
{
	const struct istripe_task *task = &nexus->owned->internal.task;
	int ret = istripe_nexus_probe(nexus, time, why);
	int joined;

	if (ret && (ret != -EIO || task->status != SAM_STAT_RESERVATION_CONFLICT))
		return ret;
	joined = nexus->ops->join(nexus, why);
	if (joined > 0)
		return istripe_nexus_probe(nexus, time, why);
	return joined ?: ret;
}

/* Submitters read session->lun: another address of the LUN takes another session. */
static int nexus_ask(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	bool moves = istripe_session_is_invalid(nexus->owned) &&
		     READ_ONCE(nexus->leg->chosen_paths) > 1;
	/* Not so long while another path could have its commands. */
	const struct istripe_lun_time move_time = {
		.timeout_ms = 5000,
		.all_ms = 20000,
		.renews = nexus->ops->alone,
	};
	int ret;

	nexus->owned->internal.answer_ms = ANSWER_TIMEOUT_MS;
	ret = istripe_nexus_ask_lun(nexus, moves ? &move_time : &revalidate_time, why);
	if (ret)
		return ret;
	if (!memcmp(&nexus->found.address, &nexus->owned->lun, sizeof(nexus->owned->lun)))
		return nexus->ops->check(nexus, why);
	return istripe_reason_fail(why, -EREMCHG, "the target lists LUN %u at another address now",
				   nexus->path->params.lun);
}

/* Commands wait during a revalidation, but not in a series that asynchronous messages cause. */
static void nexus_count_revalidation(struct istripe_nexus *nexus)
{
	if (time_after64(get_jiffies_64(),
			 nexus->revalidated_at + msecs_to_jiffies(2 * REVALIDATE_INTERVAL_MS)))
		nexus->revalidations = 0;
	if (nexus->revalidations < ISTRIPE_REVALIDATIONS_MAX)
		nexus->revalidations++;
}

/* Again for each command of our own: a revalidation may take longer. */
static void nexus_tolerate(struct istripe_nexus *nexus)
{
	if (nexus->revalidations == ISTRIPE_REVALIDATIONS_MAX)
		istripe_session_tolerate(nexus->owned, TOLERATE_MS);
}

/*
 * -ESTALE without a mismatch: the LUN has reported a change while its superblock was read.
 * -EAGAIN also: it has not said all, or keys were changed meanwhile. -ENOLINK: the port takes no
 * I/O any more. -EALREADY: the target was asked to change that.
 */
static bool nexus_asks_again(const struct istripe_nexus *nexus, int error)
{
	return (error == -ESTALE && !nexus->mismatch) || istripe_lun_has_dropped(error) ||
	       error == -ENOLINK || error == -EALREADY;
}

static int nexus_ask_until_quiet(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	u32 attempt = 0;
	int ret;

	do {
		nexus_tolerate(nexus);
		nexus->mismatch = 0;
		ret = nexus_ask(nexus, why);
		nexus->access_only = false;
	} while (nexus_asks_again(nexus, ret) && ++attempt < ISTRIPE_REVALIDATIONS_MAX);
	return ret == -EALREADY ? 0 : ret;
}

/* Faults the session when it fails. @invalidations: those before, which are handled now. */
static int nexus_revalidate_ask(struct istripe_nexus *nexus, bool access_only, int *invalidations)
{
	struct istripe_session *session = nexus->owned;
	struct istripe_reason why = {};
	int ret;

	clear_bit(ISTRIPE_NEXUS_ACCESS, &nexus->events);
	if (test_and_clear_bit(ISTRIPE_NEXUS_REVALIDATE, &nexus->events))
		access_only = false;
	/* A later report needs another: istripe_session_invalidate() counts before the event. */
	smp_mb__after_atomic();
	*invalidations = istripe_session_invalidations(session);
	nexus->access_only = access_only && !istripe_session_is_invalid(session);
	mutex_lock(&nexus->ask_lock);
	nexus->told_changes = 0;
	WRITE_ONCE(nexus->asking, true);
	ret = nexus_ask_until_quiet(nexus, &why);
	/* Its access state before that: nexus_may_carry_soon() reads it after @asking. */
	smp_store_release(&nexus->asking, false);
	/* The questions have taken their own news into account. */
	*invalidations += nexus->told_changes;
	/* Fault it under the lock: a command that timed out still uses the session's page. */
	if (ret)
		istripe_session_fault(session, ret, "%s", why.text);
	mutex_unlock(&nexus->ask_lock);
	nexus->revalidated_at = get_jiffies_64();
	/* A lost connection says nothing about the LUN. */
	WRITE_ONCE(nexus->revalidate_error, ret == -ENOTCONN ? 0 : ret);
	return ret;
}

/* It is the same LUN. */
static void nexus_revalidate_end(struct istripe_nexus *nexus, int invalidations)
{
	bool usable = istripe_alua_usable(nexus->found.access.state);
	struct istripe_session *session = nexus->owned;

	if (usable && READ_ONCE(nexus->leg->write_through) && !nexus->flushed)
		istripe_session_fault(session, -EREMCHG, "the LUN has a write cache now");
	if (!istripe_session_is_invalid(session))
		return;
	/* Only the designator has been compared: commands that wait go another way. */
	if (!usable && !istripe_session_is_idle(session)) {
		istripe_session_fault(session, -ESTALE,
				      "the LUN has changed, and its target port takes no I/O");
		return;
	}
	/* Commands that waited for this have not timed out; those sent before may have. */
	istripe_eh_forget_unsent(nexus);
	istripe_session_validate(session, invalidations);
}

/*
 * Identifies the LUN again, over the same session. I/O goes on meanwhile, unless the LUN itself has
 * reported the change. Another LUN ends the session: the next login decides about the nexus.
 */
static void nexus_revalidate_now(struct istripe_nexus *nexus, bool access_only)
{
	bool keys = test_and_clear_bit(ISTRIPE_NEXUS_KEYS, &nexus->events);
	int invalidations;

	if (nexus_revalidate_ask(nexus, access_only, &invalidations))
		return;
	nexus_revalidate_end(nexus, invalidations);
	/* Through a port that takes no I/O they were not asked for. */
	if (keys && !istripe_alua_usable(nexus->found.access.state))
		nexus->ops->ask_keys(nexus);
}

static void nexus_ask_keys(struct istripe_nexus *nexus)
{
	nexus->ops->ask_keys(nexus);
	/* News that the LUN has told meanwhile does not wait. */
	if (!test_bit(ISTRIPE_NEXUS_REVALIDATE, &nexus->events))
		nexus->revalidated_at = get_jiffies_64();
}

void istripe_nexus_revalidate_if_asked(struct istripe_nexus *nexus)
{
	bool attention = test_bit(ISTRIPE_NEXUS_REVALIDATE, &nexus->events);
	/* A port is polled more often while I/O waits. */
	u32 poll_ms = attention ? 0 : nexus->ops->access_poll_ms(nexus);
	u32 interval_ms = min_not_zero(poll_ms, (u32)REVALIDATE_INTERVAL_MS);
	u64 next = nexus->revalidated_at + msecs_to_jiffies(interval_ms);
	u64 now = get_jiffies_64();

	if (test_and_clear_bit(ISTRIPE_NEXUS_REVALIDATE_NOW, &nexus->events)) {
		nexus_revalidate_now(nexus, false);
		return;
	}
	if (!attention && !test_bit(ISTRIPE_NEXUS_ACCESS, &nexus->events)) {
		if (test_and_clear_bit(ISTRIPE_NEXUS_KEYS, &nexus->events))
			nexus_ask_keys(nexus);
		return;
	}
	if (time_before64(now, next)) {
		/* Not mod_delayed_work(), which would delay an event that has come meanwhile. */
		queue_delayed_work(nexus->queue, &nexus->work, next - now);
		return;
	}
	/* I/O does not wait for the access state only. */
	if (attention)
		nexus_count_revalidation(nexus);
	nexus_revalidate_now(nexus, !attention);
}
