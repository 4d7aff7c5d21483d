/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_CTYPE_H
#define _HOST_LINUX_CTYPE_H

#include <linux/types.h>

/* The kernel's own are ASCII (and Latin-1) whatever the locale is. */
static inline int isdigit(int c)
{
	return '0' <= c && c <= '9';
}

static inline int isupper(int c)
{
	return 'A' <= c && c <= 'Z';
}

static inline int islower(int c)
{
	return 'a' <= c && c <= 'z';
}

static inline int isalpha(int c)
{
	return isupper(c) || islower(c);
}

static inline int isalnum(int c)
{
	return isalpha(c) || isdigit(c);
}

static inline int isxdigit(int c)
{
	return isdigit(c) || ('a' <= (c | 0x20) && (c | 0x20) <= 'f');
}

static inline int isspace(int c)
{
	return c == ' ' || ('\t' <= c && c <= '\r');
}

static inline int isascii(int c)
{
	return (c & ~0x7f) == 0;
}

static inline int isprint(int c)
{
	return ' ' <= c && c <= '~';
}

static inline int isgraph(int c)
{
	return '!' <= c && c <= '~';
}

static inline int ispunct(int c)
{
	return isgraph(c) && !isalnum(c);
}

static inline int iscntrl(int c)
{
	return (0 <= c && c < ' ') || c == 0x7f;
}

static inline int toupper(int c)
{
	return islower(c) ? c - 'a' + 'A' : c;
}

static inline int tolower(int c)
{
	return isupper(c) ? c - 'A' + 'a' : c;
}

#endif /* _HOST_LINUX_CTYPE_H */
