// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/istripe.h>

#include "block/bundle.h"
#include "block/carrier.h"
#include "block/fence.h"
#include "block/io.h"
#include "block/isid.h"
#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/metadata.h"
#include "block/overdue.h"
#include "block/path.h"
#include "block/proof.h"
#include "block/protection.h"
#include "block/volume.h"
#include "transport/socket.h"

#define BACKOFF_FIRST_MS	100
#define BACKOFF_MAX_MS		10000
#define SHORT_LIFE_MS		1000
/* At the first start, of which each ends with a reset that the target refuses: about 20 s. */
#define FIRST_TRIES_MAX		8
#define TIME2WAIT_MAX_MS	60000
/* A target that says all the time that its LUN has changed is not asked all the time. */
#define LOOK_INTERVAL_MS	500
#define LOOK_TIMEOUT_MS		30000
/* Longer than a question takes. */
#define INDULGE_MS		60000

/* It must not wait behind I/O that it is to save, and nothing on it waits for a target. */
struct workqueue_struct *istripe_recovery_wq;
struct workqueue_struct *istripe_reset_wq;

int istripe_path_init(void)
{
	istripe_recovery_wq = alloc_workqueue("istripe_recovery", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	istripe_reset_wq = alloc_workqueue("istripe_reset", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (istripe_recovery_wq && istripe_reset_wq)
		return 0;
	istripe_path_exit();
	return -ENOMEM;
}

void istripe_path_exit(void)
{
	if (istripe_reset_wq)
		destroy_workqueue(istripe_reset_wq);
	if (istripe_recovery_wq)
		destroy_workqueue(istripe_recovery_wq);
}

static void path_set_state(struct istripe_path *path, enum istripe_path_state state)
{
	trace_istripe_state(path->label, "path", istripe_path_state_name(path->state),
			    istripe_path_state_name(state));
	WARN_ON_ONCE(!istripe_path_state_may(path->state, state));
	WRITE_ONCE(path->state, state);
}

void istripe_path_event(struct istripe_path *path, enum istripe_path_event event)
{
	set_bit(event, &path->events);
	mod_delayed_work(path->queue, &path->work, 0);
}

void istripe_path_attention(struct istripe_path *path, const char *what)
{
	pr_info_ratelimited("%s: the LUN says: %s: asking what it is\n", path->label, what);
	istripe_path_event(path, ISTRIPE_PATH_DOUBT);
}

static void path_note_error(struct istripe_path *path, int error, const char *why)
{
	unsigned long flags;

	spin_lock_irqsave(&path->event_lock, flags);
	path->last_errno = error;
	WRITE_ONCE(path->error_time, ktime_get());
	strscpy(path->last_error, why, sizeof(path->last_error));
	spin_unlock_irqrestore(&path->event_lock, flags);
}

void istripe_path_last_error(struct istripe_path *path, char *why, size_t why_bytes)
{
	unsigned long flags;

	spin_lock_irqsave(&path->event_lock, flags);
	strscpy(why, path->last_error, why_bytes);
	spin_unlock_irqrestore(&path->event_lock, flags);
}

/* The session's ears: note, tell the worker, touch nothing. */
static void path_session_fault(struct istripe_session *session, int error, const char *why)
{
	struct istripe_path *path = session->owner;

	path_note_error(path, error, why);
	pr_warn_ratelimited("%s: %s\n", path->label, why);
	istripe_path_event(path, ISTRIPE_PATH_FAULT);
}

static void path_session_logout_requested(struct istripe_session *session, const char *why)
{
	struct istripe_path *path = session->owner;

	path_note_error(path, -ESHUTDOWN, why);
	pr_info_ratelimited("%s: %s\n", path->label, why);
	istripe_path_event(path, ISTRIPE_PATH_LOGOUT);
}

static void path_session_attention(struct istripe_session *session, const char *what)
{
	istripe_path_attention(session->owner, what);
}

static const struct istripe_session_ops path_session_ops = {
	.fault = path_session_fault,
	.logout_requested = path_session_logout_requested,
	.attention = path_session_attention,
};

static void bundle_count(struct istripe_bundle *bundle, const struct istripe_leg_task *leg_task,
			 int sign)
{
	if (!leg_task->counted)
		return;
	atomic_add(sign, &bundle->in_flight);
	atomic_long_add(sign * (long)leg_task->task.data.length_bytes, &bundle->in_flight_bytes);
}

bool istripe_path_submit(struct istripe_path *path, struct istripe_leg_task *leg_task,
			 bool may_send, bool more)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);

	if (session) {
		WRITE_ONCE(leg_task->path, path);
		leg_task->counted = path->leg->bundle_end > 1;
		leg_task->task.lun = session->lun;
		bundle_count(path->bundle, leg_task, 1);
		istripe_session_submit(session, &leg_task->task, may_send, more);
	}
	srcu_read_unlock(&path->srcu, section);
	return session;
}

