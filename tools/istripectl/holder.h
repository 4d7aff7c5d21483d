/* SPDX-License-Identifier: GPL-2.0 */
/* Who uses a disk: file systems, swap, devices on top of it. */
#ifndef ISTRIPECTL_HOLDER_H
#define ISTRIPECTL_HOLDER_H

#include "fault.h"

/**
 * holder_check() - whether a disk or a partition of it is in use
 * @device: as istripe0
 * @fault: set when it is: who uses it, a line for each
 *
 * The answer may be old when it is read: nothing stops a mount afterwards.
 *
 * Return: 0; -EBUSY it is in use.
 */
int holder_check(const char *device, struct fault *fault);

#endif
