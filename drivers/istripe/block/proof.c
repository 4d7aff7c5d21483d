// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "istripe: " fmt

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include "block/bundle.h"
#include "block/isid.h"
#include "block/leg.h"
#include "block/path.h"
#include "block/proof.h"
#include "block/volume.h"

/* After a path has come: others come at the same time, and it has better things to do. */
#define PROOF_DELAY_MS	1000
/* There and back: each login but the first one must end the session before it. */
#define PROOF_LOGINS	3
/* So many proofs in a row that paths were lost during: less may be bad luck. */
#define PROOF_HARMS_MAX	3
/* A proof that shows nothing is made again, later each time: the target may just be slow. */
#define PROOF_RETRY_MIN_MS	2000
#define PROOF_RETRY_MAX_MS	300000

/* proof->sibling as it was when the run began. */
struct proof_sibling {
	u64 node;
	u32 losses;		/* of the leg */
};

static atomic64_t proof_last_node;

bool istripe_proof_same(const struct istripe_path *path, const struct istripe_path *sibling)
{
	lockdep_assert_held(&path->leg->lock);
	return path->node && path->node == sibling->node;
}

/*
 * The probes' ears. A wish for a logout is none of ours: the session ends soon anyway. What a LUN
 * says is for the path's own session.
 */
static void probe_fault(struct istripe_session *session, int error, const char *why)
{
	struct istripe_probe *probe = session->owner;

	probe->error = error;
	complete_all(&probe->ended);
}

static void probe_logout_requested(struct istripe_session *session, const char *why)
{
}

static void probe_attention(struct istripe_session *session, const char *what)
{
}

static const struct istripe_session_ops probe_ops = {
	.fault = probe_fault,
	.logout_requested = probe_logout_requested,
	.attention = probe_attention,
};

static void probe_close(struct istripe_proof *proof, struct istripe_probe *probe, bool logout)
{
	struct istripe_session *session = probe->session;

	if (!session)
		return;
	if (logout)
		istripe_session_logout(session, ISTRIPE_LOGOUT_TIMEOUT_MS);
	mutex_lock(&proof->lock);
	probe->session = NULL;
	mutex_unlock(&proof->lock);
	istripe_session_close(session, -ECONNRESET);
}

static int probe_open(struct istripe_probe *probe, struct istripe_path *path,
		      struct istripe_login_buffers *buffers, char *why, size_t why_bytes)
{
	struct istripe_session_params params;

	reinit_completion(&probe->ended);
	istripe_path_log_in(path, &params);
	istripe_isid_spare(path, params.isid);
	params.way = probe->way;
	params.fence = true;
	params.task_slots = 0;
	params.buffers = buffers;
	return istripe_session_open(&params, &probe_ops, probe, &probe->session, why, why_bytes);
}

/*
 * The login of another one has been answered: if it is the same node, this one is over by
 * now. An answer to a ping says that it is not; no answer says nothing.
 */
static int probe_check_ended(struct istripe_probe *probe, u32 timeout_ms, char *why,
			     size_t why_bytes)
{
	int ret = istripe_session_ping(probe->session, timeout_ms);

	if (!ret) {
		scnprintf(why, why_bytes,
			  "a login through one does not end the same session through the other, as if two targets had the same name");
		return -EEXIST;
	}
	/* The fault is about to be told, or has been. */
	if (ret == -ENOTCONN)
		wait_for_completion_timeout(&probe->ended, msecs_to_jiffies(timeout_ms));
	if (completion_done(&probe->ended) &&
	    (probe->error == -ECONNRESET || probe->error == -EPIPE))
		return 0;
	scnprintf(why, why_bytes, "the session before neither ends nor answers");
	return -ETIMEDOUT;
}

/* Has the path the session that it had then? What is found out holds for that one only. */
static bool proof_is_as_was(const struct istripe_path *path, u32 generation)
{
	return path->live && path->generation == generation &&
	       !test_bit(ISTRIPE_PATH_STOP, &path->events);
}

