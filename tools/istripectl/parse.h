/* SPDX-License-Identifier: GPL-2.0 */
/* Command lines that describe a volume: from words to the model and back. */
#ifndef ISTRIPECTL_PARSE_H
#define ISTRIPECTL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fault.h"
#include "model.h"

/* Where create finds its legs, in the place of --leg and --path. */
struct create_discovery {
	const char *portal;	/* NULL: legs are given */
	const char *nics;	/* lists with commas */
	const char *targets;	/* or NULL: all */
	const char *luns;	/* or NULL: LUN 0 */
	bool yes;		/* nobody is asked */
	bool no_save, no_boot;
	struct settings chap;	/* of the discovery */
	struct settings paths;	/* of all paths, CHAP included */
};

struct create_options {
	bool dry_run;
	bool no_up;
	bool save;		/* as a configuration file */
	bool boot;		/* and started at boot */
	bool save_unasked;	/* only since --discover does it */
	bool boot_unasked;
	bool assemble;		/* the word was assemble: nothing is written on the legs */
	bool help;
	long long wait_ms;	/* for how long to try again */
	struct create_discovery discovery;
};

struct words {
	char **items;		/* ends with a NULL that @count leaves out */
	size_t count;
};

/**
 * parse_setting() - one more setting, as it was typed
 * @settings: where to; it must not be there yet
 * @word: the name of its file, or a short one
 * @text: the value, with a unit or without; of a secret where it is, as @file or @-
 * @fault: set on failure
 *
 * Return: 0; -EINVAL.
 */
int parse_setting(struct settings *settings, const char *word, const char *text,
		  struct fault *fault);

/**
 * parse_short_name() - the short names of settings
 * @index: from 0 on
 *
 * Return: the name; NULL behind the last one.
 */
const char *parse_short_name(size_t index);

/**
 * parse_short_for() - the short name of a setting
 * @name: the name of its file
 *
 * Return: the name; NULL when there is none.
 */
const char *parse_short_for(const char *name);

/**
 * parse_chap() - read the value of --chap
 * @text: user=NAME,secret=@FILE and, as needed, mutual_user=NAME,mutual_secret=@FILE
 * @chap: gets chap_user and so on; secrets are left as what was typed
 * @fault: set on failure
 *
 * Return: 0; -EINVAL.
 */
int parse_chap(const char *text, struct settings *chap, struct fault *fault);

/**
 * parse_create() - read what follows the word create or assemble
 * @argc: number of words, that word being the first one
 * @argv: the words; their order may change
 * @options: set
 * @volume: zeroed by the caller, filled, also in part when this fails
 * @fault: set on failure
 *
 * Further paths of a leg already have what they inherit. Secrets are left as
 * what was typed: @file or @-. After create the volume says metadata_create, unless
 * its metadata is none. With --discover the volume has no legs yet.
 *
 * Return: 0; -EINVAL; parse_create_free() in any case.
 */
int parse_create(int argc, char **argv, struct create_options *options, struct volume *volume,
		 struct fault *fault);

/**
 * parse_create_free() - forget what was read, secrets included
 * @options: from parse_create()
 */
void parse_create_free(struct create_options *options);

/**
 * parse_format() - the words that configure the same volume
 * @volume: the volume; secrets that cannot be read are asked for, as @-
 * @words: zeroed by the caller, filled: assemble, its name, options
 * @fault: set on failure
 *
 * All values are written, those that nobody has changed included: a later
 * version may have other defaults. But never metadata_create: what made a volume once
 * must not make it again, over its data, when it is only to be configured as it was.
 *
 * Return: 0; -EINVAL: legs or paths are missing, so no command line says it.
 */
int parse_format(const struct volume *volume, struct words *words, struct fault *fault);

/**
 * parse_format_path() - what makes a new path of a leg that is configured as one is to be
 * @leg: as the kernel has it; its first path hands its settings down
 * @now: the path, as the kernel has it
 * @wanted: what it is to be; what this does not say has its default
 *
 * The new one gets an ISID of its own. Secrets have to be typed.
 *
 * Return: a LIST of path add, for free().
 */
char *parse_format_path(const struct leg *leg, const struct path *now, const struct path *wanted);

/**
 * parse_escape() - print the value of an entry of a list
 * @out: where to
 * @value: what is read from the list again
 */
void parse_escape(FILE *out, const char *value);

/**
 * words_free() - free what parse_format() has made
 * @words: empty afterwards
 */
void words_free(struct words *words);

/**
 * parse_volume_name() - whether a word may be the name of a volume
 * @word: as it was given
 * @fault: set when it may not
 *
 * Return: 0; -EINVAL.
 */
int parse_volume_name(const char *word, struct fault *fault);

/**
 * parse_path() - read what describes one more path of a leg
 * @text: NAME=VALUE,NAME=VALUE
 * @leg: the leg; what is not given is as its first path has it, but where it leads from
 *	and to; secrets, which cannot be read, are missing
 * @path: filled
 * @fault: set on failure
 *
 * Return: 0; -EINVAL.
 */
int parse_path(const char *text, const struct leg *leg, struct path *path, struct fault *fault);

#endif
