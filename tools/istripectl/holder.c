// SPDX-License-Identifier: GPL-2.0
/* Who uses a disk. */
#define _GNU_SOURCE
#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "holder.h"
#include "host_lun.h"
#include "place.h"

struct search {
	const char *device;	/* the disk, one of its partitions, or a device on top of these */
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

static void device_find(const char *device, const char *dir, struct fault *fault, int *count);

/* A device of LVM or LUKS is known by the name that device-mapper has for it; and its own users. */
static void holder_take(struct search *search, const char *holder)
{
	char *dir = place_path("/sys/block/%s", holder), *name = NULL;
	char *file = alloc_printf("%s/dm/name", dir), *by;

	file_read(file, &name);
	by = name ? alloc_printf("%s (%s)", holder, name) : alloc_text(holder);
	found(search, "part of", by);
	device_find(holder, dir, search->fault, &search->found);
	free(by);
	free(name);
	free(file);
	free(dir);
}

static void holders_find(struct search *search, const char *dir)
{
	char *path = alloc_printf("%s/holders", dir);
	struct file_names names = { 0 };
	size_t i;

	file_list(path, &names);
	for (i = 0; i < names.count; i++)
		holder_take(search, names.items[i]);
	file_names_free(&names);
	free(path);
}

/*
 * The source tells only for file systems with numbers of their own (major 0), as btrfs. Any user
 * mounts with FUSE, whose source is a text of that user.
 */
static bool source_tells(const char *number, const char *type)
{
	return !strncmp(number, "0:", 2) && strcmp(type, "fuse") && strncmp(type, "fuse.", 5);
}

/* proc_pid_mountinfo(5): "36 35 259:0 /root /mnt options - type source options" */
static void mount_line(struct search *search, char *line)
{
	char *rest = strstr(line, " - "), *words[5], *type, *source;
	size_t i;

	if (!rest)
		return;
	*rest = '\0';
	rest += strlen(" - ");
	type = strsep(&rest, " ");
	source = strsep(&rest, " ");
	for (i = 0; i < 5; i++)
		words[i] = strsep(&line, " ");
	if (!source || !words[4])
		return;
	if ((search->number && !strcmp(words[2], search->number)) ||
	    (source_tells(words[2], type) && !strcmp(source, search->node)))
		found(search, "mounted at", words[4]);
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

int holder_find(const char *device, struct fault *fault)
{
	char *disk = place_path("/sys/block/%s", device);
	struct file_names names = { 0 };
	int count = 0;
	size_t i;

	device_find(device, disk, fault, &count);
	file_list(disk, &names);
	for (i = 0; i < names.count; i++) {
		char *part = alloc_printf("%s/%s", disk, names.items[i]);

		if (!strncmp(names.items[i], device, strlen(device)) && file_is_dir(part))
			device_find(names.items[i], part, fault, &count);
		free(part);
	}
	file_names_free(&names);
	free(disk);
	return count;
}

#define LAYERS	16	/* of devices on each other; sysfs has no circle */

/* istripe1 is no part of istripe11. */
static bool is_part_of(const char *name, const char *disk)
{
	size_t bytes = strlen(disk);

	return !strncmp(name, disk, bytes) && (!name[bytes] || name[bytes] == 'p' ||
					       name[bytes] == '-');
}

static bool is_on(const char *device, const char *disk, unsigned int layers)
{
	struct file_names names = { 0 };
	bool on = is_part_of(device, disk);
	char *dir;
	size_t i;

	if (on || !layers)
		return on;
	dir = place_path("/sys/block/%s/slaves", device);
	file_list(dir, &names);
	for (i = 0; i < names.count && !on; i++)
		on = is_on(names.items[i], disk, layers - 1);
	file_names_free(&names);
	free(dir);
	return on;
}

bool holder_is_on(const char *device, const char *disk)
{
	return is_on(device, disk, LAYERS);
}

/* Is it "/dev/istripe0", or "/dev/istripe0p1", but not "/dev/istripe01"? And "/dev/sda1" of sda. */
static bool is_of_disk(const char *node, const char *device)
{
	size_t bytes = strlen(device);

	if (strncmp(node, "/dev/", 5) || strncmp(node + 5, device, bytes))
		return false;
	node += 5 + bytes;
	if (!isdigit((unsigned char)device[bytes - 1]))
		node += strspn(node, "0123456789");
	else if (*node == 'p')
		node += 1 + strspn(node + 1, "0123456789");
	return !*node;
}

static bool process_has(const char *process, const char *device)
{
	char *dir = alloc_printf("%s/fd", process), node[64];
	struct file_names names = { 0 };
	bool has = false;
	size_t i;

	file_list(dir, &names);
	for (i = 0; !has && i < names.count; i++) {
		char *link = alloc_printf("%s/%s", dir, names.items[i]);
		ssize_t bytes = readlink(link, node, sizeof(node) - 1);

		node[bytes > 0 ? bytes : 0] = '\0';
		has = is_of_disk(node, device);
		free(link);
	}
	file_names_free(&names);
	free(dir);
	return has;
}

static void process_tell(const char *process, const char *pid, const char *device,
			 struct fault *fault)
{
	char *file = alloc_printf("%s/comm", process), *name = NULL;

	file_read(file, &name);
	fault_add(fault, "/dev/%s is open in process %s (%s)", device, pid, name ? name : "?");
	free(name);
	free(file);
}

int holder_find_processes(const char *device, struct fault *fault)
{
	char *proc = place_path("/proc");
	struct file_names names = { 0 };
	int count = 0;
	size_t i;

	file_list(proc, &names);
	for (i = 0; i < names.count; i++) {
		char *process = alloc_printf("%s/%s", proc, names.items[i]);

		if (isdigit((unsigned char)names.items[i][0]) && process_has(process, device)) {
			process_tell(process, names.items[i], device, fault);
			count++;
		}
		free(process);
	}
	file_names_free(&names);
	free(proc);
	return count;
}

/* @path: of a disk, as ".../3:0:0:1/block/sdb" */
static bool has_lun(const char *path, const struct file_names *luns)
{
	char *lun = host_lun_number(path);
	bool has = file_names_have(luns, lun);

	free(lun);
	return has;
}

int holder_find_session(const char *session, const struct file_names *except,
			struct fault *fault)
{
	char *pattern = place_path("/sys/class/iscsi_session/%s/device/target*/*:*/block/*",
				   session);
	glob_t disks = { 0 };
	int count = 0;
	size_t i;

	glob(pattern, 0, NULL, &disks);
	for (i = 0; i < disks.gl_pathc; i++) {
		const char *disk = strrchr(disks.gl_pathv[i], '/') + 1;

		if (!except || !has_lun(disks.gl_pathv[i], except))
			count += holder_find(disk, fault) + holder_find_processes(disk, fault);
	}
	globfree(&disks);
	free(pattern);
	return count;
}