void istripe_path_done(struct istripe_leg_task *leg_task)
{
	struct istripe_path *path = leg_task->path;

	bundle_count(path->bundle, leg_task, -1);
	/* The task is off the session's table; see istripe_path_leave(). */
	if (!READ_ONCE(path->wanted))
		istripe_path_event(path, ISTRIPE_PATH_LEAVE);
}

void istripe_path_push(struct istripe_path *path)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);

	if (session)
		istripe_session_push(session);
	srcu_read_unlock(&path->srcu, section);
}

void istripe_path_tune(struct istripe_path *path, const struct istripe_socket_params *wanted)
{
	/* The worker waits for the lock, and memory may wait for the worker. */
	unsigned int noio = memalloc_noio_save();
	struct istripe_session *session;

	/*
	 * First: a session that is not found below makes its sockets later, and then its
	 * look at the settings comes after this.
	 */
	istripe_socket_params_copy(&path->params.socket, wanted);
	mutex_lock(&path->session_lock);
	/* Pairs with the release in istripe_session_open(), which does not take the lock. */
	session = smp_load_acquire(&path->owned);
	if (session)
		istripe_session_tune(session);
	mutex_unlock(&path->session_lock);
	memalloc_noio_restore(noio);
}

/* Phase one of the session's death: nobody new finds it, nobody is inside. */
static void path_withdraw(struct istripe_path *path)
{
	rcu_assign_pointer(path->session, NULL);
	synchronize_srcu(&path->srcu);
}

/* Phase two: sysfs lets go, then stop, collect, free. */
void istripe_path_close_session(struct istripe_path *path, int error)
{
	struct istripe_session *session = path->owned;
	bool protected;

	mutex_lock(&path->session_lock);
	path->owned = NULL;
	mutex_unlock(&path->session_lock);
	mutex_lock(&path->leg->identify_lock);
	protected = path->blocks && READ_ONCE(path->protected);
	path->blocks = 0;
	mutex_unlock(&path->leg->identify_lock);
	/* Only paths that are logged in say so. */
	if (protected)
		istripe_protection_look(path->leg->volume);
	if (session)
		istripe_session_close(session, error);
}

/* The worker queues itself: who stops it, or lets it leave, must not wait that long. */
static void path_requeue(struct istripe_path *path, unsigned long delay)
{
	mod_delayed_work(path->queue, &path->work, delay);
	/* Queue before the look; istripe_path_event() sets the bit, then queues. */
	smp_mb();
	if (test_bit(ISTRIPE_PATH_STOP, &path->events) ||
	    test_and_clear_bit(ISTRIPE_PATH_LEAVE, &path->events))
		mod_delayed_work(path->queue, &path->work, 0);
}

static void path_schedule_retry(struct istripe_path *path, u32 wait_ms)
{
	path->retry_at = jiffies + msecs_to_jiffies(wait_ms);
	path_set_state(path, ISTRIPE_PATH_BACKOFF);
	/* When nothing waits for another login, there is none to wait for. */
	if (!READ_ONCE(path->wanted))
		set_bit(ISTRIPE_PATH_LEAVE, &path->events);
	path_requeue(path, msecs_to_jiffies(wait_ms));
}

