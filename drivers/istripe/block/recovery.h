/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recovery: what the life of a nexus means for its leg and its volume. This file knows all that
 * takes part, so that the parts need not know each other:
 *
 *   login	fence.c ends what the old session has left; identify.c and metadata.c compare the
 *		LUN with that of the leg
 *   live	proof.c finds out which nexuses lead to the same portal group; the leg sends what
 *		waited; hotplug.c starts or retires nexuses of an MC/S path
 *   lost	the leg parks tasks, or keeps them until the fence
 *   time-out	eh.c aborts commands, lun_reset.c resets the LUN
 */
#ifndef ISTRIPE_BLOCK_RECOVERY_H
#define ISTRIPE_BLOCK_RECOVERY_H

#include <istripe/params.h>

struct istripe_leg;
struct istripe_nexus;
struct istripe_nexus_ops;

extern const struct istripe_nexus_ops istripe_recovery_nexus_ops;

/* Prepares a leg that has just been created. */
void istripe_recovery_init(struct istripe_leg *leg);

/**
 * istripe_recovery_save() - what the nexus's next life has to know of this one
 * @nexus: stopped
 * @saved: filled; empty when no write of it may still be carried out
 *
 * The control layer keeps it while the volume is down.
 *
 * Context: process.
 */
void istripe_recovery_save(struct istripe_nexus *nexus, struct istripe_unfenced *saved);

#endif
