/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of a leg: it is made with its paths, brought up, which is the first login of each of its
 * nexuses and what came of them, stopped, and ends.
 */
#ifndef ISTRIPE_BLOCK_LEG_LIFE_H
#define ISTRIPE_BLOCK_LEG_LIFE_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_leg_params;
struct istripe_nexus;
struct istripe_nexus_ops;
struct istripe_path;
struct istripe_reason;
struct istripe_volume;

/* @params are copied; later nexuses get @nexus_ops, too. Returns ERR_PTR(-ENOMEM) on failure. */
struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params,
				       const struct istripe_nexus_ops *nexus_ops);

/* Publishes a path, whose number is free. Under leg->paths_lock. */
void istripe_leg_add_path(struct istripe_leg *leg, struct istripe_path *path);

/* Begins to bring the nexuses up; istripe_leg_wait() waits for the first results. */
void istripe_leg_start(struct istripe_leg *leg);

/*
 * One live nexus whose port takes I/O is enough; it is waited for. Those that failed go on trying,
 * unless they found another LUN, or writes were saved as unfenced and cannot be ended: that is an
 * error. Sleeps, killable. Returns 0, the error of a nexus, -ENODEV no port takes I/O, or -EINTR.
 */
int istripe_leg_wait(struct istripe_leg *leg, struct istripe_reason *why);

/* Returns 0, or -ENOTCONN when no nexus is live. Process context. */
int istripe_leg_check(struct istripe_leg *leg, struct istripe_reason *why);

/* Copies why the first attempt failed, and returns that error. nexus->first_error is set. */
int istripe_leg_nexus_error(struct istripe_nexus *nexus, struct istripe_reason *why);

/* Begins to log out; istripe_leg_stop() waits for that and closes. No requests any more. */
void istripe_leg_stop_begin(struct istripe_leg *leg);
void istripe_leg_stop(struct istripe_leg *leg);

/* The leg is stopped or was never started, or is NULL. */
void istripe_leg_destroy(struct istripe_leg *leg);

#endif
