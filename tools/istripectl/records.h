/* SPDX-License-Identifier: GPL-2.0 */
/* The node records of open-iscsi, read with its own tool, iscsiadm(8). */
#ifndef ISTRIPECTL_RECORDS_H
#define ISTRIPECTL_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "model.h"

/* A record is one way to a target: a portal, over an interface of open-iscsi (iface). */
#define RECORDS_NEXT	"next: iscsiadm -m discovery -t st -p PORTAL makes records, without logging in"

#define ISCSID_CONF	"/etc/iscsi/iscsid.conf"	/* what new records are made of */

struct records {
	struct settings *items;		/* names and values as open-iscsi has them */
	size_t count;
};

/**
 * records_read() - read all node records, secrets included
 * @records: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0; -ENOPKG iscsiadm is not installed; -ENOENT there is no record; another -errno.
 */
int records_read(struct records *records, struct fault *fault);

/**
 * records_parse() - read records from what iscsiadm prints
 * @text: what it has printed; changed
 * @records: records are added
 */
void records_parse(char *text, struct records *records);

/**
 * records_free() - forget all records, the secrets among them thoroughly
 * @records: empty afterwards
 */
void records_free(struct records *records);

/**
 * record_portal() - where the target of a record listens
 * @record: the record
 *
 * Return: as 192.0.2.10:3260 or [2001:db8::10]:3260, for free().
 */
char *record_portal(const struct settings *record);

/* The two settings by which open-iscsi logs in at boot: one of them is enough. */
#define RECORD_STARTUPS	2
extern const char *const record_startups[RECORD_STARTUPS];

/**
 * record_is_automatic() - whether open-iscsi logs in by a setting of a record at boot
 * @record: the record
 * @startup: one of record_startups
 *
 * Return: whether it does: an initramfs by onboot, all else by automatic.
 */
bool record_is_automatic(const struct settings *record, const char *startup);

/**
 * record_words() - the words that name a record to iscsiadm
 * @record: the record
 *
 * Return: as -T NAME -p PORTAL -I IFACE, for free().
 */
char *record_words(const struct settings *record);

/**
 * record_set_manual() - keep open-iscsi from logging in at boot by a setting of a record
 * @record: the record; changed, too
 * @startup: one of record_startups
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int record_set_manual(struct settings *record, const char *startup, struct fault *fault);

#endif
