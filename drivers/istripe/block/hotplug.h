/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The roster of a leg: which paths it has. They come and go while the leg is up.
 *
 * A path that comes logs in, and is used when its LUN, and with metadata its superblock,
 * are known to be those of the leg. One that goes gets no more tasks, finishes those that
 * it has, logs out and rests; when it is lost meanwhile its writes are fenced as those of
 * any path. Only then is it taken out and, when nobody can hold it any more, freed.
 *
 * One change at a time: leg->paths_lock. Where it stands in the lock order: leg.h.
 */
#ifndef ISTRIPE_BLOCK_HOTPLUG_H
#define ISTRIPE_BLOCK_HOTPLUG_H

#include <istripe/params.h>

struct istripe_path;
struct istripe_leg;

/**
 * istripe_path_add() - add a path to a leg that is up
 * @leg: the leg
 * @params: blueprint of the path, whose number is free; copied
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps until the path is live or has failed; killable.
 * Return: the path; ERR_PTR: -EBUSY keys of persistent reservations are registered, of
 * which the path has none; -EINVAL it may use a data digest, and the disk does not keep
 * pages stable; -ENOMEM; -EINTR; or what connecting, login, LUN bring-up gave.
 */
struct istripe_path *istripe_path_add(struct istripe_leg *leg,
				      const struct istripe_path_params *params, char *why,
				      size_t why_bytes);

/**
 * istripe_path_retire() - let nexuses of a path finish their tasks, log out and rest
 * @path: of a leg that is up
 * @from: the first nexus that goes, and all behind it; 0: the whole path
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps; for command_timeout_ms and login_timeout_ms at most; killable.
 * Return: 0, then istripe_path_drop() is to follow; else they stay: -EBUSY without them
 * no path would be live, or left, they have not finished in time, or keys of persistent
 * reservations are registered; -EINTR.
 */
int istripe_path_retire(struct istripe_path *path, u32 from, char *why, size_t why_bytes);

/**
 * istripe_path_drop() - free nexuses of a path, or all of it
 * @path: see istripe_path_retire(), which has succeeded; its nodes in sysfs are gone
 * @from: see there; 0 frees @path, too
 *
 * Context: process, sleeps.
 */
void istripe_path_drop(struct istripe_path *path, u32 from);

/**
 * istripe_path_grow() - add nexuses to a path
 * @path: of a leg that is up
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
int istripe_path_grow(struct istripe_path *path, u32 count, char *why, size_t why_bytes);

/**
 * istripe_path_check_renew() - may the session of a path be logged in anew
 * @path: of any kind, of a leg that is up
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process.
 * Return: 0; -EBUSY nothing else is live, and I/O would fail before it is back.
 */
int istripe_path_check_renew(const struct istripe_path *path, char *why, size_t why_bytes);

/**
 * istripe_path_renew() - have the session ask for as many connections as there are nexuses now
 * @path: of kind mcs, of a leg that is up
 *
 * The session is logged out; the next one asks.
 *
 * Context: process.
 */
void istripe_path_renew(struct istripe_path *path);

/**
 * istripe_path_granted() - start the spares that are wanted, let the others rest
 * @path: the path
 * @granted: connections that a login of nexus 0 has been granted
 *
 * Context: the worker of nexus 0.
 */
void istripe_path_granted(struct istripe_path *path, u32 granted);

#endif
