// SPDX-License-Identifier: GPL-2.0
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/istripe.h>

#include <istripe/reason.h>
#include "block/ask_lun.h"
#include "block/backoff.h"
#include "block/eh.h"
#include "block/isid.h"
#include "block/last_error.h"
#include "block/leg.h"
#include "block/leg_task.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"
#include "scsi/cdb.h"
#include "transport/socket.h"

#define SHORT_LIFE_MS		1000
#define FIRST_TRIES_MAX		12	/* while the target refuses resets: 7 to 20 s */

/* By the worker, after the change. */
static void nexus_changed(struct istripe_nexus *nexus)
{
	/* A reader of the new count finds the change. */
	smp_store_release(&nexus->changes, nexus->changes + 1);
	istripe_announce(&nexus->leg->volume->announce);
}

static void nexus_set_state(struct istripe_nexus *nexus, enum istripe_nexus_state state)
{
	trace_istripe_state(nexus->label, "path",
			    istripe_state_name(&istripe_nexus_states, nexus->state),
			    istripe_state_name(&istripe_nexus_states, state));
	WARN_ON_ONCE(!istripe_state_may(&istripe_nexus_states, nexus->state, state));
	/* After the counters: a reader who finds it live finds them, too. */
	smp_store_release(&nexus->state, state);
	nexus_changed(nexus);
}

void istripe_nexus_event(struct istripe_nexus *nexus, enum istripe_nexus_event event)
{
	set_bit(event, &nexus->events);
	mod_delayed_work(nexus->queue, &nexus->work, 0);
}

/* The session's reports: they only note, and wake the worker. */
static void nexus_session_fault(struct istripe_session *session, int error, const char *why)
{
	struct istripe_nexus *nexus = session->owner;

	istripe_last_error_note(nexus, error, why);
	if (__ratelimit(&nexus->log_limit))
		pr_warn("%s: %s\n", nexus->label, why);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_FAULT);
}

static void nexus_session_logout_requested(struct istripe_session *session, const char *why)
{
	struct istripe_nexus *nexus = session->owner;

	istripe_last_error_note(nexus, -ESHUTDOWN, why);
	if (__ratelimit(&nexus->log_limit))
		pr_info("%s: %s\n", nexus->label, why);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_LOGOUT);
}

static void nexus_session_async_sense(struct istripe_session *session,
				      const struct scsi_sense_hdr *sense)
{
	struct istripe_nexus *nexus = session->owner;

	nexus->ops->async_sense(nexus, session, sense);
}

static void nexus_session_changed(struct istripe_session *session)
{
	nexus_changed(session->owner);
}

static void nexus_session_own_sense(struct istripe_session *session, bool known)
{
	struct istripe_nexus *nexus = session->owner;

	nexus->ops->own_sense(nexus, session, known);
}

static const struct istripe_session_ops nexus_session_ops = {
	.fault = nexus_session_fault,
	.logout_requested = nexus_session_logout_requested,
	.async_sense = nexus_session_async_sense,
	.rejected = istripe_eh_reject,
	.own_sense = nexus_session_own_sense,
	.changed = nexus_session_changed,
};

static void path_count(struct istripe_path *path, const struct istripe_leg_task *leg_task,
		       int sign)
{
	if (!leg_task->counted)
		return;
	atomic_add(sign, &path->in_flight);
	atomic_long_add(sign * (long)leg_task->task.data.length_bytes, &path->in_flight_bytes);
}

static bool task_may_need_fua(const struct istripe_nexus *nexus,
			      const struct istripe_leg_task *leg_task)
{
	const struct istripe_task *task = &leg_task->task;

	return !leg_task->flushes &&
	       (leg_task->fua || (READ_ONCE(nexus->leg->write_through) && task->write &&
				  !istripe_cdb_writes_by_parameter(task->cdb)));
}

bool istripe_nexus_submit(struct istripe_nexus *nexus, struct istripe_leg_task *leg_task,
			  enum istripe_submit when)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	/* The caller may have picked the nexus before its last session was lost. */
	bool admitted = session && READ_ONCE(session->admitted);

	if (admitted) {
		WRITE_ONCE(leg_task->nexus, nexus);
		leg_task->counted = nexus->leg->path_end > 1;
		leg_task->task.lun = session->lun;
		/* A LUN that has no cache may not know FUA, and needs none. */
		if (unlikely(task_may_need_fua(nexus, leg_task))) {
			/* Pairs with the release of @write_through in identify_capabilities(). */
			smp_rmb();
			istripe_cdb_set_fua(leg_task->task.cdb, READ_ONCE(nexus->fua) &&
					    !READ_ONCE(nexus->leg->no_fua));
		}
		leg_task->large = leg_task->task.read &&
				  leg_task->task.data.length_bytes >= ISTRIPE_PATH_LARGE_BYTES &&
				  READ_ONCE(nexus->path->nexus_count) > 1;
		path_count(nexus->path, leg_task, 1);
		if (leg_task->large)
			atomic_inc(&nexus->large_tasks);
		istripe_leg_task_count(leg_task);
		istripe_session_submit(session, &leg_task->task, when);
	}
	srcu_read_unlock(&nexus->srcu, section);
	return admitted;
}