/* Exponential with a quarter of jitter, so that many hosts do not come back as one. */
static u32 path_backoff_ms(const struct istripe_path *path)
{
	u32 ms = BACKOFF_FIRST_MS << min(path->failures, 10u);

	ms = min_t(u32, ms, BACKOFF_MAX_MS);
	return ms - ms / 8 + get_random_u32() % (ms / 4);
}

/* As configured; where a redirect leads to is for each login to find out. */
static void path_way(const struct istripe_path *path, struct istripe_way *way)
{
	way->portal = path->params.portal;
	way->source_address = path->params.source_address;
	strscpy(way->nic, path->params.nic, sizeof(way->nic));
}

void istripe_path_log_in(struct istripe_path *path, struct istripe_session_params *params)
{
	const struct istripe_volume *volume = path->leg->volume;

	*params = (struct istripe_session_params) {
		.label = path->label,
		.path = &path->params,
		.initiator_name = volume->initiator_name,
		.net = volume->net,
		.tpgt = path->tpgt,
		.tpgt_known = path->tpgt_known,
		.task_slots = volume->queue_depth * volume->parts,
		.buffers = path->buffers,
	};
	memcpy(params->isid, path->isid, sizeof(params->isid));
	path_way(path, &params->way);
}

int istripe_path_open_session(struct istripe_path *path,
			      const struct istripe_session_params *params, char *why,
			      size_t why_bytes)
{
	return istripe_session_open(params, &path_session_ops, path, &path->owned, why, why_bytes);
}

/* Is what has been found the LUN we know? */
static int path_judge(struct istripe_path *path, char *why, size_t why_bytes)
{
	int ret = istripe_leg_identify(path->leg, path, why, why_bytes);

	path->refused = ret;
	return ret ?: istripe_metadata_check(path, why, why_bytes);
}

/* Connect, log in, and make sure that it is the LUN we know. */
static int path_attempt(struct istripe_path *path, char *why, size_t why_bytes)
{
	struct istripe_session_params params;
	struct istripe_lun *lun = &path->found;
	u32 timeout_ms = READ_ONCE(path->params.timers.login_timeout_ms);
	int ret;

	istripe_path_log_in(path, &params);
	ret = istripe_path_open_session(path, &params, why, why_bytes);
	if (!ret) {
		/* The old session, if there was one, has been reinstated. */
		istripe_session_join(path->owned, &params);
		/* The setting covers the bring-up, too. */
		ret = istripe_lun_probe(path->owned, path->params.lun, timeout_ms, lun, why,
					why_bytes);
	}
	if (ret)
		return ret;
	path->owned->lun = lun->address;
	return istripe_fence_drain(path, why, why_bytes) ?: path_judge(path, why, why_bytes);
}

/* Whoever looks finds the session now; tasks come when the leg knows. */
static int path_publish(struct istripe_path *path, char *why, size_t why_bytes)
{
	rcu_assign_pointer(path->session, path->owned);
	if (istripe_metadata_admits(path))
		return 0;
	path_withdraw(path);
	scnprintf(why, why_bytes, "logged in while the superblocks were read: once more");
	return -EAGAIN;
}

