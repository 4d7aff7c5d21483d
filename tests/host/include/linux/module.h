/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_MODULE_H
#define _HOST_LINUX_MODULE_H

#include <linux/export.h>
#include <linux/init.h>

#define MODULE_LICENSE(x)	_Static_assert(sizeof(x) > 1, "no licence")
#define MODULE_DESCRIPTION(x)	_Static_assert(sizeof(x) > 1, "no description")
#define MODULE_AUTHOR(x)	_Static_assert(sizeof(x) > 1, "no author")

#endif /* _HOST_LINUX_MODULE_H */
