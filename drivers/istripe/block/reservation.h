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
#include <linux/types.h>

struct gendisk;
struct istripe_leg;
struct istripe_path;
struct istripe_reason;
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

/* Waits for a call that is under way; none begins until it is resumed. 0, -EINTR if @killable. */
int istripe_reservation_pause(struct istripe_volume *volume, bool killable);
void istripe_reservation_resume(struct istripe_volume *volume);

/*
 * Paused: 0, a nexus that comes is registered by its login, or by later calls; -EBUSY, keys have
 * been registered, and that of the leg is not known.
 */
int istripe_reservation_may_join(const struct istripe_leg *leg, struct istripe_reason *why);

/*
 * Paused: -EBUSY, the nexuses from @from on hold, or may hold, a reservation that ends with their
 * registration. A call after their @wanted is taken away does not use them. @asked: by a user.
 */
int istripe_reservation_may_leave(const struct istripe_path *path, u32 from, bool asked,
				  struct istripe_reason *why);

/* Later calls find no volume. Waits for a call that is under way; the disk is deleted. */
void istripe_reservation_end(struct gendisk *disk);

/* free_disk of the disk's operations. */
void istripe_reservation_free_disk(struct gendisk *disk);

#endif
