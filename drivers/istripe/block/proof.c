// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/isid.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/proof.h"
#include "block/volume.h"
#include "block/workqueue.h"

/* Other nexuses come back at the same time, and their logins go first. */
#define PROOF_DELAY_MS	1000
/* There and back: each login but the first one must end the session before it. */
#define PROOF_LOGINS	3
/* Proofs in a row with a lost nexus; fewer may be a coincidence. */
#define PROOF_HARMS_MAX	3
/* An undecided proof is repeated, later each time: the target may just be slow. */
#define PROOF_RETRY_MIN_MS	2000
#define PROOF_RETRY_MAX_MS	300000

/* proof->sibling as it was when the run began. */
struct proof_sibling {
	u64 portal_group;
	u32 losses;		/* of the leg */
};

static atomic64_t proof_last_portal_group;

bool istripe_proof_same(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling)
{
	lockdep_assert_held(&nexus->leg->lock);
	return nexus->portal_group && nexus->portal_group == sibling->portal_group;
}

static void test_fault(struct istripe_session *session, int error, const char *why)
{
	struct istripe_test_session *test = session->owner;

	test->error = error;
	complete_all(&test->ended);
}

/* Test sessions have no commands, end soon, and are not in sysfs. */
static const struct istripe_session_ops test_ops = {
	.fault = test_fault,
};

static void test_close(struct istripe_proof *proof, struct istripe_test_session *test, bool logout)
{
	struct istripe_session *session = test->session;

	if (!session)
		return;
	if (logout)
		istripe_session_logout(session);
	mutex_lock(&proof->lock);
	test->session = NULL;
	mutex_unlock(&proof->lock);
	istripe_session_close(session);
}

static int test_open(struct istripe_test_session *test, struct istripe_nexus *nexus,
		     struct istripe_login_buffers *buffers, struct istripe_reason *why)
{
	struct istripe_session_params params;

	reinit_completion(&test->ended);
	istripe_nexus_login_params(nexus, &params);
	istripe_isid_of_test_session(nexus, params.isid);
	params.way = test->way;
	params.no_redirects = true;
	params.task_slots = 0;
	params.buffers = buffers;
	return istripe_session_open(&params, &test_ops, test, &test->session, why);
}

/*
 * When the session after it has answered a ping: FreeBSD's target answers the login, then ends the
 * old session, then serves the new one. Then an answer disproves the proof, silence proves nothing.
 */
static int test_check_ended(struct istripe_test_session *test, u32 timeout_ms,
			    struct istripe_reason *why)
{
	int ret = istripe_session_ping(test->session, timeout_ms);

	if (!ret)
		return istripe_reason_fail(why, -EEXIST,
					   "a login through one does not end the same session through the other, as if two targets had the same name");
	/* test_fault() is about to be called, or has been. */
	if (ret == -ENOTCONN)
		wait_for_completion_timeout(&test->ended, msecs_to_jiffies(timeout_ms));
	if (completion_done(&test->ended) &&
	    (test->error == -ECONNRESET || test->error == -EPIPE))
		return 0;
	return istripe_reason_fail(why, -ETIMEDOUT, "the session before neither ends nor answers");
}

/* Has the nexus still the session that is being proven? The result is about that one only. */
static bool proof_is_as_was(const struct istripe_nexus *nexus, u32 generation)
{
	return nexus->live && nexus->generation == generation &&
	       !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events);
}

static bool proof_stays(struct istripe_nexus *nexus, u32 generation)
{
	bool stays;

	spin_lock_bh(&nexus->leg->lock);
	stays = proof_is_as_was(nexus, generation);
	spin_unlock_bh(&nexus->leg->lock);
	return stays;
}

int istripe_proof_ask(struct istripe_nexus *nexus, u32 generation)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	int ret = -ENOTCONN;

	/* Until the section ends there is no other session that could have this generation. */
	if (session && proof_stays(nexus, generation))
		ret = istripe_session_ping(session, ISTRIPE_PING_TIMEOUT_MS);
	if (!ret && !proof_stays(nexus, generation))
		ret = -ENOTCONN;
	srcu_read_unlock(&nexus->srcu, section);
	return ret;
}

/* Like fence_check_way(). -ESTALE: that session is gone; -EHOSTDOWN: no answer. */
static int proof_check_way(struct istripe_nexus *nexus, const struct istripe_test_session *test,
			   struct istripe_reason *why)
{
	int ret = istripe_proof_ask(nexus, test->generation);

