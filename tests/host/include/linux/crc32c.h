/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_CRC32C_H
#define _HOST_LINUX_CRC32C_H

#include <linux/types.h>

/* Without the inversions at start and end, as in the kernel. */
u32 crc32c(u32 crc, const void *data, size_t len);

#endif /* _HOST_LINUX_CRC32C_H */
