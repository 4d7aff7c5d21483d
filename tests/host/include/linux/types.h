/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_TYPES_H
#define _HOST_LINUX_TYPES_H

/*
 * Wraps the system's header of this name: the fixed size, the endian and the
 * fixed width user types come from there.
 */
#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/compiler.h>
#include <linux/stddef.h>

/*
 * In the kernel only the machine's own order is defined; the C library
 * defines both, and kernel headers would take the wrong bit fields.
 */
#include <endian.h>
#if __BYTE_ORDER == __LITTLE_ENDIAN
#undef __BIG_ENDIAN
#else
#undef __LITTLE_ENDIAN
#endif

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;

/* The kernel's 64 bit types are long long everywhere, for %llu. */
typedef unsigned long long u64;
typedef long long s64;

typedef u64 sector_t;
typedef unsigned int gfp_t;

#define GFP_KERNEL	0u
#define GFP_NOIO	0u
#define GFP_ATOMIC	0u

struct list_head {
	struct list_head *next, *prev;
};

#endif /* _HOST_LINUX_TYPES_H */