static void path_go_live(struct istripe_path *path)
{
	path->tpgt = path->owned->target_portal_group_tag;
	path->tpgt_known = true;
	path->live_since = jiffies;
	path->tried = 0;
	istripe_lun_reset_live(path);
	istripe_proof_live(path, path->owned);
	path->looked_at = jiffies;
	path->looks_in_a_row = 0;
	WRITE_ONCE(path->look_error, 0);
	if (path->started) {
		path->reconnects++;
		pr_info_ratelimited("%s: connected again\n", path->label);
	}
	if (!path->started && path->owned->negotiation.note[0])
		pr_notice("%s: login: %s\n", path->label, path->owned->negotiation.note);
	path->started = true;
	path_set_state(path, ISTRIPE_PATH_LIVE);
	istripe_leg_path_live(path->leg, path);
	/* One that was kept without a link, for want of another, may go now. */
	istripe_leg_tell(path->leg, NULL, ISTRIPE_PATH_CARRIER);
	istripe_proof_look(path->leg);
	/* First the spares: whoever waits for us waits for them, too. */
	if (!path->member)
		istripe_bundle_granted(path->bundle,
				       path->owned->keys.value[ISTRIPE_KEY_MAX_CONNECTIONS]);
	complete_all(&path->first_result);
}

/* Nobody wants the path any more, nothing waits for the end of its old session. */
static void path_rest(struct istripe_path *path)
{
	if (path->owned)
		istripe_session_logout(path->owned, ISTRIPE_LOGOUT_TIMEOUT_MS);
	istripe_path_close_session(path, -ECONNRESET);
	if (path->state != ISTRIPE_PATH_IDLE)
		path_set_state(path, ISTRIPE_PATH_IDLE);
	complete_all(&path->first_result);
	complete_all(&path->rested);
}

/*
 * A size that the leg has had since it was first found: a target that is behind, over this
 * path, and may catch up. What is smaller has lost data.
 */
static bool path_may_catch_up(const struct istripe_path *path)
{
	return path->refused == -ENOSPC &&
	       path->found.capacity.blocks >= path->leg->first_blocks;
}

/* The first failure, another reason, and a refusal; but not the same one again and again. */
static bool path_failure_is_news(struct istripe_path *path, const char *why)
{
	unsigned long flags;
	bool same;

	spin_lock_irqsave(&path->event_lock, flags);
	same = !strcmp(path->last_error, why);
	spin_unlock_irqrestore(&path->event_lock, flags);
	return !path->tried || !same || (path->refused && !path_may_catch_up(path));
}

/*
 * A question to the LUN that was lost with its session does not know why the session ended. The
 * fault is the first there was since path_connect(), and has been noted as the session is closed.
 */
static void path_fault_why(struct istripe_path *path, char *why, size_t why_bytes)
{
	char fault[ISTRIPE_WHY_BYTES];

	if (!test_bit(ISTRIPE_PATH_FAULT, &path->events))
		return;
	istripe_path_last_error(path, fault, sizeof(fault));
	scnprintf(why, why_bytes, "LUN bring-up: %s", fault);
}

/* It has not been live yet, and nobody has said that it is to go on trying. */
static bool path_is_first(const struct istripe_path *path)
{
	return !path->started && !READ_ONCE(path->persistent);
}

/* A refusal may pass, and three of them decide: that is worth the wait, see lun_reset.c. */
static bool path_first_goes_on(const struct istripe_path *path, int error)
{
	return path_is_first(path) && error == -EIO && path->resets_refused && !path->refused &&
	       path->tried < FIRST_TRIES_MAX;
}

static void path_attempt_failed(struct istripe_path *path, int error, char *why, size_t why_bytes)
{
	bool goes_on = path_first_goes_on(path, error);

	istripe_path_close_session(path, -ECONNRESET);
	if (error == -ENOTCONN)
		path_fault_why(path, why, why_bytes);
	if (path_failure_is_news(path, why))
		pr_warn("%s: %s\n", path->label, why);
	path->tried++;
	path->failures++;
	path_note_error(path, error, why);
	/* What a look has found holds for as long as logins find so, too. */
	if (!path->refused)
		WRITE_ONCE(path->look_error, 0);
	if (!path->started && !goes_on)
		path->first_error = error;
	if (path_is_first(path) && !goes_on) {
		/* Whoever started us wants to know at once, not to wait and hope. */
		path_set_state(path, ISTRIPE_PATH_IDLE);
	} else if (path->refused && !path_may_catch_up(path) &&
		   !istripe_leg_path_waits(path->leg, path)) {
		path_set_state(path, ISTRIPE_PATH_DEAD);
	} else {
		istripe_fence(path);
		path_schedule_retry(path, path_backoff_ms(path));
	}
	if (!goes_on)
		complete_all(&path->first_result);
}

