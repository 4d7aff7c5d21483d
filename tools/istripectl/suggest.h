/* SPDX-License-Identifier: GPL-2.0 */
/* What was meant by a word that does not exist. */
#ifndef ISTRIPECTL_SUGGEST_H
#define ISTRIPECTL_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* The name that is most like a word; zeroed before the first one. */
struct suggestion {
	const char *name;
	size_t distance;
};

/**
 * suggest_name() - compare one more name with a word
 * @word: as typed
 * @name: a name that exists
 * @best: replaced if @name is more like the word, and like it at all
 */
void suggest_name(const char *word, const char *name, struct suggestion *best);

/**
 * suggest_of_others() - take a word for a command of another tool
 * @word: as typed
 * @best: replaced if another tool has a command of this name
 */
void suggest_of_others(const char *word, struct suggestion *best);

/**
 * suggest_setting() - the setting that is most like a word
 * @word: as typed
 *
 * Return: a name or a short name; NULL when none is like it.
 */
const char *suggest_setting(const char *word);

/**
 * suggest_place() - what has a setting
 * @name: the name of its file
 * @make: whether a volume is being made
 *
 * Return: as "a path: give it in --leg or --path", or the command up to the setting, of a volume
 * that is there; NULL when the setting is not known.
 */
const char *suggest_place(const char *name, bool make);

#endif
