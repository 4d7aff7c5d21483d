/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations of nexuses: they connect the states of a nexus with the parts of its leg and
 * volume that depend on them, which so need not know each other:
 *
 *   login	pr_key.c registers the key of reservations; fence.c ends the commands of the old
 *		session; identify.c and metadata.c compare the LUN with that of the leg
 *   live	proof.c finds out which nexuses lead to the same portal group; the leg sends the
 *		parked tasks; hotplug.c starts or retires nexuses of an MC/S path
 *   lost	the leg parks tasks, or keeps them until the fence
 *   time-out	eh.c aborts commands, trial.c knows if it is the path, lun_reset.c resets the LUN
 */
#ifndef ISTRIPE_BLOCK_NEXUS_OPS_H
#define ISTRIPE_BLOCK_NEXUS_OPS_H

#include <istripe/params.h>

struct istripe_leg;
struct istripe_nexus;
struct istripe_nexus_ops;

extern const struct istripe_nexus_ops istripe_nexus_ops_table;

void istripe_nexus_ops_init_leg(struct istripe_leg *leg);

/**
 * istripe_unfenced_save() - save whether writes of a nexus may still be carried out
 * @nexus: stopped, or its start has failed
 * @saved: filled; empty when its fence is complete. The control layer keeps it while the
 *	volume, or the path, is down.
 * Context: process.
 */
void istripe_unfenced_save(struct istripe_nexus *nexus, struct istripe_unfenced *saved);

#endif
