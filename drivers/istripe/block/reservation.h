/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Persistent reservations (SPC-5 5.14) of a volume. Each call reaches every leg; when one of them
 * refuses, the change is taken back at the others.
 *
 * An initiator port, that is, a nexus, registers keys for itself only. So keys are registered over
 * every nexus, for all of them to go on, and over those that are lost when they log in (pr_key.h).
 * One nexus holds the reservation; with several nexuses only the types for registrants let all of
 * them write.
 */
#ifndef ISTRIPE_BLOCK_RESERVATION_H
#define ISTRIPE_BLOCK_RESERVATION_H

#include <linux/mutex.h>

struct gendisk;
struct istripe_volume;
struct pr_ops;

/*
 * private_data of the disk: a process that has the disk open may still call when the volume is
 * gone. @lock covers @volume and its has_keys, and keeps the volume until the call is over. It is
 * taken outside of the nexuses' SRCU sections. has_keys is set before keys are registered. Code
 * that lets nexuses come or go changes the leg first and then reads has_keys, without the lock.
 */
struct istripe_reservation {
	struct mutex lock;		/* see above */
	struct istripe_volume *volume;	/* NULL: taken down */
};

extern const struct pr_ops istripe_reservation_ops;

/* private_data for the disk, or NULL. */
struct istripe_reservation *istripe_reservation_alloc(struct istripe_volume *volume);

/*
 * Waits for a call that is under way. True: later calls reach every nexus that is wanted now, or
 * fail. False: keys have been registered, which a new nexus would lack.
 */
bool istripe_reservation_knows_nexuses(struct istripe_volume *volume);

/* Later calls find no volume. Waits for a call that is under way; the disk is deleted. */
void istripe_reservation_end(struct gendisk *disk);

/* free_disk of the disk's operations. */
void istripe_reservation_free_disk(struct gendisk *disk);

#endif
