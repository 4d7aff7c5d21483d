// SPDX-License-Identifier: GPL-2.0
/* Text: comparisons, and what was written by somebody else. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define WORD_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"	\
			"%+,-./:=@_"

/* Bytes that follow the first one of a UTF-8 sequence; -1: it begins none. */
static int sequence_follow(unsigned char first)
{
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if (first >= 0xe0 && first <= 0xef)
		return 2;
	return first >= 0xf0 && first <= 0xf4 ? 3 : -1;
}

/* Neither longer than need be, nor a surrogate, nor beyond U+10FFFF, nor a control character. */
static bool code_usable(unsigned int code, int follow)
{
	static const unsigned int smallest[] = { 0, 0x80, 0x800, 0x10000 };

	if (code < smallest[follow] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return false;
	return code >= 0x20 && !(code >= 0x7f && code <= 0x9f);
}

/* Length of the character at @text, 0 when it is not one to keep. */
static int character_bytes(const unsigned char *text)
{
	int i, follow = sequence_follow(text[0]);
	unsigned int code;

	if (follow < 0)
		return 0;
	code = follow ? text[0] & (0x3f >> follow) : text[0];
	for (i = 1; i <= follow; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	return code_usable(code, follow) ? follow + 1 : 0;
}

bool text_is_clean(const char *text)
{
	while (*text) {
		int bytes = character_bytes((const unsigned char *)text);

		if (!bytes)
			return false;
		text += bytes;
	}
	return true;
}

void text_clean(char *text)
{
	while (*text) {
		int bytes = character_bytes((const unsigned char *)text);

		if (!bytes) {
			*text = '?';
			bytes = 1;
		}
		text += bytes;
	}
}

bool text_listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!strcmp(*list, word))
			return true;
	return false;
}

bool text_ends(const char *text, const char *ending)
{
	size_t bytes = strlen(text), tail = strlen(ending);

	return bytes >= tail && !strcmp(text + bytes - tail, ending);
}

void text_quote(FILE *out, const char *word)
{
	if (*word && strspn(word, WORD_CHARS) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

char *text_quoted(const char *word)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		abort();
	text_quote(out, word);
	fclose(out);
	return text;
}
