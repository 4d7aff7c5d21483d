/* SPDX-License-Identifier: GPL-2.0 */
/* Commands: what the table in main.c is made of, and what they have in common. */
#ifndef ISTRIPECTL_COMMAND_H
#define ISTRIPECTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sysexits.h>

#include "fault.h"
#include "file.h"
#include "table.h"

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_CONFIGURATION = EX_CONFIG,	/* 78; istripe@.service has it, too */
};

struct command {
	const char *name;
	const char *synopsis;	/* what follows the name */
	const char *summary;	/* one line */
	const char *details;	/* for --help, or NULL */
	int (*run)(const struct command *command, int argc, char **argv);
};

/*
 * Options, the same for all commands that have them; without values unless it says so. The high
 * half has those of what commands print.
 */
enum command_flag {
	COMMAND_JSON = 1,
	COMMAND_FORCE = 2,
	COMMAND_LINE = 4,	/* --command */
	COMMAND_WAIT = 8,	/* has a value */
	COMMAND_ALL = 16,
	COMMAND_SAVED = 32,
	COMMAND_BOOT = 64,
	COMMAND_CONF = 128,
	COMMAND_SECRETS = 256,
	COMMAND_DRY_RUN = 512,
	COMMAND_LIST = 1024,	/* --list */
	COMMAND_CREATE = 2048,
	COMMAND_TIMEOUT = 4096,	/* has a value */
	COMMAND_COLUMNS = 1 << 16,	/* has a value */
	COMMAND_NO_HEADINGS = 1 << 17,
	COMMAND_PAIRS = 1 << 18,
	COMMAND_ONCE = 1 << 19,
	COMMAND_INTERVAL = 1 << 20,	/* has a value */
	COMMAND_WATCH = 1 << 21,	/* may have a value */
	COMMAND_EXEC = 1 << 22,		/* has a value */
	COMMAND_OUTPUT = 1 << 23,	/* has a value */
	COMMAND_PROGRAM = 1 << 24,	/* has a value */
	COMMAND_TABLE = COMMAND_COLUMNS | COMMAND_NO_HEADINGS | COMMAND_PAIRS,
};

struct command_line {
	unsigned int flags;	/* what was given, of enum command_flag */
	char **names;		/* of volumes, valid ones */
	size_t count;
	bool help;
	long long wait_ms;	/* of --wait */
	long long timeout_ms;	/* of --timeout */
	const char *columns;	/* of -o */
	const char *exec;	/* of --exec: for changes of states */
	const char *program;	/* of --program: for events */
	const char *output;	/* of --output, where it is a file */
	long long interval_ms;	/* of --interval and --watch; 0 if there is none */
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
 * command_value() - the value of an option, as --WORD VALUE or --WORD=VALUE
 * @argv: the words, with NULL at the end
 * @i: the word that may be the option; set to the last one that was taken
 * @option: --WORD
 * @value: set; NULL: there is none
 *
 * Return: whether it is this option.
 */
bool command_value(char **argv, int *i, const char *option, const char **value);

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

/**
 * command_style() - how a table is wanted
 * @line: what was given
 * @style: set
 * @fault: set on failure
 *
 * Return: 0; -EINVAL: not with --json.
 */
int command_style(const struct command_line *line, struct table_style *style,
		  struct fault *fault);

int command_discover(const struct command *command, int argc, char **argv);
int command_import(const struct command *command, int argc, char **argv);
int command_create(const struct command *command, int argc, char **argv);
int command_up(const struct command *command, int argc, char **argv);
int command_down(const struct command *command, int argc, char **argv);
int command_delete(const struct command *command, int argc, char **argv);
int command_rescan(const struct command *command, int argc, char **argv);
int command_show(const struct command *command, int argc, char **argv);
int command_status(const struct command *command, int argc, char **argv);
int command_monitor(const struct command *command, int argc, char **argv);
int command_set(const struct command *command, int argc, char **argv);
int command_top(const struct command *command, int argc, char **argv);
int command_list(const struct command *command, int argc, char **argv);
int command_save(const struct command *command, int argc, char **argv);
int command_apply(const struct command *command, int argc, char **argv);
int command_doctor(const struct command *command, int argc, char **argv);
int command_metrics(const struct command *command, int argc, char **argv);
int command_report(const struct command *command, int argc, char **argv);
int command_examine(const struct command *command, int argc, char **argv);
int command_reconnect(const struct command *command, int argc, char **argv);
int command_path(const struct command *command, int argc, char **argv);

#endif
