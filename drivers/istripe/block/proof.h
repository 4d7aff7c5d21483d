/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A proof that two nexuses of a leg lead to the same iSCSI node and portal group.
 *
 * Equal target names and portal group tags prove nothing: there are pairs of targets with one name,
 * and a login at one of them does not end a session of the other, so it would be no fence. The
 * proof opens a test session, with an ISID of its own, through one nexus, reinstates it through the
 * other (RFC 7143 6.3.5), and once more through the first. Each login must end the session before
 * it, before the next ping and by the target's doing; twice, because once may be a target that just
 * goes down. After each of the two the nexus's own session must answer a ping, then the new test
 * session: the nexus's address may have moved to another node without having been noticed.
 *
 * The result is a number, nexus->portal_group, equal for nexuses that lead to the same portal
 * group. The leg's proof work gives it, one nexus after the other, those of a path, too: it
 * compares a nexus with one nexus of each known portal group, not with each other nexus. Numbers
 * are never reused. A nexus keeps its number while it is down, because its lost session was there.
 * Its next session has none until it is proven anew, because another node may have taken the
 * address. A proof counts only if both nexuses have had the same sessions all along, see
 * nexus->generation.
 *
 * An undecided proof is repeated, after seconds at first and minutes at last, and when a nexus of
 * the leg comes back; a proof that two are different only in the latter case.
 *
 * Test sessions carry no command; for a proof the nexuses' own sessions carry a ping only. The work
 * starts when the volume is up. It uses a nexus while that is @subject or @sibling. When a target
 * drops other sessions because of test sessions, proofs end: @harmful.
 *
 * Locks: leg->lock covers @subject and @sibling (written by the work), losses and generations of
 * the leg, and portal_group, tpgt, generation and way of the nexuses. @lock covers the test
 * sessions, for istripe_proof_stop_nexus(); it is taken before session->socket_lock.
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

struct istripe_test_session {
	struct istripe_session *session;
	struct istripe_way way;		/* of the subject, of the sibling */
	u32 generation;			/* nexus->generation, when it had @way */
	struct completion ended;	/* by a fault: @error */
	int error;
};

struct istripe_proof {
	struct istripe_leg *leg;
	struct delayed_work work;
	bool started;
	bool harmful;			/* nexuses were lost by proofs: no more */
	u32 harms;			/* work: proofs in a row with a loss */
	bool undecided;			/* work: a proof was undecided */
	u32 retry_ms;			/* work: delay of the next attempt */
	struct istripe_nexus *subject;
	struct istripe_nexus *sibling;	/* compared with @subject */
	wait_queue_head_t idle;		/* woken when @subject or @sibling changes */
	struct mutex lock;
	struct istripe_test_session tests[2];	/* over the way of @subject, of @sibling */
};

/*
 * Pings over the session that a nexus had when its generation was @generation. The nexus was found
 * within a section of leg->srcu that lasts, or the proof uses it. Sleeps for
 * ISTRIPE_PING_TIMEOUT_MS at most, and until the control request of the session's owner is over.
 * Returns 0 when the target answers and the nexus still has this session; -ENOTCONN it has not, or
 * the session had a fault; else as istripe_session_ping().
 */
int istripe_proof_ask(struct istripe_nexus *nexus, u32 generation);

void istripe_proof_init(struct istripe_leg *leg);

/* The leg's volume is up: proofs may begin. */
void istripe_proof_start(struct istripe_leg *leg);

/* No more proofs; the leg's nexuses are stopped. Sleeps. */
void istripe_proof_stop(struct istripe_leg *leg);

/* A nexus is about to be live with a new session, whose portal group is not proven. Its worker. */
void istripe_proof_live(struct istripe_nexus *nexus);

/* Schedules proofs: a nexus of the leg is live. Any context. */
void istripe_proof_schedule(struct istripe_leg *leg);

/**
 * istripe_proof_schedule_again() - schedule proofs, also if they have done harm before
 * @leg: its fence has been set
 * Context: any, does not sleep.
 */
void istripe_proof_schedule_again(struct istripe_leg *leg);

/* Returns when the proof does not use the nexus any more. Its ISTRIPE_NEXUS_STOP is set. Sleeps. */
void istripe_proof_stop_nexus(struct istripe_nexus *nexus);

/* Have two nexuses been proven to lead to the same portal group? Under leg->lock. */
bool istripe_proof_same(const struct istripe_nexus *nexus, const struct istripe_nexus *sibling);

#endif
