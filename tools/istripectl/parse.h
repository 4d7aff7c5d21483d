/* SPDX-License-Identifier: GPL-2.0 */
/* Command lines that describe a volume: from words to the model and back. */
#ifndef ISTRIPECTL_PARSE_H
#define ISTRIPECTL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "model.h"

struct create_options {
	bool dry_run;
	bool no_up;
	bool assemble;		/* the word was assemble: nothing is written on the legs */
	bool help;
	long long wait_ms;	/* for how long to try again */
};

struct words {
	char **items;		/* ends with a NULL that @count leaves out */
	size_t count;
};

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
 * its metadata is none.
 *
 * Return: 0; -EINVAL.
 */
int parse_create(int argc, char **argv, struct create_options *options, struct volume *volume,
		 struct fault *fault);

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
 * words_free() - free what parse_format() has made
 * @words: empty afterwards
 */
void words_free(struct words *words);

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
