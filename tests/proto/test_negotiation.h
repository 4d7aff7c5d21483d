/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of the negotiation share: a target that speaks, a text that is searched. */
#ifndef _ISTRIPE_TEST_NEGOTIATION_H
#define _ISTRIPE_TEST_NEGOTIATION_H

#include <linux/string.h>

#include "iscsi/negotiation.h"

/**
 * test_pair() - a pair as the reader would make it
 * @key: name of the key
 * @value: its value, which must outlive the pair
 *
 * Return: the pair.
 */
static inline struct istripe_text_pair test_pair(const char *key, const char *value)
{
	struct istripe_text_pair p = { .value = value };

	strscpy(p.key, key, sizeof(p.key));
	p.value_bytes = strlen(value);
	return p;
}

/**
 * say() - the target says key=value
 * @n: negotiation
 * @key: name of the key
 * @value: its value
 * @reply: text of the next request
 *
 * Return: what istripe_negotiation_receive() returns.
 */
static inline int say(struct istripe_negotiation *n, const char *key, const char *value,
		      struct istripe_text_writer *reply)
{
	struct istripe_text_pair p = test_pair(key, value);

	return istripe_negotiation_receive(n, &p, reply);
}

/**
 * text_find() - value of a key in a text
 * @w: text that was written
 * @key: name of the key
 *
 * Return: the value, or NULL when the key is not there.
 */
static inline const char *text_find(const struct istripe_text_writer *w, const char *key)
{
	u32 at, bytes = strlen(key);

	for (at = 0; at < w->used; at += strlen(w->buf + at) + 1) {
		if (!strncmp(w->buf + at, key, bytes) && w->buf[at + bytes] == '=')
			return w->buf + at + bytes + 1;
	}
	return NULL;
}

#endif /* _ISTRIPE_TEST_NEGOTIATION_H */
