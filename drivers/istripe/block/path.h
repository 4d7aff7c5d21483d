/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path: the sessions of one path as it is configured. Each of them is a struct
 * istripe_nexus, a nexus: its ISID, its worker and its recovery are its own. Policies
 * choose between paths, which lead over different ways; within one the lane chooses, so
 * that a hardware queue of the disk keeps to one socket.
 *
 * sessions:	as many nexuses as connections, each a session of one connection.
 * mcs:		the session of nexus 0 asks for all the connections. Nexus k is a spare:
 *		it is wanted as long as the target grants no more than k.
 * auto:	sessions, see Documentation/design.rst.
 *
 * A nexus that is not wanted rests: it is idle, or on its way there.
 *
 * @lanes and @kept are under leg->lock; submitters only read. @nexuses and
 * @nexus_count are changed under leg->paths_lock and leg->lock, others look within a
 * section of leg->srcu (leg.h). All else is constant.
 *
 * @params are the settings of all nexuses and their sessions, which end before the path.
 * Those that may change while the volume is up are written with istripe_params_write(); words
 * are read with READ_ONCE(), others with istripe_params_read(). The number of connections may
 * change, too: @nexus_count has it.
 */
#ifndef ISTRIPE_BLOCK_PATH_H
#define ISTRIPE_BLOCK_PATH_H

#include <linux/atomic.h>
#include <linux/list.h>

#include <istripe/params.h>
#include "iscsi/state.h"

struct istripe_path;
struct istripe_leg;
struct istripe_leg_task;
struct istripe_nexus;

/* What a connection's directory in sysfs shows. */
struct istripe_conn_place {
	struct istripe_path *path;
	u32 index;
};

struct istripe_path {
	struct istripe_leg *leg;
	u32 index;			/* of the path, as configured */
	struct istripe_path_params params;	/* multi is never auto */
	u32 nexus_count;		/* connections that it is to have */
	struct istripe_nexus *nexuses[ISTRIPE_CONNECTIONS_MAX];
	u32 lanes;			/* connections of its live nexuses */
	u32 kept;			/* nexuses from this one on are to be taken out */
	u32 granted;			/* connections, by the last login of nexus 0 */

	/* Handed to a session and not done yet; counted when the leg has several paths. */
	atomic_t in_flight;
	atomic_long_t in_flight_bytes;

	struct istripe_conn_place places[ISTRIPE_CONNECTIONS_MAX];
	struct list_head sysfs_dirs;	/* the control layer's: its directory in sysfs */
	struct list_head sysfs_session_dirs;	/* and those below it */
};

/**
 * istripe_path_next_nexus() - for istripe_path_for_each_nexus()
 * @path: the path
 * @at: where to look, moved behind what was found
 *
 * Context: any that keeps the nexuses, see above.
 * Return: a nexus, or NULL when there are no more.
 */
struct istripe_nexus *istripe_path_next_nexus(const struct istripe_path *path, u32 *at);

#define istripe_path_for_each_nexus(_path, _nexus, _at)				\
	for ((_at) = 0; ((_nexus) = istripe_path_next_nexus(_path, &(_at))); )

/**
 * istripe_path_create() - build a configured path from the blueprint
 * @leg: its leg
 * @params: blueprint, copied
 *
 * Context: process.
 * Return: the path or ERR_PTR(-ENOMEM).
 */
struct istripe_path *istripe_path_create(struct istripe_leg *leg,
					 const struct istripe_path_params *params);

/**
 * istripe_path_destroy() - free a path and its nexuses, wiping its secrets
 * @path: its nexuses stopped or never started; NULL is fine
 *
 * Context: process.
 */
void istripe_path_destroy(struct istripe_path *path);

/**
 * istripe_path_unfenced() - how many nexuses have left writes in their last lives
 * @path: fresh
 *
 * Context: process.
 * Return: a number.
 */
u32 istripe_path_unfenced(const struct istripe_path *path);

/**
 * istripe_path_pick() - which of the live nexuses a lane uses
 * @path: the path
 * @lane: of the task
 *
 * Context: any. A nexus that was live at that moment need not be any more.
 * Return: a nexus, or NULL when none is live, or one has just come or gone.
 */
struct istripe_nexus *istripe_path_pick(const struct istripe_path *path, u32 lane);

/**
 * istripe_path_state() - what the path is like as a whole
 * @path: the path
 *
 * Context: any that keeps its nexuses.
 * Return: a name: of the state of its only wanted nexus; of several "live" when all are,
 * "degraded" when some are, else of the first one's state.
 */
const char *istripe_path_state(const struct istripe_path *path);

/**
 * istripe_path_last_error() - copy the last reason of any nexus, in words
 * @path: the path
 * @why: filled, empty when there was none
 * @why_bytes: its size
 *
 * Context: process, keeps its nexuses.
 */
void istripe_path_last_error(const struct istripe_path *path, char *why, size_t why_bytes);

#endif
