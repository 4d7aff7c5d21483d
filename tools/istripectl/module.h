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

/**
 * module_dkms_version() - the version of the sources that dkms has
 *
 * Return: that of this program if it is there, or another one, for free(); NULL: there are none.
 */
char *module_dkms_version(void);

/**
 * module_is_missing() - whether a kernel has modules, and this one is not among them
 * @release: the kernel's
 *
 * Return: whether it is so; false when it cannot be told.
 */
bool module_is_missing(const char *release);

/**
 * module_excluded_by() - what keeps dkms from building the module for a kernel
 * @release: the kernel's
 *
 * Return: the file whose BUILD_EXCLUSIVE_KERNEL leaves the kernel out, for free(); NULL: none does.
 */
char *module_excluded_by(const char *release);

/**
 * module_build_command() - how the module is built for a kernel on this host
 * @release: the kernel's
 *
 * Return: a command of dkms, of akmods, or of make in the sources, for free(); before it that of
 * the package of the kernel's headers if these are missing.
 */
char *module_build_command(const char *release);

#endif