void istripe_nexus_done(struct istripe_leg_task *leg_task)
{
	struct istripe_nexus *nexus = leg_task->nexus;

	path_count(nexus->path, leg_task, -1);
	if (leg_task->large)
		atomic_dec(&nexus->large_tasks);
	/* The task is off the session's table; see istripe_nexus_retire(). */
	if (!READ_ONCE(nexus->wanted))
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_RETIRE);
}

void istripe_nexus_push(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);

	if (session)
		istripe_session_push(session);
	srcu_read_unlock(&nexus->srcu, section);
}

/* First step of closing a session: nobody finds it or is in a section with it. */
static void nexus_withdraw(struct istripe_nexus *nexus)
{
	if (!rcu_access_pointer(nexus->resettable))
		return;
	rcu_assign_pointer(nexus->session, NULL);
	rcu_assign_pointer(nexus->resettable, NULL);
	synchronize_srcu(&nexus->srcu);
}

/* Second step: no sysfs reader is left. Returns @owned as it was. */
static struct istripe_session *nexus_disown(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus->owned;
	u32 i;

	WRITE_ONCE(nexus->key.told, false);
	nexus_withdraw(nexus);
	mutex_lock(&nexus->session_lock);
	nexus->owned = NULL;
	for (i = 0; session && i < ISTRIPE_CONNECTIONS_MAX; i++)
		nexus->digest_errors[i] += istripe_session_digest_errors(session, i);
	mutex_unlock(&nexus->session_lock);
	nexus_changed(nexus);
	nexus->ops->closed(nexus);
	return session;
}

/* Last step: the session stops and is freed. */
void istripe_nexus_close_session(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus_disown(nexus);

	if (session)
		istripe_session_close(session);
}

void istripe_nexus_logout(struct istripe_nexus *nexus)
{
	/* A reset of the LUN would ask the target at the same time. */
	nexus_withdraw(nexus);
	istripe_session_logout(nexus->owned);
}

/* The tasks that were lost wait for a fence, which may come before TCP lets go of their pages. */
static void nexus_halt_session(struct istripe_nexus *nexus)
{
	nexus->ending = nexus_disown(nexus);
	istripe_session_halt(nexus->ending);
}

static void nexus_close_ending(struct istripe_nexus *nexus)
{
	bool released;

	if (!nexus->ending)
		return;
	released = istripe_session_close(nexus->ending);
	nexus->ending = NULL;
	nexus->ops->released(nexus, released);
}

/* An event that comes while the worker queues itself must not wait until that has run. */
static void nexus_requeue(struct istripe_nexus *nexus)
{
	bool woken = test_bit(ISTRIPE_NEXUS_WAKE, &nexus->events);

	mod_delayed_work(nexus->queue, &nexus->work, istripe_backoff_left(nexus, woken));
	/* Queue, then test the bits; istripe_nexus_event() sets the bit, then queues. */
	smp_mb();
	if (test_bit(ISTRIPE_NEXUS_STOP, &nexus->events) ||
	    (!woken && test_bit(ISTRIPE_NEXUS_WAKE, &nexus->events)) ||
	    test_and_clear_bit(ISTRIPE_NEXUS_RETIRE, &nexus->events))
		mod_delayed_work(nexus->queue, &nexus->work, 0);
}

static void nexus_back_off(struct istripe_nexus *nexus, enum istripe_nexus_state state,
			   u32 wait_ms)
{
	istripe_backoff_begin(nexus, wait_ms);
	nexus_set_state(nexus, state);
	/* If no login is wanted the worker checks at once whether the nexus can go idle. */
	if (!READ_ONCE(nexus->wanted))
		set_bit(ISTRIPE_NEXUS_RETIRE, &nexus->events);
	nexus_requeue(nexus);
}

static void nexus_way(const struct istripe_nexus *nexus, struct istripe_way *way)
{
	const struct istripe_path_params *params = &nexus->path->params;

	way->portal = *istripe_moved_portal_next(nexus);
	istripe_params_read(&way->source_address, &params->source_address,
			    sizeof(way->source_address));
	istripe_params_read(way->nic, params->nic, sizeof(way->nic));
}

