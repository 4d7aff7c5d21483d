/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_ASM_DIV64_H
#define _HOST_ASM_DIV64_H

#include <linux/math64.h>

#endif /* _HOST_ASM_DIV64_H */
