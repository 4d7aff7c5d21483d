/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key of persistent reservations that a leg has registered, as long as the volume is up. A
 * nexus that logs in is registered with it before it gets I/O: targets may end a registration with
 * the session, and a nexus that was lost when the key was registered has none.
 *
 * A host whose key was preempted or cleared must stay without it: others rely on that. So a nexus
 * is registered only while the LUN lists the key, for another nexus. If it does not, or says that
 * this host was preempted, the key is forgotten until it is registered through the disk again. One
 * that was never live, and so has no registration to lose, is refused then.
 *
 * Ports that take I/O decide that. Through another one the nexus is registered if that is possible:
 * the target may hand the LUN over to none but registered ones. Each revalidation tries it again.
 *
 * READ KEYS and the registration are two commands, and a PREEMPT may come between. Each change adds
 * one to the generation that READ KEYS returns. The registration counts if it was the only change
 * since the key was seen, or if a second nexus still has the key afterwards; else it is taken back,
 * by the next login if this session has broken.
 * leg->pr_key.lock, held from the one READ KEYS to the other, keeps two nexuses of the leg from
 * taking each other for that second one.
 */
#ifndef ISTRIPE_BLOCK_PR_KEY_H
#define ISTRIPE_BLOCK_PR_KEY_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_nexus;
struct istripe_reason;

void istripe_pr_key_init(struct istripe_leg *leg);

/* Registrations are about to be changed through the disk: no nexus goes live meanwhile. */
void istripe_pr_key_change_begin(struct istripe_leg *leg);

/* The leg has another key, or none; between begin and end. */
void istripe_pr_key_set(struct istripe_leg *leg, u64 key);

/* The LUN has keys now, or may have some, or was cleared; between begin and end. */
void istripe_pr_key_list(struct istripe_leg *leg, bool listed);

/* Nexuses that had to wait for it log in. */
void istripe_pr_key_change_end(struct istripe_leg *leg);

/* The LUN has been asked: with keys in it there are no ghosts. Its worker. */
void istripe_pr_key_found(struct istripe_nexus *nexus);

/* Until the nexus calls istripe_pr_key_ask() again. 0: not. */
u32 istripe_pr_key_poll_ms(const struct istripe_nexus *nexus);

/* Asks for keys of other hosts if no nexus of the leg has done so for that long. Its worker. */
void istripe_pr_key_ask(struct istripe_nexus *nexus);

/* The LUN has told the nexus that its registration was preempted. Any context. */
void istripe_pr_key_preempted(struct istripe_nexus *nexus);

/*
 * The LUN of nexus->owned has been asked: registers the key, if the nexus is to have it, or ends a
 * registration that it is not to have any more. Its worker.
 *
 * 0; 1: it is registered now and was not before, so the LUN may tell more; or an error.
 */
int istripe_pr_key_join(struct istripe_nexus *nexus, struct istripe_reason *why);

/* Ends the registration of a nexus that is taken out, or says that it stays. Its worker. */
void istripe_pr_key_leave(struct istripe_nexus *nexus);

/* The session is published. False: registrations have been changed since istripe_pr_key_join(). */
bool istripe_pr_key_admits(const struct istripe_nexus *nexus);

#endif
