/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_MATH_H
#define _HOST_LINUX_MATH_H

#include <stdlib.h>
#include <linux/types.h>

#define __round_mask(x, y)	((typeof(x))((y) - 1))
#define round_up(x, y)		((((x) - 1) | __round_mask(x, y)) + 1)
#define round_down(x, y)	((x) & ~__round_mask(x, y))
#define roundup(x, y)		((((x) + ((y) - 1)) / (y)) * (y))
#define rounddown(x, y)		((x) - ((x) % (y)))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	(((u64)(n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))
#define abs(x)			__builtin_choose_expr(sizeof(x) == 8, __builtin_llabs(x), \
						      __builtin_abs(x))

#endif /* _HOST_LINUX_MATH_H */
