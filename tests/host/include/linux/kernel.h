/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_KERNEL_H
#define _HOST_LINUX_KERNEL_H

/* Gives what the kernel's header of this name gives, in all supported versions. */
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sprintf.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define ALIGN(x, a)		round_up(x, (typeof(x))(a))
#define ALIGN_DOWN(x, a)	round_down(x, (typeof(x))(a))
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)
#define upper_32_bits(n)	((u32)((u64)(n) >> 32))
#define lower_32_bits(n)	((u32)((n) & 0xffffffff))
#define might_sleep()		((void)0)

#endif /* _HOST_LINUX_KERNEL_H */
