/* SPDX-License-Identifier: GPL-2.0 */
/* The name that this host has as an iSCSI initiator. */
#ifndef ISTRIPECTL_INITIATOR_H
#define ISTRIPECTL_INITIATOR_H

#define INITIATOR_FILE	"/etc/iscsi/initiatorname.iscsi"

/**
 * initiator_name() - read it from where open-iscsi keeps it
 *
 * Return: the name, for free(); NULL when there is none.
 */
char *initiator_name(void);

#endif
