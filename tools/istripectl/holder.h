/* SPDX-License-Identifier: GPL-2.0 */
/* Who uses a disk: file systems, swap, devices on top of it, processes. */
#ifndef ISTRIPECTL_HOLDER_H
#define ISTRIPECTL_HOLDER_H

#include <stdbool.h>

#include "fault.h"
#include "file.h"

/**
 * holder_find() - file systems, swap and devices on a disk or a partition, and on these
 * @device: as istripe0
 * @fault: gets a line for each; the answer may be old when it is read
 *
 * Return: how many are seen from here.
 */
int holder_find(const char *device, struct fault *fault);

/**
 * holder_is_on() - whether a device is on a disk: a partition, LVM, LUKS, or more of these
 * @device: as dm-3
 * @disk: as istripe0
 *
 * Return: whether it is, or is the disk itself.
 */
bool holder_is_on(const char *device, const char *disk);

/**
 * holder_find_processes() - processes that have a disk or a partition of it open
 * @device: as istripe0
 * @fault: gets a line for each
 *
 * Return: how many are seen from here.
 */
int holder_find_processes(const char *device, struct fault *fault);

/**
 * holder_find_session() - all of these of the disks of a session of open-iscsi
 * @session: as session3
 * @except: disks of these LUNs, as "1", do not count; NULL: all do
 * @fault: gets a line for each
 *
 * Return: how many are seen from here.
 */
int holder_find_session(const char *session, const struct file_names *except,
			struct fault *fault);

#endif
