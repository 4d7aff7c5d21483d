// SPDX-License-Identifier: GPL-2.0
/* What commands have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "command.h"
#include "model.h"
#include "tree.h"
#include "value.h"

static const struct {
	const char *word;
	enum command_flag flag;
} flags[] = {
	{ "--json", COMMAND_JSON },
	{ "--force", COMMAND_FORCE },
	{ "--command", COMMAND_LINE },
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

/* --wait TIME or --wait=TIME; 1 when the word after it was taken. */
static int wait_take(char **argv, struct command_line *line, struct fault *fault)
{
	const char *equals = strchr(argv[0], '='), *time = equals ? equals + 1 : argv[1];

	if (!time)
		return fault_set(fault, -EINVAL, "--wait needs a value");
	if (!value_wait(time, &line->wait_ms))
		return fault_set(fault, -EINVAL, "--wait %s: seconds, a time as 5min, or forever",
				 time);
	line->flags |= COMMAND_WAIT;
	return !equals;
}

static bool is_wait(const char *word)
{
	return !strcmp(word, "--wait") || !strncmp(word, "--wait=", strlen("--wait="));
}

int command_parse(int argc, char **argv, unsigned int allowed, struct command_line *line,
		  struct fault *fault)
{
	int i, ret = 0;

	memset(line, 0, sizeof(*line));
	line->names = argv + 1;
	for (i = 1; ret >= 0 && i < argc; i++) {
		/* The word before this one has taken it as its value. */
		if (ret)
			ret = 0;
		else if ((allowed & COMMAND_WAIT) && is_wait(argv[i]))
			ret = wait_take(argv + i, line, fault);
		else if (argv[i][0] == '-')
			ret = option_take(argv[i], allowed, line, fault);
		else if (!volume_name_valid(argv[i]))
			ret = fault_set(fault, -EINVAL, "\"%s\" cannot be the name of a volume",
					argv[i]);
		else
			line->names[line->count++] = argv[i];
	}
	return ret;
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
	if (!ret && names_needed && !line->count)
		ret = fault_set(&fault, -EINVAL, "which volume? a name is needed");
	if (ret)
		*code = command_usage(command, &fault);
	return !ret;
}

int command_volumes(const struct command_line *line, struct file_names *names,
		    struct fault *fault)
{
	size_t i;

	if (!line->count)
		return tree_list(names, fault);
	for (i = 0; i < line->count; i++) {
		names->items = alloc_array(names->items, names->count + 1, sizeof(*names->items));
		names->items[names->count++] = alloc_text(line->names[i]);
	}
	return 0;
}