	if (ret)
		istripe_reason_set(why, "%s does not answer itself", nexus->label);
	if (ret == -ENOTCONN)
		return -ESTALE;
	if (!ret && istripe_session_ping(test->session, ISTRIPE_PING_TIMEOUT_MS))
		return istripe_reason_fail(why, -EHOSTDOWN,
					   "the test session through %s does not answer",
					   nexus->label);
	return ret ? -EHOSTDOWN : 0;
}

static int proof_log_in(struct istripe_proof *proof, u32 round,
			struct istripe_login_buffers *buffers, struct istripe_reason *why)
{
	struct istripe_test_session *test = &proof->tests[round % 2];
	struct istripe_test_session *before = &proof->tests[(round + 1) % 2];
	struct istripe_nexus *nexus = proof->subject;
	struct istripe_nexus *owner = round % 2 ? proof->sibling : nexus;
	const struct istripe_timers *timers = &nexus->path->params.timers;
	int ret;

	if (before->session && completion_done(&before->ended))
		return istripe_reason_fail(why, -ENOTCONN, "the session before was lost by itself");
	ret = test_open(test, nexus, buffers, why);
	if (ret)
		test_close(proof, test, false);
	else if (before->session)
		ret = proof_check_way(owner, test, why);
	if (!ret && before->session)
		ret = test_check_ended(before, READ_ONCE(timers->ping_timeout_ms), why);
	if (!ret && before->session)
		ret = proof_check_way(owner, test, why);
	if (!ret)
		test_close(proof, before, false);
	return ret;
}

static int proof_run(struct istripe_proof *proof, struct istripe_reason *why)
{
	struct istripe_login_buffers *buffers;
	int ret = 0;
	u32 round;

	/* The nexus's own buffers are its worker's, which may need them at any time. */
	buffers = istripe_login_buffers_alloc(&proof->subject->path->hashes);
	if (!buffers)
		return istripe_reason_fail(why, -ENOMEM, "no memory");
	for (round = 0; !ret && round < PROOF_LOGINS; round++)
		ret = proof_log_in(proof, round, buffers, why);
	test_close(proof, &proof->tests[0], true);
	test_close(proof, &proof->tests[1], true);
	istripe_login_buffers_free(buffers);
	return ret;
}

/* The target tells the same name and tag. */
static bool proof_may_be_same(const struct istripe_nexus *nexus,
			      const struct istripe_nexus *sibling)
{
	return sibling != nexus && sibling->live &&
	       !test_bit(ISTRIPE_NEXUS_STOP, &sibling->events) &&
	       sibling->tpgt.tag == nexus->tpgt.tag &&
	       !strcmp(sibling->path->params.target_name, nexus->path->params.target_name);
}

/* Picks a nexus of the next known portal group above @sibling->portal_group, and copies its way. */
static bool proof_next_sibling(struct istripe_proof *proof, struct proof_sibling *sibling)
{
	struct istripe_nexus *other, *next = NULL;
	struct istripe_nexus *nexus = proof->subject;
	struct istripe_leg *leg = proof->leg;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, other)
		if (proof_may_be_same(nexus, other) &&
		    other->portal_group > sibling->portal_group &&
		    (!next || other->portal_group < next->portal_group))
			next = other;
	if (!proof_is_as_was(nexus, proof->tests[0].generation))
		next = NULL;
	proof->sibling = next;
	if (next) {
		sibling->portal_group = next->portal_group;
		sibling->losses = leg->losses;
		proof->tests[1].way = next->way;
		proof->tests[1].generation = next->generation;
	}
	spin_unlock_bh(&leg->lock);
	wake_up_all(&proof->idle);
	return next;
}

static void proof_decide_alone(struct istripe_proof *proof)
{
	struct istripe_nexus *nexus = proof->subject;

	spin_lock_bh(&proof->leg->lock);
	if (proof_is_as_was(nexus, proof->tests[0].generation))
		nexus->portal_group = atomic64_inc_return(&proof_last_portal_group);
	spin_unlock_bh(&proof->leg->lock);
}

/* No other path leads to its portal group, as far as known; a comparison may have failed. */
static bool proof_alone(const struct istripe_nexus *nexus)
{
	const struct istripe_nexus *other;

	istripe_leg_for_each_nexus(nexus->leg, other)
		if (other->path != nexus->path && istripe_proof_same(nexus, other))
			return false;
	return true;
}

