/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write protection: the disk is read-only while the LUN of any of its legs takes no writes.
 *
 * A LUN says so when it is asked (MODE SENSE, WP), or refuses a write (DATA PROTECT). Each nexus
 * remembers the last answer. Asking again, after a login, a unit attention, for a rescan, or after
 * 20 seconds, clears a refusal: a LUN that does not say that it is write protected shows it with
 * the next write. The nexuses that are logged in decide for their leg; while there is none, their
 * last decision holds.
 *
 * Once the volume is up, nothing but the work changes the disk.
 */
#ifndef ISTRIPE_BLOCK_WRITE_PROTECT_H
#define ISTRIPE_BLOCK_WRITE_PROTECT_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "block/lun.h"

struct istripe_nexus;
struct istripe_reason;
struct istripe_volume;

struct istripe_write_protect {
	struct delayed_work work;	/* surveys all legs, changes the disk */
	bool watched;			/* by the work only: a LUN is asked again at @ask_at */
	unsigned long ask_at;		/* jiffies */
	bool running;			/* there is a disk to change */
	bool read_only;			/* because of a leg; an administrator may want it, too */
};

void istripe_write_protect_init(struct istripe_write_protect *write_protect);

/* Makes a disk read-only or not, before it is added; later only the work calls it. Sleeps. */
void istripe_write_protect_apply(struct istripe_volume *volume);

/* The disk follows its legs from now on, also what they said after the first apply. */
void istripe_write_protect_start(struct istripe_volume *volume);

/* The disk stays as it is from now on. Sleeps; may be called again. */
void istripe_write_protect_stop(struct istripe_volume *volume);

/*
 * Takes over what nexus->found says. The worker of the nexus, with leg->identify_lock. True: the
 * leg was different, and istripe_write_protect_update() is to follow.
 */
bool istripe_write_protect_found(struct istripe_nexus *nexus);

/* Queues the work, once the disk follows its legs. Any context. */
void istripe_write_protect_update(struct istripe_volume *volume);

/* A LUN has refused a write. Any context; the nexus existed when the write was sent. */
void istripe_write_protect_refused(struct istripe_nexus *nexus);

/* Can all legs be written to? 0 or -EROFS; sleeps. */
int istripe_write_protect_check(struct istripe_volume *volume, struct istripe_reason *why);

/* The state of a leg in a word, for sysfs. */
extern const char *const istripe_protected_names[];

#endif
