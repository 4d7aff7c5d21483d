// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <scsi/scsi_proto.h>

#include <compat/pr.h>
#include <istripe/reason.h>
#include "block/alua.h"
#include "block/leg.h"
#include "block/lun.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/pr_key.h"
#include "block/reservation.h"
#include "block/volume.h"
#include "iscsi/error.h"
#include "scsi/cdb.h"
#include "scsi/pr_keys.h"
#include "scsi/sense.h"

#define TIMEOUT_MS	30000		/* for one command */
#define KEYS_MAX	(ISTRIPE_LEGS_MAX * ISTRIPE_INTERNAL_BYTES / sizeof(u64))

struct reservation;

/* Of a live nexus, under its ask_lock. */
typedef int (*reserve_fn)(struct istripe_nexus *nexus, struct istripe_session *session,
			  const struct reservation *what);

/* One command, and, with @undo, the one that takes it back. */
struct reservation {
	enum istripe_reserve_action action;
	u8 type;
	u64 key;
	u64 action_key;
	bool keep;
	bool sets_keys;			/* success makes volume->has_keys what @keys says */
	bool keys;
	bool registers;			/* success makes leg->pr_key.key @new_key ... */
	bool preempts;			/* ... but only if @action_key was our own key */
	u64 new_key;			/* 0: none */
	bool each_nexus;		/* else over the first live nexus */
	bool undo;
	enum istripe_reserve_action undo_action;
	u64 undo_key;
	u64 undo_action_key;
	struct reading *reading;	/* of a question */
};

/* Asked of each leg in turn. */
struct reading {
	reserve_fn ask;			/* of one nexus of a leg */
	struct istripe_pr_holder holder;	/* of the first leg; its generation always */
	u64 *keys;
	u32 count;
	u32 room;
};

/* Each registered nexus is a holder. */
static bool reservation_is_of_all(u8 type)
{
	return type >= 0x07;
}

