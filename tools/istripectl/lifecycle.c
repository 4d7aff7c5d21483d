// SPDX-License-Identifier: GPL-2.0
/* up, down, delete: what happens to a volume that is there. */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "holder.h"
#include "interrupt.h"
#include "power.h"
#include "tree.h"

static int volume_up(const char *name, bool force, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);
	char *device;

	(void)force;
	if (!ret)
		ret = power_up(name, fault);
	if (ret)
		return ret;
	device = power_device(name);
	if (device)
		printf("%s: /dev/%s\n", name, device);
	free(device);
	return 0;
}

static int volume_down(const char *name, bool force, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);
	char *device;

	if (ret)
		return ret;
	/* Also one that is down is told to be: it may be just coming up. */
	device = power_device(name);
	if (device && !force)
		ret = holder_check(device, fault);
	if (ret)
		fault_add(fault, "next: umount it, or --force, which fails all of its I/O");
	free(device);
	return ret ? ret : power_down(name, fault);
}

static int volume_delete(const char *name, bool force, struct fault *fault)
{
	int ret = volume_down(name, force, fault);

	if (!ret && !force)
		ret = tree_check_fenced(name, fault);
	return ret ? ret : tree_remove(name, fault);
}

/* Each volume gets its turn, whatever became of those before it. */
static int each_run(const struct command *command, int argc, char **argv, unsigned int allowed,
		    int (*act)(const char *name, bool force, struct fault *fault))
{
	struct command_line line;
	int code = EXIT_DONE;
	size_t i;

	if (!command_begin(command, argc, argv, allowed, &line, true, &code))
		return code;
	interrupt_catch();
	for (i = 0; i < line.count && !interrupt_seen(); i++) {
		struct fault fault = { 0 };

		if (act(line.names[i], line.flags & COMMAND_FORCE, &fault)) {
			fault_print(&fault);
			code = EXIT_FAILED;
		}
	}
	return i < line.count ? EXIT_FAILED : code;
}

int command_up(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, 0, volume_up);
}

int command_down(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE, volume_down);
}

int command_delete(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE, volume_delete);
}