static bool proof_stays(struct istripe_path *path, u32 generation)
{
	bool stays;

	spin_lock_bh(&path->leg->lock);
	stays = proof_is_as_was(path, generation);
	spin_unlock_bh(&path->leg->lock);
	return stays;
}

int istripe_proof_ask(struct istripe_path *path, u32 generation)
{
	int section = srcu_read_lock(&path->srcu);
	struct istripe_session *session = srcu_dereference(path->session, &path->srcu);
	int ret = -ENOTCONN;

	/* Until the section ends there is no other session that could have this generation. */
	if (session && proof_stays(path, generation))
		ret = istripe_session_ping(session, ISTRIPE_PING_TIMEOUT_MS);
	if (!ret && !proof_stays(path, generation))
		ret = -ENOTCONN;
	srcu_read_unlock(&path->srcu, section);
	return ret;
}

/*
 * The login was through this way: is it that of the path's own session? Like a fence, see
 * fence_check_way(). -ESTALE: there is no such session any more; -EHOSTDOWN: no answer.
 */
static int proof_check_way(struct istripe_path *path, const struct istripe_probe *probe,
			   char *why, size_t why_bytes)
{
	int ret = istripe_proof_ask(path, probe->generation);

	if (ret)
		scnprintf(why, why_bytes, "%s does not answer itself", path->label);
	if (ret == -ENOTCONN)
		return -ESTALE;
	if (!ret && istripe_session_ping(probe->session, ISTRIPE_PING_TIMEOUT_MS)) {
		scnprintf(why, why_bytes, "the spare session through %s does not answer",
			  path->label);
		return -EHOSTDOWN;
	}
	return ret ? -EHOSTDOWN : 0;
}

static int proof_log_in(struct istripe_proof *proof, u32 turn,
			struct istripe_login_buffers *buffers, char *why, size_t why_bytes)
{
	struct istripe_probe *probe = &proof->probes[turn % 2];
	struct istripe_probe *before = &proof->probes[(turn + 1) % 2];
	struct istripe_path *path = proof->subject;
	struct istripe_path *owner = turn % 2 ? proof->sibling : path;
	int ret;

	if (before->session && completion_done(&before->ended)) {
		scnprintf(why, why_bytes, "the session before was lost by itself");
		return -ENOTCONN;
	}
	ret = probe_open(probe, path, buffers, why, why_bytes);
	if (ret)
		probe_close(proof, probe, false);
	else if (before->session)
		ret = probe_check_ended(before, READ_ONCE(path->params.timers.ping_timeout_ms),
					why, why_bytes);
	if (!ret && before->session)
		ret = proof_check_way(owner, probe, why, why_bytes);
	if (!ret)
		probe_close(proof, before, false);
	return ret;
}

/* From the subject's way to the sibling's and back. */
static int proof_run(struct istripe_proof *proof, char *why, size_t why_bytes)
{
	struct istripe_login_buffers *buffers;
	int ret = 0;
	u32 turn;

	/* The path's own ones are its worker's, who may need them at any time. */
	buffers = istripe_login_buffers_alloc(&proof->subject->params);
	if (!buffers) {
		scnprintf(why, why_bytes, "no memory");
		return -ENOMEM;
	}
	for (turn = 0; !ret && turn < PROOF_LOGINS; turn++)
		ret = proof_log_in(proof, turn, buffers, why, why_bytes);
	probe_close(proof, &proof->probes[0], true);
	probe_close(proof, &proof->probes[1], true);
	istripe_login_buffers_free(buffers);
	return ret;
}

/* Of the same name and tag: that much is told by the target. */
static bool proof_may_be_same(const struct istripe_path *path, const struct istripe_path *sibling)
{
	return sibling != path && sibling->live && !test_bit(ISTRIPE_PATH_STOP, &sibling->events) &&
	       sibling->node_tpgt == path->node_tpgt &&
	       !strcmp(sibling->params.target_name, path->params.target_name);
}

