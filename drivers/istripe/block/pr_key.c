// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>

#include <istripe/reason.h>
#include "block/eh.h"
#include "block/ghost.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/pr_key.h"
#include "block/volume.h"
#include "iscsi/error.h"
#include "scsi/cdb.h"
#include "scsi/pr_keys.h"
#include "scsi/sense.h"

#define ANSWERS_MS	10000		/* for each part of a login */
#define TURN_MS		20		/* so often a nexus looks whether another one is done */
#define PAUSE_MS	30000		/* of a LUN that is asked for keys, at most */
#define POLL_MS		30000		/* of keys of other hosts, by each nexus */
#define BUSY_POLL_MS	5000		/* of a LUN that was busy; nobody waits for it meanwhile */
#define MOOT_MS		1000		/* for the answer to that, once the LUN has changed */

/* Registers one nexus. */
struct joining {
	struct istripe_nexus *nexus;
	u64 key;
	bool early;			/* its port takes no I/O: a busy LUN is not asked again */
	unsigned long deadline;		/* jiffies */
	struct istripe_reason *refusal;	/* the first answer that was neither GOOD nor a conflict */
};

void istripe_pr_key_init(struct istripe_leg *leg)
{
	mutex_init(&leg->pr_key.lock);
}

static void changes_count(struct istripe_leg *leg)
{
	spin_lock_bh(&leg->lock);
	leg->pr_key.changes++;
	spin_unlock_bh(&leg->lock);
}

void istripe_pr_key_change_begin(struct istripe_leg *leg)
{
	changes_count(leg);
}

/* Another nexus, or the disk, may know of a key that is newer than the answer "none". */
static bool key_list_counts(struct istripe_leg *leg, bool listed, u32 listings)
{
	lockdep_assert_held(&leg->lock);
	if (listed)
		leg->pr_key.listings++;
	return listed || leg->pr_key.listings == listings;
}

/*
 * Nodes of a target may list different keys: each list counts. When one has become empty, all may
 * have: those of nexuses that have told theirs over another session do not count, the others ask.
 */
static bool key_list(struct istripe_nexus *nexus, bool listed)
{
	struct istripe_leg *leg = nexus->leg;
	bool changed = nexus->key.listed != listed;
	struct istripe_nexus *other;
	bool any = false;

	WRITE_ONCE(nexus->key.told, true);
	if (!key_list_counts(leg, listed, nexus->key.listings))
		return false;
	nexus->key.listed = listed;
	istripe_leg_for_each_nexus(leg, other) {
		if (!listed && !READ_ONCE(other->key.told) && (changed || other->key.ask))
			other->key.listed = false;
		other->key.ask |= changed && other->key.listed != listed;
		any |= other->key.listed;
	}
	WRITE_ONCE(leg->pr_key.listed, any);
	return changed;
}

void istripe_pr_key_set(struct istripe_leg *leg, u64 key)
{
	spin_lock_bh(&leg->lock);
	leg->pr_key.key = key;
	spin_unlock_bh(&leg->lock);
}

void istripe_pr_key_list(struct istripe_leg *leg, bool listed)
{
	struct istripe_nexus *nexus;

	spin_lock_bh(&leg->lock);
	if (key_list_counts(leg, listed, leg->pr_key.former_listings)) {
		/* A node that does not tell its keys would list them for ever. */
		istripe_leg_for_each_nexus(leg, nexus)
			nexus->key.listed = listed && READ_ONCE(nexus->key.told);
		WRITE_ONCE(leg->pr_key.listed, listed);
	}
	spin_unlock_bh(&leg->lock);
}

/* Nobody tells when they go. */
static bool key_of_others(const struct istripe_leg *leg)
{
	return READ_ONCE(leg->pr_key.listed) && !READ_ONCE(leg->pr_key.key);
}

