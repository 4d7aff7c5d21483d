/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When and where a nexus without a session logs in again. The wait grows with each failure, up to
 * login_retry_max_ms; it is shorter while I/O waits for the nexus, longer while the target refuses
 * its logins, and not shorter than the target wants. A nexus that is woken waits until a second
 * after its last attempt: an interface that goes up and down all the time makes a few logins per
 * second.
 *
 * Logins begin at the configured portal of the path, or at the one that the target has moved to
 * permanently (RFC 7143 11.13.5, status 0102). That is kept when the nexus is live there, until it
 * goes idle. A redirect must not lock a path out: after a few failures in a row the logins begin at
 * both in turn.
 *
 * All functions but istripe_backoff_next_ms() are for the nexus's worker.
 */
#ifndef ISTRIPE_BLOCK_BACKOFF_H
#define ISTRIPE_BLOCK_BACKOFF_H

#include <linux/socket.h>
#include <linux/types.h>

struct istripe_nexus;

/* Before the first attempt. */
void istripe_backoff_init(struct istripe_nexus *nexus);

/* An attempt begins. When the nexus was woken, something has changed: failures may pass soon. */
void istripe_backoff_attempt(struct istripe_nexus *nexus);

/* How long to wait after the failures that there were. */
u32 istripe_backoff_ms(const struct istripe_nexus *nexus);

/* nexus->owned is about to be closed: notes how long the target wants no login, within reason. */
void istripe_backoff_lost(struct istripe_nexus *nexus);

/* The rest of that time. */
u32 istripe_backoff_asked_left_ms(const struct istripe_nexus *nexus);

/* Was the LUN too busy for the attempt? An array that starts: istripe_leg_outage_end(). */
void istripe_backoff_note_busy(struct istripe_nexus *nexus, bool busy);

/* The wait begins. */
void istripe_backoff_begin(struct istripe_nexus *nexus, u32 wait_ms);

/* Jiffies until it ends; @woken: there is a WAKE. */
unsigned long istripe_backoff_left(const struct istripe_nexus *nexus, bool woken);

/**
 * istripe_backoff_next_ms() - when does the next login begin?
 * @nexus: kept by the caller
 * Context: any.
 * Return: milliseconds; 0: at once, or one is under way; U32_MAX: none is due.
 */
u32 istripe_backoff_next_ms(const struct istripe_nexus *nexus);

/* Where the next login begins. */
const struct sockaddr_storage *istripe_moved_portal_next(const struct istripe_nexus *nexus);

/* Have failures come to where the logins begin at two portals in turn? */
bool istripe_moved_portal_in_turn(const struct istripe_nexus *nexus);

/* The nexus is live over @owned, which knows where the next login is to begin. */
void istripe_moved_portal_live(struct istripe_nexus *nexus);

/* The next login begins at the configured portal. */
void istripe_moved_portal_forget(struct istripe_nexus *nexus);

#endif
