// SPDX-License-Identifier: GPL-2.0
/* up, down, delete: what happens to a volume that is there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "command.h"
#include "holder.h"
#include "interrupt.h"
#include "power.h"
#include "tree.h"

#define OPEN_MOMENTS	50	/* of 100 ms */

static int volume_up(const char *name, const struct command_line *line, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);
	char *device;

	if (!ret)
		ret = power_up(name, line->wait_ms, fault);
	if (ret)
		return ret;
	device = power_device(name);
	if (device)
		printf("%s: /dev/%s\n", name, device);
	free(device);
	return 0;
}

/* udev, for one, opens a disk for a moment when somebody has closed it. */
static int down_again(const char *name, const char *device, struct fault *fault)
{
	static const struct timespec pause = { .tv_nsec = 100000000 };
	int i, ret = -ETXTBSY;

	for (i = 0; i < OPEN_MOMENTS && ret == -ETXTBSY && !interrupt_seen(); i++) {
		struct fault users = { 0 };

		if (holder_find(device, &users))
			return ret;
		nanosleep(&pause, NULL);
		ret = power_down(name, false, fault);
	}
	return ret;
}

static int in_use_fault(const char *device, struct fault *fault)
{
	fault_set(fault, 0, "/dev/%s is in use:", device);
	if (!(holder_find(device, fault) + holder_find_processes(device, fault)))
		fault_add(fault, "by somebody not seen from here");
	fault_add(fault,
		  "next: end that use (umount, swapoff, vgchange -an, mdadm --stop), or --force, which fails its I/O from then on");
	return -EBUSY;
}

static int volume_down(const char *name, const struct command_line *line, struct fault *fault)
{
	bool force = line->flags & COMMAND_FORCE;
	int ret = tree_has_volume(name, fault);
	char *device;

	if (ret)
		return ret;
	device = power_device(name);
	/* Also one that is down is told to be: it may be just coming up. */
	ret = power_down(name, force, fault);
	if (ret == -ETXTBSY && device)
		ret = down_again(name, device, fault);
	if (ret == -ETXTBSY && device)
		ret = in_use_fault(device, fault);
	free(device);
	return ret;
}

static int volume_delete(const char *name, const struct command_line *line, struct fault *fault)
{
	bool force = line->flags & COMMAND_FORCE;
	int ret = volume_down(name, line, fault);
	struct fault after = { 0 };

	if (!ret && !force)
		ret = tree_check_fenced(name, fault);
	/* Lost data do not come back, whether its directories stay or not. */
	if (ret && !(force && ret == -EIO))
		return ret;
	if (!tree_remove(name, &after))
		return ret;
	fault_add(fault, "%s", after.text);
	return -EIO;
}

/* Each volume gets its turn, whatever became of those before it. */
static int each_run(const struct command *command, int argc, char **argv, unsigned int allowed,
		    int (*act)(const char *name, const struct command_line *line,
			       struct fault *fault))
{
	struct command_line line;
	int code = EXIT_DONE;
	size_t i;

	if (!command_begin(command, argc, argv, allowed, &line, true, &code))
		return code;
	interrupt_catch();
	for (i = 0; i < line.count && !interrupt_seen(); i++) {
		struct fault fault = { 0 };

		if (act(line.names[i], &line, &fault)) {
			fault_print(&fault);
			code = EXIT_FAILED;
		}
	}
	return i < line.count ? EXIT_FAILED : code;
}

int command_up(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_WAIT, volume_up);
}

int command_down(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE, volume_down);
}

int command_delete(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE, volume_delete);
}
