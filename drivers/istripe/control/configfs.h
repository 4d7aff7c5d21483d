/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configfs tree, /sys/kernel/config/istripe: params of volumes, and the
 * switch that makes volumes of them. See Documentation/ABI/testing/configfs-istripe.
 */
#ifndef ISTRIPE_CONTROL_CONFIGFS_H
#define ISTRIPE_CONTROL_CONFIGFS_H

/**
 * istripe_configfs_register() - make the tree appear
 *
 * Everything that starting a volume needs must be ready.
 *
 * Context: module init.
 * Return: 0, or an error of configfs_register_subsystem(): -ENOMEM, -EEXIST.
 */
int istripe_configfs_register(void);

/**
 * istripe_configfs_unregister() - make the tree go away
 *
 * Every volume directory holds the module, so there is none any more and no
 * volume is up.
 *
 * Context: module exit, or init when a later step fails.
 */
void istripe_configfs_unregister(void);

#endif
