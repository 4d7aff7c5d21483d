// SPDX-License-Identifier: GPL-2.0
/* show: configurations, as text, as JSON, as the line that makes the same volume. */
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "conf.h"
#include "json_out.h"
#include "parse.h"
#include "show.h"
#include "text.h"
#include "tree.h"

static void settings_print(const struct settings *settings, int indent)
{
	size_t i;

	for (i = 0; i < settings->count; i++) {
		const struct setting *item = &settings->items[i];

		printf("%*s%s = %s\n", indent, "", item->name,
		       item->value ? item->value : "(cannot be read)");
	}
}

static void leg_print(const struct leg *leg)
{
	size_t i;

	printf("  leg %u\n", leg->index);
	settings_print(&leg->settings, 4);
	for (i = 0; i < leg->path_count; i++) {
		printf("    path %u\n", leg->paths[i].index);
		settings_print(&leg->paths[i].settings, 6);
	}
}

static void volume_print(const struct volume *volume)
{
	size_t i;

	if (volume->device && *volume->device)
		printf("%s: /dev/%s\n", volume->name, volume->device);
	else
		printf("%s: down\n", volume->name);
	settings_print(&volume->settings, 2);
	for (i = 0; i < volume->leg_count; i++)
		leg_print(&volume->legs[i]);
}

int show_line(const struct volume *volume, FILE *out, struct fault *fault)
{
	struct words words = { 0 };
	int ret = parse_format(volume, &words, fault);
	size_t i;

	if (ret)
		return ret;
	fputs("istripectl", out);
	for (i = 0; i < words.count; i++) {
		/* One leg, one line: a volume of many is still to be read. */
		bool part = words.items[i][0] == '-' && words.items[i][1] == '-';

		fputs(part ? " \\\n\t" : " ", out);
		text_quote(out, words.items[i]);
	}
	putc('\n', out);
	words_free(&words);
	return 0;
}

static int volume_show(const char *name, const struct command_line *line,
		       struct json_object *all, struct fault *fault)
{
	struct volume volume = { 0 };
	int ret = tree_read(name, &volume, fault);

	if (!ret && (line->flags & (COMMAND_LINE | COMMAND_CONF)))
		conf_leave_chunk(&volume);
	if (!ret && (line->flags & COMMAND_LINE))
		ret = show_line(&volume, stdout, fault);
	else if (!ret && (line->flags & COMMAND_CONF))
		ret = conf_print(stdout, &volume, fault);
	else if (!ret && all)
		json_object_array_add(all, json_volume(&volume));
	else if (!ret)
		volume_print(&volume);
	volume_free(&volume);
	return ret;
}

static int volumes_show(const struct command_line *line, struct json_object *all)
{
	struct file_names names = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE;
	size_t i;

	if (command_volumes(line, &names, &fault)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	for (i = 0; i < names.count; i++) {
		int ret = volume_show(names.items[i], line, all, &fault);

		/* One that nobody has named may be gone by now. */
		if (!ret || (ret == -ENOENT && !line->count))
			continue;
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	file_names_free(&names);
	return code;
}

int command_show(const struct command *command, int argc, char **argv)
{
	struct json_object *all = NULL;
	struct command_line line;
	int code;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_LINE | COMMAND_CONF, &line,
			   false, &code))
		return code;
	if (line.flags & (line.flags - 1)) {
		struct fault fault = { 0 };

		fault_either(&fault, "--json, --command", "--conf");
		return command_usage(command, &fault);
	}
	if (line.flags & COMMAND_JSON)
		all = json_object_new_array();
	code = volumes_show(&line, all);
	if (all)
		json_print(all);
	return code;
}
