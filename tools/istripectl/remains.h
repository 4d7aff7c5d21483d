/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A volume that is there in part: a command was killed while it made or removed it.
 *
 * The file of the lock has a note of the volume's directory as long as it is there in part. Such a
 * volume has never been up, or its settings were to go: nobody needs it.
 */
#ifndef ISTRIPECTL_REMAINS_H
#define ISTRIPECTL_REMAINS_H

#include <stdbool.h>

#include "fault.h"

/**
 * remains_begin() - a volume is about to be made or removed
 * @lock: from lock_take()
 * @name: the volume, of which all is there, or nothing yet
 */
void remains_begin(int lock, const char *name);

/**
 * remains_end() - all of a volume is there, or nothing of it
 * @lock: from lock_take()
 */
void remains_end(int lock);

/**
 * remains_clear() - remove a volume that is there in part, and say so
 * @lock: from lock_take()
 * @name: the volume, whether it exists or not
 * @fault: set on failure
 *
 * Return: 0, also when there is nothing to remove; -errno.
 */
int remains_clear(int lock, const char *name, struct fault *fault);

/**
 * remains_refuse() - refuse a volume that is there in part
 * @lock: from lock_take()
 * @name: the volume, whether it exists or not
 * @fault: set when it is refused
 *
 * Return: 0; -EUCLEAN.
 */
int remains_refuse(int lock, const char *name, struct fault *fault);

/**
 * remains_are() - whether a volume is there in part, and nobody is just making or removing it
 * @name: the volume; the caller does not have its lock
 *
 * Return: whether it is.
 */
bool remains_are(const char *name);

/**
 * remains_fault() - say that a volume is there in part
 * @name: the volume
 * @fault: set
 *
 * Return: -EUCLEAN.
 */
int remains_fault(const char *name, struct fault *fault);

/**
 * remains_check_fenced() - tree_check_fenced() of a volume that may be there in part
 * @name: the volume; the caller does not have its lock
 * @fault: set on failure, to what is of use for such a volume
 *
 * Return: as tree_check_fenced().
 */
int remains_check_fenced(const char *name, struct fault *fault);

/**
 * remains_forget() - a volume that is up was completed by hand
 * @name: the volume, seen to be up; the caller does not have its lock
 */
void remains_forget(const char *name);

/**
 * remains_lock() - lock_take() of a volume that exists, all of it
 * @name: a valid name
 * @lock: set, for lock_leave()
 * @fault: set on failure
 *
 * Return: 0; -errno, and then there is nothing to leave.
 */
int remains_lock(const char *name, int *lock, struct fault *fault);

#endif