/*
 * Gives the subject the sibling's portal group, unless either session has ended meanwhile: then the
 * test sessions may have ended for another reason, or another target may be there now.
 */
static bool proof_decide(struct istripe_proof *proof, const struct proof_sibling *sibling)
{
	struct istripe_nexus *nexus = proof->subject;
	bool holds;

	spin_lock_bh(&proof->leg->lock);
	holds = proof_is_as_was(nexus, proof->tests[0].generation) &&
		proof_is_as_was(proof->sibling, proof->tests[1].generation) &&
		proof->sibling->portal_group == sibling->portal_group;
	if (holds) {
		nexus->portal_group = sibling->portal_group;
		/* A sibling of the same path is no other way. */
		if (!proof_alone(nexus)) {
			nexus->unproven[0] = '\0';
			proof->sibling->unproven[0] = '\0';
		}
	}
	spin_unlock_bh(&proof->leg->lock);
	return holds;
}

/*
 * A target may drop an old session to make room for one too many. The lost nexus logs in and is
 * proven again, without end. With -ESTALE the loss is yet to be counted; with -EHOSTDOWN the silent
 * session is lost by itself.
 */
static bool proof_harms(struct istripe_proof *proof, const struct proof_sibling *sibling,
			int error)
{
	struct istripe_leg *leg = proof->leg;
	bool harms;

	spin_lock_bh(&leg->lock);
	harms = leg->losses != sibling->losses && !leg->stopping && error != -EHOSTDOWN;
	spin_unlock_bh(&leg->lock);
	if (harms)
		proof->harms++;
	else if (error != -ESTALE)
		proof->harms = 0;
	if (proof->harms >= PROOF_HARMS_MAX) {
		proof->harms = 0;
		WRITE_ONCE(proof->harmful, true);
		pr_warn("%s/%u: a path was lost each time while test sessions were open: no more of them until fence is written\n",
			leg->volume->name, leg->index);
	}
	return harms;
}

static bool proof_note(struct istripe_nexus *nexus, const char *why)
{
	bool news;

	spin_lock_bh(&nexus->leg->lock);
	news = !nexus->unproven[0];
	strscpy(nexus->unproven, why, sizeof(nexus->unproven));
	spin_unlock_bh(&nexus->leg->lock);
	return news && !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events);
}

/* Once per nexus, until it has a sibling: the next proof may succeed. */
static void proof_say(const struct istripe_proof *proof, const char *why)
{
	struct istripe_nexus *nexus = proof->subject;

	if (!proof_note(nexus, why))
		return;
	pr_warn("%s: not known to lead to the same portal group as %s, so the blocks of writes lost with one wait for its own way: %s\n",
		nexus->label, proof->sibling->label, why);
}

/* Why no nexus of another path is comparable, from names and tags. False: there is none. */
static bool proof_differs(const struct istripe_proof *proof, struct istripe_reason *why)
{
	const struct istripe_nexus *other, *found = NULL;
	const struct istripe_nexus *nexus = proof->subject;
	bool same = false;

	spin_lock_bh(&proof->leg->lock);
	istripe_leg_for_each_nexus(proof->leg, other) {
		if (other->path == nexus->path || !other->live)
			continue;
		/* Comparable; compared when it is that nexus's turn. */
		same = same || proof_may_be_same(nexus, other);
		found = other;
	}
	if (same)
		found = NULL;
	if (found && strcmp(found->path->params.target_name, nexus->path->params.target_name))
		istripe_reason_set(why, "%s leads to a target of another name", found->label);
	else if (found)
		istripe_reason_set(why, "it is in portal group %u, %s in %u",
				   nexus->tpgt.tag, found->label, found->tpgt.tag);
	spin_unlock_bh(&proof->leg->lock);
	return found;
}

static void proof_say_differs(const struct istripe_proof *proof)
{
	struct istripe_nexus *nexus = proof->subject;
	struct istripe_reason why;

	if (proof_differs(proof, &why) && proof_note(nexus, why.text))
		pr_warn("%s: no path leads to the same portal group, so the blocks of writes lost with it wait for its own way: %s\n",
			nexus->label, why.text);
}

