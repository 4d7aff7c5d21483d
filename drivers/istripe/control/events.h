/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: user space is told of each change of a state of a running volume, by a uevent and by
 * waking those who poll() the file in sysfs. See Documentation/ABI/testing/uevent-istripe.
 *
 * The uevents are of the disk's parent device, which is in no rule of udev: a uevent of the disk
 * would make udev open and read it, of which it may be the worst moment, and a volume that is open
 * cannot go down.
 */
#ifndef ISTRIPE_CONTROL_EVENTS_H
#define ISTRIPE_CONTROL_EVENTS_H

#include <linux/types.h>

struct istripe_events;
struct istripe_path;
struct istripe_volume;
struct kobject;

/* Of a running volume, whose directory in sysfs is @kobj. NULL: no memory. */
struct istripe_events *istripe_events_create(struct istripe_volume *volume, struct kobject *kobj);

/* Nobody is told anything any more; their directories are still there. NULL is fine. Sleeps. */
void istripe_events_stop(struct istripe_events *events);

/* Stopped, or never started; NULL is fine. */
void istripe_events_destroy(struct istripe_events *events);

/* Before the start: the directory of a leg. */
void istripe_events_add_leg(struct istripe_events *events, u32 leg, struct kobject *kobj);

/* The directory of a path; NULL: it has none. After the start it is announced as added. */
void istripe_events_add_path(struct istripe_events *events, const struct istripe_path *path,
			     struct kobject *kobj);

/* The path leaves, and so does its directory; also one that was not added. NULL is fine. Sleeps. */
void istripe_events_remove_path(struct istripe_events *events, const struct istripe_path *path);

/* From now on. A state that is not live is told at once, as if it had been live before. */
void istripe_events_start(struct istripe_events *events);

#endif
