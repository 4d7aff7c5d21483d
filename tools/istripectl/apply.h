/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration files and volumes of the kernel: from the one to the other. */
#ifndef ISTRIPECTL_APPLY_H
#define ISTRIPECTL_APPLY_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"
#include "plan.h"
#include "retry.h"

enum apply_flag {
	APPLY_SECRETS = 1,	/* those of a volume that is up have changed, too: its paths log
				 * in anew for them
				 */
	APPLY_DRY_RUN = 2,	/* only say what would be done, also without the module */
	APPLY_MISSING = 4,	/* leave a volume alone that is there, all of it */
	APPLY_FIRST = 8,	/* of several addresses of a host name take the first */
};

/**
 * apply_file() - make a volume as its configuration file says
 * @name: a valid name; a volume that is not there, or only in part, is made, and stays down
 * @flags: of enum apply_flag
 * @late: as leave_out_paths()
 * @fault: set on failure, and when not all can be done while the volume is up
 *
 * Each step is said. While the volume is up, paths log in anew one after another, so that its
 * I/O goes on over the others; the only live path of a leg is left alone. A path that cannot be
 * made now is left out, and as it is if the kernel has it: leave_out_paths().
 *
 * Return: 0; -EBUSY when something is left that needs the volume down; another -errno.
 */
int apply_file(const char *name, unsigned int flags, struct retry *late, struct fault *fault);

/**
 * apply_compare() - what apply would do with a volume; secrets cannot be compared
 * @now: as tree_read() has filled it
 * @plan: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0; -ENOENT there is no file, or it has a setting that the module does not know; -EINVAL
 * the file is wrong, or has other legs; -ENODATA it follows records that are not there; -EBADMSG
 * it cannot follow those that are; another -errno.
 */
int apply_compare(const struct volume *now, struct plan *plan, struct fault *fault);

/**
 * apply_mention() - say on standard error that a volume is not as its file says, if it has one
 * @name: a volume that has been changed
 */
void apply_mention(const char *name);

/**
 * apply_differs() - say on standard error in what a volume is not as its file says, if in anything
 * @name: a volume that is up, as it was configured before
 */
void apply_differs(const char *name);

/**
 * apply_add_differences() - add to a fault in what a volume is not as its file says, if in anything
 * @name: a volume that is down
 * @fault: why it does not come up
 */
void apply_add_differences(const char *name, struct fault *fault);

/**
 * apply_has_file() - whether a volume has a configuration file
 * @name: a valid name
 *
 * Return: whether it has.
 */
bool apply_has_file(const char *name);

#endif
