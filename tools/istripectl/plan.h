/* SPDX-License-Identifier: GPL-2.0 */
/* What has to be done for a volume to be as its configuration file says. */
#ifndef ISTRIPECTL_PLAN_H
#define ISTRIPECTL_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "model.h"

enum step_kind {
	STEP_ADD,		/* a path */
	STEP_WRITE,		/* a setting, which takes effect at once */
	STEP_LOGIN,		/* a setting of a path without a session: the next login has it */
	STEP_RESTART,		/* a setting of a path that logs in anew for it */
	STEP_REMOVE,		/* a path */
	STEP_DOWN,		/* a setting that needs the whole volume down */
};

#define STEP_NONE	(-1)

struct step {
	enum step_kind kind;
	enum step_kind else_kind;	/* of STEP_LOGIN, when the path has a session again */
	int leg, path;		/* STEP_NONE: a setting of the volume, of the leg */
	char *name;		/* of the setting; NULL for a path */
	char *from, *to;	/* @from NULL: a secret */
	bool first;		/* a secret where there was none */
};

struct plan {
	struct step *items;	/* ordered by what is done first */
	size_t count;
};

/**
 * plan_make() - compare a volume with its file
 * @now: as the kernel has it
 * @wanted: as the file has it; what it does not say has its default
 * @secrets: they cannot be compared: whether they have changed
 * @plan: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0; -EINVAL: the file has other legs; -ENOENT: it has a setting that the module does not
 * know, of which there is a step, too.
 */
int plan_make(const struct volume *now, const struct volume *wanted, bool secrets,
	      struct plan *plan, struct fault *fault);

/**
 * plan_setting_is_of_leg() - whether a setting that the file has for a path is the leg's
 * @leg: as the kernel has it
 * @name: of the setting; the tool takes one that it does not know for that of a path
 *
 * Return: whether the leg has it, and its paths have not.
 */
bool plan_setting_is_of_leg(const struct leg *leg, const char *name);

/**
 * plan_take_lost() - write in place what may change of paths that are lost
 * @now: the volume
 * @plan: steps of paths that differ in nothing else become STEP_LOGIN
 */
void plan_take_lost(const struct volume *now, struct plan *plan);

/**
 * plan_print() - what would be done, a line for each step, to standard output
 * @name: the volume
 * @plan: the steps
 */
void plan_print(const char *name, const struct plan *plan);

/**
 * plan_differences() - in how much the two configurations differ
 * @plan: the steps
 * @first: set to the first step that is a difference, NULL: none is
 *
 * Return: how many steps are.
 */
size_t plan_differences(const struct plan *plan, const struct step **first);

/**
 * step_text() - a step in words, as plan_print() has it
 * @step: the step
 *
 * Return: the text, for free().
 */
char *step_text(const struct step *step);

/**
 * step_place() - of what a step is
 * @step: the step
 *
 * Return: as "leg 0 path 1: ", empty for the volume; for free().
 */
char *step_place(const struct step *step);

/**
 * plan_free() - free all steps
 * @plan: empty afterwards
 */
void plan_free(struct plan *plan);

#endif
