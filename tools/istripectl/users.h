/* SPDX-License-Identifier: GPL-2.0 */
/* Volumes of this host that have a leg on a target: those of the kernel, and those of files. */
#ifndef ISTRIPECTL_USERS_H
#define ISTRIPECTL_USERS_H

#include <stddef.h>

#include "model.h"

struct users {
	struct volume *volumes;
	size_t count;
};

/**
 * users_read() - read all volumes and configuration files; those that cannot be read are left out
 * @users: zeroed by the caller, filled
 */
void users_read(struct users *users);

/**
 * users_free() - free what users_read() has read
 * @users: empty afterwards
 */
void users_free(struct users *users);

/**
 * users_each() - call a function for every leg that any path reaches on a target
 * @users: from users_read()
 * @target: its name
 * @each: called for each LUN there that paths of the leg have, as "1"
 * @context: for @each
 */
void users_each(const struct users *users, const char *target,
		void (*each)(void *context, const char *volume, const struct leg *leg,
			     const char *lun),
		void *context);

#endif