/* The first session of an mcs path asks for all its connections, which are as many as nexuses. */
static u32 nexus_connections(const struct istripe_nexus *nexus)
{
	const struct istripe_path *path = nexus->path;

	return path->params.multi == ISTRIPE_MULTI_MCS && !nexus->index ?
		READ_ONCE(path->nexus_count) : 1;
}

void istripe_nexus_login_params(struct istripe_nexus *nexus, struct istripe_session_params *params)
{
	const struct istripe_volume *volume = nexus->leg->volume;

	*params = (struct istripe_session_params) {
		.label = nexus->label,
		.path = &nexus->path->params,
		.connections = nexus_connections(nexus),
		.initiator_name = volume->initiator_name,
		.net = volume->net,
		.tpgt = nexus->tpgt,
		.task_slots = READ_ONCE(volume->queue_depth) * volume->parts,
		.buffers = nexus->buffers,
	};
	memcpy(params->isid, nexus->isid, sizeof(params->isid));
}

int istripe_nexus_open_session(struct istripe_nexus *nexus,
			       const struct istripe_session_params *params,
			       struct istripe_reason *why)
{
	return istripe_session_open(params, &nexus_session_ops, nexus, &nexus->owned, why);
}

static int nexus_bring_up(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_lun_time time = istripe_nexus_login_time(nexus);
	int ret = istripe_nexus_ask_lun(nexus, &time, why);

	if (ret)
		return ret;
	nexus->owned->lun = nexus->found.address;
	return nexus->ops->drain(nexus, why) ?: nexus->ops->check(nexus, why);
}

static int nexus_attempt(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_session_params params;
	u32 tries = ISTRIPE_REVALIDATIONS_MAX;
	int ret;

	/* Before they are read; pairs with the release in istripe_path_relogin(). */
	nexus->login_seen = smp_load_acquire(&nexus->path->login_changes);
	istripe_nexus_login_params(nexus, &params);
	nexus_way(nexus, &params.way);
	/* In another portal group the login ends no old session. */
	params.tpgt.known &= nexus->ops->waits(nexus);
	ret = istripe_nexus_open_session(nexus, &params, why);
	WRITE_ONCE(nexus->barred, ret == -EXDEV);
	if (ret)
		return ret;
	/* The first connection has reinstated the old session, if there was one. */
	istripe_session_join(nexus->owned, &params);
	/* A reset of the LUN over another nexus may end a command. */
	do {
		ret = nexus_bring_up(nexus, why);
	} while (istripe_lun_has_dropped(ret) && nexus->owned->internal.task.error == ret &&
		 --tries);
	return ret;
}

/*
 * Makes the session visible: what @admit looks at may change until then. It gets tasks when it is
 * admitted, for whose loss there is a fence.
 */
static int nexus_publish(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_path *path = nexus->path;

	spin_lock(&path->login_lock);
	if (nexus->login_seen == path->login_changes)
		rcu_assign_pointer(nexus->session, nexus->owned);
	spin_unlock(&path->login_lock);
	if (rcu_access_pointer(nexus->session) && nexus->ops->admit(nexus)) {
		WRITE_ONCE(nexus->owned->admitted, true);
		return 0;
	}
	nexus_withdraw(nexus);
	return istripe_reason_fail(why, -EAGAIN,
				   "logged in while superblocks were read, or keys of reservations changed: once more");
}

static void nexus_outdated_why(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	if (nexus->login_seen != READ_ONCE(nexus->path->login_changes))
		istripe_reason_set(why,
				   "login: settings of the path have changed meanwhile: once more");
}

static bool nexus_is_to_ask(const struct istripe_nexus *nexus)
{
	return test_bit(ISTRIPE_NEXUS_REVALIDATE, &nexus->events) ||
	       test_bit(ISTRIPE_NEXUS_ACCESS, &nexus->events);
}

/* A port that takes no I/O, or is not the best, is asked from time to time: not all tell. */
static void nexus_watch_access(struct istripe_nexus *nexus)
{
	u32 access_ms = nexus->ops->access_poll_ms(nexus);
	u32 poll_ms = min_not_zero(access_ms, nexus->ops->keys_poll_ms(nexus));
	u64 next = nexus->revalidated_at + msecs_to_jiffies(poll_ms);
	u64 now = get_jiffies_64();

	/* One that is to ask is queued already, perhaps for later. */
	if (!poll_ms || nexus_is_to_ask(nexus))
		return;
	if (time_before64(now, next))
		queue_delayed_work(nexus->queue, &nexus->work, next - now);
	else
		istripe_nexus_event(nexus, access_ms ? ISTRIPE_NEXUS_ACCESS : ISTRIPE_NEXUS_KEYS);
}

