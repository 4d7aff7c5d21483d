/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that is there: a tool of this size ends when there is none. */
#ifndef ISTRIPECTL_ALLOC_H
#define ISTRIPECTL_ALLOC_H

#include "printf.h"

#include <stddef.h>

/**
 * alloc_array() - make an array, or make it longer
 * @old: the array, or NULL
 * @count: how many elements it shall have
 * @size: bytes of one element
 *
 * Return: the array, for free(); what is new is not initialised.
 */
void *alloc_array(void *old, size_t count, size_t size);

/* For alloc_append(): the array with one element more than @count, which is zero. */
void *alloc_longer(void *old, size_t count, size_t size);

/**
 * alloc_append() - make an array longer by one element
 * @items: the array, or NULL; is set
 * @count: how many elements it has; is counted
 *
 * Return: the new element, which is zero.
 */
#define alloc_append(items, count)						\
	((items) = alloc_longer(items, count, sizeof(*(items))), &(items)[(count)++])

/**
 * alloc_text() - copy a text
 * @text: what to copy
 *
 * Return: the copy, for free().
 */
char *alloc_text(const char *text);

/**
 * alloc_printf() - make a text
 * @fmt: as for printf()
 *
 * Return: the text, for free().
 */
char *alloc_printf(const char *fmt, ...) __printf(1, 2);

/**
 * alloc_wipe() - free a text that may hold a secret, and leave nothing of it in memory
 * @text: which one, or NULL
 */
void alloc_wipe(char *text);

#endif
