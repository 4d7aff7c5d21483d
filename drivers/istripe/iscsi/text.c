// SPDX-License-Identifier: GPL-2.0
/*
 * Reading and writing the text of Login and Text PDUs, RFC 7143 section 6.1.
 * Every byte that is read came from the peer: lengths are bounded by the buffer
 * before they are used, and nothing is written before it is known to fit.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <compat/hex.h>

#include "iscsi/text.h"

#define DECIMAL_BYTES	sizeof("4294967295")

void istripe_text_reader_init(struct istripe_text_reader *r, const char *buf, u32 bytes)
{
	r->buf = buf;
	r->bytes = bytes;
	r->used = 0;
}

static bool is_label_char(unsigned char c)
{
	return isascii(c) && (isalnum(c) || (c && strchr(".-+@_", c)));
}

/*
 * Section 6.1 wants a capital first, and section 13.24 has iSCSIProtocolLevel.
 * "X#" begins the public extension keys of the older RFC 3720.
 */
static bool is_key_name(const char *key, u32 bytes)
{
	u32 i;

	if (!bytes || bytes > ISTRIPE_TEXT_KEY_MAX || !isascii(key[0]) || !isalpha(key[0]))
		return false;
	for (i = 1; i < bytes; i++) {
		if (i == 1 && key[0] == 'X' && key[1] == '#')
			continue;
		if (!is_label_char(key[i]))
			return false;
	}
	return true;
}

static bool is_prefixed(const char *value, u32 bytes, char letter)
{
	return bytes >= 2 && value[0] == '0' && (value[1] | 0x20) == letter;
}

/* Encoded binary values may be long, all others not. */
static bool is_member(const char *value, u32 bytes)
{
	return bytes <= ISTRIPE_TEXT_SIMPLE_MAX || is_prefixed(value, bytes, 'x') ||
	       is_prefixed(value, bytes, 'b');
}

static bool is_value(const char *value, u32 bytes)
{
	const char *cursor = value;
	const char *member;
	u32 i, length;

	if (bytes > ISTRIPE_TEXT_VALUE_MAX)
		return false;
	for (i = 0; i < bytes; i++) {
		unsigned char c = value[i];

		if (c < ' ' || c == 0x7f)
			return false;
	}
	while ((member = istripe_text_list_next(&cursor, &length))) {
		if (!is_member(member, length))
			return false;
	}
	return true;
}

static int text_broken(struct istripe_text_reader *r)
{
	r->used = r->bytes;
	return -EPROTO;
}

/* Names for people (section 13.6) are no reason to refuse a text: one of odd bytes is left out. */
static bool is_passed_over(const char *key, u32 bytes)
{
	static const char alias[] = "TargetAlias";

	return bytes == sizeof(alias) - 1 && !memcmp(key, alias, bytes);
}

int istripe_text_next(struct istripe_text_reader *r, struct istripe_text_pair *p)
{
	const char *start, *end, *equals;
	u32 key_bytes;
	bool usable;

	do {
		while (r->used < r->bytes && !r->buf[r->used])
			r->used++;
		if (r->used == r->bytes)
			return 0;

		start = r->buf + r->used;
		end = memchr(start, 0, r->bytes - r->used);
		if (!end)
			return text_broken(r);
		equals = memchr(start, '=', end - start);
		if (!equals || !is_key_name(start, equals - start))
			return text_broken(r);
		usable = is_value(equals + 1, end - equals - 1);
		if (!usable && !is_passed_over(start, equals - start))
			return text_broken(r);
		r->used += end - start + 1;
	} while (!usable);

	key_bytes = equals - start;
	memcpy(p->key, start, key_bytes);
	p->key[key_bytes] = 0;
	p->value = equals + 1;
	p->value_bytes = end - p->value;
	return 1;
}

bool istripe_text_pair_is(const struct istripe_text_pair *p, const char *key)
{
	return !strcmp(p->key, key);
}

bool istripe_text_value_is(const struct istripe_text_pair *p, const char *value)
{
	return !strcmp(p->value, value);
}

/* A decimal-constant has no leading zero, a hex-constant may have any number. */
int istripe_text_parse_number(const struct istripe_text_pair *p, u32 min, u32 max, u32 *number)
{
	bool hex = is_prefixed(p->value, p->value_bytes, 'x');
	int base = hex ? 16 : 10;
	u32 i = hex ? 2 : 0;
	u64 value = 0;

	if (i == p->value_bytes || (!hex && p->value[0] == '0' && p->value_bytes > 1))
		return -EPROTO;
	for (; i < p->value_bytes; i++) {
		int digit = hex_to_bin(p->value[i]);

		if (digit < 0 || digit >= base)
			return -EPROTO;
		value = value * base + digit;
		if (value > max)
			return -EPROTO;
	}
	if (value < min)
		return -EPROTO;
	*number = value;
	return 0;
}

