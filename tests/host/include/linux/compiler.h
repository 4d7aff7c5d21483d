/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_COMPILER_H
#define _HOST_LINUX_COMPILER_H

#define __force
#ifndef __bitwise
#define __bitwise
#endif
#define __user
#define __init
#define __exit
#define __must_check		__attribute__((__warn_unused_result__))
#define __maybe_unused		__attribute__((__unused__))
#define __always_unused		__attribute__((__unused__))
#define __used			__attribute__((__used__))
#define __packed		__attribute__((__packed__))
#define __aligned(x)		__attribute__((__aligned__(x)))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __pure			__attribute__((__pure__))
#undef __attribute_const__
#define __attribute_const__	__attribute__((__const__))
/* Newer headers of the kernel for user space have it, too. */
#undef __counted_by
#define __counted_by(member)
#define __nonstring
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define noinline		__attribute__((__noinline__))
#define noinline_for_stack	noinline
#define fallthrough		__attribute__((__fallthrough__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
/* The compiler must not guess what @var holds. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__ ("" : "=r" (var) : "0" (var))
#define barrier()		__asm__ __volatile__("" ::: "memory")
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile typeof(x) *)&(x) = (val))
#define unreachable()		__builtin_unreachable()

#endif /* _HOST_LINUX_COMPILER_H */
