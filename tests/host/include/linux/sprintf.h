/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_SPRINTF_H
#define _HOST_LINUX_SPRINTF_H

#include <stdarg.h>
#include <stdio.h>
#include <linux/compiler.h>

__printf(3, 4) int scnprintf(char *buf, size_t size, const char *fmt, ...);
__printf(3, 0) int vscnprintf(char *buf, size_t size, const char *fmt, va_list args);

#endif /* _HOST_LINUX_SPRINTF_H */
