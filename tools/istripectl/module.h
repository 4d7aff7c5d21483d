/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel module: it is loaded when a command is about to configure something. */
#ifndef ISTRIPECTL_MODULE_H
#define ISTRIPECTL_MODULE_H

#include <stdbool.h>

/**
 * module_wanted() - from now on a missing module is loaded
 */
void module_wanted(void);

/**
 * module_load() - load the module with modprobe(8), if that is wanted
 *
 * modprobe tells standard error what fails. It runs once, whatever comes of it.
 *
 * Return: whether it was loaded.
 */
bool module_load(void);

#endif
