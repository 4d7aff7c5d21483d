/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_ALIGN_H
#define _HOST_LINUX_ALIGN_H

#include <linux/kernel.h>

#endif /* _HOST_LINUX_ALIGN_H */
