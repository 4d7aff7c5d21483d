/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_STRING_H
#define _HOST_LINUX_STRING_H

#include <string.h>
#include <strings.h>
#include <linux/types.h>

ssize_t strscpy(char *dst, const char *src, size_t size);
ssize_t strscpy_pad(char *dst, const char *src, size_t size);
void *memchr_inv(const void *p, int c, size_t size);
void memzero_explicit(void *p, size_t size);
char *skip_spaces(const char *s);
char *strim(char *s);
char *strnchr(const char *s, size_t count, int c);
char *strnstr(const char *s, const char *what, size_t len);
bool sysfs_streq(const char *a, const char *b);
int match_string(const char * const *array, size_t n, const char *s);
size_t str_has_prefix(const char *s, const char *prefix);

static inline bool mem_is_zero(const void *p, size_t size)
{
	return !memchr_inv(p, 0, size);
}

static inline const char *kbasename(const char *path)
{
	const char *tail = strrchr(path, '/');

	return tail ? tail + 1 : path;
}

static inline bool strstarts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

#endif /* _HOST_LINUX_STRING_H */