void istripe_pr_key_found(struct istripe_nexus *nexus)
{
	const struct istripe_lun_keys *keys = &nexus->found.keys;
	struct istripe_leg *leg = nexus->leg;
	bool had, has, changed;

	if (!keys->told)
		return;
	spin_lock_bh(&leg->lock);
	had = leg->pr_key.listed;
	changed = key_list(nexus, keys->listed);
	has = leg->pr_key.listed;
	nexus->key.asked_at = jiffies;
	spin_unlock_bh(&leg->lock);
	/* They ask, too, and poll while any are listed. */
	if (changed)
		istripe_leg_tell(leg, nexus, ISTRIPE_NEXUS_KEYS);
	if (had && !has)
		istripe_leg_resend(leg);
	if (had || !has)
		return;
	pr_info("%s/%u: keys of persistent reservations are registered: lost writes wait until their session has ended\n",
		leg->volume->name, leg->index);
	istripe_ghosts_warn(leg, "keys of persistent reservations are registered");
}

/* The LUN was busy, and may have keys. */
static bool key_is_owed(const struct istripe_nexus *nexus)
{
	return nexus->found.keys.busy && !READ_ONCE(nexus->leg->pr_key.key);
}

u32 istripe_pr_key_poll_ms(const struct istripe_nexus *nexus)
{
	if (key_is_owed(nexus))
		return BUSY_POLL_MS;
	return key_of_others(nexus->leg) ? POLL_MS : 0;
}

/* @wanted: set if another nexus has found a change. */
static bool key_poll_is_due(struct istripe_nexus *nexus, bool *wanted)
{
	struct istripe_leg *leg = nexus->leg;
	bool due;

	spin_lock_bh(&leg->lock);
	/* It polls after POLL_MS, and is told by others that have just asked. */
	due = key_of_others(leg) &&
	      (nexus->key.ask ||
	       time_after_eq(jiffies, nexus->key.asked_at + msecs_to_jiffies(POLL_MS / 2)));
	due |= key_is_owed(nexus);
	*wanted = nexus->key.ask;
	if (due) {
		nexus->key.ask = false;
		nexus->key.asked_at = jiffies;
	}
	nexus->key.listings = leg->pr_key.listings;
	spin_unlock_bh(&leg->lock);
	return due;
}

/* Commands wait until the LUN is asked what it is now, and for keys, too. */
static bool key_question_is_moot(const struct istripe_session *session)
{
	unsigned long since = READ_ONCE(session->internal.task.submitted_at);

	return istripe_session_is_invalid(session) &&
	       time_after(jiffies, since + msecs_to_jiffies(MOOT_MS));
}

static void key_abort(struct istripe_session *session)
{
	int ret = istripe_session_task_management(session, ISCSI_TM_FUNC_ABORT_TASK,
						  session->internal.task.itt, ANSWERS_MS);

	if (ret)
		istripe_session_fault(session, ret,
				      "no answer to PERSISTENT RESERVE IN, which is not aborted, and the LUN has changed");
}

/* By the worker, which is the one that does this, too. */
static void key_recover(struct istripe_session *session)
{
	struct istripe_nexus *nexus = session->owner;

	if (test_and_clear_bit(ISTRIPE_NEXUS_EH, &nexus->events))
		istripe_eh_recover(nexus);
	if (key_question_is_moot(session))
		key_abort(session);
}