static u32 path_wait_left_ms(const struct istripe_path *path)
{
	return path->wait_ms - min(path->wait_ms, jiffies_to_msecs(jiffies - path->lost_at));
}

static void path_connect(struct istripe_path *path)
{
	char why[ISTRIPE_WHY_BYTES] = "";
	int ret;

	clear_bit(ISTRIPE_PATH_START, &path->events);
	clear_bit(ISTRIPE_PATH_FAULT, &path->events);
	clear_bit(ISTRIPE_PATH_LOGOUT, &path->events);
	clear_bit(ISTRIPE_PATH_OVERDUE, &path->events);
	clear_bit(ISTRIPE_PATH_GIVE_UP, &path->events);
	clear_bit(ISTRIPE_PATH_DOUBT, &path->events);
	clear_bit(ISTRIPE_PATH_RESCAN, &path->events);
	istripe_overdue_clear(path);
	path->refused = 0;
	path_set_state(path, ISTRIPE_PATH_CONNECTING);
	if (path->fence_first) {
		path->fence_first = false;
		istripe_fence(path);
		path_schedule_retry(path, path_wait_left_ms(path));
		return;
	}
	ret = path_attempt(path, why, sizeof(why));
	if (!ret && !READ_ONCE(path->wanted)) {
		path_rest(path);
		return;
	}
	if (!ret)
		ret = path_publish(path, why, sizeof(why));
	if (ret)
		path_attempt_failed(path, ret, why, sizeof(why));
	else
		path_go_live(path);
}

/*
 * What the target asks for, within reason; and a session that lives for less than a
 * second counts as a failed attempt.
 */
static u32 path_wait_ms(struct istripe_path *path)
{
	u32 asked_ms = min_t(u32, path->owned->time2wait_s * MSEC_PER_SEC, TIME2WAIT_MAX_MS);

	/*
	 * Linux's own target (seen with 6.12) takes its host down when a session of several
	 * connections is reinstated before it has put away the first of them: it follows one
	 * that is gone. They have just been reset: give it time. That is no guarantee.
	 */
	if (path->owned->conn_count > 1)
		asked_ms = max_t(u32, asked_ms, ISTRIPE_SEVERAL_WAIT_MS);
	if (time_after(jiffies, path->live_since + msecs_to_jiffies(SHORT_LIFE_MS))) {
		path->failures = 0;
		return asked_ms;
	}
	path->failures++;
	return max(asked_ms, path_backoff_ms(path));
}

/* The session is of no use any more: its tasks go back to the leg. */
static void path_drain(struct istripe_path *path, bool logout)
{
	path_set_state(path, ISTRIPE_PATH_DRAINING);
	istripe_leg_path_lost(path->leg, path);
	path_withdraw(path);
	if (logout)
		istripe_session_logout(path->owned, ISTRIPE_LOGOUT_TIMEOUT_MS);
	path->wait_ms = path_wait_ms(path);
	path->several = path->owned->conn_count > 1;
	path->lost_at = jiffies;
	istripe_path_close_session(path, -ECONNRESET);
	/* The resets of several connections may have gone out just now; see path_wait_ms(). */
	if (path->several)
		path->lost_at = jiffies;
}

/*
 * Writes need not wait until the path itself may try again; but see path_wait_ms() for
 * sessions of several connections.
 */
static void path_recover(struct istripe_path *path)
{
	path->fence_first = !path->several && istripe_fence_wanted(path);
	path_schedule_retry(path, path->fence_first ? 0 : path_wait_left_ms(path));
}

/*
 * Submitters read the session's address of the LUN: when the target lists the LUN in another
 * form, that takes another session.
 */