int istripe_text_parse_boolean(const struct istripe_text_pair *p, bool *yes)
{
	if (istripe_text_value_is(p, ISTRIPE_TEXT_YES))
		*yes = true;
	else if (istripe_text_value_is(p, ISTRIPE_TEXT_NO))
		*yes = false;
	else
		return -EPROTO;
	return 0;
}

static bool is_hex(const char *digits, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (hex_to_bin(digits[i]) < 0)
			return false;
	}
	return count > 0;
}

static int parse_hex(const char *digits, u32 count, u8 *buf, u32 size, u32 *bytes)
{
	u32 length = DIV_ROUND_UP(count, 2);
	u32 i, nibble = length * 2 - count;

	if (!is_hex(digits, count))
		return -EPROTO;
	if (length > size)
		return -EMSGSIZE;
	memset(buf, 0, length);
	for (i = 0; i < count; i++, nibble++)
		buf[nibble / 2] |= hex_to_bin(digits[i]) << (nibble % 2 ? 0 : 4);
	*bytes = length;
	return 0;
}

/* Value of a base64 digit, or 64. */
static u32 base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : 64;
}

static u32 base64_padding(const char *digits, u32 count)
{
	if (count < 4 || digits[count - 1] != '=')
		return 0;
	return digits[count - 2] == '=' ? 2 : 1;
}

/* Whole quanta, good digits, and no bits set that belong to no byte. */
static bool is_base64(const char *digits, u32 count, u32 padding)
{
	u32 spare = padding == 2 ? 0xf : padding == 1 ? 0x3 : 0;
	u32 i;

	if (!count || count % 4)
		return false;
	for (i = 0; i < count - padding; i++) {
		if (base64_value(digits[i]) > 63)
			return false;
	}
	return !(base64_value(digits[i - 1]) & spare);
}

static int parse_base64(const char *digits, u32 count, u8 *buf, u32 size, u32 *bytes)
{
	u32 padding = base64_padding(digits, count);
	u32 length = count / 4 * 3 - padding;
	u32 i, done = 0, bits = 0;

	if (!is_base64(digits, count, padding))
		return -EPROTO;
	if (length > size)
		return -EMSGSIZE;
	for (i = 0; i < count - padding; i++) {
		bits = bits << 6 | base64_value(digits[i]);
		if (i % 4)
			buf[done++] = bits >> (6 - i % 4 * 2);
	}
	*bytes = length;
	return 0;
}

int istripe_text_parse_binary(const struct istripe_text_pair *p, u8 *buf, u32 size, u32 *bytes)
{
	if (is_prefixed(p->value, p->value_bytes, 'x'))
		return parse_hex(p->value + 2, p->value_bytes - 2, buf, size, bytes);
	if (is_prefixed(p->value, p->value_bytes, 'b'))
		return parse_base64(p->value + 2, p->value_bytes - 2, buf, size, bytes);
	return -EPROTO;
}

const char *istripe_text_list_next(const char **cursor, u32 *bytes)
{
	const char *member = *cursor;
	const char *comma;

	if (!member)
		return NULL;
	comma = strchr(member, ',');
	*bytes = comma ? comma - member : strlen(member);
	*cursor = comma ? comma + 1 : NULL;
	return member;
}

void istripe_text_writer_init(struct istripe_text_writer *w, char *buf, u32 size)
{
	w->buf = buf;
	w->size = size;
	w->used = 0;
}

/* Reserves a pair, writes all of it but the value. NULL when it does not fit. */
static char *put_pair(struct istripe_text_writer *w, const char *key, u32 value_bytes)
{
	u32 key_bytes = strlen(key);
	u64 need = (u64)key_bytes + 1 + value_bytes + 1;
	char *at = w->buf + w->used;

	if (need > w->size - w->used)
		return NULL;
	memcpy(at, key, key_bytes);
	at[key_bytes] = '=';
	at[need - 1] = 0;
	w->used += need;
	return at + key_bytes + 1;
}

int istripe_text_put(struct istripe_text_writer *w, const char *key, const char *value)
{
	u32 bytes = strlen(value);
	char *at = put_pair(w, key, bytes);

	if (!at)
		return -EMSGSIZE;
	memcpy(at, value, bytes);
	return 0;
}

int istripe_text_put_number(struct istripe_text_writer *w, const char *key, u32 number)
{
	char text[DECIMAL_BYTES];

	scnprintf(text, sizeof(text), "%u", number);
	return istripe_text_put(w, key, text);
}

int istripe_text_put_binary(struct istripe_text_writer *w, const char *key, const u8 *data,
			    u32 bytes)
{
	char *at;

	if (bytes > U32_MAX / 4)
		return -EMSGSIZE;
	at = put_pair(w, key, 2 + bytes * 2);
	if (!at)
		return -EMSGSIZE;
	*at++ = '0';
	*at++ = 'x';
	bin2hex(at, data, bytes);
	return 0;
}
