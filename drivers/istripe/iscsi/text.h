/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text of Login and Text PDUs, RFC 7143 section 6.1: key=value pairs, each ended by a NUL. A
 * reader for what the peer sent, a writer for what we send, and the encodings of values. Nothing
 * here knows what a key means.
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

/* Neither string contains control characters; @value may have bytes above 0x7f. */
struct istripe_text_pair {
	char key[ISTRIPE_TEXT_KEY_MAX + 1];	/* name of the key, ended by NUL */
	const char *value;	/* its value, ended by NUL, inside the buffer that was read */
	u32 value_bytes;	/* length of @value, 0 to ISTRIPE_TEXT_VALUE_MAX */
};

struct istripe_text_reader {
	const char *buf;	/* must outlive the reader and the pairs it returned */
	u32 bytes;		/* length of @buf */
	u32 used;		/* bytes that were read */
};

/* A text that is being built. */
struct istripe_text_writer {
	char *buf;	/* where it is built */
	u32 size;	/* bytes that @buf has room for */
	u32 used;	/* length of the text, with the NUL of the last pair */
};

/* @buf has all PDUs of a sequence with C bits together, without the padding of the data segment. */
void istripe_text_reader_init(struct istripe_text_reader *r, const char *buf, u32 bytes);

/*
 * Returns 1 when there was a pair, 0 at the end, -EPROTO when the text breaks the grammar of
 * section 6.1; then the reader is at its end. Superfluous NULs between pairs are skipped, and so is
 * a TargetAlias with control characters, or too long.
 */
int istripe_text_next(struct istripe_text_reader *r, struct istripe_text_pair *p);

/* Keys and constant values are case-sensitive. */
bool istripe_text_pair_is(const struct istripe_text_pair *p, const char *key);
bool istripe_text_value_is(const struct istripe_text_pair *p, const char *value);

/* Decimal or hex (0x, 0X). Parsers return 0, or -EPROTO and leave the result alone. */
int istripe_text_parse_number(const struct istripe_text_pair *p, u32 min, u32 max, u32 *number);
int istripe_text_parse_boolean(const struct istripe_text_pair *p, bool *yes);

/*
 * Hex (0x, 0X; an odd number of digits has a leading zero) or base64 (0b, 0B; with padding),
 * section 6.1. -EMSGSIZE when it would not fit in @size, before the first byte is written.
 */
int istripe_text_parse_binary(const struct istripe_text_pair *p, u8 *buf, u32 size, u32 *bytes);

/*
 * @cursor begins as the value of a pair. Returns the next member, not ended by NUL, or NULL. An
 * empty value is a list of one empty member.
 */
const char *istripe_text_list_next(const char **cursor, u32 *bytes);

void istripe_text_writer_init(struct istripe_text_writer *w, char *buf, u32 size);

/* All put functions return 0, or -EMSGSIZE without room, and then leave the text as it was. */
int istripe_text_put(struct istripe_text_writer *w, const char *key, const char *value);
int istripe_text_put_number(struct istripe_text_writer *w, const char *key, u32 number);

/* As hex; at least one byte. */
int istripe_text_put_binary(struct istripe_text_writer *w, const char *key, const u8 *data,
			    u32 bytes);

#endif
