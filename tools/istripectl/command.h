/* SPDX-License-Identifier: GPL-2.0 */
/* Commands: what the table in main.c is made of, and what they have in common. */
#ifndef ISTRIPECTL_COMMAND_H
#define ISTRIPECTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "file.h"

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct command {
	const char *name;
	const char *synopsis;	/* what follows the name */
	const char *summary;	/* one line */
	const char *details;	/* for --help, or NULL */
	int (*run)(const struct command *command, int argc, char **argv);
};

/* Options, the same for all commands that have them; without values unless it says so. */
enum command_flag {
	COMMAND_JSON = 1,
	COMMAND_FORCE = 2,
	COMMAND_LINE = 4,	/* --command */
	COMMAND_WAIT = 8,	/* has a value */
};

struct command_line {
	unsigned int flags;	/* what was given, of enum command_flag */
	char **names;		/* of volumes, valid ones */
	size_t count;
	bool help;
	long long wait_ms;	/* of --wait */
};

/**
 * command_parse() - read options and names of volumes
 * @argc: number of words, the command being the first one
 * @argv: the words; their order changes
 * @allowed: flags that the command knows
 * @line: set
 * @fault: set on failure
 *
 * Return: 0; -EINVAL.
 */
int command_parse(int argc, char **argv, unsigned int allowed, struct command_line *line,
		  struct fault *fault);

/**
 * command_help() - print what a command does
 * @command: which one
 *
 * Return: EXIT_DONE.
 */
int command_help(const struct command *command);

/**
 * command_usage() - print what was wrong with a command line, and the right form
 * @command: which one
 * @fault: what was wrong
 *
 * Return: EXIT_USAGE.
 */
int command_usage(const struct command *command, const struct fault *fault);

/**
 * command_begin() - what most commands begin with
 * @command: which one
 * @argc: as command_parse()
 * @argv: as command_parse()
 * @allowed: as command_parse()
 * @line: as command_parse()
 * @names_needed: whether at least one volume must be named
 * @code: set to an exit code when there is nothing more to do
 *
 * Return: whether to go on.
 */
bool command_begin(const struct command *command, int argc, char **argv, unsigned int allowed,
		   struct command_line *line, bool names_needed, int *code);

/**
 * command_volumes() - the volumes that were named, or all
 * @line: what was given
 * @names: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int command_volumes(const struct command_line *line, struct file_names *names,
		    struct fault *fault);

int command_create(const struct command *command, int argc, char **argv);
int command_up(const struct command *command, int argc, char **argv);
int command_down(const struct command *command, int argc, char **argv);
int command_delete(const struct command *command, int argc, char **argv);
int command_rescan(const struct command *command, int argc, char **argv);
int command_show(const struct command *command, int argc, char **argv);
int command_status(const struct command *command, int argc, char **argv);
int command_list(const struct command *command, int argc, char **argv);
int command_path(const struct command *command, int argc, char **argv);

#endif
