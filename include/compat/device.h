/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of a class, as they come and go. */
#ifndef ISTRIPE_COMPAT_DEVICE_H
#define ISTRIPE_COMPAT_DEVICE_H

#include <linux/device.h>

/* Parameters of a class_interface's functions: @dev, and in older kernels the interface. */
#ifdef ISTRIPE_HAVE_ADD_DEV_INTERFACE
#define ISTRIPE_COMPAT_CLASS_DEVICE(dev)	struct device *(dev), struct class_interface *unused
#else
#define ISTRIPE_COMPAT_CLASS_DEVICE(dev)	struct device *(dev)
#endif

#endif