static void nexus_go_live(struct istripe_nexus *nexus)
{
	istripe_moved_portal_live(nexus);
	WRITE_ONCE(nexus->live_since, jiffies);
	clear_bit(ISTRIPE_NEXUS_WAKE, &nexus->events);
	WRITE_ONCE(nexus->failed_logins, 0);
	WRITE_ONCE(nexus->backoff.refusals, 0);
	nexus->revalidated_at = get_jiffies_64();
	nexus->revalidations = 0;
	WRITE_ONCE(nexus->revalidate_error, 0);
	if (nexus->started) {
		nexus->reconnects++;
		if (__ratelimit(&nexus->log_limit))
			pr_info("%s: connected again\n", nexus->label);
	} else if (nexus->owned->negotiation.note[0]) {
		pr_notice("%s: login: %s\n", nexus->label, nexus->owned->negotiation.note);
	}
	nexus->started = true;
	nexus->trial.due = false;
	WRITE_ONCE(nexus->trial.timed_out, false);
	WRITE_ONCE(nexus->trial.elsewhere, 0);
	nexus_set_state(nexus, ISTRIPE_NEXUS_LIVE);
	nexus->ops->live(nexus);
	nexus_watch_access(nexus);
	complete_all(&nexus->first_result);
}

/* The nexus is not wanted, and nothing waits for the end of its old session. */
static void nexus_go_idle(struct istripe_nexus *nexus)
{
	nexus_close_ending(nexus);
	nexus->ops->leave(nexus);
	if (nexus->owned)
		istripe_nexus_logout(nexus);
	istripe_nexus_close_session(nexus);
	istripe_moved_portal_forget(nexus);
	if (nexus->state != ISTRIPE_NEXUS_IDLE)
		nexus_set_state(nexus, ISTRIPE_NEXUS_IDLE);
	complete_all(&nexus->first_result);
	complete_all(&nexus->idled);
}

/* The LUN may be mapped there again, or take as much again, or one answer was wrong. */
static bool nexus_lun_may_return(const struct istripe_nexus *nexus)
{
	return nexus->mismatch == -ENODEV || nexus->mismatch == -E2BIG;
}

/* The target may be late over this nexus. */
static bool nexus_may_catch_up(const struct istripe_nexus *nexus)
{
	return nexus->mismatch == -ENOSPC &&
	       nexus->found.capacity.blocks >= nexus->leg->first_blocks;
}

/* A LUN smaller than at first has lost data; one that somebody else has used has other data. */
static bool nexus_found_the_end(const struct istripe_nexus *nexus)
{
	return nexus->mismatch && !nexus_lun_may_return(nexus) && !nexus_may_catch_up(nexus);
}

/* False for the same failure again, unless it is the last one. */
static bool nexus_failure_is_news(struct istripe_nexus *nexus, const char *why)
{
	/* Two portals may fail for two reasons, again and again. */
	bool same = istripe_last_error_is(nexus, why) || istripe_moved_portal_in_turn(nexus);

	return !nexus->failed_logins || !same || nexus_found_the_end(nexus);
}

/* The session's fault, noted when it was closed, says why a command of our own was lost with it. */
static void nexus_fault_why(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	struct istripe_reason fault;

	if (!test_bit(ISTRIPE_NEXUS_FAULT, &nexus->events))
		return;
	istripe_last_error_read(nexus, &fault);
	istripe_reason_set(why, "LUN bring-up: %s", fault.text);
}

static bool nexus_is_first(const struct istripe_nexus *nexus)
{
	return !nexus->started && !READ_ONCE(nexus->persistent);
}

/* A refused reset may be transient, and three refusals decide: worth the wait (lun_reset.c). */
static bool nexus_first_goes_on(const struct istripe_nexus *nexus, int error)
{
	return nexus_is_first(nexus) && error == -EIO && nexus->reset.refusals &&
	       !nexus->mismatch && nexus->failed_logins < FIRST_TRIES_MAX;
}

static void nexus_refused_why(const struct istripe_nexus *nexus, struct istripe_reason *why)
{
	istripe_reason_add(why, "; refused, %s",
			   nexus->ops->waits(nexus) ? "and writes wait for it" :
						      "and tried again slowly");
}

/* The login, by the target or because of CHAP, or the LUN by us; before its session is closed. */
static bool nexus_is_refused(const struct istripe_nexus *nexus)
{
	return nexus_lun_may_return(nexus) ||
	       (nexus->owned && test_bit(ISTRIPE_SESSION_REFUSED, &nexus->owned->flags));
}

