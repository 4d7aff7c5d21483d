// SPDX-License-Identifier: GPL-2.0
/* create: all of a volume in one line, or nothing of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "initiator.h"
#include "interrupt.h"
#include "parse.h"
#include "power.h"
#include "script.h"
#include "secret.h"
#include "tree.h"

static int initiator_take(struct volume *volume, struct fault *fault)
{
	char *name;

	if (settings_find(&volume->settings, "initiator_name"))
		return 0;
	name = initiator_name();
	if (!name)
		return fault_set(fault, -EINVAL,
				 "no initiator name: " INITIATOR_FILE " has none\n"
				 "next: give --initiator iqn.YYYY-MM.DOMAIN:THIS-HOST");
	settings_put(&volume->settings, "initiator_name", name);
	free(name);
	return 0;
}

/* New directories are removed again; a volume that came up all the same goes down first. */
static void volume_undo(const char *name, struct fault *fault)
{
	struct fault after = { 0 };

	if ((power_is_up(name) && power_down(name, true, &after)) || tree_remove(name, &after))
		fault_add(fault, "and it could not be removed again: %s", after.text);
	else
		fault_add(fault, "nothing of it is left; --no-up would make it without connecting");
}

static int volume_make(struct volume *volume, bool up, long long wait_ms, struct fault *fault)
{
	int ret = secret_load(volume, fault);

	if (!ret)
		ret = tree_create(volume, fault);
	if (ret || !up)
		return ret;
	ret = power_up(volume->name, wait_ms, fault);
	if (ret)
		volume_undo(volume->name, fault);
	return ret;
}

static void result_print(const struct volume *volume)
{
	char *device = power_device(volume->name);

	if (device)
		printf("%s: /dev/%s\n", volume->name, device);
	free(device);
}

static int volume_create(struct volume *volume, const struct create_options *options,
			 struct fault *fault)
{
	int ret = initiator_take(volume, fault);

	if (ret)
		return ret;
	if (options->dry_run)
		return script_create(volume, !options->no_up, fault);
	ret = tree_check(fault);
	if (ret)
		return ret;
	interrupt_catch();
	ret = volume_make(volume, !options->no_up, options->wait_ms, fault);
	if (!ret)
		result_print(volume);
	return ret;
}

int command_create(const struct command *command, int argc, char **argv)
{
	struct create_options options;
	struct volume volume = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE;

	if (parse_create(argc, argv, &options, &volume, &fault)) {
		code = command_usage(command, &fault);
	} else if (options.help) {
		command_help(command);
	} else if (volume_create(&volume, &options, &fault)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	volume_free(&volume);
	return code;
}
