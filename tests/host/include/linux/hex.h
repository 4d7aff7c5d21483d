/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_HEX_H
#define _HOST_LINUX_HEX_H

#include <linux/types.h>

extern const char hex_asc[];
extern const char hex_asc_upper[];

#define hex_asc_lo(x)	hex_asc[(x) & 0x0f]
#define hex_asc_hi(x)	hex_asc[((x) & 0xf0) >> 4]

int hex_to_bin(unsigned char ch);
int __must_check hex2bin(u8 *dst, const char *src, size_t count);
char *bin2hex(char *dst, const void *src, size_t count);

#endif /* _HOST_LINUX_HEX_H */