/* A fence, which may become possible, does not wait as long as the target asks. @fences: it is. */
static void nexus_wait(struct istripe_nexus *nexus, enum istripe_nexus_state state, u32 wait_ms,
		       bool fences)
{
	u32 asked_ms = istripe_backoff_asked_left_ms(nexus);

	fences |= asked_ms > ISTRIPE_SEVERAL_WAIT_MS && nexus->ops->waits(nexus);
	WRITE_ONCE(nexus->fence_first, fences);
	nexus_back_off(nexus, state, fences ? ISTRIPE_SEVERAL_WAIT_MS : max(wait_ms, asked_ms));
}

struct nexus_failure {
	int error;
	bool goes_on;			/* the first result is not known yet */
	bool refused;
	bool several;			/* its session had several connections */
};

/* Before its session is closed. */
static struct nexus_failure nexus_note_loss(struct istripe_nexus *nexus, int error,
					    struct istripe_reason *why)
{
	const struct istripe_session *session = nexus->owned;
	const struct nexus_failure failure = {
		.error = error,
		.goes_on = nexus_first_goes_on(nexus, error),
		.refused = nexus_is_refused(nexus) && !nexus_is_first(nexus),
		.several = session && session->conns[1],
	};
	bool lost = failure.several ||
		    (session && test_bit(ISTRIPE_SESSION_FAULTED, &session->flags));

	if (failure.refused)
		nexus_refused_why(nexus, why);
	istripe_backoff_note_busy(nexus, error == -EBUSY);
	if (lost)
		istripe_backoff_lost(nexus);
	return failure;
}

/* -EAGAIN: the LUN says again and again that it has changed, as some do while they start. */
static int nexus_first_error(const struct istripe_nexus *nexus, int error)
{
	return error == -ESTALE && !nexus->mismatch ? -EAGAIN : error;
}

static void nexus_note_failure(struct istripe_nexus *nexus, const struct nexus_failure *failure,
			       struct istripe_reason *why)
{
	WRITE_ONCE(nexus->backoff.asked_at, jiffies);
	if (failure->error == -ENOTCONN)
		nexus_fault_why(nexus, why);
	if (nexus_failure_is_news(nexus, why->text))
		pr_warn("%s: %s\n", nexus->label, why->text);
	WRITE_ONCE(nexus->failed_logins, nexus->failed_logins + 1);
	nexus->backoff.failures++;
	WRITE_ONCE(nexus->backoff.refusals, failure->refused ? nexus->backoff.refusals + 1 : 0);
	istripe_last_error_note(nexus, failure->error, why->text);
	/* A revalidation's result is valid as long as logins find a mismatch, too. */
	if (!nexus->mismatch)
		WRITE_ONCE(nexus->revalidate_error, 0);
	if (!nexus->started && !failure->goes_on)
		nexus->first_error = nexus_first_error(nexus, failure->error);
}

/* Not if settings have changed since the attempt began: path_takes_login() takes this lock. */
static bool nexus_dies(struct istripe_nexus *nexus)
{
	struct istripe_path *path = nexus->path;
	bool dies;

	if (!nexus_found_the_end(nexus) || nexus->ops->waits(nexus))
		return false;
	spin_lock(&path->login_lock);
	dies = nexus->login_seen == path->login_changes;
	if (dies)
		nexus_set_state(nexus, ISTRIPE_NEXUS_DEAD);
	spin_unlock(&path->login_lock);
	return dies;
}

static void nexus_go_on_after(struct istripe_nexus *nexus, const struct nexus_failure *failure)
{
	if (nexus_is_first(nexus) && !failure->goes_on) {
		/* The caller that started the nexus wants the first result. */
		nexus_set_state(nexus, ISTRIPE_NEXUS_IDLE);
	} else if (!nexus_dies(nexus)) {
		if (!failure->several)
			nexus->ops->fence(nexus);
		nexus_wait(nexus,
			   failure->refused ? ISTRIPE_NEXUS_REFUSED : ISTRIPE_NEXUS_BACKOFF,
			   istripe_backoff_ms(nexus),
			   failure->several && nexus->ops->fence_wanted(nexus));
	}
	if (!failure->goes_on)
		complete_all(&nexus->first_result);
}

static void nexus_attempt_failed(struct istripe_nexus *nexus, int error, struct istripe_reason *why)
{
	const struct nexus_failure failure = nexus_note_loss(nexus, error, why);

	if (nexus_is_first(nexus))
		nexus->ops->leave(nexus);
	istripe_nexus_close_session(nexus);
	nexus_note_failure(nexus, &failure, why);
	nexus_go_on_after(nexus, &failure);
}