static int path_ask(struct istripe_path *path, char *why, size_t why_bytes)
{
	int ret = istripe_lun_probe(path->owned, path->params.lun, LOOK_TIMEOUT_MS, &path->found,
				    why, why_bytes);

	if (ret)
		return ret;
	if (!memcmp(&path->found.address, &path->owned->lun, sizeof(path->owned->lun)))
		return path_judge(path, why, why_bytes);
	scnprintf(why, why_bytes, "the target lists LUN %u at another address now",
		  path->params.lun);
	return -EREMCHG;
}

/*
 * Commands wait for a look, and one that follows upon the other leaves them no time. When it is
 * asynchronous messages that ask for them, commands need not wait while it goes on like that.
 */
static void path_count_look(struct istripe_path *path)
{
	if (time_after(jiffies, path->looked_at + msecs_to_jiffies(2 * LOOK_INTERVAL_MS)))
		path->looks_in_a_row = 0;
	if (path->looks_in_a_row < ISTRIPE_LOOKS_MAX)
		path->looks_in_a_row++;
}

/* Again for each question: the look as a whole may last longer. */
static void path_indulge(struct istripe_path *path)
{
	if (path->looks_in_a_row == ISTRIPE_LOOKS_MAX)
		istripe_session_indulge(path->owned, INDULGE_MS);
}

/* -ESTALE without a refusal: it has said that it has changed while its superblock was read. */
static int path_ask_until_quiet(struct istripe_path *path, char *why, size_t why_bytes)
{
	u32 attempt = 0;
	int ret;

	do {
		path_indulge(path);
		path->refused = 0;
		ret = path_ask(path, why, why_bytes);
	} while (ret == -ESTALE && !path->refused && ++attempt < ISTRIPE_LOOKS_MAX);
	return ret;
}

/*
 * The LUN may have changed: ask it again what it is, over the same session. I/O goes on
 * meanwhile, unless the LUN itself has raised the doubt. When it is not what we know any
 * more, the session ends; whether the path is of use again is for the next login to find
 * out.
 */
static void path_look(struct istripe_path *path)
{
	struct istripe_session *session = path->owned;
	char why[ISTRIPE_WHY_BYTES] = "";
	int doubts, ret;

	clear_bit(ISTRIPE_PATH_DOUBT, &path->events);
	/* What comes from now on is another doubt; pairs with istripe_session_doubt(). */
	smp_mb__after_atomic();
	doubts = istripe_session_doubts(session);
	mutex_lock(&path->ask_lock);
	ret = path_ask_until_quiet(path, why, sizeof(why));
	/* Before the lock goes: a question that timed out is still the session's. */
	if (ret)
		istripe_session_fault(session, ret, "%s", why);
	mutex_unlock(&path->ask_lock);
	path->looked_at = jiffies;
	/* A connection that is lost says nothing about the LUN. */
	WRITE_ONCE(path->look_error, ret == -ENOTCONN ? 0 : ret);
	if (ret)
		return;
	if (!istripe_session_in_doubt(session))
		return;
	/* What had to wait for us is not overdue; what was sent before may well be. */
	istripe_overdue_forget_unsent(path);
	istripe_session_settle(session, doubts);
}

static void path_look_if_asked(struct istripe_path *path)
{
	unsigned long next = path->looked_at + msecs_to_jiffies(LOOK_INTERVAL_MS);

	if (test_and_clear_bit(ISTRIPE_PATH_RESCAN, &path->events)) {
		path_look(path);
		return;
	}
	if (!test_bit(ISTRIPE_PATH_DOUBT, &path->events))
		return;
	if (time_before(jiffies, next)) {
		/* Not mod_delayed_work(): an event that has come meanwhile is not to wait. */
		queue_delayed_work(path->queue, &path->work, next - jiffies);
		return;
	}
	path_count_look(path);
	path_look(path);
}

