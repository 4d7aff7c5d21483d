/* SPDX-License-Identifier: GPL-2.0 */
/* Compares the LUN that a nexus has found with the LUN of its leg, and notes its size. */
#ifndef ISTRIPE_BLOCK_IDENTIFY_H
#define ISTRIPE_BLOCK_IDENTIFY_H

struct istripe_lun_before;
struct istripe_nexus;
struct istripe_reason;

/*
 * Is nexus->found the LUN of the leg? The first LUN found (or the configured designator) is the
 * leg's for good; a LUN that offers it among others is the same. A LUN that has grown is reported
 * to resize.c. Through a port that takes no I/O only the designator is compared. The nexus's
 * worker. Returns 0; -ENODEV another LUN; -ENOSPC it has shrunk; -EINVAL its blocks differ; -E2BIG
 * it does less than the disk relies on; -EAGAIN it has not said all.
 */
int istripe_identify(struct istripe_nexus *nexus, struct istripe_reason *why);

/* Fills @before: the leg's LUN, and the port of the nexus. Its worker. */
void istripe_identify_recall(struct istripe_nexus *nexus, struct istripe_lun_before *before);

/* The LUN has its cache back, and has been flushed since nexus->found was found. Its worker. */
void istripe_identify_flushed(struct istripe_nexus *nexus);

/* The nexus has no session any more, or takes no I/O: nexus->blocks does not count. Its worker. */
void istripe_identify_forget(struct istripe_nexus *nexus);

#endif