/* After the loss of a session; one that was short counts as a failed attempt. */
static void nexus_await_login(struct istripe_nexus *nexus, bool fences)
{
	nexus_wait(nexus, ISTRIPE_NEXUS_BACKOFF,
		   nexus->backoff.failures ? istripe_backoff_ms(nexus) : 0, fences);
}

/* True: other writes wait for a fence then, and @fence_first stays. */
static bool nexus_fence(struct istripe_nexus *nexus)
{
	bool ended;

	nexus->ops->fence(nexus);
	ended = !nexus->ops->waits(nexus);
	/* Answered writes that TCP had data of follow. */
	nexus_close_ending(nexus);
	return ended && nexus->ops->fence_wanted(nexus);
}

static void nexus_connect(struct istripe_nexus *nexus)
{
	bool fences = nexus->fence_first;
	struct istripe_reason why = {};
	int ret;

	clear_bit(ISTRIPE_NEXUS_START, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_FAULT, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_LOGOUT, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_EH, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_REVALIDATE, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_ACCESS, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_KEYS, &nexus->events);
	clear_bit(ISTRIPE_NEXUS_REVALIDATE_NOW, &nexus->events);
	nexus->access_only = false;
	istripe_eh_clear(nexus);
	nexus->mismatch = 0;
	nexus_set_state(nexus, ISTRIPE_NEXUS_CONNECTING);
	if (fences && nexus_fence(nexus)) {
		nexus_back_off(nexus, ISTRIPE_NEXUS_BACKOFF, 0);
		return;
	}
	/* It may have been idle, and is wanted again. */
	if (fences || istripe_backoff_asked_left_ms(nexus)) {
		nexus_await_login(nexus, false);
		return;
	}
	istripe_backoff_attempt(nexus);
	ret = nexus_attempt(nexus, &why);
	if (!ret && !READ_ONCE(nexus->wanted)) {
		nexus_go_idle(nexus);
		return;
	}
	if (!ret)
		ret = nexus_publish(nexus, &why);
	if (ret) {
		nexus_outdated_why(nexus, &why);
		nexus_attempt_failed(nexus, ret, &why);
	} else {
		nexus_go_live(nexus);
	}
}

/*
 * Is the old session to be ended before the back-off? If not, it is closed. A fence need not wait
 * for the next login, except after several connections.
 */
static bool nexus_fences_first(struct istripe_nexus *nexus)
{
	/* Its writes are sent again at once, unless TCP may still have pages of theirs. */
	if (!nexus->several && istripe_session_holds_pages(nexus->ending) &&
	    nexus->ops->fence_wanted(nexus))
		return true;
	nexus_close_ending(nexus);
	return !nexus->several && nexus->ops->fence_wanted(nexus);
}

static void nexus_end_session(struct istripe_nexus *nexus, bool logout)
{
	nexus_set_state(nexus, ISTRIPE_NEXUS_CLOSING);
	nexus->ops->lost(nexus);
	nexus_withdraw(nexus);
	/* Not before: what is in flight would end with a conflict. */
	if (logout && istripe_session_is_idle(nexus->owned))
		nexus->ops->leave(nexus);
	if (logout && istripe_session_finish_tasks(nexus->owned) &&
	    (!nexus->owned->quirks.no_busy_logout || istripe_session_is_idle(nexus->owned)))
		istripe_session_logout(nexus->owned);
	if (time_after(jiffies, nexus->live_since + msecs_to_jiffies(SHORT_LIFE_MS))) {
		nexus->backoff.failures = 0;
		nexus->trial.pings_lost = 0;
	} else {
		nexus->backoff.failures++;
	}
	WRITE_ONCE(nexus->lost_at, jiffies);
	nexus->several = false;
	istripe_backoff_lost(nexus);
	nexus_halt_session(nexus);
	WRITE_ONCE(nexus->fence_first, nexus_fences_first(nexus));
	/* The resets of several connections may have been sent just now; see backoff.h. */
	if (nexus->several) {
		WRITE_ONCE(nexus->lost_at, jiffies);
		WRITE_ONCE(nexus->backoff.asked_at, jiffies);
	}
}

static void nexus_recover(struct istripe_nexus *nexus)
{
	if (nexus->fence_first)
		nexus_back_off(nexus, ISTRIPE_NEXUS_BACKOFF, 0);
	else
		nexus_await_login(nexus, nexus->several && nexus->ops->fence_wanted(nexus));
}

