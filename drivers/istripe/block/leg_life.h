/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a leg: it is made with its paths, stopped, and ends. bring_up.h starts it. */
#ifndef ISTRIPE_BLOCK_LEG_LIFE_H
#define ISTRIPE_BLOCK_LEG_LIFE_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_leg_params;
struct istripe_nexus_ops;
struct istripe_path;
struct istripe_volume;

/* @params are copied; later nexuses get @nexus_ops, too. Returns ERR_PTR(-ENOMEM) on failure. */
struct istripe_leg *istripe_leg_create(struct istripe_volume *volume, u32 index,
				       const struct istripe_leg_params *params,
				       const struct istripe_nexus_ops *nexus_ops);

/* Publishes a path, whose number is free. Under leg->paths_lock. */
void istripe_leg_add_path(struct istripe_leg *leg, struct istripe_path *path);

/* Begins to log out; istripe_leg_stop() waits for that and closes. No requests any more. */
void istripe_leg_stop_begin(struct istripe_leg *leg);
void istripe_leg_stop(struct istripe_leg *leg);

/* The leg is stopped or was never started, or is NULL. */
void istripe_leg_destroy(struct istripe_leg *leg);

#endif
