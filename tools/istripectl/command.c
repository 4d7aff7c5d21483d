// SPDX-License-Identifier: GPL-2.0
/* What commands have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "command.h"
#include "model.h"
#include "parse.h"
#include "tree.h"
#include "value.h"

#define INTERVAL_MIN_MS	100
/* alarm(2) takes whole seconds, and 0 for no limit at all. */
#define TIMEOUT_MIN_MS	1000LL
#define TIMEOUT_MAX_MS	(30 * 86400 * 1000LL)

static const struct {
	const char *word;
	enum command_flag flag;
} flags[] = {
	{ "--json", COMMAND_JSON },
	{ "-J", COMMAND_JSON },
	{ "--force", COMMAND_FORCE },
	{ "--command", COMMAND_LINE },
	{ "--all", COMMAND_ALL },
	{ "--saved", COMMAND_SAVED },
	{ "--create", COMMAND_CREATE },
	{ "--boot", COMMAND_BOOT },
	{ "--conf", COMMAND_CONF },
	{ "--secrets", COMMAND_SECRETS },
	{ "--dry-run", COMMAND_DRY_RUN },
	{ "-n", COMMAND_DRY_RUN },
	{ "--noheadings", COMMAND_NO_HEADINGS },
	{ "-n", COMMAND_NO_HEADINGS },
	{ "--pairs", COMMAND_PAIRS },
	{ "-P", COMMAND_PAIRS },
	{ "--once", COMMAND_ONCE },
	{ "--list", COMMAND_LIST },
};

static int option_take(const char *word, unsigned int allowed, struct command_line *line,
		       struct fault *fault)
{
	size_t i;

	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		line->help = true;
		return 0;
	}
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (!strcmp(word, flags[i].word) && (allowed & flags[i].flag)) {
			line->flags |= flags[i].flag;
			return 0;
		}
	}
	return fault_set(fault, -EINVAL, "unknown option %s", word);
}

static int wait_set(const char *text, struct command_line *line, struct fault *fault)
{
	if (value_wait(text, &line->wait_ms))
		return 0;
	return fault_set(fault, -EINVAL, "--wait %s: seconds, a time as 5min, or forever", text);
}

static int timeout_set(const char *text, struct command_line *line, struct fault *fault)
{
	if (value_wait(text, &line->timeout_ms) &&
	    (line->timeout_ms == VALUE_FOREVER ||
	     (line->timeout_ms >= TIMEOUT_MIN_MS && line->timeout_ms <= TIMEOUT_MAX_MS)))
		return 0;
	return fault_set(fault, -EINVAL,
			 "--timeout %s: seconds or a time as 5min, from 1s to 30d, or forever",
			 text);
}

static int columns_set(const char *text, struct command_line *line, struct fault *fault)
{
	(void)fault;
	line->columns = text;
	return 0;
}

static int program_check(const char *option, const char *text, struct fault *fault)
{
	if (!strchr(text, '/'))
		return fault_set(fault, -EINVAL, "%s %s: give the path of a program, with a /",
				 option, text);
	if (access(text, X_OK))
		return fault_set(fault, -EINVAL, "%s %s: %s", option, text, strerror(errno));
	return 0;
}

static int exec_set(const char *text, struct command_line *line, struct fault *fault)
{
	line->exec = text;
	return program_check("--exec", text, fault);
}

static int program_set(const char *text, struct command_line *line, struct fault *fault)
{
	line->program = text;
	return program_check("--program", text, fault);
}

static int output_set(const char *text, struct command_line *line, struct fault *fault)
{
	if (!*text)
		return fault_set(fault, -EINVAL, "--output: the name of a file is empty");
	line->output = text;
	return 0;
}

static int interval_set(const char *text, struct command_line *line, struct fault *fault)
{
	if (value_wait(text, &line->interval_ms) && line->interval_ms >= INTERVAL_MIN_MS)
		return 0;
	return fault_set(fault, -EINVAL,
			 "%s: an interval is a number of seconds, or as 500ms or 1min; at least 100ms",
			 text);
}

static const struct option_value {
	const char *word;
	enum command_flag flag;
	bool optional;		/* only --WORD=VALUE */
	int (*set)(const char *text, struct command_line *line, struct fault *fault);
} option_values[] = {
	{ "--wait", COMMAND_WAIT, false, wait_set },
	{ "--timeout", COMMAND_TIMEOUT, false, timeout_set },
	{ "--output", COMMAND_COLUMNS, false, columns_set },
	{ "-o", COMMAND_COLUMNS, false, columns_set },
	{ "--interval", COMMAND_INTERVAL, false, interval_set },
	{ "--watch", COMMAND_WATCH, true, interval_set },
	{ "--exec", COMMAND_EXEC, false, exec_set },
	{ "--program", COMMAND_PROGRAM, false, program_set },
	{ "--output", COMMAND_OUTPUT, false, output_set },
	{ "-o", COMMAND_OUTPUT, false, output_set },
};