/* The path of the next node above @sibling->node to compare the subject with, and its way. */
static bool proof_next_sibling(struct istripe_proof *proof, struct proof_sibling *sibling)
{
	struct istripe_path *other, *next = NULL;
	struct istripe_path *path = proof->subject;
	struct istripe_leg *leg = proof->leg;
	u32 at;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_path(leg, other, at)
		if (proof_may_be_same(path, other) && other->node > sibling->node &&
		    (!next || other->node < next->node))
			next = other;
	if (!proof_is_as_was(path, proof->probes[0].generation))
		next = NULL;
	proof->sibling = next;
	if (next) {
		sibling->node = next->node;
		sibling->losses = proof->losses;
		proof->probes[1].way = next->way;
		proof->probes[1].generation = next->generation;
	}
	spin_unlock_bh(&leg->lock);
	wake_up_all(&proof->idle);
	return next;
}

/* A node of its own. */
static void proof_settle_alone(struct istripe_proof *proof)
{
	struct istripe_path *path = proof->subject;

	spin_lock_bh(&proof->leg->lock);
	if (proof_is_as_was(path, proof->probes[0].generation))
		path->node = atomic64_inc_return(&proof_last_node);
	spin_unlock_bh(&proof->leg->lock);
}

/* Nobody else is at its bundle's node: it may have been a matter of bad luck. */
static bool proof_alone(const struct istripe_leg *leg, const struct istripe_path *path)
{
	const struct istripe_path *other;
	u32 at;

	istripe_leg_for_each_path(leg, other, at)
		if (other->bundle != path->bundle && istripe_proof_same(path, other))
			return false;
	return true;
}

/*
 * The sibling's node, unless either session has ended meanwhile: then it may not have been
 * the target that ended the spare ones, or another target may be there now.
 */
static bool proof_settle(struct istripe_proof *proof, const struct proof_sibling *sibling)
{
	struct istripe_path *path = proof->subject;
	bool holds;

	spin_lock_bh(&proof->leg->lock);
	holds = proof_is_as_was(path, proof->probes[0].generation) &&
		proof_is_as_was(proof->sibling, proof->probes[1].generation) &&
		proof->sibling->node == sibling->node;
	if (holds) {
		path->node = sibling->node;
		/* A session of the same path may lead there as well, and is no other way. */
		if (!proof_alone(proof->leg, path)) {
			path->unproven[0] = '\0';
			proof->sibling->unproven[0] = '\0';
		}
	}
	spin_unlock_bh(&proof->leg->lock);
	return holds;
}

/*
 * A target may drop an old session to make room for one too many. What was lost is logged
 * in again and tried again: that would never end. With -ESTALE the loss is yet to be counted,
 * with -EHOSTDOWN what was silent is lost by itself.
 */
static bool proof_harms(struct istripe_proof *proof, const struct proof_sibling *sibling,
			int error)
{
	struct istripe_leg *leg = proof->leg;
	bool harms;

	spin_lock_bh(&leg->lock);
	harms = proof->losses != sibling->losses && !leg->stopping && error != -EHOSTDOWN;
	spin_unlock_bh(&leg->lock);
	if (harms)
		proof->harms++;
	else if (error != -ESTALE)
		proof->harms = 0;
	if (proof->harms >= PROOF_HARMS_MAX) {
		proof->harms = 0;
		WRITE_ONCE(proof->harmful, true);
		pr_warn("%s/%u: a path was lost each time while spare sessions were open: no more of them until fence is written\n",
			leg->volume->name, leg->index);
	}
	return harms;
}

/* Was nothing known so far? */
static bool proof_note(struct istripe_path *path, const char *why)
{
	bool news;

	spin_lock_bh(&path->leg->lock);
	news = !path->unproven[0];
	strscpy(path->unproven, why, sizeof(path->unproven));
	spin_unlock_bh(&path->leg->lock);
	return news && !test_bit(ISTRIPE_PATH_STOP, &path->events);
}

