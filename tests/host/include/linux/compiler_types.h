/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_COMPILER_TYPES_H
#define _HOST_LINUX_COMPILER_TYPES_H

#include <linux/compiler.h>

#endif /* _HOST_LINUX_COMPILER_TYPES_H */