static void proof_place(struct istripe_proof *proof)
{
	struct istripe_reason why = {};
	struct proof_sibling sibling = {};
	bool compared = false;

	while (proof_next_sibling(proof, &sibling)) {
		int ret = proof_run(proof, &why);
		/* Of any path: the proof may hold all the same. */
		bool harms = proof_harms(proof, &sibling, ret);

		compared = true;
		if (!ret && proof_decide(proof, &sibling))
			return;
		/* Repeated if it succeeded but does not hold any more, or the sibling has gone. */
		if (harms || !ret || ret == -ESTALE ||
		    !proof_stays(proof->sibling, proof->tests[1].generation))
			return;
		proof_say(proof, why.text);
		if (ret != -EEXIST)
			proof->undecided = true;
	}
	if (!compared)
		proof_say_differs(proof);
	proof_decide_alone(proof);
}

/* Sessions of one path do not fence each other, so one live path needs no proof. */
static bool proof_wanted(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->fence) != ISTRIPE_FENCE_PATH &&
	       !READ_ONCE(leg->proof.harmful) && READ_ONCE(leg->live_paths) > 1;
}

/* From now on istripe_proof_stop_nexus() of the subject waits; so it does for each sibling. */
static bool proof_next_subject(struct istripe_proof *proof)
{
	struct istripe_nexus *nexus, *next = NULL;
	struct istripe_leg *leg = proof->leg;

	spin_lock_bh(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		if (!next && proof_wanted(leg) && nexus->live && !nexus->portal_group &&
		    !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events))
			next = nexus;
	if (next) {
		proof->tests[0].way = next->way;
		proof->tests[0].generation = next->generation;
	}
	proof->subject = next;
	proof->sibling = NULL;
	spin_unlock_bh(&leg->lock);
	wake_up_all(&proof->idle);
	return next;
}

/* Nexuses without a sibling of another path are compared again. */
static void proof_forget_alone(struct istripe_leg *leg)
{
	struct istripe_nexus *nexus;

	lockdep_assert_held(&leg->lock);
	istripe_leg_for_each_nexus(leg, nexus)
		if (proof_alone(nexus))
			nexus->portal_group = 0;
}

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
	queue_delayed_work(istripe_proof_wq, &proof->work, msecs_to_jiffies(proof->retry_ms));
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

static bool proof_uses(struct istripe_proof *proof, const struct istripe_nexus *nexus)
{
	bool uses;

	spin_lock_bh(&proof->leg->lock);
	uses = proof->subject == nexus || proof->sibling == nexus;
	spin_unlock_bh(&proof->leg->lock);
	return uses;
}

static void proof_interrupt(struct istripe_proof *proof)
{
	u32 i;

	mutex_lock(&proof->lock);
	for (i = 0; i < ARRAY_SIZE(proof->tests); i++)
		if (proof->tests[i].session)
			istripe_session_interrupt(proof->tests[i].session);
	mutex_unlock(&proof->lock);
}

void istripe_proof_stop_nexus(struct istripe_nexus *nexus)
{
	struct istripe_proof *proof = &nexus->leg->proof;

	/* STOP is set, so the work does not take the nexus again. */
	while (proof_uses(proof, nexus)) {
		/* Repeated: there may be no socket to interrupt yet. */
		proof_interrupt(proof);
		wait_event_timeout(proof->idle, !proof_uses(proof, nexus), HZ / 10);
	}
}

void istripe_proof_live(struct istripe_nexus *nexus)
{
	const struct istripe_session *session = nexus->owned;
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	nexus->way = session->way;
	nexus->tpgt = session->tpgt;
	/* Even at the same address: another node may have it now. */
	nexus->portal_group = 0;
	proof_forget_alone(leg);
	spin_unlock_bh(&leg->lock);
}

/* Not on istripe_recovery_wq: recovery must not wait for a proof when memory is short. */
void istripe_proof_schedule(struct istripe_leg *leg)
{
	if (READ_ONCE(leg->proof.started) && !READ_ONCE(leg->proof.harmful))
		mod_delayed_work(istripe_proof_wq, &leg->proof.work,
				 msecs_to_jiffies(PROOF_DELAY_MS));
}

void istripe_proof_schedule_again(struct istripe_leg *leg)
{
	WRITE_ONCE(leg->proof.harmful, false);
	istripe_proof_schedule(leg);
}

void istripe_proof_start(struct istripe_leg *leg)
{
	WRITE_ONCE(leg->proof.started, true);
	istripe_proof_schedule(leg);
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
	for (i = 0; i < ARRAY_SIZE(proof->tests); i++)
		init_completion(&proof->tests[i].ended);
}
