/* SPDX-License-Identifier: GPL-2.0 */
/* __assign_str() lost its second argument, which __string() had already seen. */
#ifndef ISTRIPE_COMPAT_TRACE_H
#define ISTRIPE_COMPAT_TRACE_H

#ifdef ISTRIPE_HAVE_ASSIGN_STR_ONE
#define istripe_assign_str(dst, ...) __assign_str(dst)
#else
#define istripe_assign_str(dst, ...) __assign_str(dst, __VA_ARGS__)
#endif

#endif
