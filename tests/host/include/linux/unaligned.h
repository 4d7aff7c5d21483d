/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_UNALIGNED_H
#define _HOST_LINUX_UNALIGNED_H

#include <asm/byteorder.h>
#include <linux/string.h>
#include <linux/types.h>

#define get_unaligned(ptr) ({				\
	typeof(*(ptr)) __gu;				\
	memcpy(&__gu, (ptr), sizeof(__gu));		\
	__gu;						\
})

#define put_unaligned(val, ptr) do {			\
	typeof(*(ptr)) __pu = (val);			\
	memcpy((ptr), &__pu, sizeof(__pu));		\
} while (0)

#define HOST_UNALIGNED(end, bits)					\
static inline u##bits get_unaligned_##end##bits(const void *p)		\
{									\
	__##end##bits v;						\
									\
	memcpy(&v, p, sizeof(v));					\
	return end##bits##_to_cpu(v);					\
}									\
									\
static inline void put_unaligned_##end##bits(u##bits val, void *p)	\
{									\
	__##end##bits v = cpu_to_##end##bits(val);			\
									\
	memcpy(p, &v, sizeof(v));					\
}

HOST_UNALIGNED(be, 16)
HOST_UNALIGNED(be, 32)
HOST_UNALIGNED(be, 64)
HOST_UNALIGNED(le, 16)
HOST_UNALIGNED(le, 32)
HOST_UNALIGNED(le, 64)

static inline u32 get_unaligned_be24(const void *p)
{
	const u8 *b = p;

	return (u32)b[0] << 16 | (u32)b[1] << 8 | b[2];
}

static inline void put_unaligned_be24(u32 val, void *p)
{
	u8 *b = p;

	b[0] = (u8)(val >> 16);
	b[1] = (u8)(val >> 8);
	b[2] = (u8)val;
}

static inline u64 get_unaligned_be48(const void *p)
{
	return (u64)get_unaligned_be16(p) << 32 | get_unaligned_be32((const u8 *)p + 2);
}

static inline void put_unaligned_be48(u64 val, void *p)
{
	put_unaligned_be16((u16)(val >> 32), p);
	put_unaligned_be32((u32)val, (u8 *)p + 2);
}

#endif /* _HOST_LINUX_UNALIGNED_H */
