/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_MINMAX_H
#define _HOST_LINUX_MINMAX_H

#include <linux/types.h>

/*
 * As in the kernel, both sides need the same type: what compiles here must
 * compile in the strictest supported kernel.
 */
#define host_cmp_once(x, y, op) ({		\
	typeof(x) __x = (x);			\
	typeof(y) __y = (y);			\
	(void)(&__x == &__y);			\
	__x op __y ? __x : __y;			\
})

#define host_cmp(x, y, op)						\
	__builtin_choose_expr(__builtin_constant_p(x) && __builtin_constant_p(y), \
			      (x) op (y) ? (x) : (y), host_cmp_once(x, y, op))

#define min(x, y)		host_cmp(x, y, <)
#define max(x, y)		host_cmp(x, y, >)
#define min_t(type, x, y)	host_cmp((type)(x), (type)(y), <)
#define max_t(type, x, y)	host_cmp((type)(x), (type)(y), >)
#define min3(x, y, z)		min((typeof(x))min(x, y), z)
#define max3(x, y, z)		max((typeof(x))max(x, y), z)
#define min_not_zero(x, y) ({			\
	typeof(x) __nx = (x);			\
	typeof(y) __ny = (y);			\
	__nx == 0 ? __ny : (__ny == 0 ? __nx : min(__nx, __ny)); \
})
#define clamp(val, lo, hi)	min((typeof(val))max(val, lo), hi)
#define clamp_t(type, val, lo, hi) min_t(type, max_t(type, val, lo), hi)
#define clamp_val(val, lo, hi)	clamp_t(typeof(val), val, lo, hi)
#define swap(a, b) \
	do { typeof(a) __tmp = (a); (a) = (b); (b) = __tmp; } while (0)

#endif /* _HOST_LINUX_MINMAX_H */
