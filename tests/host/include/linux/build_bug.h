/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_BUILD_BUG_H
#define _HOST_LINUX_BUILD_BUG_H

#include <assert.h>
#include <linux/compiler.h>

#define BUILD_BUG_ON_ZERO(e)		((int)(sizeof(struct { int:(-!!(e)); })))
#define BUILD_BUG_ON_MSG(cond, msg)	_Static_assert(!(cond), msg)
#define BUILD_BUG_ON(cond)		BUILD_BUG_ON_MSG(cond, "BUILD_BUG_ON: " #cond)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n)	BUILD_BUG_ON((n) == 0 || (((n) & ((n) - 1)) != 0))

#undef static_assert
#define static_assert(expr, ...)	host_static_assert(expr, ##__VA_ARGS__, #expr)
#define host_static_assert(expr, msg, ...) _Static_assert(expr, msg)

#endif /* _HOST_LINUX_BUILD_BUG_H */