static const struct option_value *value_find(const char *word, unsigned int allowed)
{
	size_t i, bytes = strcspn(word, "=");

	for (i = 0; i < sizeof(option_values) / sizeof(*option_values); i++)
		if (strlen(option_values[i].word) == bytes && (option_values[i].flag & allowed) &&
		    !strncmp(option_values[i].word, word, bytes))
			return &option_values[i];
	return NULL;
}

/* --WORD VALUE or --WORD=VALUE; 1 when the word after it was taken. */
static int value_take(const struct option_value *option, char **argv, struct command_line *line,
		      struct fault *fault)
{
	const char *equals = strchr(argv[0], '='), *value = equals ? equals + 1 : argv[1];
	int ret;

	line->flags |= option->flag;
	if (option->optional && !equals)
		return 0;
	if (!value)
		return fault_set(fault, -EINVAL, "%s needs a value", option->word);
	ret = option->set(value, line, fault);
	return ret ? ret : !equals;
}

static int name_take(char *word, struct command_line *line, struct fault *fault)
{
	int ret = parse_volume_name(word, fault);

	if (!ret)
		line->names[line->count++] = word;
	return ret;
}

int command_parse(int argc, char **argv, unsigned int allowed, struct command_line *line,
		  struct fault *fault)
{
	const struct option_value *option;
	int i, ret = 0;

	memset(line, 0, sizeof(*line));
	line->names = argv + 1;
	for (i = 1; ret >= 0 && i < argc; i++) {
		option = value_find(argv[i], allowed);
		/* The word before this one has taken it as its value. */
		if (ret)
			ret = 0;
		else if (option)
			ret = value_take(option, argv + i, line, fault);
		else if (argv[i][0] == '-')
			ret = option_take(argv[i], allowed, line, fault);
		else
			ret = name_take(argv[i], line, fault);
	}
	return ret;
}

bool command_value(char **argv, int *i, const char *option, const char **value)
{
	size_t bytes = strlen(option);

	if (strncmp(argv[*i], option, bytes))
		return false;
	if (argv[*i][bytes] == '=')
		*value = argv[*i] + bytes + 1;
	else if (!argv[*i][bytes])
		*value = argv[++*i];
	else
		return false;
	return true;
}

int command_help(const struct command *command)
{
	printf("usage: istripectl %s %s\n\n%s.\n", command->name, command->synopsis,
	       command->summary);
	if (command->details)
		printf("\n%s", command->details);
	return EXIT_DONE;
}

int command_usage(const struct command *command, const struct fault *fault)
{
	fault_print(fault);
	fprintf(stderr, "usage: istripectl %s %s\nmore:  istripectl %s --help\n", command->name,
		command->synopsis, command->name);
	return EXIT_USAGE;
}

bool command_begin(const struct command *command, int argc, char **argv, unsigned int allowed,
		   struct command_line *line, bool names_needed, int *code)
{
	struct fault fault = { 0 };
	int ret = command_parse(argc, argv, allowed, line, &fault);

	if (!ret && line->help) {
		*code = command_help(command);
		return false;
	}
	if (!ret && names_needed && !line->count && !(line->flags & COMMAND_ALL))
		ret = fault_set(&fault, -EINVAL, "which volume? a name is needed");
	if (!ret && line->count && (line->flags & COMMAND_ALL))
		ret = fault_either(&fault, "--all", "names");
	if (ret)
		*code = command_usage(command, &fault);
	return !ret;
}

int command_style(const struct command_line *line, struct table_style *style,
		  struct fault *fault)
{
	*style = (struct table_style) {
		.columns = line->columns,
		.headings = !(line->flags & COMMAND_NO_HEADINGS),
		.pairs = line->flags & COMMAND_PAIRS,
	};
	if ((line->flags & COMMAND_JSON) && (line->flags & COMMAND_TABLE))
		return fault_set(fault, -EINVAL,
				 "--json has all values: not with -o, --noheadings or -P");
	return 0;
}

int command_volumes(const struct command_line *line, struct file_names *names,
		    struct fault *fault)
{
	size_t i;

	if (!line->count)
		return tree_list(names, fault);
	for (i = 0; i < line->count; i++)
		file_names_add(names, line->names[i]);
	return 0;
}
