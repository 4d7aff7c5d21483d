// SPDX-License-Identifier: GPL-2.0
/*
 * User space versions of the kernel library functions that the protocol core
 * and its tests use. They behave as the kernel's documentation says.
 */
#include <stdarg.h>
#include <linux/crc32c.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/string.h>

ssize_t strscpy(char *dst, const char *src, size_t size)
{
	size_t len;

	if (!size)
		return -E2BIG;
	len = strnlen(src, size);
	if (len == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, len + 1);
	return (ssize_t)len;
}

ssize_t strscpy_pad(char *dst, const char *src, size_t size)
{
	ssize_t len = strscpy(dst, src, size);

	if (len >= 0)
		memset(dst + len, 0, size - (size_t)len);
	return len;
}

void *memchr_inv(const void *p, int c, size_t size)
{
	const u8 *b = p;

	for (; size; size--, b++) {
		if (*b != (u8)c)
			return (void *)b;
	}
	return NULL;
}

void memzero_explicit(void *p, size_t size)
{
	memset(p, 0, size);
	barrier();
}

char *skip_spaces(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return (char *)s;
}

char *strim(char *s)
{
	size_t len = strlen(s);

	while (len && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	return skip_spaces(s);
}

char *strnchr(const char *s, size_t count, int c)
{
	for (; count; count--, s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			break;
	}
	return NULL;
}

char *strnstr(const char *s, const char *what, size_t len)
{
	size_t n = strlen(what);

	for (; len >= n; len--, s++) {
		if (!memcmp(s, what, n))
			return (char *)s;
	}
	return NULL;
}

bool sysfs_streq(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	if (la && a[la - 1] == '\n')
		la--;
	if (lb && b[lb - 1] == '\n')
		lb--;
	return la == lb && !memcmp(a, b, la);
}

int match_string(const char * const *array, size_t n, const char *s)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++) {
		if (!strcmp(array[i], s))
			return (int)i;
	}
	return -EINVAL;
}

size_t str_has_prefix(const char *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(s, prefix, len) ? 0 : len;
}

const char hex_asc[] = "0123456789abcdef";
const char hex_asc_upper[] = "0123456789ABCDEF";

int hex_to_bin(unsigned char ch)
{
	if (isdigit(ch))
		return ch - '0';
	ch = (unsigned char)tolower(ch);
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return -1;
}

int hex2bin(u8 *dst, const char *src, size_t count)
{
	while (count--) {
		int hi = hex_to_bin((unsigned char)*src++);
		int lo;

		if (hi < 0)
			return -EINVAL;
		lo = hex_to_bin((unsigned char)*src++);
		if (lo < 0)
			return -EINVAL;
		*dst++ = (u8)(hi << 4 | lo);
	}
	return 0;
}

char *bin2hex(char *dst, const void *src, size_t count)
{
	const u8 *b = src;

	while (count--) {
		*dst++ = hex_asc_hi(*b);
		*dst++ = hex_asc_lo(*b++);
	}
	return dst;
}

static const char *number_base(const char *s, unsigned int *base)
{
	bool hex = s[0] == '0' && tolower(s[1]) == 'x';

	if (*base == 0)
		*base = hex && isxdigit(s[2]) ? 16 : s[0] == '0' ? 8 : 10;
	return *base == 16 && hex ? s + 2 : s;
}

/* One trailing newline is allowed, nothing else; no sign. */
static int number_parse(const char *s, unsigned int base, unsigned long long *res)
{
	unsigned long long acc = 0;
	bool any = false;

	for (s = number_base(s, &base); *s && *s != '\n'; s++, any = true) {
		int digit = hex_to_bin((unsigned char)*s);

		if (digit < 0 || (unsigned int)digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(acc, base, &acc) ||
		    __builtin_add_overflow(acc, (unsigned long long)digit, &acc))
			return -ERANGE;
	}
	if (!any || (*s == '\n' && s[1]))
		return -EINVAL;
	*res = acc;
	return 0;
}

int kstrtoull(const char *s, unsigned int base, unsigned long long *res)
{
	return number_parse(*s == '+' ? s + 1 : s, base, res);
}

int kstrtoll(const char *s, unsigned int base, long long *res)
{
	unsigned long long value;
	int err;

	if (*s != '-') {
		err = kstrtoull(s, base, &value);
		if (err)
			return err;
		if (value > S64_MAX)
			return -ERANGE;
		*res = (long long)value;
		return 0;
	}
	err = number_parse(s + 1, base, &value);
	if (err)
		return err;
	if (value > (unsigned long long)S64_MAX + 1)
		return -ERANGE;
	*res = (long long)(0 - value);
	return 0;
}

#define HOST_KSTRTO_UNSIGNED(name, type)				\
int name(const char *s, unsigned int base, type *res)			\
{									\
	unsigned long long value;					\
	int err = kstrtoull(s, base, &value);				\
									\
	if (err)							\
		return err;						\
	if (value != (unsigned long long)(type)value)			\
		return -ERANGE;						\
	*res = (type)value;						\
	return 0;							\
}

HOST_KSTRTO_UNSIGNED(kstrtoul, unsigned long)
HOST_KSTRTO_UNSIGNED(kstrtouint, unsigned int)
HOST_KSTRTO_UNSIGNED(kstrtou16, u16)
HOST_KSTRTO_UNSIGNED(kstrtou8, u8)

int kstrtoint(const char *s, unsigned int base, int *res)
{
	long long value;
	int err = kstrtoll(s, base, &value);

	if (err)
		return err;
	if (value != (int)value)
		return -ERANGE;
	*res = (int)value;
	return 0;
}

int kstrtobool(const char *s, bool *res)
{
	switch (s[0]) {
	case 'y': case 'Y': case 't': case 'T': case '1':
		*res = true;
		return 0;
	case 'n': case 'N': case 'f': case 'F': case '0':
		*res = false;
		return 0;
	case 'o': case 'O':
		if (tolower(s[1]) != 'n' && tolower(s[1]) != 'f')
			return -EINVAL;
		*res = tolower(s[1]) == 'n';
		return 0;
	default:
		return -EINVAL;
	}
}

int vscnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	int len = vsnprintf(buf, size, fmt, args);

	if (len < 0 || !size)
		return 0;
	return (size_t)len < size ? len : (int)size - 1;
}

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vscnprintf(buf, size, fmt, args);
	va_end(args);
	return len;
}

u32 crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *b = data;
	int bit;

	while (len--) {
		crc ^= *b++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return crc;
}