/* It was to leave and shall stay after all. A proof has passed it over meanwhile. */
static void path_stay(struct istripe_path *path)
{
	if (READ_ONCE(path->live))
		return;
	istripe_proof_live(path, path->owned);
	istripe_leg_path_live(path->leg, path);
	istripe_proof_look(path->leg);
}

static void path_serve(struct istripe_path *path)
{
	if (test_and_clear_bit(ISTRIPE_PATH_START, &path->events))
		path_stay(path);
	if (test_and_clear_bit(ISTRIPE_PATH_CARRIER, &path->events))
		istripe_carrier_check(path);
	if (test_and_clear_bit(ISTRIPE_PATH_FAULT, &path->events)) {
		path->faults++;
		path_drain(path, false);
		path_recover(path);
		return;
	}
	if (test_and_clear_bit(ISTRIPE_PATH_LOGOUT, &path->events) ||
	    (!READ_ONCE(path->wanted) && istripe_session_is_idle(path->owned))) {
		path_drain(path, true);
		path_recover(path);
		return;
	}
	if (test_and_clear_bit(ISTRIPE_PATH_OVERDUE, &path->events))
		istripe_overdue_recover(path);
	path_look_if_asked(path);
}

static void path_shut_down(struct istripe_path *path)
{
	if (path->state == ISTRIPE_PATH_LIVE)
		path_drain(path, !test_bit(ISTRIPE_PATH_FAULT, &path->events));
	if (path->state != ISTRIPE_PATH_IDLE)
		path_set_state(path, ISTRIPE_PATH_IDLE);
	if (!path->started)
		path->first_error = path->first_error ?: -EINTR;
	complete_all(&path->first_result);
	complete_all(&path->stopped);
}

static void path_work(struct work_struct *work)
{
	struct istripe_path *path = container_of(to_delayed_work(work), struct istripe_path, work);
	unsigned int noio = memalloc_noio_save();

	if (test_bit(ISTRIPE_PATH_STOP, &path->events)) {
		path_shut_down(path);
	} else if (path->state == ISTRIPE_PATH_LIVE) {
		path_serve(path);
	} else if (!READ_ONCE(path->wanted) && !istripe_leg_path_waits(path->leg, path)) {
		path_rest(path);
	} else if (path->state == ISTRIPE_PATH_BACKOFF && time_before(jiffies, path->retry_at)) {
		/* An event of a session that is gone woke us too early. */
		path_requeue(path, path->retry_at - jiffies);
	} else if (path->state == ISTRIPE_PATH_BACKOFF ||
		   test_and_clear_bit(ISTRIPE_PATH_START, &path->events)) {
		path_connect(path);
	}
	memalloc_noio_restore(noio);
}

void istripe_path_start(struct istripe_path *path)
{
	istripe_path_event(path, ISTRIPE_PATH_START);
}

/* A path that has ceased to be live has another session soon, and that has been looked at. */
void istripe_path_look_now(struct istripe_path *path)
{
	if (READ_ONCE(path->state) != ISTRIPE_PATH_LIVE)
		return;
	istripe_path_event(path, ISTRIPE_PATH_RESCAN);
	flush_work(&path->work.work);
}

void istripe_path_persist(struct istripe_path *path)
{
	WRITE_ONCE(path->persistent, true);
	istripe_path_event(path, ISTRIPE_PATH_START);
}

/* What is being opened shall fail soon. */
static void path_interrupt(struct istripe_path *path)
{
	mutex_lock(&path->session_lock);
	if (path->owned && READ_ONCE(path->state) == ISTRIPE_PATH_CONNECTING)
		istripe_session_interrupt(path->owned);
	mutex_unlock(&path->session_lock);
}

void istripe_path_leave(struct istripe_path *path)
{
	/*
	 * The worker looks for tasks in the table; whoever takes one off it looks whether
	 * the path is wanted. They do so without barriers: after a grace period each
	 * processor has had one, so that one of the two sees what the other has done.
	 */
	synchronize_rcu();
	if (!istripe_leg_path_waits(path->leg, path))
		path_interrupt(path);
	istripe_path_event(path, ISTRIPE_PATH_LEAVE);
}