static void nexus_serve(struct istripe_nexus *nexus)
{
	/* It was retiring and is wanted again. A proof has skipped it meanwhile. */
	if (test_and_clear_bit(ISTRIPE_NEXUS_START, &nexus->events) && !READ_ONCE(nexus->live))
		nexus->ops->live(nexus);
	if (test_and_clear_bit(ISTRIPE_NEXUS_FAULT, &nexus->events)) {
		nexus->faults++;
		nexus->trial.due = true;
		nexus_end_session(nexus, false);
		nexus_recover(nexus);
		return;
	}
	if (test_and_clear_bit(ISTRIPE_NEXUS_LOGOUT, &nexus->events) ||
	    (!READ_ONCE(nexus->wanted) && istripe_session_is_idle(nexus->owned))) {
		nexus_end_session(nexus, true);
		nexus_recover(nexus);
		return;
	}
	if (test_and_clear_bit(ISTRIPE_NEXUS_EH, &nexus->events))
		istripe_eh_recover(nexus);
	istripe_nexus_revalidate_if_asked(nexus);
	nexus_watch_access(nexus);
}

static void nexus_shut_down(struct istripe_nexus *nexus)
{
	if (nexus->state == ISTRIPE_NEXUS_LIVE)
		nexus_end_session(nexus, !test_bit(ISTRIPE_NEXUS_FAULT, &nexus->events));
	nexus_close_ending(nexus);
	if (nexus->state != ISTRIPE_NEXUS_IDLE)
		nexus_set_state(nexus, ISTRIPE_NEXUS_IDLE);
	if (!nexus->started)
		nexus->first_error = nexus->first_error ?: -EINTR;
	complete_all(&nexus->first_result);
	complete_all(&nexus->stopped);
}

/* Between two attempts. */
static bool nexus_is_waiting(const struct istripe_nexus *nexus)
{
	return nexus->state == ISTRIPE_NEXUS_BACKOFF || nexus->state == ISTRIPE_NEXUS_REFUSED;
}

static bool nexus_waits_on(const struct istripe_nexus *nexus)
{
	return nexus_is_waiting(nexus) &&
	       istripe_backoff_left(nexus, test_bit(ISTRIPE_NEXUS_WAKE, &nexus->events));
}

static void nexus_work(struct work_struct *work)
{
	struct istripe_nexus *nexus =
		container_of(to_delayed_work(work), struct istripe_nexus, work);
	unsigned int noio = memalloc_noio_save();

	if (test_bit(ISTRIPE_NEXUS_STOP, &nexus->events)) {
		nexus_shut_down(nexus);
	} else if (nexus->state == ISTRIPE_NEXUS_LIVE) {
		nexus_serve(nexus);
	} else if (!READ_ONCE(nexus->wanted) && !nexus->ops->waits(nexus)) {
		nexus_go_idle(nexus);
	} else if (nexus_waits_on(nexus)) {
		/* An event that changes nothing, or too early. */
		nexus_requeue(nexus);
	} else if (nexus_is_waiting(nexus) ||
		   test_and_clear_bit(ISTRIPE_NEXUS_START, &nexus->events)) {
		nexus_connect(nexus);
	}
	memalloc_noio_restore(noio);
}

/* If the nexus is not live any more, the next login identifies the LUN. */
void istripe_nexus_revalidate(struct istripe_nexus *nexus)
{
	if (READ_ONCE(nexus->state) != ISTRIPE_NEXUS_LIVE)
		return;
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE_NOW);
	flush_work(&nexus->work.work);
}

void istripe_nexus_persist(struct istripe_nexus *nexus)
{
	WRITE_ONCE(nexus->persistent, true);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_START);
	istripe_nexus_wake(nexus);
}

void istripe_nexus_wake(struct istripe_nexus *nexus)
{
	enum istripe_nexus_state state = READ_ONCE(nexus->state);

	if (state != ISTRIPE_NEXUS_IDLE && state != ISTRIPE_NEXUS_LIVE &&
	    state != ISTRIPE_NEXUS_DEAD)
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_WAKE);
}

/* Lets a login that is under way fail soon. */
static void nexus_interrupt(struct istripe_nexus *nexus)
{
	mutex_lock(&nexus->session_lock);
	if (nexus->owned && READ_ONCE(nexus->state) == ISTRIPE_NEXUS_CONNECTING)
		istripe_session_interrupt(nexus->owned);
	mutex_unlock(&nexus->session_lock);
}

void istripe_nexus_relogin(struct istripe_nexus *nexus)
{
	nexus_interrupt(nexus);
	istripe_nexus_wake(nexus);
}

void istripe_nexus_retire(struct istripe_nexus *nexus)
{
	/*
	 * The worker looks for tasks in the session's table; the end of a task takes it off the
	 * table, then reads @wanted. Neither has a barrier: after a grace period each processor has
	 * had one, so one of the two sees the other's change.
	 */
	synchronize_rcu();
	if (!nexus->ops->waits(nexus))
		nexus_interrupt(nexus);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_RETIRE);
}

