/* SPDX-License-Identifier: GPL-2.0 */
/* ISIDs that are set: no two sessions of a volume at one target may have the same. */
#ifndef ISTRIPECTL_ISID_H
#define ISTRIPECTL_ISID_H

#include "model.h"

/**
 * isid_problem() - which paths would have the same ISID, as the module would refuse it
 * @volume: the volume
 *
 * Return: the reason in the module's words, for free(); NULL: none.
 */
char *isid_problem(const struct volume *volume);

#endif
