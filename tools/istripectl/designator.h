/* SPDX-License-Identifier: GPL-2.0 */
/* Which LUN a leg is: what a file is to say, so that no other one is taken for it. */
#ifndef ISTRIPECTL_DESIGNATOR_H
#define ISTRIPECTL_DESIGNATOR_H

#include "fault.h"
#include "model.h"

#define DESIGNATOR_SETTING	"designator"

/**
 * designator_keep() - have the legs named that a volume is on, or that its file names
 * @volume: as tree_read() has filled it; a leg that has a designator keeps it
 * @fault: the legs that are on another LUN than the file goes on to name; empty: none
 */
void designator_keep(struct volume *volume, struct fault *fault);

/**
 * designator_take() - have the legs named that a volume is on
 * @volume: what is to be saved of one that has come up; a leg that has a designator keeps it
 */
void designator_take(struct volume *volume);

/**
 * designator_is_that() - whether a leg is on the LUN that its file names
 * @leg: as tree_read() has filled it
 * @name: of a setting of the leg
 * @from: what configfs has
 * @to: what the file has
 *
 * Return: whether the setting is a designator that is only missing in configfs, which takes none
 * while the volume is up.
 */
bool designator_is_that(const struct leg *leg, const char *name, const char *from,
			const char *to);

#endif
