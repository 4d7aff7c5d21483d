/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The roster of a leg: which paths it has. They come and go while the leg is up.
 *
 * A path that comes logs in, and is used when its LUN, and with metadata its superblock,
 * are known to be those of the leg. One that goes gets no more tasks, finishes those that
 * it has, logs out and rests; when it is lost meanwhile its writes are fenced as those of
 * any path. Only then is it taken out and, when nobody can hold it any more, freed.
 *
 * One change at a time: leg->roster_lock. Where it stands in the lock order: leg.h.
 */
#ifndef ISTRIPE_BLOCK_ROSTER_H
#define ISTRIPE_BLOCK_ROSTER_H

#include <istripe/params.h>

struct istripe_bundle;
struct istripe_leg;

/**
 * istripe_roster_enter() - let whoever looks find a bundle
 * @leg: the leg
 * @bundle: whose number is free
 *
 * Context: process, leg->roster_lock.
 */
void istripe_roster_enter(struct istripe_leg *leg, struct istripe_bundle *bundle);

/**
 * istripe_roster_add() - add a path to a leg that is up
 * @leg: the leg
 * @params: blueprint of the path, whose number is free; copied
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps until the path is live or has failed; killable.
 * Return: the bundle; ERR_PTR: -EBUSY keys of persistent reservations are registered, of
 * which the path has none; -EINVAL it may use a data digest, and the disk does not keep
 * pages stable; -ENOMEM; -EINTR; or what connecting, login, LUN bring-up gave.
 */
struct istripe_bundle *istripe_roster_add(struct istripe_leg *leg,
					  const struct istripe_path_params *params, char *why,
					  size_t why_bytes);

/**
 * istripe_roster_leave() - let members of a bundle finish their tasks, log out and rest
 * @bundle: of a leg that is up
 * @from: the first member that goes, and all behind it; 0: the whole path
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps; for command_timeout_ms and login_timeout_ms at most; killable.
 * Return: 0, then istripe_roster_drop() is to follow; else they stay: -EBUSY without them
 * no path would be live, or left, they have not finished in time, or keys of persistent
 * reservations are registered; -EINTR.
 */
int istripe_roster_leave(struct istripe_bundle *bundle, u32 from, char *why, size_t why_bytes);

/**
 * istripe_roster_drop() - free members of a bundle, or all of it
 * @bundle: see istripe_roster_leave(), which has succeeded; its nodes in sysfs are gone
 * @from: see there; 0 frees @bundle, too
 *
 * Context: process, sleeps.
 */
void istripe_roster_drop(struct istripe_bundle *bundle, u32 from);

/**
 * istripe_roster_grow() - add members to a bundle
 * @bundle: of a leg that is up
 * @count: that it is to have, more than now
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Those that are wanted begin to log in.
 *
 * Context: process.
 * Return: 0; -EBUSY keys of persistent reservations are registered, of which the new ones
 * have none; -ENOMEM; then it has as many as before.
 */
int istripe_roster_grow(struct istripe_bundle *bundle, u32 count, char *why, size_t why_bytes);

/**
 * istripe_roster_check_renew() - may the session of a bundle be logged in anew
 * @bundle: of any kind, of a leg that is up
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process.
 * Return: 0; -EBUSY nothing else is live, and I/O would fail before it is back.
 */
int istripe_roster_check_renew(const struct istripe_bundle *bundle, char *why, size_t why_bytes);

/**
 * istripe_roster_renew() - ask for another number of connections of one session
 * @bundle: of kind mcs, of a leg that is up
 * @connections: what its next session asks for; this one is logged out
 *
 * Context: process.
 */
void istripe_roster_renew(struct istripe_bundle *bundle, u32 connections);

#endif
