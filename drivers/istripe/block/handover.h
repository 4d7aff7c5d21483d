/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asking a target to hand a LUN over to another of its target port groups (explicit ALUA, SET
 * TARGET PORT GROUPS). That is done only when no port of the leg takes I/O, never for a better one:
 * another host may use the LUN through that. When the target prefers another group than the one
 * that it was asked for, the LUN is handed back once a port of that group has been live for a
 * while, unless somebody else has moved it meanwhile. The time between two requests doubles, so
 * that two hosts without a common port do not take the LUN away from each other all the time.
 */
#ifndef ISTRIPE_BLOCK_HANDOVER_H
#define ISTRIPE_BLOCK_HANDOVER_H

#include <linux/types.h>

struct istripe_access;
struct istripe_nexus;

struct istripe_handover_series {
	unsigned long asked_at;		/* jiffies of the last request, or of its answer */
	u32 requests;			/* in a row */
};

/* Of a leg, under leg->lock. */
struct istripe_handover {
	struct istripe_handover_series take;	/* because no port takes I/O */
	struct istripe_handover_series back;	/* to the preferred port */
	bool ours;			/* @group has the LUN because we have asked for that */
	u16 group;
};

/* Does a port take I/O, or may the target be asked for that when no other does? Without a lock. */
bool istripe_handover_may_serve(const struct istripe_access *access);

/*
 * The state of the nexus's port has been found during a revalidation: asks the target for the LUN
 * if that is due. 0 nothing to do, or refused; -EALREADY the target has done it: ask for the state
 * again; -ESTALE the LUN may have changed; other errors end the session. The nexus's worker.
 */
int istripe_handover_ask(struct istripe_nexus *nexus);

#endif
