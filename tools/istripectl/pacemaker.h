/* SPDX-License-Identifier: GPL-2.0 */
/* Pacemaker, as its files say it: it need not run. */
#ifndef ISTRIPECTL_PACEMAKER_H
#define ISTRIPECTL_PACEMAKER_H

#include <stdbool.h>

/**
 * pacemaker_is_used() - whether this host is in a cluster of Pacemaker
 *
 * Return: whether it is.
 */
bool pacemaker_is_used(void);

/**
 * pacemaker_may_have() - whether the cluster, and not this host's boot, may bring a volume up
 * @name: the volume
 *
 * Return: whether this host is in a cluster, and the unit of the volume is not enabled.
 */
bool pacemaker_may_have(const char *name);

/**
 * pacemaker_has() - whether the cluster brings a volume up
 * @name: the volume
 *
 * A host that is a remote node has no copy of the configuration.
 *
 * Return: whether the configuration names it, for the resource agent of istripe or as a unit.
 */
bool pacemaker_has(const char *name);

#endif
