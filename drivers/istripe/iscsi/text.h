/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text of Login and Text PDUs, RFC 7143 section 6.1: key=value pairs, each
 * ended by a NUL. A reader for what the peer sent, a writer for what we send,
 * and the encodings of values. Nothing here knows what a key means.
 */
#ifndef ISTRIPE_ISCSI_TEXT_H
#define ISTRIPE_ISCSI_TEXT_H

#include <linux/types.h>

#define ISTRIPE_TEXT_KEY_MAX		63	/* bytes of a key name, without NUL */
#define ISTRIPE_TEXT_SIMPLE_MAX		255	/* bytes of a simple value, or of a list's member */
#define ISTRIPE_TEXT_VALUE_MAX		8192	/* bytes of a list, or of an encoded binary value */

/* Values with a meaning of their own, RFC 7143 sections 6.1 and 6.2. */
#define ISTRIPE_TEXT_NONE		"None"
#define ISTRIPE_TEXT_REJECT		"Reject"
#define ISTRIPE_TEXT_IRRELEVANT		"Irrelevant"
#define ISTRIPE_TEXT_NOT_UNDERSTOOD	"NotUnderstood"
#define ISTRIPE_TEXT_YES		"Yes"
#define ISTRIPE_TEXT_NO			"No"

/**
 * struct istripe_text_pair - one key=value pair that was read
 * @key: name of the key, ended by NUL
 * @value: its value, ended by NUL, inside the buffer that was read
 * @key_bytes: length of @key, 1 to ISTRIPE_TEXT_KEY_MAX
 * @value_bytes: length of @value, 0 to ISTRIPE_TEXT_VALUE_MAX
 *
 * Neither string contains control characters, so both may be printed. @value may
 * contain bytes above 0x7f (UTF-8 in names and aliases), not verified any further.
 */
struct istripe_text_pair {
	char key[ISTRIPE_TEXT_KEY_MAX + 1];
	const char *value;
	u32 key_bytes;
	u32 value_bytes;
};

/**
 * struct istripe_text_reader - position in a text
 * @buf: the text, which must outlive the reader and the pairs it returned
 * @bytes: length of @buf
 * @used: bytes that were read
 */
struct istripe_text_reader {
	const char *buf;
	u32 bytes;
	u32 used;
};

/**
 * struct istripe_text_writer - a text that is being built
 * @buf: where it is built
 * @size: bytes that @buf has room for
 * @used: length of the text, with the NUL of the last pair
 */
struct istripe_text_writer {
	char *buf;
	u32 size;
	u32 used;
};

/**
 * istripe_text_reader_init() - begin to read a text
 * @r: reader
 * @buf: the whole text (all PDUs of a sequence with C bits together); may be
 *       NULL when @bytes is 0
 * @bytes: its length, without the padding of the data segment
 *
 * Context: any.
 */
void istripe_text_reader_init(struct istripe_text_reader *r, const char *buf, u32 bytes);

/**
 * istripe_text_next() - read one pair
 * @r: reader
 * @p: where to put the pair; undefined unless 1 is returned
 *
 * Superfluous NULs between pairs are skipped: section 6.1 asks for at least one.
 * After an error the reader is at its end.
 *
 * Context: any.
 * Return: 1 when there was a pair, 0 at the end, -EPROTO when the text breaks the
 * grammar of section 6.1: final NUL missing, no "=", a key name that is empty,
 * too long or not a standard-label, a value that is too long or contains control
 * characters.
 */
int istripe_text_next(struct istripe_text_reader *r, struct istripe_text_pair *p);

/**
 * istripe_text_pair_is() - does a pair belong to a key
 * @p: pair
 * @key: name of the key; keys are case-sensitive
 *
 * Context: any.
 * Return: true when @p's key is @key.
 */
bool istripe_text_pair_is(const struct istripe_text_pair *p, const char *key);

/**
 * istripe_text_value_is() - is this the value of a pair
 * @p: pair
 * @value: a constant of section 6.1, case-sensitive
 *
 * Context: any.
 * Return: true when @p's value is @value.
 */
bool istripe_text_value_is(const struct istripe_text_pair *p, const char *value);

/**
 * istripe_text_parse_number() - value as a number
 * @p: pair
 * @min: smallest number that is acceptable
 * @max: largest number that is acceptable
 * @number: result; left alone on error
 *
 * Takes a decimal-constant or a hex-constant (0x, 0X) of section 6.1.
 *
 * Context: any.
 * Return: 0, or -EPROTO when it is no number or out of range.
 */
int istripe_text_parse_number(const struct istripe_text_pair *p, u32 min, u32 max, u32 *number);

/**
 * istripe_text_parse_boolean() - value as Yes or No
 * @p: pair
 * @yes: result; left alone on error
 *
 * Context: any.
 * Return: 0, or -EPROTO when it is neither "Yes" nor "No".
 */
int istripe_text_parse_boolean(const struct istripe_text_pair *p, bool *yes);

/**
 * istripe_text_parse_binary() - value as a large-binary-value
 * @p: pair
 * @buf: where to put the bytes; left alone on error
 * @size: bytes that @buf has room for
 * @bytes: length of the result; left alone on error
 *
 * Takes hex (0x, 0X; an odd number of digits has a leading zero) and base64
 * (0b, 0B; with padding), section 6.1. The decoded length is known and compared
 * with @size before the first byte is written.
 *
 * Context: any.
 * Return: 0; -EPROTO when the encoding is neither, is empty, or is broken;
 * -EMSGSIZE when it would not fit in @size.
 */
int istripe_text_parse_binary(const struct istripe_text_pair *p, u8 *buf, u32 size, u32 *bytes);

/**
 * istripe_text_list_next() - next member of a list-of-values
 * @cursor: begins as the value of a pair; NULL after the last member
 * @bytes: length of the member
 *
 * An empty value is a list of one empty member.
 *
 * Context: any.
 * Return: the member, not ended by NUL, or NULL when there are no more.
 */
const char *istripe_text_list_next(const char **cursor, u32 *bytes);

/**
 * istripe_text_writer_init() - begin a text
 * @w: writer
 * @buf: where to build it
 * @size: bytes that @buf has room for
 *
 * Context: any.
 */
void istripe_text_writer_init(struct istripe_text_writer *w, char *buf, u32 size);

/**
 * istripe_text_put() - append key=value
 * @w: writer
 * @key: name of the key
 * @value: value as text
 *
 * On error the text is as it was before. So it is for all istripe_text_put_*().
 *
 * Context: any.
 * Return: 0, or -EMSGSIZE when there is no room for the pair.
 */
int istripe_text_put(struct istripe_text_writer *w, const char *key, const char *value);

/**
 * istripe_text_put_number() - append a pair with a decimal number
 * @w: writer
 * @key: name of the key
 * @number: value
 *
 * Context: any.
 * Return: 0, or -EMSGSIZE when there is no room for the pair.
 */
int istripe_text_put_number(struct istripe_text_writer *w, const char *key, u32 number);

/**
 * istripe_text_put_binary() - append a pair with a binary value as hex
 * @w: writer
 * @key: name of the key
 * @data: value
 * @bytes: its length, at least 1
 *
 * Context: any.
 * Return: 0, or -EMSGSIZE when there is no room for the pair.
 */
int istripe_text_put_binary(struct istripe_text_writer *w, const char *key, const u8 *data,
			    u32 bytes);

#endif
