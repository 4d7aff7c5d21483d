/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_MATH64_H
#define _HOST_LINUX_MATH64_H

#include <linux/math.h>
#include <linux/types.h>

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * mul) >> shift);
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 d)
{
	return (u64)((unsigned __int128)a * mul / d);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 d)
{
	return (u64)((unsigned __int128)a * mul / d);
}

#define DIV64_U64_ROUND_UP(n, d) ({ u64 __d = (d); div64_u64((n) + __d - 1, __d); })

/* As the kernel's do_div(): divides in place, gives the remainder. */
#define do_div(n, base) ({			\
	u32 __base = (base);			\
	u32 __rem = (u64)(n) % __base;		\
	(n) = (u64)(n) / __base;		\
	__rem;					\
})
#define sector_div(n, b)	do_div(n, b)

#endif /* _HOST_LINUX_MATH64_H */
