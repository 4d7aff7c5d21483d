/* SPDX-License-Identifier: GPL-2.0 */
/* __assign_str() has no second argument in newer kernels: __string() has it. */
#ifndef ISTRIPE_COMPAT_TRACE_H
#define ISTRIPE_COMPAT_TRACE_H

#ifdef ISTRIPE_HAVE_ASSIGN_STR_ONE
#define istripe_assign_str(dst, ...) __assign_str(dst)
#else
#define istripe_assign_str(dst, ...) __assign_str(dst, __VA_ARGS__)
#endif

#endif
