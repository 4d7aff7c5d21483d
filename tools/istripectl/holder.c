// SPDX-License-Identifier: GPL-2.0
/* Who uses a disk. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "holder.h"
#include "place.h"

struct search {
	const char *device;	/* the disk, or one of its partitions */
	char *number;		/* as "259:0" */
	char *node;		/* as "/dev/istripe0" */
	struct fault *fault;
	int found;
};

static void found(struct search *search, const char *what, const char *by)
{
	fault_add(search->fault, "/dev/%s is %s %s", search->device, what, by);
	search->found++;
}

static void holders_find(struct search *search, const char *dir)
{
	char *path = alloc_printf("%s/holders", dir);
	struct file_names names = { 0 };
	size_t i;

	file_list(path, &names);
	for (i = 0; i < names.count; i++)
		found(search, "part of", names.items[i]);
	file_names_free(&names);
	free(path);
}

/*
 * proc_pid_mountinfo(5): "36 35 259:0 /root /mnt options - type source options".
 * Some file systems have numbers of their own: there the source tells.
 */
static void mount_line(struct search *search, char *line)
{
	char *number = NULL, *mount = NULL, *word, *rest = line;
	char *dash = strstr(line, " - ");
	char *source = dash ? strchr(dash + 3, ' ') : NULL;
	int i;

	if (source) {
		source++;
		source[strcspn(source, " ")] = '\0';
	}
	if (dash)
		*dash = '\0';
	for (i = 0; i < 5 && (word = strsep(&rest, " ")); i++) {
		if (i == 2)
			number = word;
		else if (i == 4)
			mount = word;
	}
	if (mount && ((search->number && !strcmp(number, search->number)) ||
		      (source && !strcmp(source, search->node))))
		found(search, "mounted at", mount);
}

static void swap_line(struct search *search, char *line)
{
	line[strcspn(line, " \t")] = '\0';
	if (!strcmp(line, search->node))
		found(search, "used as", "swap space");
}

static void lines_find(struct search *search, const char *file,
		       void (*find)(struct search *search, char *line))
{
	char *path = place_path("%s", file), *text = NULL, *rest, *line;

	file_read(path, &text);
	rest = text;
	while (rest && (line = strsep(&rest, "\n")))
		find(search, line);
	free(text);
	free(path);
}

static void device_find(const char *device, const char *dir, struct fault *fault, int *count)
{
	struct search search = { .device = device, .fault = fault };
	char *dev = alloc_printf("%s/dev", dir);

	file_read(dev, &search.number);
	search.node = alloc_printf("/dev/%s", device);
	holders_find(&search, dir);
	lines_find(&search, "/proc/self/mountinfo", mount_line);
	lines_find(&search, "/proc/swaps", swap_line);
	*count += search.found;
	free(search.number);
	free(search.node);
	free(dev);
}

/* Whoever has claimed it, in whatever namespace, keeps others from claiming it. */
static void claim_try(const char *device, struct fault *fault, int *count)
{
	char *node = place_path("/dev/%s", device);
	int fd = open(node, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
	} else if (errno == EBUSY) {
		fault_add(fault, "/dev/%s is claimed by somebody not seen from here", device);
		(*count)++;
	}
	free(node);
}

int holder_check(const char *device, struct fault *fault)
{
	char *disk = place_path("/sys/block/%s", device);
	struct file_names names = { 0 };
	int count = 0;
	size_t i;

	fault_set(fault, 0, "/dev/%s is in use:", device);
	device_find(device, disk, fault, &count);
	file_list(disk, &names);
	for (i = 0; i < names.count; i++) {
		char *part = alloc_printf("%s/%s", disk, names.items[i]);

		if (!strncmp(names.items[i], device, strlen(device)) && file_is_dir(part))
			device_find(names.items[i], part, fault, &count);
		free(part);
	}
	if (!count)
		claim_try(device, fault, &count);
	file_names_free(&names);
	free(disk);
	if (!count)
		return fault_set(fault, 0, "%s", "");
	return -EBUSY;
}
