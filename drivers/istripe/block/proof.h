/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The proof that two nexuses of a leg lead to one and the same iSCSI node and portal group.
 *
 * The same target name and the same portal group tag do not say so: there are pairs of
 * targets that were given one name. Then a login through one of the nexuses would not end
 * what the other one has left, and would be no fence. So it is tried: a session of no
 * use, with an ISID of its own, is opened through one nexus, then reinstated through the
 * other (RFC 7143 6.3.5), then once more through the first. Each of these logins must
 * end the session before it: before the next ping, and by the target's doing. Twice,
 * there and back, because once might be a chance: a target that just goes down. After each
 * of the two the session that it is about, the nexus's own, must answer a ping, then the new
 * one: the nexus's address may have moved to another node without anybody having noticed.
 *
 * What has been proven is kept as a number, nexus->node: nexuses with the same one lead to the
 * same place. It is given by the leg's proof work, one nexus after the other: each is
 * compared with one nexus of each node that is known; so there is one proof for each nexus,
 * not for each pair of them; nexuses of a path are proven one by one. Numbers are never
 * used again. A nexus keeps its node while it is down, for its lost session was there; its
 * next session has none until it is proven anew, for another node may have taken the
 * address. A proof counts only if both nexuses have had one and the same session all along,
 * see nexus->generation.
 * What could not be decided is tried again, after seconds at first and minutes at last, and
 * when a nexus of the leg comes back. That two are not the same is only asked again then.
 *
 * The sessions carry no command, and the nexuses' own sessions carry a ping only. The work
 * starts when the volume is up. It has a nexus in use while that is @subject or @sibling.
 * A target that drops other sessions because of them is left alone: @harmful.
 *
 * Locks: leg->lock covers @subject and @sibling (written by the work), @losses,
 * @generations, and node, portal_group_tpgt, generation and way of the nexuses. @lock covers the
 * probes' sessions, for istripe_proof_stop_nexus(); in front of session->socket_lock.
 */
#ifndef ISTRIPE_BLOCK_PROOF_H
#define ISTRIPE_BLOCK_PROOF_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "transport/session.h"

struct istripe_leg;
struct istripe_nexus;

/* One of the sessions. */
struct istripe_test_session {
	struct istripe_session *session;
	struct istripe_way way;		/* the nexus's: the subject's, the sibling's */
	u32 generation;			/* of the session that the nexus had with it */
	struct completion ended;	/* by a fault, which is @error */
	int error;
};

struct istripe_proof {
	struct istripe_leg *leg;
	struct delayed_work work;
	bool started;
	bool harmful;			/* nexuses were lost by it: no more of it */
	u32 harms;			/* work: how often in a row nexuses were lost */
	bool undecided;			/* work: a proof showed nothing */
	u32 retry_ms;			/* work: until it is made again */
	struct istripe_nexus *subject;
	struct istripe_nexus *sibling;	/* that it is being compared with */
	wait_queue_head_t idle;		/* another subject or sibling, or none */
	struct mutex lock;
	struct istripe_test_session tests[2];	/* over the subject's way, the sibling's */
};

/**
 * istripe_proof_ask() - does the target answer over the session that a nexus had
 * @nexus: found within a section of leg->srcu that lasts, or the proof's in use
 * @generation: nexus->generation when it had that session
 *
 * Context: process, sleeps for at most ISTRIPE_PING_TIMEOUT_MS, and until the exchange of
 * the session's owner is over.
 * Return: 0 it does, and the nexus still has the session; -ENOTCONN it has not, or the
 * session had a fault; else as istripe_session_ping().
 */
int istripe_proof_ask(struct istripe_nexus *nexus, u32 generation);

/**
 * istripe_proof_init() - prepare a leg's proof
 * @leg: being made
 *
 * Context: process.
 */
void istripe_proof_init(struct istripe_leg *leg);

/**
 * istripe_proof_start() - the leg's volume is up: look for what can be proven
 * @leg: the leg
 *
 * Context: process.
 */
void istripe_proof_start(struct istripe_leg *leg);

/**
 * istripe_proof_stop() - no more proofs
 * @leg: its nexuses are stopped
 *
 * Context: process, sleeps.
 */
void istripe_proof_stop(struct istripe_leg *leg);

/**
 * istripe_proof_live() - a nexus is about to be live: what holds of its node?
 * @nexus: the nexus
 * @session: its new session
 *
 * Context: the nexus's worker.
 */
void istripe_proof_live(struct istripe_nexus *nexus, const struct istripe_session *session);

/**
 * istripe_proof_schedule() - look for what can be proven now
 * @leg: a nexus of it has come
 *
 * Context: any that may not sleep.
 */
void istripe_proof_schedule(struct istripe_leg *leg);

/**
 * istripe_proof_schedule_again() - look, also if proofs have done harm before
 * @leg: its fence has been set
 *
 * Context: any that may not sleep.
 */
void istripe_proof_schedule_again(struct istripe_leg *leg);

/**
 * istripe_proof_stop_nexus() - return when the proof has no use of a nexus any more
 * @nexus: its event ISTRIPE_NEXUS_STOP is set
 *
 * Context: process, sleeps.
 */
void istripe_proof_stop_nexus(struct istripe_nexus *nexus);

/**
 * istripe_proof_same() - have two nexuses been proven to lead to the same portal group?
 * @nexus: one
 * @sibling: another one
 *
 * Context: leg->lock held.
 * Return: true or false.
 */
bool istripe_proof_same(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling);

#endif
