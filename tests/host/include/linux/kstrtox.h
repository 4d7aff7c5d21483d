/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_KSTRTOX_H
#define _HOST_LINUX_KSTRTOX_H

#include <linux/types.h>

int __must_check kstrtoull(const char *s, unsigned int base, unsigned long long *res);
int __must_check kstrtoll(const char *s, unsigned int base, long long *res);
int __must_check kstrtoul(const char *s, unsigned int base, unsigned long *res);
int __must_check kstrtouint(const char *s, unsigned int base, unsigned int *res);
int __must_check kstrtoint(const char *s, unsigned int base, int *res);
int __must_check kstrtou16(const char *s, unsigned int base, u16 *res);
int __must_check kstrtou8(const char *s, unsigned int base, u8 *res);
int __must_check kstrtobool(const char *s, bool *res);

#define kstrtou64(s, base, res)	kstrtoull(s, base, res)
#define kstrtos64(s, base, res)	kstrtoll(s, base, res)
#define kstrtou32(s, base, res)	kstrtouint(s, base, res)
#define kstrtos32(s, base, res)	kstrtoint(s, base, res)

#endif /* _HOST_LINUX_KSTRTOX_H */
