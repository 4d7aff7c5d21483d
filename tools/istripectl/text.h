/* SPDX-License-Identifier: GPL-2.0 */
/* Text that was written by somebody else: for terminals, JSON and shells. */
#ifndef ISTRIPECTL_TEXT_H
#define ISTRIPECTL_TEXT_H

#include <stdio.h>

/**
 * text_clean() - leave nothing in a text that a terminal would obey
 * @text: changed in place: control characters and what is not UTF-8 become '?'
 */
void text_clean(char *text);

/**
 * text_quote() - print a word as a POSIX shell reads it
 * @out: where to
 * @word: what the shell shall see as one word
 */
void text_quote(FILE *out, const char *word);

#endif
