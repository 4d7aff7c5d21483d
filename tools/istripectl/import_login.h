/* SPDX-License-Identifier: GPL-2.0 */
/* import: records by which open-iscsi logs in to targets of the volume. */
#ifndef ISTRIPECTL_IMPORT_LOGIN_H
#define ISTRIPECTL_IMPORT_LOGIN_H

#include "import.h"

/**
 * import_logins_find() - find the discovery records by which iscsid logs in to the targets
 * @import: its records, and those that are used, are known; discoveries is filled
 */
void import_logins_find(struct import *import);

/**
 * import_logins_check() - whether open-iscsi leaves the targets alone
 * @import: after import_logins_find(); its fault has the commands that make it so
 *
 * Return: 0; -EBUSY: it logs in at boot, or when it discovers them.
 */
int import_logins_check(struct import *import);

/**
 * import_sessions_check() - whether this host uses other disks of the targets
 * @import: after import_logins_find()
 *
 * Return: 0; -EBUSY: such a disk would not be there after the next boot.
 */
int import_sessions_check(const struct import *import);

/**
 * import_take_over() - have open-iscsi not log in to the targets any more
 * @import: after import_logins_find(), its volume has been saved
 *
 * Prints what it changes, and the commands that undo that.
 *
 * Return: 0; -errno: the fault names what is left.
 */
int import_take_over(struct import *import);

#endif
