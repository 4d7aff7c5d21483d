/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bundle: the sessions of one path as it is configured. Each of them is a struct
 * istripe_path, a member: its ISID, its worker and its recovery are its own. Policies
 * choose between bundles, which lead over different ways; within one the lane chooses, so
 * that a hardware queue of the disk keeps to one socket.
 *
 * sessions:	as many members as connections, each a session of one connection.
 * mcs:		the session of member 0 asks for all the connections. Member k is a spare:
 *		it is wanted as long as the target grants no more than k.
 * auto:	sessions, see Documentation/design.rst.
 *
 * A member that is not wanted rests: it is idle, or on its way there.
 *
 * @lanes and @staying are under leg->lock; submitters only read. @members and
 * @member_count are changed under leg->roster_lock and leg->lock, others look within a
 * section of leg->srcu (leg.h). All else is constant.
 *
 * The members have the same settings. Those that may change while they are in use are
 * changed under @settings_lock in all of them; so a member that comes takes them over from
 * the first one under it, too.
 */
#ifndef ISTRIPE_BLOCK_BUNDLE_H
#define ISTRIPE_BLOCK_BUNDLE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include <istripe/params.h>
#include "proto/state.h"

struct istripe_bundle;
struct istripe_leg;
struct istripe_leg_task;
struct istripe_path;

/* What a connection's directory in sysfs shows. */
struct istripe_conn_place {
	struct istripe_bundle *bundle;
	u32 index;
};

struct istripe_bundle {
	struct istripe_leg *leg;
	u32 index;			/* of the path, as configured */
	enum istripe_multi multi;	/* never auto */
	u32 member_count;
	struct istripe_path *members[ISTRIPE_CONNECTIONS_MAX];
	u32 lanes;			/* connections of its live members */
	u32 staying;			/* members from this one on are to be taken out */
	u32 granted;			/* connections, by the last login of member 0 */
	struct mutex settings_lock;

	/* Handed to a session and not done yet; counted when the leg has several bundles. */
	atomic_t in_flight;
	atomic_long_t in_flight_bytes;

	struct istripe_conn_place places[ISTRIPE_CONNECTIONS_MAX];
	struct list_head nodes;		/* the control layer's: its directory in sysfs */
	struct list_head session_nodes;	/* and those below it */
};

/**
 * istripe_bundle_next_member() - for istripe_bundle_for_each_member()
 * @bundle: the bundle
 * @at: where to look, moved behind what was found
 *
 * Context: any that keeps the members, see above.
 * Return: a member, or NULL when there are no more.
 */
struct istripe_path *istripe_bundle_next_member(const struct istripe_bundle *bundle, u32 *at);

#define istripe_bundle_for_each_member(_bundle, _path, _at)			\
	for ((_at) = 0; ((_path) = istripe_bundle_next_member(_bundle, &(_at))); )

/**
 * istripe_bundle_create() - build a configured path from the blueprint
 * @leg: its leg
 * @params: blueprint, copied
 *
 * Context: process.
 * Return: the bundle or ERR_PTR(-ENOMEM).
 */
struct istripe_bundle *istripe_bundle_create(struct istripe_leg *leg,
					     const struct istripe_path_params *params);

/**
 * istripe_bundle_destroy() - free a bundle and its members
 * @bundle: its members stopped or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_bundle_destroy(struct istripe_bundle *bundle);

/**
 * istripe_bundle_unfenced() - how many members have left writes in their last lives
 * @bundle: fresh
 *
 * Context: process.
 * Return: a number.
 */
u32 istripe_bundle_unfenced(const struct istripe_bundle *bundle);

/**
 * istripe_bundle_pick() - which of the live members a lane uses
 * @bundle: the bundle
 * @lane: of the task
 *
 * Context: any. A member that was live at that moment need not be any more.
 * Return: a member, or NULL when none is live, or one has just come or gone.
 */
struct istripe_path *istripe_bundle_pick(const struct istripe_bundle *bundle, u32 lane);

/**
 * istripe_bundle_granted() - start the spares that are wanted, let the others rest
 * @bundle: the bundle
 * @granted: connections that a login of member 0 has been granted
 *
 * Context: the worker of member 0.
 */
void istripe_bundle_granted(struct istripe_bundle *bundle, u32 granted);

/**
 * istripe_bundle_state() - what the path is like as a whole
 * @bundle: the bundle
 *
 * Context: any that keeps its members.
 * Return: a name: of the state of its only wanted member; of several "live" when all are,
 * "degraded" when some are, else of the first one's state.
 */
const char *istripe_bundle_state(const struct istripe_bundle *bundle);

/**
 * istripe_bundle_last_error() - copy the last reason of any member, in words
 * @bundle: the bundle
 * @why: filled, empty when there was none
 * @why_bytes: its size
 *
 * Context: process, keeps its members.
 */
void istripe_bundle_last_error(const struct istripe_bundle *bundle, char *why, size_t why_bytes);

#endif