/* A LUN that pauses has as long as by default for I/O, or the session ends. */
static int key_read(struct istripe_nexus *nexus, struct istripe_pr_keys *keys)
{
	u32 ms = clamp_t(u32, READ_ONCE(nexus->leg->volume->command_timeout_ms),
			 ANSWERS_MS, PAUSE_MS);
	const struct istripe_internal *internal = &nexus->owned->internal;
	u8 cdb[ISTRIPE_CDB_BYTES];
	const struct istripe_lun_command command = {
		.address = &nexus->owned->lun,
		.cdb = cdb,
		.bytes = ISTRIPE_INTERNAL_BYTES,
		.tpgs = READ_ONCE(nexus->access.known),
		.known = ISTRIPE_LUN_KNOWN,
		.deadline = jiffies + msecs_to_jiffies(ms),
		.busy_ms = 1,
		.meanwhile = key_recover,
	};
	int ret;

	istripe_cdb_reserve_in_keys(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = istripe_lun_ask(nexus->owned, &command);
	return ret ?: istripe_pr_keys_decode(page_address(internal->page),
					     internal->task.transferred_bytes, 0, keys);
}

/* Others do not wait for a nexus that cannot tell: its last list goes with their next empty one. */
static void key_not_told(struct istripe_nexus *nexus, bool wanted, int error)
{
	spin_lock_bh(&nexus->leg->lock);
	nexus->key.ask |= wanted;
	spin_unlock_bh(&nexus->leg->lock);
	/* Its port refuses the question: as if its session had ended. */
	if (error == -ENOLINK)
		WRITE_ONCE(nexus->key.told, false);
}

void istripe_pr_key_ask(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus->owned;
	struct istripe_pr_keys keys;
	bool wanted;
	int ret;

	/* Error handling does not wait for another question; it is asked at the next poll. */
	if (!mutex_trylock(&nexus->ask_lock))
		return;
	/* Another LUN may have its address, or it is asked everything soon. */
	if (!istripe_session_is_invalid(session) && key_poll_is_due(nexus, &wanted)) {
		ret = key_read(nexus, &keys);
		if (!ret) {
			nexus->found.keys.told = true;
			nexus->found.keys.busy = false;
			nexus->found.keys.listed = keys.listed;
			istripe_pr_key_found(nexus);
		} else {
			/* A reset, as one example, ends the question only. */
			if (!istripe_lun_has_dropped(ret))
				nexus->found.keys.busy = ret == -EBUSY;
			key_not_told(nexus, wanted, ret);
		}
		/* The command still uses the session's page. */
		if (ret == -ETIMEDOUT)
			istripe_session_fault(session, ret, "no answer to PERSISTENT RESERVE IN");
	}
	mutex_unlock(&nexus->ask_lock);
}

/* A LUN that did not answer everything before may do so now, and may still have others' keys. */
static void key_ask_again(struct istripe_leg *leg)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (READ_ONCE(nexus->reserved) || key_of_others(leg))
			istripe_nexus_event(nexus, ISTRIPE_NEXUS_REVALIDATE);
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_pr_key_change_end(struct istripe_leg *leg)
{
	changes_count(leg);
	istripe_leg_wake(leg);
	key_ask_again(leg);
}

/* Unless it has been registered anew meanwhile. */
static void key_forget(struct istripe_nexus *nexus, u32 changes, const char *why)
{
	struct istripe_leg *leg = nexus->leg;
	u64 key = 0;

	spin_lock_bh(&leg->lock);
	if (leg->pr_key.changes == changes)
		swap(key, leg->pr_key.key);
	spin_unlock_bh(&leg->lock);
	if (key)
		pr_warn("%s: reservation key 0x%llx: %s: paths that log in are not registered with it any more\n",
			nexus->label, key, why);
	/* Other hosts' keys are left. */
	if (key)
		istripe_leg_tell(leg, NULL, ISTRIPE_NEXUS_KEYS);
}

void istripe_pr_key_preempted(struct istripe_nexus *nexus)
{
	u32 changes = READ_ONCE(nexus->leg->pr_key.changes);

	/* A change of our own has the same effect over other nexuses. */
	if (!(changes & 1))
		key_forget(nexus, changes, "another host has preempted or cleared it");
}

/*
 * Does the LUN not know the command? A key that it has no room for, as one example, it may take the
 * next time. Without a key nothing depends on the answer.
 */
static bool joining_is_unknown(const struct joining *joining, bool write)
{
	const struct scsi_sense_hdr *sense = &joining->nexus->owned->internal.task.sense;

	return sense->sense_key == ILLEGAL_REQUEST &&
	       (sense->asc == ISTRIPE_ASC_INVALID_OPCODE ||
		(sense->asc == ISTRIPE_ASC_INVALID_FIELD_IN_CDB && (!write || !joining->key)));
}

static int joining_ask(const struct joining *joining, const u8 *cdb, u32 bytes, bool write)
{
	const struct istripe_task *task = &joining->nexus->owned->internal.task;
	const struct istripe_lun_command command = {
		.address = &joining->nexus->found.address,
		.cdb = cdb,
		.bytes = bytes,
		.write = write,
		.tpgs = joining->early,
		.known = ISTRIPE_LUN_ASKED,
		.deadline = joining->deadline,
		.busy_ms = joining->early ? 1 : 0,
	};
	int ret = istripe_lun_ask(joining->nexus->owned, &command);

	if (ret == -EIO && task->status == SAM_STAT_RESERVATION_CONFLICT)
		return SAM_STAT_RESERVATION_CONFLICT;
	if (ret != -EIO)
		return ret;
	if (!joining->refusal->text[0])
		istripe_reason_set(joining->refusal, "status 0x%02x, sense %x/%02x/%02x",
				   task->status, task->sense.sense_key, task->sense.asc,
				   task->sense.ascq);
	return joining_is_unknown(joining, write) ? -EOPNOTSUPP : ret;
}

static int joining_register(const struct joining *joining, enum istripe_reserve_action action,
			    u64 old, u64 new)
{
	u8 cdb[ISTRIPE_CDB_BYTES];

	if (new)
		joining->nexus->key.joined = true;
	istripe_cdb_reserve_out(cdb, action, 0);
	istripe_cdb_reserve_parameter(page_address(joining->nexus->owned->internal.page), old,
				      new, true);
	return joining_ask(joining, cdb, ISTRIPE_RESERVE_PARAMETER_BYTES, true);
}

static int joining_read(const struct joining *joining, struct istripe_pr_keys *keys)
{
	const struct istripe_internal *internal = &joining->nexus->owned->internal;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_reserve_in_keys(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = joining_ask(joining, cdb, ISTRIPE_INTERNAL_BYTES, false);
	return ret ?: istripe_pr_keys_decode(page_address(internal->page),
					     internal->task.transferred_bytes, joining->key,
					     keys);
}

/* Of this nexus alone, from list to list: see the top of pr_key.h. */
static int joining_add_alone(const struct joining *joining)
{
	struct istripe_nexus *nexus = joining->nexus;
	struct istripe_pr_keys before, after = {};
	int ret = joining_read(joining, &before);

	if (ret)
		return ret;
	if (!before.count)
		return before.cut ? -E2BIG : -ENOKEY;
	nexus->key.adding = true;
	ret = joining_register(joining, ISTRIPE_RESERVE_REGISTER_ANYWAY, 0, joining->key);
	if (ret)
		return ret;
	ret = joining_read(joining, &after);
	if (!ret && (after.generation == before.generation + 1 || after.count > 1))
		return 1;
	nexus->key.adding = joining_register(joining, ISTRIPE_RESERVE_REGISTER, joining->key, 0);
	return ret ?: -EAGAIN;
}

/* The nexus that has it may have to wait for an answer: this one sees its own end meanwhile. */
static int key_lock(struct istripe_nexus *nexus)
{
	while (!istripe_nexus_is_ending(nexus)) {
		if (mutex_trylock(&nexus->leg->pr_key.lock))
			return 0;
		msleep(TURN_MS);
	}
	return -ENOTCONN;
}

/* Of a nexus that ends: those that join see the end of the leg, too. */
static int key_lock_to_leave(struct istripe_nexus *nexus)
{
	unsigned long end = jiffies + msecs_to_jiffies(ANSWERS_MS);

	while (!mutex_trylock(&nexus->leg->pr_key.lock)) {
		if (time_after(jiffies, end))
			return -EBUSY;
		msleep(TURN_MS);
	}
	return 0;
}

/* A nexus that joins counts registrations before and after its own. */
static int joining_clear_alone(const struct joining *joining)
{
	return joining_register(joining, ISTRIPE_RESERVE_REGISTER_ANYWAY, 0, 0);
}

/* One nexus at a time. The time of the others, and of the parts before, does not count. */
static int joining_in_turn(struct joining *joining, int (*part)(const struct joining *joining))
{
	struct istripe_nexus *nexus = joining->nexus;
	int ret = key_lock(nexus);

	if (ret)
		return ret;
	joining->deadline = jiffies + msecs_to_jiffies(ANSWERS_MS);
	ret = part(joining);
	mutex_unlock(&nexus->leg->pr_key.lock);
	joining->deadline = jiffies + msecs_to_jiffies(ANSWERS_MS);
	return ret;
}

/* As istripe_pr_key_join(); -ENOKEY: the LUN does not list the key. -E2BIG: it lists too many. */
static int joining_run(struct joining *joining)
{
	struct istripe_pr_keys keys;
	int ret = 0;

	/* A registration of an earlier login that was not seen to count tells nothing. */
	if (!joining->key || joining->nexus->key.adding)
		ret = joining_in_turn(joining, joining_clear_alone);
	if (ret || !joining->key)
		return ret;
	/* Without the lock: a target that does not answer this holds up no other nexus. */
	ret = joining_read(joining, &keys);
	if (ret)
		return ret;
	/* The target may have kept the registration: this one changes nothing. */
	if (keys.count || keys.cut)
		ret = joining_register(joining, ISTRIPE_RESERVE_REGISTER, joining->key,
				       joining->key);
	else
		ret = SAM_STAT_RESERVATION_CONFLICT;
	if (ret == SAM_STAT_RESERVATION_CONFLICT)
		ret = joining_in_turn(joining, joining_add_alone);
	return ret;
}

/* A path that was in use before stays so, with conflicts; a new one would only add them. */
static int joining_goes_without(const struct joining *joining, const char *words,
				struct istripe_reason *why)
{
	if (joining->nexus->started || !joining->key)
		return 0;
	return istripe_reason_fail(why, -EPERM, "cannot register reservation key 0x%llx: %s",
				   joining->key, words);
}

static int joining_end(const struct joining *joining, u32 changes, int ret,
		       struct istripe_reason *why)
{
	struct istripe_nexus *nexus = joining->nexus;
	const char *words;

	switch (ret) {
	case 1:
		pr_info("%s: registered with reservation key 0x%llx\n", nexus->label, joining->key);
		fallthrough;
	case 0:
		return ret;
	case -ENOKEY:
		key_forget(nexus, changes, "the LUN does not list it any more");
		return joining_goes_without(joining, "another host has preempted or cleared it",
					    why);
	case -E2BIG:
	case -EOPNOTSUPP:
		words = ret == -E2BIG ? "the LUN has more keys than can be read" :
					istripe_error_words(ret);
		pr_warn("%s: reservation key 0x%llx: cannot tell whether another host has preempted it: %s: not registered\n",
			nexus->label, joining->key, words);
		return joining_goes_without(joining, words, why);
	case -EAGAIN:
		return istripe_reason_fail(why, ret,
					   "keys of reservations were changed during the login: once more");
	case -EIO:
		return istripe_reason_fail(why, ret, "cannot register reservation key 0x%llx: %s",
					   joining->key, joining->refusal->text);
	default:
		istripe_reason_set(why, "cannot register reservation key 0x%llx: %s", joining->key,
				   ret > 0 ? "reservation conflict" : istripe_error_words(ret));
		return ret > 0 ? -EIO : ret;
	}
}

/*
 * Over a port that takes no I/O nothing but the end of the session counts, not even that the key is
 * not listed there: all is done again when it takes I/O, before it gets any.
 */
static bool joining_is_put_off(const struct joining *joining, int ret)
{
	return joining->early && ret != 0 && ret != 1 && !istripe_lun_is_lost(ret);
}

static void joining_done(const struct joining *joining)
{
	struct istripe_nexus *nexus = joining->nexus;
	struct istripe_leg *leg = nexus->leg;

	nexus->key.due = false;
	nexus->key.adding = false;
	spin_lock_bh(&leg->lock);
	/* Else it may have been set meanwhile. */
	if (leg->pr_key.changes == nexus->key.changes)
		nexus->key.left = false;
	spin_unlock_bh(&leg->lock);
}

/* A login is admitted after the change only; a live nexus asks again until then. */
static void joining_awaits_change(struct istripe_nexus *nexus)
{
	if (!READ_ONCE(nexus->live))
		return;
	/* Its port takes I/O for us when it is registered. */
	nexus->found.access = nexus->access;
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_ACCESS);
}

int istripe_pr_key_join(struct istripe_nexus *nexus, struct istripe_reason *why)
{
	u8 state = nexus->found.access.state;
	struct istripe_leg *leg = nexus->leg;
	struct istripe_reason refusal = {};
	struct joining joining = {
		.nexus = nexus,
		.early = !istripe_alua_usable(state),
		.refusal = &refusal,
	};
	bool left;
	int ret;

	/* The disk's own changes reach a live nexus. */
	if (READ_ONCE(nexus->live) && !nexus->key.due)
		return 0;
	spin_lock_bh(&leg->lock);
	nexus->key.ended = false;
	nexus->key.changes = leg->pr_key.changes;
	joining.key = leg->pr_key.key;
	left = nexus->key.left || nexus->key.adding;
	spin_unlock_bh(&leg->lock);
	if (nexus->key.changes & 1) {
		joining_awaits_change(nexus);
		return 0;
	}
	nexus->key.due = joining.key || left;
	/* A transition is over soon, and some targets answer nothing until then. */
	if (!nexus->key.due || state == SCSI_ACCESS_STATE_TRANSITIONING ||
	    !istripe_leg_nexus_leads_here(nexus))
		return 0;
	joining.deadline = jiffies + msecs_to_jiffies(ANSWERS_MS);
	ret = joining_run(&joining);
	if (joining_is_put_off(&joining, ret))
		return 0;
	ret = joining_end(&joining, nexus->key.changes, ret, why);
	if (ret >= 0)
		joining_done(&joining);
	return ret;
}

/* Of a nexus that is taken out, or whose first login has failed. */
static bool nexus_has_key_to_end(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool leaves, had;

	spin_lock_bh(&leg->lock);
	leaves = nexus->leaves || !(nexus->started || READ_ONCE(nexus->persistent));
	had = nexus->key.left || (leg->pr_key.key && nexus->started);
	spin_unlock_bh(&leg->lock);
	return leaves && (had || nexus->key.joined) && !nexus->key.ended;
}

void istripe_pr_key_leave(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus->owned;
	struct istripe_reason refusal = {};
	struct joining leaving = { .nexus = nexus, .refusal = &refusal };
	int ret = -ENOTCONN;

	if (!nexus_has_key_to_end(nexus))
		return;
	/* Another LUN may have its number now. */
	if (session && !istripe_session_is_asking(session) &&
	    !istripe_session_is_invalid(session) && istripe_leg_nexus_leads_here(nexus))
		ret = key_lock_to_leave(nexus);
	if (!ret) {
		leaving.deadline = jiffies + msecs_to_jiffies(ANSWERS_MS);
		ret = joining_clear_alone(&leaving);
		mutex_unlock(&nexus->leg->pr_key.lock);
	}
	/* Its page may still be sent with the command: no logout may wait behind that. */
	if (ret == -ETIMEDOUT)
		istripe_session_fault(session, ret, "no answer to PERSISTENT RESERVE OUT");
	if (ret)
		pr_warn("%s: its registration of persistent reservations may stay at the target: %s\n",
			nexus->label, refusal.text[0] ? refusal.text :
			ret > 0 ? "reservation conflict" : istripe_error_words(ret));
	nexus->key.joined = false;
	nexus->key.ended = true;
}

bool istripe_pr_key_admits(const struct istripe_nexus *nexus)
{
	struct istripe_leg *leg = nexus->leg;
	bool admits;

	/* The session, then @changes; pairs with the barrier in leg_change_begin(). */
	smp_mb();
	spin_lock_bh(&leg->lock);
	admits = !(nexus->key.changes & 1) && leg->pr_key.changes == nexus->key.changes;
	spin_unlock_bh(&leg->lock);
	return admits;
}
