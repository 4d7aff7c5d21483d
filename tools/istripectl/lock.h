/* SPDX-License-Identifier: GPL-2.0 */
/* One process at a time makes, changes or removes the settings of a volume. */
#ifndef ISTRIPECTL_LOCK_H
#define ISTRIPECTL_LOCK_H

#include "fault.h"

/**
 * lock_take() - wait until no other process configures a volume, and keep others waiting
 * @name: the volume, whether it exists or not
 * @lock: set, for lock_leave()
 * @fault: set on failure
 *
 * After a second it says for whom it waits; after a minute, or with an interrupt, it ends. One that
 * nobody holds is had also after an interrupt. The end of a process is the end of its lock; its
 * children have no part in it. Where there can be no lock there is no waiting.
 *
 * It is not to be held while the user, a unit, a name server or the login of a whole volume is
 * waited for (but for the names in a file that save replaces), nor to be taken twice.
 *
 * Return: 0; -EAGAIN another process has it; -EINTR.
 */
int lock_take(const char *name, int *lock, struct fault *fault);

/**
 * lock_pass() - wait until no other process configures a volume
 * @name: the volume, whether it exists or not
 * @fault: set on failure
 *
 * Return: as lock_take().
 */
int lock_pass(const char *name, struct fault *fault);

/**
 * lock_peek() - open the file of a lock that nobody has, for reading
 * @name: the volume; this process does not have the lock, which would be free afterwards
 *
 * Return: a file descriptor, for lock_leave(); -1 when somebody has it, or there is no file.
 */
int lock_peek(const char *name);

/**
 * lock_leave() - let others go on
 * @lock: as lock_take() has set it
 */
void lock_leave(int lock);

/**
 * lock_process() - words for the process that has a lock
 * @pid: as F_GETLK says it: 0 of a process in another PID namespace
 *
 * Return: as "process 17", for free().
 */
char *lock_process(int pid);

#endif