void istripe_nexus_stop(struct istripe_nexus *nexus)
{
	set_bit(ISTRIPE_NEXUS_STOP, &nexus->events);
	nexus->ops->stop(nexus);
	do {
		/* Repeated: there may be no socket to interrupt yet. */
		nexus_interrupt(nexus);
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_STOP);
	} while (!wait_for_completion_timeout(&nexus->stopped, HZ));
	cancel_delayed_work_sync(&nexus->work);
}

/* "volume/leg/path", and ".index" of further nexuses of the path. */
static void nexus_set_label(struct istripe_nexus *nexus)
{
	int used = scnprintf(nexus->label, sizeof(nexus->label), "%s/%u/%u",
			     nexus->leg->volume->name, nexus->leg->index, nexus->path->index);

	if (nexus->index)
		scnprintf(nexus->label + used, sizeof(nexus->label) - used, ".%u", nexus->index);
}

/*
 * Workers wait for targets. Without memory for threads a queue has only its rescuer, which does one
 * work at a time; so each nexus has a queue, and with it a rescuer, of its own.
 */
static struct workqueue_struct *nexus_create_queue(const struct istripe_nexus *nexus)
{
	return alloc_ordered_workqueue("istripe_%d/%u/%u.%u", WQ_MEM_RECLAIM,
				       nexus->leg->volume->id, nexus->leg->index,
				       nexus->path->index, nexus->index);
}

static void nexus_init(struct istripe_nexus *nexus, struct istripe_path *path, u32 index)
{
	nexus->leg = path->leg;
	nexus->ops = path->leg->nexus_ops;
	nexus->path = path;
	nexus->index = index;
	nexus_set_label(nexus);
	nexus->state = ISTRIPE_NEXUS_IDLE;
	istripe_backoff_init(nexus);
	INIT_DELAYED_WORK(&nexus->work, nexus_work);
	nexus->ops->init(nexus);
	mutex_init(&nexus->session_lock);
	mutex_init(&nexus->ask_lock);
	spin_lock_init(&nexus->event_lock);
	ratelimit_state_init(&nexus->log_limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	INIT_LIST_HEAD(&nexus->awaiting_fence);
	init_completion(&nexus->first_result);
	init_completion(&nexus->stopped);
	init_completion(&nexus->idled);
	istripe_isid_choose(nexus);
}

struct istripe_nexus *istripe_nexus_create(struct istripe_path *path, u32 index)
{
	struct istripe_nexus *nexus = kvzalloc(sizeof(*nexus), GFP_KERNEL);

	if (!nexus)
		return ERR_PTR(-ENOMEM);
	nexus_init(nexus, path, index);
	nexus->queue = nexus_create_queue(nexus);
	if (!nexus->queue)
		goto free_nexus;
	if (init_srcu_struct(&nexus->srcu))
		goto destroy_queue;
	if (istripe_ghosts_init(&nexus->ghosts, nexus->leg->volume->queue_depth *
						nexus->leg->volume->parts))
		goto cleanup_srcu;
	nexus->buffers = istripe_login_buffers_alloc(&nexus->path->hashes);
	if (!nexus->buffers)
		goto free_ghosts;
	return nexus;

free_ghosts:
	istripe_ghosts_free(&nexus->ghosts);
cleanup_srcu:
	cleanup_srcu_struct(&nexus->srcu);
destroy_queue:
	destroy_workqueue(nexus->queue);
free_nexus:
	kvfree(nexus);
	return ERR_PTR(-ENOMEM);
}

void istripe_nexus_destroy(struct istripe_nexus *nexus)
{
	if (IS_ERR_OR_NULL(nexus))
		return;
	/*
	 * Submitters, other nexuses' workers and timeouts use it within sections of leg->srcu,
	 * which have ended: with the disk or, when the nexus was taken out of a leg that is up,
	 * with a grace period; sysfs readers ended with their directories. A section may have left
	 * an event, or a work of another nexus's LUN reset.
	 */
	WARN_ON_ONCE(nexus->owned || nexus->ending || !list_empty(&nexus->awaiting_fence));
	cancel_work_sync(&nexus->reset.work);
	cancel_delayed_work_sync(&nexus->work);
	destroy_workqueue(nexus->queue);
	istripe_login_buffers_free(nexus->buffers);
	istripe_ghosts_free(&nexus->ghosts);
	cleanup_srcu_struct(&nexus->srcu);
	kvfree(nexus);
}