void istripe_path_stop(struct istripe_path *path)
{
	set_bit(ISTRIPE_PATH_STOP, &path->events);
	istripe_proof_leave(path);
	do {
		/* Again and again: there may be no socket to interrupt yet. */
		path_interrupt(path);
		istripe_path_event(path, ISTRIPE_PATH_STOP);
	} while (!wait_for_completion_timeout(&path->stopped, HZ));
	cancel_delayed_work_sync(&path->work);
}

/* "volume/leg/path", and which one when a path has several. */
static void path_set_label(struct istripe_path *path)
{
	int used = scnprintf(path->label, sizeof(path->label), "%s/%u/%u",
			     path->leg->volume->name, path->leg->index, path->bundle->index);

	if (path->member)
		scnprintf(path->label + used, sizeof(path->label) - used, ".%u", path->member);
}

/*
 * The worker waits for its target: for a connection, for the answers to a login. When there
 * is no memory for another thread, a queue has its rescuer only, which does one work at a
 * time; so each path has a queue, and with it a rescuer, of its own.
 */
static struct workqueue_struct *path_create_queue(const struct istripe_path *path)
{
	return alloc_ordered_workqueue("istripe_%d/%u/%u.%u", WQ_MEM_RECLAIM,
				       path->leg->volume->id, path->leg->index,
				       path->bundle->index, path->member);
}

struct istripe_path *istripe_path_create(struct istripe_bundle *bundle, u32 member,
					 const struct istripe_path_params *params, u32 connections)
{
	struct istripe_path *path = kvzalloc(sizeof(*path), GFP_KERNEL);

	if (!path)
		return ERR_PTR(-ENOMEM);
	path->leg = bundle->leg;
	path->bundle = bundle;
	path->member = member;
	path->params = *params;
	path->params.offer.value[ISTRIPE_KEY_MAX_CONNECTIONS] = connections;
	path_way(path, &path->way);
	path_set_label(path);
	path->state = ISTRIPE_PATH_IDLE;
	INIT_DELAYED_WORK(&path->work, path_work);
	istripe_lun_reset_init_path(path);
	mutex_init(&path->session_lock);
	mutex_init(&path->ask_lock);
	spin_lock_init(&path->event_lock);
	INIT_LIST_HEAD(&path->fenced);
	init_completion(&path->first_result);
	init_completion(&path->stopped);
	init_completion(&path->rested);
	istripe_isid_choose(path);
	path->queue = path_create_queue(path);
	if (!path->queue)
		goto free_path;
	if (init_srcu_struct(&path->srcu))
		goto destroy_queue;
	path->buffers = istripe_login_buffers_alloc(&path->params);
	if (!path->buffers)
		goto cleanup_srcu;
	return path;

cleanup_srcu:
	cleanup_srcu_struct(&path->srcu);
destroy_queue:
	destroy_workqueue(path->queue);
free_path:
	kvfree_sensitive(path, sizeof(*path));
	return ERR_PTR(-ENOMEM);
}

void istripe_path_destroy(struct istripe_path *path)
{
	if (IS_ERR_OR_NULL(path))
		return;
	/*
	 * The worker is stopped; submitters, other paths' workers and timeouts hold it within
	 * sections of leg->srcu, and have ended with the disk or, when the path was taken out
	 * of a leg that is up, with a grace period; sysfs ended with its directories. What a
	 * section left behind is an event at most, or a work of another path's LUN reset.
	 */
	WARN_ON_ONCE(path->owned || !list_empty(&path->fenced));
	cancel_work_sync(&path->reset_work);
	cancel_delayed_work_sync(&path->work);
	destroy_workqueue(path->queue);
	istripe_login_buffers_free(path->buffers);
	cleanup_srcu_struct(&path->srcu);
	kvfree_sensitive(path, sizeof(*path));
}