/* Once per path, until it has a sibling: what is not proven now may be the next time. */
static void proof_say(const struct istripe_proof *proof, const char *why)
{
	struct istripe_path *path = proof->subject;

	if (!proof_note(path, why))
		return;
	pr_warn("%s: not known to lead to the same portal group as %s, so writes lost with one wait for its own way: %s\n",
		path->label, proof->sibling->label, why);
}

/* Why one is not even compared: what the targets themselves say. False: there is no other. */
static bool proof_differs(const struct istripe_proof *proof, char *why, size_t why_bytes)
{
	const struct istripe_path *other, *found = NULL;
	const struct istripe_path *path = proof->subject;
	bool same = false;
	u32 at;

	spin_lock_bh(&proof->leg->lock);
	istripe_leg_for_each_path(proof->leg, other, at) {
		if (other->bundle == path->bundle || !other->live)
			continue;
		/* They are compared when its turn comes. */
		same = same || proof_may_be_same(path, other);
		found = other;
	}
	if (same)
		found = NULL;
	if (found && strcmp(found->params.target_name, path->params.target_name))
		scnprintf(why, why_bytes, "%s leads to a target of another name", found->label);
	else if (found)
		scnprintf(why, why_bytes, "it is in portal group %u, %s in %u", path->node_tpgt,
			  found->label, found->node_tpgt);
	spin_unlock_bh(&proof->leg->lock);
	return found;
}

static void proof_say_differs(const struct istripe_proof *proof)
{
	struct istripe_path *path = proof->subject;
	char why[ISTRIPE_WHY_BYTES];

	if (proof_differs(proof, why, sizeof(why)) && proof_note(path, why))
		pr_warn("%s: no path leads to the same portal group, so writes lost with it wait for its own way: %s\n",
			path->label, why);
}

/* Compare the subject with each node there is. */
static void proof_place(struct istripe_proof *proof)
{
	char why[ISTRIPE_WHY_BYTES] = "";
	struct proof_sibling sibling = {};
	bool compared = false;

	while (proof_next_sibling(proof, &sibling)) {
		int ret = proof_run(proof, why, sizeof(why));

		compared = true;
		if (!ret && proof_settle(proof, &sibling)) {
			proof->harms = 0;
			return;
		}
		/*
		 * When the run says yes and that does not hold any more, or when it was the
		 * sibling that has gone, it is made again.
		 */
		if (proof_harms(proof, &sibling, ret) || !ret || ret == -ESTALE ||
		    !proof_stays(proof->sibling, proof->probes[1].generation))
			return;
		proof_say(proof, why);
		if (ret != -EEXIST)
			proof->undecided = true;
	}
	if (!compared)
		proof_say_differs(proof);
	proof_settle_alone(proof);
}

/* Sessions of one path do not fence each other. */
static bool proof_wanted(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->fence) == ISTRIPE_FENCE_PORTAL_GROUP &&
	       !READ_ONCE(leg->proof.harmful) && READ_ONCE(leg->live_bundles) > 1;
}

/* From here on istripe_proof_leave() of it waits for us, as that of each sibling does. */
static bool proof_next_subject(struct istripe_proof *proof)
{
	struct istripe_path *path, *next = NULL;
	struct istripe_leg *leg = proof->leg;
	u32 at;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_path(leg, path, at)
		if (!next && proof_wanted(leg) && path->live && !path->node &&
		    !test_bit(ISTRIPE_PATH_STOP, &path->events))
			next = path;
	if (next) {
		proof->probes[0].way = next->way;
		proof->probes[0].generation = next->generation;
	}
	proof->subject = next;
	proof->sibling = NULL;
	spin_unlock_bh(&leg->lock);
	wake_up_all(&proof->idle);
	return next;
}

/* They are compared again. */
static void proof_forget_alone(struct istripe_leg *leg)
{
	struct istripe_path *path;
	u32 at;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_path(leg, path, at)
		if (proof_alone(leg, path))
			path->node = 0;
}

/* When the last run has left something undecided, this one is for that, too. */
static void proof_begin(struct istripe_proof *proof)
{
	if (!proof->undecided)
		return;
	proof->undecided = false;
	spin_lock_bh(&proof->leg->lock);
	proof_forget_alone(proof->leg);
	spin_unlock_bh(&proof->leg->lock);
}

