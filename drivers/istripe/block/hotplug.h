/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hotplug: paths are added to a leg, and removed from it, while the leg is up.
 *
 * A new path logs in; it is used when its LUN, and with metadata its superblock, are known to be
 * those of the leg. A removed path gets no more tasks, finishes those that it has, logs out and
 * goes idle; when its session is lost meanwhile its writes are fenced as those of any path. Then it
 * is taken out of the leg, and freed after a grace period. A path that is to reconnect is not taken
 * out, but logs in again. One change at a time, under leg->paths_lock (leg.h).
 */
#ifndef ISTRIPE_BLOCK_HOTPLUG_H
#define ISTRIPE_BLOCK_HOTPLUG_H

#include <istripe/params.h>

struct istripe_path;
struct istripe_leg;
struct istripe_nexus;
struct istripe_reason;

/**
 * istripe_path_add() - add a path to a leg that is up
 * @leg: the leg
 * @params: of the path, whose number is free; copied
 * @why: reason on failure
 * Context: process, sleeps until the path is live or has failed; killable.
 * Return: the path; ERR_PTR: -EBUSY keys of persistent reservations are registered, and that of the
 * leg is not known; -EPERM, -EAGAIN the path cannot be registered; -EINVAL it may use a data
 * digest, and the disk does not keep pages stable; -ENOMEM; -EINTR; or an error of connecting,
 * login, LUN bring-up.
 */
struct istripe_path *istripe_path_add(struct istripe_leg *leg,
				      const struct istripe_path_params *params,
				      struct istripe_reason *why);

/**
 * istripe_path_retire() - let nexuses of a path finish their tasks, log out and go idle
 * @path: of a leg that is up
 * @from: this nexus and those behind it; 0: the whole path
 * @why: reason on failure
 * Context: process, sleeps; for command_timeout_ms and login_timeout_ms at most; killable.
 * Return: 0, then istripe_path_drop() must follow; else the nexuses stay: -EBUSY without them no
 * path would be live, or left, they have not finished in time, they may hold a persistent
 * reservation, or the key of the leg is not known; -EINTR.
 */
int istripe_path_retire(struct istripe_path *path, u32 from, struct istripe_reason *why);

/**
 * istripe_path_reconnect() - let all sessions of a path end, and log in again
 * @path: of a leg that is up
 * @alone: also if nothing else of the leg is live: I/O waits meanwhile
 * @why: reason on failure
 *
 * The sessions finish their tasks and log out, as by istripe_path_retire(). The new ones have the
 * same ISIDs; a path that is not live is logged in without a back-off.
 *
 * Context: process, sleeps until the old sessions have ended, as istripe_path_retire(); killable.
 * Return: 0, the logins have begun; else as istripe_path_retire(), -EBUSY also if the path is being
 * removed. Sessions that have ended by then log in again all the same.
 */
int istripe_path_reconnect(struct istripe_path *path, bool alone, struct istripe_reason *why);

/**
 * istripe_path_drop() - free nexuses of a path, or all of it
 * @path: istripe_path_retire() has succeeded; its sysfs directories are gone
 * @from: as for istripe_path_retire(); 0 frees @path, too
 * Context: process, sleeps.
 */
void istripe_path_drop(struct istripe_path *path, u32 from);

/**
 * istripe_path_grow() - add nexuses to a path; those that are wanted begin to log in
 * @path: of a leg that is up
 * @count: of nexuses afterwards, more than now
 * @why: reason on failure
 * Context: process.
 * Return: 0; -EBUSY keys of persistent reservations are registered, and that of the leg is not
 * known; -EINTR; -ENOMEM; on an error the path is as before.
 */
int istripe_path_grow(struct istripe_path *path, u32 count, struct istripe_reason *why);

/**
 * istripe_path_check_renew() - may the session of a path be replaced by a new login
 * @path: of any kind, of a leg that is up
 * @why: reason on failure
 * Context: process.
 * Return: 0; -EBUSY no other path is live, and I/O would fail before the new session is.
 */
int istripe_path_check_renew(const struct istripe_path *path, struct istripe_reason *why);

/**
 * istripe_path_renew() - log the session out; the next asks for @nexus_count connections
 * @path: of kind mcs, of a leg that is up
 * Context: process.
 */
void istripe_path_renew(struct istripe_path *path);

/* Starts and retires reserves after a login of nexus 0. Its worker, or under leg->paths_lock. */
void istripe_path_granted(struct istripe_path *path, u32 granted);

/**
 * istripe_path_spare() - retire a nexus that nothing needs any more
 * @nexus: any; of a path of kind mcs it may be one that the first session does without
 * Context: its worker, or process, within a section of leg->srcu; sleeps.
 */
void istripe_path_spare(struct istripe_nexus *nexus);

#endif
