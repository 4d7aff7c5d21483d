/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_BITOPS_H
#define _HOST_LINUX_BITOPS_H

#include <strings.h>
#include <linux/bits.h>

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned int hweight32(u32 x)
{
	return __builtin_popcount(x);
}

static inline unsigned int hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

#define __ffs(x)	((unsigned long)__builtin_ctzl(x))

#endif /* _HOST_LINUX_BITOPS_H */
