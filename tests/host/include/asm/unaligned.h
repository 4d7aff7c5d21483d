/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_ASM_UNALIGNED_H
#define _HOST_ASM_UNALIGNED_H

#include <linux/unaligned.h>

#endif /* _HOST_ASM_UNALIGNED_H */
