/* SPDX-License-Identifier: GPL-2.0 */
/* Text: comparisons, and what was written by somebody else for terminals, JSON and shells. */
#ifndef ISTRIPECTL_TEXT_H
#define ISTRIPECTL_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/**
 * text_is_clean() - whether text_clean() leaves a text as it is
 * @text: the text
 *
 * Return: whether it is UTF-8 without control characters.
 */
bool text_is_clean(const char *text);

/**
 * text_clean() - leave nothing in a text that a terminal would obey
 * @text: changed in place: control characters and what is not UTF-8 become '?'
 */
void text_clean(char *text);

/**
 * text_listed() - whether a word is one of a list
 * @list: the words, NULL behind the last one
 * @word: which one
 *
 * Return: whether it is.
 */
bool text_listed(const char *const *list, const char *word);

/**
 * text_ends() - whether a text has a certain ending
 * @text: the text
 * @ending: the ending
 *
 * Return: whether it has, also when it is nothing else.
 */
bool text_ends(const char *text, const char *ending);

/**
 * text_quote() - print a word as a POSIX shell reads it
 * @out: where to
 * @word: what the shell shall see as one word
 */
void text_quote(FILE *out, const char *word);

/**
 * text_quoted() - a word as a POSIX shell reads it
 * @word: what the shell shall see as one word
 *
 * Return: the text, for free().
 */
char *text_quoted(const char *word);

#endif
