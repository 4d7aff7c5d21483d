/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Persistent reservations (SPC-5 5.14) of a volume: each call reaches every leg, and when
 * one of them refuses, what was done at the others is taken back.
 *
 * A registration is one of an initiator port, that is, of a nexus: keys are registered over
 * every nexus, so that all of them may go on. A reservation is held by one nexus: with
 * several of them only the types for registrants let all write.
 */
#ifndef ISTRIPE_BLOCK_RESERVATION_H
#define ISTRIPE_BLOCK_RESERVATION_H

#include <linux/mutex.h>

struct gendisk;
struct istripe_volume;
struct pr_ops;

/*
 * The disk's private_data: who has the disk open may still call when the volume is gone.
 * Lock: @lock covers @volume and its has_keys, and keeps it until the call is over. It is
 * outside of the nexuses' SRCU sections. has_keys is set before keys are registered: whoever
 * lets nexuses come or go looks at it afterwards, without the lock.
 */
struct istripe_reservation {
	struct mutex lock;		/* see above */
	struct istripe_volume *volume;	/* NULL: taken down */
};

/* For the disk's block_device_operations. */
extern const struct pr_ops istripe_reservation_ops;

/**
 * istripe_reservation_alloc() - make what is needed for a disk's reservations
 * @volume: its volume
 *
 * Context: process.
 * Return: private_data for the disk, or NULL.
 */
struct istripe_reservation *istripe_reservation_alloc(struct istripe_volume *volume);

/**
 * istripe_reservation_knows_nexuses() - will a nexus that is wanted now be asked for its keys
 * @volume: it is up
 *
 * Context: process, sleeps until a call that is under way is over.
 * Return: true, and calls from now on reach it, or fail; false, keys have been registered.
 */
bool istripe_reservation_knows_nexuses(struct istripe_volume *volume);

/**
 * istripe_reservation_end() - calls from now on find no volume
 * @disk: deleted; its volume's legs are stopped
 *
 * Context: process, sleeps until a call that is under way is over.
 */
void istripe_reservation_end(struct gendisk *disk);

/**
 * istripe_reservation_free_disk() - nobody has the disk any more
 * @disk: the disk
 *
 * Context: process.
 */
void istripe_reservation_free_disk(struct gendisk *disk);

#endif
