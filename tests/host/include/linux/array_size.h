/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_ARRAY_SIZE_H
#define _HOST_LINUX_ARRAY_SIZE_H

#include <linux/build_bug.h>

/* Refuses a pointer, as the kernel's does. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]) + BUILD_BUG_ON_ZERO(	\
	__builtin_types_compatible_p(typeof(a), typeof(&(a)[0]))))

#endif /* _HOST_LINUX_ARRAY_SIZE_H */