static void proof_end(struct istripe_proof *proof)
{
	if (!proof->undecided) {
		proof->retry_ms = 0;
		return;
	}
	proof->retry_ms = clamp(2 * proof->retry_ms, PROOF_RETRY_MIN_MS, PROOF_RETRY_MAX_MS);
	queue_delayed_work(system_unbound_wq, &proof->work, msecs_to_jiffies(proof->retry_ms));
}

static void proof_work(struct work_struct *work)
{
	struct istripe_proof *proof = container_of(to_delayed_work(work), struct istripe_proof,
						   work);
	unsigned int noio = memalloc_noio_save();

	proof_begin(proof);
	while (proof_next_subject(proof))
		proof_place(proof);
	proof_end(proof);
	memalloc_noio_restore(noio);
}

static bool proof_uses(struct istripe_proof *proof, const struct istripe_path *path)
{
	bool uses;

	spin_lock_bh(&proof->leg->lock);
	uses = proof->subject == path || proof->sibling == path;
	spin_unlock_bh(&proof->leg->lock);
	return uses;
}

static void proof_interrupt(struct istripe_proof *proof)
{
	u32 i;

	mutex_lock(&proof->lock);
	for (i = 0; i < ARRAY_SIZE(proof->probes); i++)
		if (proof->probes[i].session)
			istripe_session_interrupt(proof->probes[i].session);
	mutex_unlock(&proof->lock);
}

void istripe_proof_leave(struct istripe_path *path)
{
	struct istripe_proof *proof = &path->leg->proof;

	/* Its STOP is set, so once the work has let go it does not come again. */
	while (proof_uses(proof, path)) {
		/* Again and again: there may be no socket to interrupt yet. */
		proof_interrupt(proof);
		wait_event_timeout(proof->idle, !proof_uses(proof, path), HZ / 10);
	}
}

void istripe_proof_live(struct istripe_path *path, const struct istripe_session *session)
{
	struct istripe_leg *leg = path->leg;

	spin_lock_bh(&leg->lock);
	path->way.portal = session->way.portal;
	path->node_tpgt = session->target_portal_group_tag;
	/* Also at the same address: another node may have it now. */
	path->node = 0;
	path->generation = ++leg->proof.generations;
	proof_forget_alone(leg);
	spin_unlock_bh(&leg->lock);
}

void istripe_proof_lost(struct istripe_path *path)
{
	lockdep_assert_held(&path->leg->lock);
	path->generation = ++path->leg->proof.generations;
	/* One that is being taken out is no loss. */
	if (path->wanted)
		path->leg->proof.losses++;
}

/* Not on the queue of recovery: that must not wait for us when memory is short. */
void istripe_proof_look(struct istripe_leg *leg)
{
	if (READ_ONCE(leg->proof.started) && !READ_ONCE(leg->proof.harmful))
		mod_delayed_work(system_unbound_wq, &leg->proof.work,
				 msecs_to_jiffies(PROOF_DELAY_MS));
}

void istripe_proof_look_again(struct istripe_leg *leg)
{
	WRITE_ONCE(leg->proof.harmful, false);
	istripe_proof_look(leg);
}

void istripe_proof_start(struct istripe_leg *leg)
{
	WRITE_ONCE(leg->proof.started, true);
	istripe_proof_look(leg);
}

void istripe_proof_stop(struct istripe_leg *leg)
{
	WRITE_ONCE(leg->proof.started, false);
	cancel_delayed_work_sync(&leg->proof.work);
}

void istripe_proof_init(struct istripe_leg *leg)
{
	struct istripe_proof *proof = &leg->proof;
	u32 i;

	proof->leg = leg;
	INIT_DELAYED_WORK(&proof->work, proof_work);
	init_waitqueue_head(&proof->idle);
	mutex_init(&proof->lock);
	for (i = 0; i < ARRAY_SIZE(proof->probes); i++)
		init_completion(&proof->probes[i].ended);
}
