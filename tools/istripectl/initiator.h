/* SPDX-License-Identifier: GPL-2.0 */
/* The name that this host has as an iSCSI initiator. */
#ifndef ISTRIPECTL_INITIATOR_H
#define ISTRIPECTL_INITIATOR_H

#include "fault.h"
#include "model.h"

#define INITIATOR_FILE	"/etc/iscsi/initiatorname.iscsi"

/**
 * initiator_name() - read it from where open-iscsi keeps it
 *
 * Return: the name, for free(); NULL when there is none.
 */
char *initiator_name(void);

/**
 * initiator_take() - give a volume that has no initiator name that of open-iscsi
 * @volume: the volume
 * @fault: set on failure
 *
 * Return: 0; -EINVAL: there is none.
 */
int initiator_take(struct volume *volume, struct fault *fault);

#endif
