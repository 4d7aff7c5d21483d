/* SPDX-License-Identifier: GPL-2.0 */
/* get_unaligned_be32() and its family moved from <asm/unaligned.h> to <linux/unaligned.h>. */
#ifndef ISTRIPE_COMPAT_UNALIGNED_H
#define ISTRIPE_COMPAT_UNALIGNED_H

#ifdef ISTRIPE_HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif
