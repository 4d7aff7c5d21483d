/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write protection: the disk is read-only while the LUN of any of its legs takes no writes.
 *
 * A LUN says so when it is asked (MODE SENSE, WP), or refuses a write (DATA PROTECT). Each
 * nexus remembers what it was told. A look at the LUN over the nexus, after a unit attention,
 * a login or for a rescan, forgets what was refused before: a LUN that does not say that it
 * is write protected shows it with the next write. Of a leg the nexuses that are logged in
 * count, and what they said last while there is none.
 *
 * The work is the only one that changes the disk once the volume is up.
 */
#ifndef ISTRIPE_BLOCK_WRITE_PROTECT_H
#define ISTRIPE_BLOCK_WRITE_PROTECT_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "block/lun.h"

struct istripe_leg;
struct istripe_nexus;
struct istripe_volume;

/**
 * struct istripe_write_protect - of one volume
 * @work:	looks at all legs, changes the disk
 * @running:	there is a disk to change
 * @read_only:	the disk is; an administrator may have made it so besides
 */
struct istripe_write_protect {
	struct work_struct work;
	bool running;
	bool read_only;
};

/**
 * istripe_write_protect_init() - before there are legs
 * @write_protect: zeroed
 *
 * Context: process.
 */
void istripe_write_protect_init(struct istripe_write_protect *write_protect);

/**
 * istripe_write_protect_apply() - make the disk what its legs let it be
 * @volume: its disk has not been added yet
 *
 * Context: process, sleeps.
 */
void istripe_write_protect_apply(struct istripe_volume *volume);

/**
 * istripe_write_protect_start() - from now on the disk follows its legs
 * @volume: has a disk
 *
 * Also what has been found since istripe_write_protect_apply().
 *
 * Context: process.
 */
void istripe_write_protect_start(struct istripe_volume *volume);

/**
 * istripe_write_protect_stop() - the disk stays as it is from now on
 * @volume: may have been stopped before
 *
 * Context: process, sleeps.
 */
void istripe_write_protect_stop(struct istripe_volume *volume);

/**
 * istripe_write_protect_found() - a look has told whether the LUN is write protected
 * @nexus: its @found says what
 *
 * Context: the nexus's worker, leg->identify_lock.
 * Return: true: it is not what the leg was, istripe_write_protect_update() is to follow.
 */
bool istripe_write_protect_found(struct istripe_nexus *nexus);

/**
 * istripe_write_protect_update() - what nexuses know has changed
 * @volume: any
 *
 * Context: any.
 */
void istripe_write_protect_update(struct istripe_volume *volume);

/**
 * istripe_write_protect_refused() - a LUN has refused a write because it is write protected
 * @nexus: over which
 *
 * Context: any; the nexus was there when the write was sent.
 */
void istripe_write_protect_refused(struct istripe_nexus *nexus);

/**
 * istripe_write_protect_check() - can all legs be written to
 * @volume: its legs have been identified
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Context: process, sleeps.
 * Return: 0 or -EROFS.
 */
int istripe_write_protect_check(struct istripe_volume *volume, char *why, size_t why_bytes);

/**
 * istripe_protected_name() - in a word, for sysfs
 * @protected: how
 *
 * Context: any.
 * Return: a constant string.
 */
const char *istripe_protected_name(enum istripe_protected protected);

#endif
