/* SPDX-License-Identifier: GPL-2.0 */
/* hex_to_bin() and its family moved from <linux/kernel.h> to <linux/hex.h>. */
#ifndef ISTRIPE_COMPAT_HEX_H
#define ISTRIPE_COMPAT_HEX_H

#ifdef ISTRIPE_HAVE_LINUX_HEX_H
#include <linux/hex.h>
#else
#include <linux/kernel.h>
#endif

#endif
