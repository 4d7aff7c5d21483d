/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_ERRNO_H
#define _HOST_LINUX_ERRNO_H

#include_next <linux/errno.h>

#define ENOTSUPP	524

#endif /* _HOST_LINUX_ERRNO_H */
