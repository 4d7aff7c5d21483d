/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the LUN that a nexus has found is the LUN of its leg, and of what size.
 */
#ifndef ISTRIPE_BLOCK_IDENTIFY_H
#define ISTRIPE_BLOCK_IDENTIFY_H

#include <linux/types.h>

struct istripe_nexus;

/**
 * istripe_identify() - is what a nexus found the LUN of its leg
 * @nexus: its @found says what
 * @why: reason on failure
 * @why_bytes: its size
 *
 * The first LUN found (or the configured designator) is the leg's for good. One that has
 * grown is taken note of, see resize.h.
 *
 * Context: the nexus's worker.
 * Return: 0; -ENODEV it is another LUN; -ENOSPC it has shrunk; -EINVAL its blocks differ.
 */
int istripe_identify(struct istripe_nexus *nexus, char *why, size_t why_bytes);

/* The nexus has no session any more: what it has found counts no longer. Its worker. */
void istripe_identify_forget(struct istripe_nexus *nexus);

#endif