/* As the SCSI disk driver has it, but an unknown command is told as such. */
static int reserve_refusal(const struct scsi_sense_hdr *sense)
{
	if (sense->sense_key != ILLEGAL_REQUEST)
		return -EIO;
	switch (sense->asc) {
	case ISTRIPE_ASC_INVALID_OPCODE:
		return -EOPNOTSUPP;
	case ISTRIPE_ASC_INVALID_FIELD_IN_CDB:
	case ISTRIPE_ASC_INVALID_FIELD_IN_LIST:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/*
 * Under the nexus's ask_lock, as is the page; the caller has tested ISTRIPE_SESSION_FAULTED.
 * -EINPROGRESS: the LUN must be revalidated first.
 */
static int session_ask(struct istripe_session *session, const struct istripe_lun_command *command)
{
	int ret = istripe_lun_ask(session, command);

	/* The command, and the page, may still be under way. */
	if (ret == -ETIMEDOUT)
		istripe_session_fault(session, ret, command->cdb[0] == PERSISTENT_RESERVE_IN ?
				      "no answer to PERSISTENT RESERVE IN" :
				      "no answer to PERSISTENT RESERVE OUT");
	/* The LUN has not done it, and may be another one. */
	if (ret == -ESTALE)
		return -EINPROGRESS;
	return ret == -EIO ? reserve_refusal(&session->internal.task.sense) : ret;
}

/* A conflict is returned as the status itself, as by the SCSI disk driver (enum pr_status). */
static int session_reserve(struct istripe_session *session, const struct reservation *what,
			   bool tpgs)
{
	const struct istripe_task *task = &session->internal.task;
	u8 cdb[ISTRIPE_CDB_BYTES];
	const struct istripe_lun_command command = {
		.address = &session->lun,
		.cdb = cdb,
		.bytes = ISTRIPE_RESERVE_PARAMETER_BYTES,
		.write = true,
		.tpgs = tpgs,
		.known = ISTRIPE_LUN_KNOWN,
		.deadline = jiffies + msecs_to_jiffies(TIMEOUT_MS),
	};
	int ret;

	/* The page may still be sent with an earlier command. */
	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return -ENOTCONN;
	if (istripe_session_is_invalid(session))
		return -EINPROGRESS;
	istripe_cdb_reserve_out(cdb, what->action, what->type);
	istripe_cdb_reserve_parameter(page_address(session->internal.page), what->key,
				      what->action_key, what->keep);
	ret = session_ask(session, &command);
	if (ret == -EIO && task->status == SAM_STAT_RESERVATION_CONFLICT)
		return SAM_STAT_RESERVATION_CONFLICT;
	return ret;
}

/* There is another one whose port takes I/O. */
static bool nexus_may_be_passed_over(const struct istripe_nexus *nexus)
{
	return READ_ONCE(nexus->leg->usable_nexuses) > istripe_nexus_usable(nexus);
}

/* A reservation with one holder can only be released over that nexus. */
static bool nexus_may_hold(const struct istripe_nexus *nexus, const struct reservation *what)
{
	const struct istripe_nexus *holder = nexus->leg->pr_key.holder;

	return what->action == ISTRIPE_RESERVE_RELEASE && !reservation_is_of_all(what->type) &&
	       (!holder || holder == nexus);
}

/* Without access states, and over the last nexus, a refusal may be over soon. */
static bool nexus_refusal_is_final(const struct istripe_nexus *nexus,
				   const struct reservation *what)
{
	return READ_ONCE(nexus->access.known) && nexus_may_be_passed_over(nexus) &&
	       !nexus_may_hold(nexus, what);
}

/* The worker waits for the end of the section before it closes the session. */
static int nexus_over_session(struct istripe_nexus *nexus, const struct reservation *what,
			      reserve_fn ask)
{
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	int ret = -ENOTCONN;

	if (session) {
		mutex_lock(&nexus->ask_lock);
		ret = ask(nexus, session, what);
		mutex_unlock(&nexus->ask_lock);
	}
	srcu_read_unlock(&nexus->srcu, section);
	return ret;
}

static int nexus_reserve_once(struct istripe_nexus *nexus, struct istripe_session *session,
			      const struct reservation *what)
{
	int ret = session_reserve(session, what, nexus_refusal_is_final(nexus, what));

	/* The leg learns of it: its last port must not be passed over. */
	if (ret == -ENOLINK)
		istripe_alua_note_refusal(nexus, &session->internal.task.sense);
	/* Revalidations try it, at the latest that which finds that the port takes I/O. */
	if (ret == -ENOLINK && what->registers)
		nexus->key.due = true;
	/* Nothing is left of a registration of a login. */
	if (!ret && what->registers && what->each_nexus)
		nexus->key.adding = false;
	return ret;
}

static int nexus_until_valid(struct istripe_nexus *nexus, const struct reservation *what,
			     reserve_fn ask)
{
	u32 tries = 0;
	int ret;

	while (((ret = nexus_over_session(nexus, what, ask)) == -EINPROGRESS ||
		istripe_lun_has_dropped(ret)) && tries++ < ISTRIPE_REVALIDATIONS_MAX)
		if (ret == -EINPROGRESS)
			istripe_nexus_revalidate(nexus);
	return ret;
}

static int nexus_reserve(struct istripe_nexus *nexus, const struct reservation *what)
{
	int ret = nexus_until_valid(nexus, what, nexus_reserve_once);

	/* A nexus that stays live must not be passed over. */
	if (ret == -EINPROGRESS)
		ret = what->each_nexus ? -EAGAIN : -ENOTCONN;
	if (ret)
		pr_warn_ratelimited("%s: PERSISTENT RESERVE OUT, service action %u: %s\n",
				    nexus->label, what->action,
				    ret > 0 ? "reservation conflict" : istripe_error_words(ret));
	return ret;
}

/* Is the command for this nexus? -EBUSY: it retires, but may stay, with or without its keys. */
static int nexus_is_meant(struct istripe_nexus *nexus, const struct reservation *what)
{
	struct istripe_leg *leg = nexus->leg;
	bool wanted, retires;

	spin_lock_bh(&leg->lock);
	wanted = nexus->wanted;
	retires = nexus->index >= nexus->path->kept;
	spin_unlock_bh(&leg->lock);
	return retires && what->each_nexus && leg->volume->has_keys ? -EBUSY : wanted;
}

/*
 * Its session was lost, or does not answer and ends, or its port takes no I/O: its next login, or
 * key.due, sees to its registration.
 */
static bool nexus_was_out_of_reach(int ret)
{
	return ret == -ENOTCONN || ret == -ETIMEDOUT || ret == -ENOLINK;
}

/* The key of the leg is registered later, but a registration is ended only if that is known. */
static void nexus_pass_over(struct istripe_nexus *nexus, const struct reservation *what)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	nexus->key.left |= what->registers && !what->new_key;
	spin_unlock_bh(&leg->lock);
}

/* Best effort: the caller gets the error of the command that failed before. */
static void nexus_take_back(struct istripe_nexus *nexus, const struct reservation *undo)
{
	if (nexus_was_out_of_reach(nexus_reserve(nexus, undo)))
		nexus_pass_over(nexus, undo);
}

/*
 * A key, or a reservation, that the leg had before the call stays. @finished: the leg had done it,
 * and nexuses may have come, or logged in with the new key, since.
 */
static void leg_undo_reserve(struct istripe_leg *leg, const struct reservation *what,
			     bool finished)
{
	bool anyway = what->action == ISTRIPE_RESERVE_REGISTER_ANYWAY;
	u64 action_key = anyway ? leg->pr_key.former_key : what->undo_action_key;
	const struct reservation undo = {
		.action = what->undo_action,
		.type = what->type,
		.key = what->undo_key,
		.action_key = action_key,
		.keep = what->keep,
		.registers = what->registers,
		.new_key = action_key,
	};
	struct istripe_nexus *nexus;
	int section;

	if (!what->undo ||
	    (what->action == ISTRIPE_RESERVE_RESERVE && leg->pr_key.former_holder))
		return;
	leg->pr_key.holder = leg->pr_key.former_holder;
	/* Else it was forgotten: another host has preempted it. */
	if (what->registers && leg->pr_key.key == what->new_key)
		istripe_pr_key_set(leg, leg->pr_key.former_key);
	section = srcu_read_lock(&leg->srcu);
	istripe_leg_for_each_nexus(leg, nexus)
		if ((what->each_nexus && nexus->key.done) ||
		    (finished && READ_ONCE(nexus->wanted)))
			nexus_take_back(nexus, &undo);
	srcu_read_unlock(&leg->srcu, section);
}

/* Sets key.done of the nexuses over which it has been done or tried. */
static int leg_reserve_each(struct istripe_leg *leg, const struct reservation *what)
{
	struct istripe_nexus *nexus;
	int ret = -ENOTCONN;
	int meant, one;
	int lost = 0;

	istripe_leg_for_each_nexus(leg, nexus)
		nexus->key.done = false;
	istripe_leg_for_each_nexus(leg, nexus) {
		meant = nexus_is_meant(nexus, what);
		if (!meant)
			continue;
		one = meant < 0 ? meant : nexus_reserve(nexus, what);
		if (one && !nexus_was_out_of_reach(one))
			return one;
		if (one)
			nexus_pass_over(nexus, what);
		else
			ret = 0;
		if (one && nexus_may_hold(nexus, what))
			lost = one;
		nexus->key.done = true;
	}
	return lost ?: ret;
}

/* Over one nexus: another one may be registered, or hold the reservation. */
static int leg_reserve_one(struct istripe_leg *leg, const struct reservation *what)
{
	struct istripe_nexus *nexus;
	int ret = -ENOTCONN;
	int one;

	istripe_leg_for_each_nexus(leg, nexus) {
		if (!nexus_is_meant(nexus, what) ||
		    (nexus_may_be_passed_over(nexus) && !istripe_nexus_usable(nexus)))
			continue;
		one = nexus_reserve(nexus, what);
		if (!one && what->action == ISTRIPE_RESERVE_RESERVE)
			leg->pr_key.holder = nexus;
		if (one != -ENOTCONN && one != -ENOLINK && one != SAM_STAT_RESERVATION_CONFLICT)
			return one;
		if (ret != SAM_STAT_RESERVATION_CONFLICT)
			ret = one;
	}
	return ret;
}

/* Cannot be taken back: the caller repeats it until every leg has done it. */
static bool reservation_is_repeated(const struct reservation *what)
{
	return what->sets_keys && !what->undo;
}

static int session_reserve_in(struct istripe_session *session, const u8 *cdb)
{
	const struct istripe_lun_command command = {
		.address = &session->lun,
		.cdb = cdb,
		.bytes = ISTRIPE_INTERNAL_BYTES,
		.known = ISTRIPE_LUN_KNOWN,
		.deadline = jiffies + msecs_to_jiffies(TIMEOUT_MS),
	};

	if (test_bit(ISTRIPE_SESSION_FAULTED, &session->flags))
		return -ENOTCONN;
	return session_ask(session, &command);
}

/* The keys of the LUN say that it was done before. */
static int nexus_has_done(struct istripe_nexus *nexus, struct istripe_session *session,
			  const struct reservation *what)
{
	const struct istripe_internal *internal = &session->internal;
	u64 gone = what->preempts ? what->action_key : what->key;
	struct istripe_pr_keys keys, our;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	/* No list has key 0. */
	if (!gone)
		return 0;
	istripe_cdb_reserve_in_keys(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = session_reserve_in(session, cdb) ?:
	      istripe_pr_keys_decode(page_address(internal->page),
				     internal->task.transferred_bytes, gone, &keys) ?:
	      istripe_pr_keys_decode(page_address(internal->page),
				     internal->task.transferred_bytes, what->key, &our);
	if (ret)
		return ret;
	if (what->action == ISTRIPE_RESERVE_CLEAR)
		return !keys.listed;
	return !keys.count && !keys.cut && (!what->preempts || our.count);
}

static bool leg_has_done(struct istripe_leg *leg, const struct reservation *what)
{
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus)
		if (istripe_nexus_usable(nexus) &&
		    nexus_over_session(nexus, what, nexus_has_done) > 0)
			return true;
	return false;
}

static void leg_has_reserved(struct istripe_leg *leg, const struct reservation *what)
{
	/* When ours is unregistered others may have theirs: the LUN is asked. */
	if (what->sets_keys)
		istripe_pr_key_list(leg, what->action != ISTRIPE_RESERVE_CLEAR);
	if (what->registers && (!what->preempts || what->action_key == leg->pr_key.key))
		istripe_pr_key_set(leg, what->new_key);
	/*
	 * Over which nexus a reservation is held after other commands is not known. Without a key
	 * there was none: another host has preempted it.
	 */
	if (what->action != ISTRIPE_RESERVE_RESERVE &&
	    (!what->new_key || !leg->pr_key.former_key))
		leg->pr_key.holder = NULL;
}

/* No login of this leg ends until leg_change_end(); those of others do. */
static void leg_change_begin(struct istripe_leg *leg, const struct reservation *what)
{
	if (what->registers)
		istripe_pr_key_change_begin(leg);
	/*
	 * Either we see the nexus as one that comes or leaves, or the code that changes it sees
	 * has_keys and the change.
	 */
	smp_mb();
}

static void leg_change_end(struct istripe_leg *leg, const struct reservation *what)
{
	if (what->registers)
		istripe_pr_key_change_end(leg);
}

/* @before: increased when it was done by an earlier call. */
static int leg_reserve(struct istripe_leg *leg, const struct reservation *what, u32 *before)
{
	int section;
	int ret;

	leg_change_begin(leg, what);
	section = srcu_read_lock(&leg->srcu);
	leg->pr_key.former_key = READ_ONCE(leg->pr_key.key);
	leg->pr_key.former_listings = READ_ONCE(leg->pr_key.listings);
	leg->pr_key.former_holder = leg->pr_key.holder;
	if (what->each_nexus)
		ret = leg_reserve_each(leg, what);
	else
		ret = leg_reserve_one(leg, what);
	/* Linux's own target does not answer CLEAR with a conflict. */
	if ((ret == SAM_STAT_RESERVATION_CONFLICT || ret == -EIO) &&
	    reservation_is_repeated(what) && leg_has_done(leg, what)) {
		++*before;
		ret = 0;
	}
	srcu_read_unlock(&leg->srcu, section);
	if (ret)
		leg_undo_reserve(leg, what, false);
	else
		leg_has_reserved(leg, what);
	leg_change_end(leg, what);
	return ret;
}

static void leg_take_back(struct istripe_leg *leg, const struct reservation *what)
{
	leg_change_begin(leg, what);
	leg_undo_reserve(leg, what, true);
	leg_change_end(leg, what);
}

static int volume_reserve(struct istripe_volume *volume, const struct reservation *what)
{
	u32 before = 0;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_reserve(volume->legs[i], what, &before);
	if (!ret)
		return before < volume->leg_count ? 0 : SAM_STAT_RESERVATION_CONFLICT;
	i--;
	while (what->undo && i--)
		leg_take_back(volume->legs[i], what);
	return ret;
}

/*
 * Old writes may still be carried out: no other host may rely on the keys. While keys are
 * registered only writes that have failed become ghosts.
 */
static bool volume_has_ghosts(const struct istripe_volume *volume)
{
	struct istripe_leg *leg;
	bool has = false;
	u32 i;

	for (i = 0; !has && i < volume->leg_count; i++) {
		leg = volume->legs[i];
		/* Under the lock: ghosts that come later see has_keys. */
		spin_lock_bh(&leg->lock);
		has = leg->ghost_nexuses || leg->overlays.count;
		spin_unlock_bh(&leg->lock);
	}
	return has;
}

/* has_keys is set first: a nexus that comes or stays meanwhile would lack the keys. */
static int volume_reserve_keys(struct istripe_volume *volume, const struct reservation *what)
{
	bool had = volume->has_keys;
	int ret;
	u32 i;

	WRITE_ONCE(volume->has_keys, had || what->keys);
	if (what->keys && !had && volume_has_ghosts(volume)) {
		pr_warn_ratelimited("%s: PERSISTENT RESERVE OUT is refused while a lost path has ghost_writes, or a leg overlay_bytes\n",
				    volume->name);
		ret = -EBUSY;
	} else {
		ret = volume_reserve(volume, what);
	}
	WRITE_ONCE(volume->has_keys, ret ? had : what->keys);
	for (i = 0; !volume->has_keys && i < volume->leg_count; i++)
		istripe_leg_resend(volume->legs[i]);
	return ret;
}

/* The answer is in the page of the session. */
static int session_read(struct istripe_session *session, const u8 *cdb)
{
	/* Another LUN may have its address. */
	if (istripe_session_is_invalid(session))
		return -EINPROGRESS;
	return session_reserve_in(session, cdb);
}

static int session_read_holder(struct istripe_session *session, struct istripe_pr_holder *holder)
{
	const struct istripe_internal *internal = &session->internal;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_reserve_in_holder(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = session_read(session, cdb);
	return ret ?: istripe_pr_holder_decode(page_address(internal->page),
					       internal->task.transferred_bytes, holder);
}

/* Is the LUN reserved for one nexus, with our key? */
static int nexus_reads_holder(struct istripe_nexus *nexus, struct istripe_session *session,
			      const struct reservation *what)
{
	struct istripe_pr_holder holder;
	int ret = session_read_holder(session, &holder);

	return ret ?: holder.type && !reservation_is_of_all(holder.type) &&
		      holder.key == what->key;
}

/* Over one path that takes I/O; the result of the first one that answers. */
static int leg_asks(struct istripe_leg *leg, const struct reservation *what, reserve_fn ask)
{
	int section = srcu_read_lock(&leg->srcu);
	struct istripe_nexus *nexus;
	int ret = -ENOTCONN;

	istripe_leg_for_each_nexus(leg, nexus) {
		if (!istripe_nexus_usable(nexus))
			continue;
		ret = nexus_until_valid(nexus, what, ask);
		/* Without an answer its session has ended: that is not done to all of them. */
		if (ret >= 0 || ret == -ETIMEDOUT)
			break;
	}
	srcu_read_unlock(&leg->srcu, section);
	return ret == -EINPROGRESS ? -EAGAIN : ret;
}

static int leg_reads_holder(struct istripe_leg *leg)
{
	const struct reservation what = { .key = READ_ONCE(leg->pr_key.key) };

	return leg_asks(leg, &what, nexus_reads_holder);
}

/* Those of later legs are added when no leg before has them. */
static int nexus_reads_keys(struct istripe_nexus *nexus, struct istripe_session *session,
			    const struct reservation *what)
{
	const struct istripe_internal *internal = &session->internal;
	struct reading *reading = what->reading;
	struct istripe_pr_keys keys;
	u8 cdb[ISTRIPE_CDB_BYTES];
	int ret;

	istripe_cdb_reserve_in_keys(cdb, ISTRIPE_INTERNAL_BYTES);
	ret = session_read(session, cdb) ?:
	      istripe_pr_keys_decode(page_address(internal->page),
				     internal->task.transferred_bytes, 0, &keys);
	if (ret)
		return ret;
	if (keys.cut)
		return -E2BIG;
	if (!nexus->leg->index)
		reading->holder.generation = keys.generation;
	reading->count = istripe_pr_keys_add(page_address(internal->page),
					     internal->task.transferred_bytes, reading->keys,
					     reading->count, reading->room);
	return 0;
}

/* 1: not reserved as the first leg. */
static int nexus_reads_reservation(struct istripe_nexus *nexus, struct istripe_session *session,
				   const struct reservation *what)
{
	struct istripe_pr_holder *first = &what->reading->holder;
	struct istripe_pr_holder holder;
	int ret = session_read_holder(session, &holder);

	if (ret)
		return ret;
	if (!nexus->leg->index)
		*first = holder;
	if (holder.key == first->key && holder.type == first->type)
		return 0;
	pr_warn_ratelimited("%s: READ RESERVATION: leg %u: key 0x%llx, type %u, but leg 0: key 0x%llx, type %u\n",
			    nexus->leg->volume->name, nexus->leg->index, holder.key, holder.type,
			    first->key, first->type);
	return 1;
}

static int volume_ask(struct istripe_volume *volume, const struct reservation *what)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_asks(volume->legs[i], what, what->reading->ask);
	if (ret < 0)
		pr_warn_ratelimited("%s/%u: PERSISTENT RESERVE IN: %s\n", volume->name, i - 1,
				    ret == -E2BIG ? "the LUN has more keys than can be read" :
						    istripe_error_words(ret));
	/* They may differ while a call, of another host, too, is on its way to every leg. */
	return ret > 0 ? -EBUSY : ret;
}

static int bdev_reserve(struct block_device *bdev, const struct reservation *what)
{
	struct istripe_reservation *reservation = bdev->bd_disk->private_data;
	int ret = -ENXIO;

	if (mutex_lock_killable(&reservation->lock))
		return -EINTR;
	if (reservation->volume && what->reading)
		ret = volume_ask(reservation->volume, what);
	else if (reservation->volume && what->sets_keys)
		ret = volume_reserve_keys(reservation->volume, what);
	else if (reservation->volume)
		ret = volume_reserve(reservation->volume, what);
	mutex_unlock(&reservation->lock);
	return ret;
}

struct istripe_reservation *istripe_reservation_alloc(struct istripe_volume *volume)
{
	struct istripe_reservation *reservation = kzalloc(sizeof(*reservation), GFP_KERNEL);

	if (!reservation)
		return NULL;
	mutex_init(&reservation->lock);
	reservation->volume = volume;
	return reservation;
}

int istripe_reservation_pause(struct istripe_volume *volume, bool killable)
{
	struct istripe_reservation *reservation = volume->disk->private_data;

	if (killable)
		return mutex_lock_killable(&reservation->lock);
	mutex_lock(&reservation->lock);
	return 0;
}

void istripe_reservation_resume(struct istripe_volume *volume)
{
	struct istripe_reservation *reservation = volume->disk->private_data;

	mutex_unlock(&reservation->lock);
}

int istripe_reservation_may_join(const struct istripe_leg *leg, struct istripe_reason *why)
{
	if (!leg->volume->has_keys || READ_ONCE(leg->pr_key.key))
		return 0;
	return istripe_reason_fail(why, -EBUSY,
				   "keys of persistent reservations are registered, but the key of leg %u is not known: another host has preempted or cleared it, or it is of an earlier start: register it first",
				   leg->index);
}

int istripe_reservation_may_leave(const struct istripe_path *path, u32 from, bool asked,
				  struct istripe_reason *why)
{
	struct istripe_leg *leg = path->leg;
	const struct istripe_nexus *holder = leg->pr_key.holder;
	bool here = holder && holder->path == path && holder->index >= from;
	int ret = asked ? istripe_reservation_may_join(leg, why) : 0;

	/* A path that has just come holds one only if this is known. */
	if (ret || !leg->volume->has_keys || (!here && (holder || !asked)))
		return ret;
	ret = leg_reads_holder(leg);
	if (!ret) {
		leg->pr_key.holder = NULL;
		return 0;
	}
	if (ret < 0)
		return istripe_reason_fail(why, -EBUSY,
					   "cannot tell over which path leg %u is reserved: %s",
					   leg->index, istripe_error_words(ret));
	if (here && !READ_ONCE(holder->live))
		return istripe_reason_fail(why, -EBUSY,
					   "the persistent reservation of leg %u is held over this path, which is lost, and no release reaches it: preempt your own key, register again, and release then",
					   leg->index);
	return istripe_reason_fail(why, -EBUSY,
				   "the persistent reservation of leg %u %s over this path, and would end: release it first",
				   leg->index, here ? "is held" : "may be held");
}

void istripe_reservation_end(struct gendisk *disk)
{
	struct istripe_reservation *reservation = disk->private_data;

	mutex_lock(&reservation->lock);
	reservation->volume = NULL;
	mutex_unlock(&reservation->lock);
}

void istripe_reservation_free_disk(struct gendisk *disk)
{
	kfree(disk->private_data);
}

static int reservation_register(struct block_device *bdev, u64 old_key, u64 new_key, u32 flags)
{
	bool anyway = flags & PR_FL_IGNORE_KEY;
	struct reservation what = {
		.action = anyway ? ISTRIPE_RESERVE_REGISTER_ANYWAY : ISTRIPE_RESERVE_REGISTER,
		.key = anyway ? 0 : old_key,
		.action_key = new_key,
		.keep = true,
		.sets_keys = true,
		.keys = new_key,
		.registers = true,
		.new_key = new_key,
		.each_nexus = true,
		.undo = new_key,
		.undo_action = ISTRIPE_RESERVE_REGISTER,
		.undo_key = new_key,
		/* When it was to be ignored: the key that the leg had. */
		.undo_action_key = anyway ? 0 : old_key,
	};

	if (flags & ~PR_FL_IGNORE_KEY)
		return -EOPNOTSUPP;
	return bdev_reserve(bdev, &what);
}

static int reservation_reserve(struct block_device *bdev, u64 key, enum pr_type type, u32 flags)
{
	struct reservation what = {
		.action = ISTRIPE_RESERVE_RESERVE,
		.type = istripe_compat_pr_type_to_scsi(type),
		.key = key,
		/* Of an earlier start of the volume, or of the host: the target keeps them. */
		.sets_keys = true,
		.keys = true,
		.undo = true,
		/* It has no effect over nexuses that do not hold the reservation. */
		.undo_action = ISTRIPE_RESERVE_RELEASE,
		.undo_key = key,
	};

	return flags ? -EOPNOTSUPP : bdev_reserve(bdev, &what);
}

/* Only the nexus that holds it releases it; over the others the command does nothing: GOOD. */
static int reservation_release(struct block_device *bdev, u64 key, enum pr_type type)
{
	struct reservation what = {
		.action = ISTRIPE_RESERVE_RELEASE,
		.type = istripe_compat_pr_type_to_scsi(type),
		.key = key,
		.each_nexus = true,
	};

	return bdev_reserve(bdev, &what);
}

static int reservation_preempt(struct block_device *bdev, u64 old_key, u64 new_key,
			       enum pr_type type, bool abort)
{
	struct reservation what = {
		.action = abort ? ISTRIPE_RESERVE_PREEMPT_ABORT : ISTRIPE_RESERVE_PREEMPT,
		.type = istripe_compat_pr_type_to_scsi(type),
		.key = old_key,
		.action_key = new_key,
		.sets_keys = true,
		.keys = true,
		.registers = true,
		.preempts = true,
	};

	return bdev_reserve(bdev, &what);
}

static int reservation_clear(struct block_device *bdev, u64 key)
{
	struct reservation what = {
		.action = ISTRIPE_RESERVE_CLEAR,
		.key = key,
		.sets_keys = true,
		.registers = true,
	};

	return bdev_reserve(bdev, &what);
}

static int __maybe_unused reservation_read_keys(struct block_device *bdev, struct pr_keys *told)
{
	struct reading reading = { .ask = nexus_reads_keys, .room = KEYS_MAX };
	struct reservation what = { .reading = &reading };
	int ret;

	/* Before the call's lock, for which writes may wait. */
	reading.keys = kvmalloc_array(reading.room, sizeof(*reading.keys), GFP_KERNEL);
	if (!reading.keys)
		return -ENOMEM;
	ret = bdev_reserve(bdev, &what);
	if (!ret) {
		memcpy(told->keys, reading.keys,
		       min(told->num_keys, reading.count) * sizeof(*told->keys));
		told->num_keys = reading.count;
		told->generation = reading.holder.generation;
	}
	kvfree(reading.keys);
	return ret;
}

static int __maybe_unused reservation_read(struct block_device *bdev,
					   struct pr_held_reservation *told)
{
	struct reading reading = { .ask = nexus_reads_reservation };
	struct reservation what = { .reading = &reading };
	int ret = bdev_reserve(bdev, &what);

	if (ret)
		return ret;
	told->generation = reading.holder.generation;
	told->key = reading.holder.key;
	told->type = istripe_compat_pr_type_of_scsi(reading.holder.type);
	/* Not to be taken for "none". */
	return reading.holder.type && !told->type ? -EPROTO : 0;
}

const struct pr_ops istripe_reservation_ops = {
	.pr_register	= reservation_register,
	.pr_reserve	= reservation_reserve,
	.pr_release	= reservation_release,
	.pr_preempt	= reservation_preempt,
	.pr_clear	= reservation_clear,
	ISTRIPE_COMPAT_PR_READS(reservation_read_keys, reservation_read)
};
