/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a nexus has left behind in its last life: writes of a session that nobody has ended. The
 * control layer keeps it while the volume is down, by the number of the nexus.
 */
#ifndef ISTRIPE_BLOCK_PAST_H
#define ISTRIPE_BLOCK_PAST_H

#include <istripe/params.h>

struct istripe_nexus;

/**
 * istripe_nexus_restore_unfenced() - the session of the life before may still carry out writes
 * @nexus: fresh
 * @saved: what istripe_nexus_save_unfenced() said of it; empty when there is nothing
 *
 * Context: process.
 */
void istripe_nexus_restore_unfenced(struct istripe_nexus *nexus,
				    const struct istripe_unfenced *saved);

/**
 * istripe_nexus_save_unfenced() - what the nexus's next life has to know
 * @nexus: stopped
 * @saved: filled; empty when there is nothing
 *
 * Context: process.
 */
void istripe_nexus_save_unfenced(struct istripe_nexus *nexus, struct istripe_unfenced *saved);

#endif
