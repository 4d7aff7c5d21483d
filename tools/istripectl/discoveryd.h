/* SPDX-License-Identifier: GPL-2.0 */
/* Discovery records by which iscsid itself looks for targets, and logs in to all that it finds. */
#ifndef ISTRIPECTL_DISCOVERYD_H
#define ISTRIPECTL_DISCOVERYD_H

#include "fault.h"
#include "file.h"

struct discovery {
	const char *type;	/* as iscsiadm has it: st, isns */
	const char *name;	/* of the setting that is Yes */
	char *portal;
};

struct discoveries {
	struct discovery *items;
	size_t count;
};

/**
 * discoveries_read() - find the records that have use_discoveryd = Yes
 * @addresses: of portals, and of those that have told of them: others do not count, but a server
 *	of iSNS does, which may tell of any target
 * @discoveries: records are added
 */
void discoveries_read(const struct file_names *addresses, struct discoveries *discoveries);

/**
 * discoveries_free() - forget all records
 * @discoveries: empty afterwards
 */
void discoveries_free(struct discoveries *discoveries);

/**
 * discovery_words() - the words that change a record to a value that follows
 * @discovery: the record
 *
 * Return: as iscsiadm -m discoverydb -t st -p PORTAL -o update -n NAME -v, for free().
 */
char *discovery_words(const struct discovery *discovery);

/**
 * discovery_turn_off() - keep iscsid from it, from when it starts again
 * @discovery: the record
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int discovery_turn_off(const struct discovery *discovery, struct fault *fault);

#endif
