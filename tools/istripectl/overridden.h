/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a volume for which records of open-iscsi count, and not its file. */
#ifndef ISTRIPECTL_OVERRIDDEN_H
#define ISTRIPECTL_OVERRIDDEN_H

#include "fault.h"
#include "file.h"
#include "model.h"

struct overridden {
	struct file_names settings;	/* as: leg 0 path 1: dscp "46" -> "0" */
	struct file_names commands;	/* of iscsiadm, which change the records */
};

/**
 * overridden_find() - what apply, or up after a reboot, would take back though it is saved
 * @now: the volume, as tree_read() has filled it
 * @it: zeroed by the caller, filled; empty also when file or records cannot be read
 */
void overridden_find(const struct volume *now, struct overridden *it);

/**
 * overridden_check() - name them, with what makes them stay
 * @now: as overridden_find() has it
 * @fault: set when there are any
 *
 * Return: how many there are.
 */
size_t overridden_check(const struct volume *now, struct fault *fault);

/**
 * overridden_free() - forget all of them
 * @it: empty afterwards
 */
void overridden_free(struct overridden *it);

#endif
