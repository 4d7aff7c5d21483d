/* SPDX-License-Identifier: GPL-2.0 */
/* LUNs that sessions of open-iscsi show to this host. */
#ifndef ISTRIPECTL_HOST_LUN_H
#define ISTRIPECTL_HOST_LUN_H

#include <stdbool.h>
#include <stddef.h>

#include "model.h"

struct host_lun {
	char *target;
	char *lun;		/* as "1" */
	char *wwid;		/* the same in all sessions that show it */
	char *disk;		/* as "sdb" */
};

struct host_luns {
	struct host_lun *items;
	size_t count;
};

/**
 * host_lun_number() - the number of a LUN, as settings have it
 * @disk: its path in sysfs, as ".../3:0:0:1/block/sdb"
 *
 * Return: as "1", for free().
 */
char *host_lun_number(const char *disk);

/**
 * host_luns_read() - find the disks of all sessions
 * @luns: LUNs are added, but those whose identity is not known
 */
void host_luns_read(struct host_luns *luns);

/**
 * host_lun_has_map() - whether dm-multipath uses a disk
 * @lun: the disk
 *
 * Return: whether it does.
 */
bool host_lun_has_map(const struct host_lun *lun);

/**
 * host_lun_leg() - the leg of a volume that a disk is
 * @lun: the disk
 * @volume: as it is configured; target and LUN of its paths are compared
 *
 * Return: the first one; NULL: it is none.
 */
const struct leg *host_lun_leg(const struct host_lun *lun, const struct volume *volume);

/**
 * host_luns_free() - forget all LUNs
 * @luns: empty afterwards
 */
void host_luns_free(struct host_luns *luns);

#endif
