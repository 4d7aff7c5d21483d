// SPDX-License-Identifier: GPL-2.0
/* examine: the superblocks of devices or images, and whether they are the legs of an array. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <istripe/settings.h>
#include "advice.h"
#include "alloc.h"
#include "command.h"
#include "json_out.h"
#include "superblock.h"
#include "text.h"
#include "value.h"

struct device {
	const char *path;
	int fd;
	unsigned long long bytes;
	unsigned int block_bytes;	/* logical block; 0: an image has none */
	struct superblock super;
	bool told;		/* its array has been checked */
};

struct devices {
	struct device *items;
	size_t count;
	bool failed;		/* one of them could not be read */
};

/* Devices that have superblocks of one array, in the order of their roles. */
struct array {
	const struct device *legs[ISTRIPE_LEGS_MAX];
	unsigned int count;
	char reason[SUPERBLOCK_REASON_BYTES];	/* empty: it is complete */
};

static const char *const results[] = {
	[SUPERBLOCK_LEG] = "leg", [SUPERBLOCK_NONE] = "none",
	[SUPERBLOCK_FOREIGN] = "foreign", [SUPERBLOCK_DAMAGED] = "damaged",
};

static const char *const layouts[] = { "not told", "original", "alternate" };

/* Reading */

/*
 * A block device is read past the page cache, which may have what was there before another host has
 * written. Neither a lock nor O_EXCL is taken: it may be in use.
 */
static int device_open(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), direct;

	if (fd < 0 || fstat(fd, st))
		return fd;
	if (S_ISBLK(st->st_mode)) {
		direct = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
		if (direct >= 0) {
			close(fd);
			fd = direct;
		}
	}
	return fd;
}

static int device_read(struct device *device, struct fault *fault)
{
	int block_bytes, ret;
	struct stat st;
	off_t end;

	device->fd = device_open(device->path, &st);
	if (device->fd < 0) {
		ret = fault_set(fault, -errno, "%s: %s", device->path, strerror(errno));
		advice_root(ret, fault);
		return ret;
	}
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return fault_set(fault, -ENOTBLK, "%s: neither a block device nor an image",
				 device->path);
	end = lseek(device->fd, 0, SEEK_END);
	if (end < 0)
		return fault_set(fault, -errno, "%s: %s", device->path, strerror(errno));
	device->bytes = end;
	device->block_bytes = ioctl(device->fd, BLKSSZGET, &block_bytes) ? 0 : block_bytes;
	ret = superblock_read(device->fd, device->bytes, &device->super);
	if (ret)
		fault_set(fault, ret, "%s: %s", device->path, strerror(-ret));
	text_clean(device->super.name);
	return ret;
}

static bool device_is_leg(const struct device *device)
{
	return device->super.result == SUPERBLOCK_LEG;
}

/* Arrays */

static void leg_put(struct array *array, const struct device *device)
{
	unsigned int at = array->count;

	if (at == ISTRIPE_LEGS_MAX)
		return;
	while (at && array->legs[at - 1]->super.role > device->super.role) {
		array->legs[at] = array->legs[at - 1];
		at--;
	}
	array->legs[at] = device;
	array->count++;
}

/*
 * The driver's texts number legs as they are given, which are their roles as long as none is
 * missing or repeated before them.
 */
static void roles_check(struct array *array)
{
	unsigned int i;

	for (i = 0; i < array->count && !*array->reason; i++) {
		const struct superblock *super = &array->legs[i]->super;

		if (super->role < i)
			snprintf(array->reason, sizeof(array->reason),
				 "leg %u: repeated, two of the devices have its role",
				 super->role);
		else if (super->role > i)
			snprintf(array->reason, sizeof(array->reason),
				 "leg %u: missing, the array has %u legs, %u are given", i,
				 super->legs, array->count);
	}
}

/* As the driver has it, of devices: blocks of one size, not smaller than the superblocks say. */
static void blocks_check(struct array *array)
{
	unsigned int i, known = 0;

	for (i = 0; i < array->count && !*array->reason; i++) {
		unsigned int bytes = array->legs[i]->block_bytes;
		unsigned int told = array->legs[i]->super.logical_block_bytes;

		if (bytes && !array->legs[known]->block_bytes)
			known = i;
		if (bytes && bytes != array->legs[known]->block_bytes)
			snprintf(array->reason, sizeof(array->reason),
				 "leg %u has blocks of %u bytes, leg %u of %u", i, bytes, known,
				 array->legs[known]->block_bytes);
		else if (bytes && told > bytes)
			snprintf(array->reason, sizeof(array->reason),
				 "the superblocks say logical blocks of %u bytes, but the legs have %u",
				 told, bytes);
	}
}

/* The next array that has not been told; false: there is none. */
static bool array_next(struct devices *devices, struct array *array)
{
	const struct device *first = NULL;
	int fds[ISTRIPE_LEGS_MAX];
	unsigned long long bytes[ISTRIPE_LEGS_MAX];
	size_t i;

	memset(array, 0, sizeof(*array));
	for (i = 0; i < devices->count; i++) {
		struct device *device = &devices->items[i];

		if (!device_is_leg(device) || device->told ||
		    (first && memcmp(first->super.array_uuid, device->super.array_uuid,
				     sizeof(device->super.array_uuid))))
			continue;
		first = first ? first : device;
		device->told = true;
		leg_put(array, device);
	}
	roles_check(array);
	for (i = 0; i < array->count; i++) {
		fds[i] = array->legs[i]->fd;
		bytes[i] = array->legs[i]->bytes;
	}
	if (first && !*array->reason &&
	    superblock_check(fds, bytes, array->count, array->reason) && !*array->reason)
		snprintf(array->reason, sizeof(array->reason), "it cannot be read");
	if (first)
		blocks_check(array);
	return first;
}

/* Text */

static char *uuid_text(const unsigned char *uuid)
{
	return alloc_printf("%02x%02x%02x%02x:%02x%02x%02x%02x:%02x%02x%02x%02x:%02x%02x%02x%02x",
			    uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7],
			    uuid[8], uuid[9], uuid[10], uuid[11], uuid[12], uuid[13], uuid[14],
			    uuid[15]);
}

static char *time_text(unsigned long long seconds)
{
	time_t when = seconds;
	struct tm parts;
	char text[64];

	gmtime_r(&when, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	return alloc_text(text);
}

/* Takes @text. */
static void line_print(const char *name, char *text)
{
	printf("  %-13s %s\n", name, text);
	free(text);
}

static char *bytes_text(unsigned long long bytes)
{
	char *size = value_size(bytes), *text = alloc_printf("%llu (%s)", bytes, size);

	free(size);
	return text;
}

static void fields_print(const struct superblock *super)
{
	line_print("array uuid", uuid_text(super->array_uuid));
	line_print("device uuid", uuid_text(super->device_uuid));
	line_print("name", alloc_text(super->name));
	line_print("role", alloc_printf("%u of %u", super->role, super->legs));
	line_print("chunk", bytes_text(super->chunk_bytes));
	line_print("layout", alloc_text(super->layout < 3 ? layouts[super->layout] : "unknown"));
	line_print("data offset", bytes_text(super->data_offset_bytes));
	line_print("data size", bytes_text(super->data_bytes));
	line_print("share", bytes_text(super->share_bytes));
	if (super->logical_block_bytes)
		line_print("logical block", bytes_text(super->logical_block_bytes));
	line_print("events", alloc_printf("%llu", super->events));
	line_print("created", time_text(super->created_s));
	line_print("updated", time_text(super->updated_s));
}

static const char *reason_of(const struct superblock *super)
{
	return super->signature ? super->signature : super->reason;
}

static void device_print(const struct device *device)
{
	const struct superblock *super = &device->super;

	printf("%s: %s%s%s%s\n", device->path, results[super->result],
	       super->result == SUPERBLOCK_LEG ? "" : ": ",
	       super->signature ? "it holds " : "",
	       super->result == SUPERBLOCK_LEG ? "" : reason_of(super));
	line_print("size", bytes_text(device->bytes));
	if (device->block_bytes)
		line_print("device block", bytes_text(device->block_bytes));
	if (super->has_fields)
		fields_print(super);
}

static void array_print(const struct array *array)
{
	char *uuid = uuid_text(array->legs[0]->super.array_uuid);
	unsigned int i;

	if (*array->reason)
		printf("array %s: %s\n", uuid, array->reason);
	else
		printf("array %s: complete\n", uuid);
	for (i = 0; i < array->count; i++)
		printf("  role %-8u %s\n", array->legs[i]->super.role, array->legs[i]->path);
	free(uuid);
}

/* JSON */

/* Takes @text. */
static void text_add(struct json_object *object, const char *name, char *text)
{
	json_text(object, name, text);
	free(text);
}

/* A file may have any name, and JSON is UTF-8. For free(). */
static char *path_text(const struct device *device)
{
	char *text = alloc_text(device->path);

	text_clean(text);
	return text;
}

static void number_add(struct json_object *object, const char *name, unsigned long long number)
{
	json_object_object_add(object, name, json_object_new_uint64(number));
}

static struct json_object *device_object(const struct device *device)
{
	struct json_object *object = json_object_new_object();
	const struct superblock *super = &device->super;
	bool leg = super->result == SUPERBLOCK_LEG;

	text_add(object, "device", path_text(device));
	number_add(object, "size_bytes", device->bytes);
	number_add(object, "block_bytes", device->block_bytes);
	json_text(object, "result", results[super->result]);
	json_text(object, "reason", leg ? NULL : reason_of(super));
	if (!super->has_fields)
		return object;
	text_add(object, "array_uuid", uuid_text(super->array_uuid));
	text_add(object, "device_uuid", uuid_text(super->device_uuid));
	json_text(object, "name", super->name);
	number_add(object, "legs", super->legs);
	number_add(object, "role", super->role);
	number_add(object, "chunk_bytes", super->chunk_bytes);
	number_add(object, "layout", super->layout);
	number_add(object, "data_offset_bytes", super->data_offset_bytes);
	number_add(object, "data_bytes", super->data_bytes);
	number_add(object, "share_bytes", super->share_bytes);
	number_add(object, "logical_block_bytes", super->logical_block_bytes);
	number_add(object, "events", super->events);
	text_add(object, "created", time_text(super->created_s));
	text_add(object, "updated", time_text(super->updated_s));
	return object;
}

static struct json_object *array_object(const struct array *array)
{
	struct json_object *object = json_object_new_object(), *legs = json_object_new_array();
	unsigned int i;

	text_add(object, "array_uuid", uuid_text(array->legs[0]->super.array_uuid));
	json_object_object_add(object, "complete", json_object_new_boolean(!*array->reason));
	json_text(object, "reason", array->reason);
	for (i = 0; i < array->count; i++) {
		char *path = path_text(array->legs[i]);

		json_object_array_add(legs, json_object_new_string(path));
		free(path);
	}
	json_object_object_add(object, "devices", legs);
	return object;
}

/* The command */

/* Whether all of them are legs, and all arrays complete. */
static bool devices_print(struct devices *devices, bool json)
{
	struct json_object *object = json ? json_begin() : NULL;
	struct json_object *list = json ? json_object_new_array() : NULL;
	struct json_object *arrays = json ? json_object_new_array() : NULL;
	bool good = !devices->failed;
	struct array array;
	size_t i;

	for (i = 0; i < devices->count; i++) {
		good &= device_is_leg(&devices->items[i]);
		if (json)
			json_object_array_add(list, device_object(&devices->items[i]));
		else
			device_print(&devices->items[i]);
	}
	while (array_next(devices, &array)) {
		good &= !*array.reason;
		if (json)
			json_object_array_add(arrays, array_object(&array));
		else
			array_print(&array);
	}
	if (json) {
		json_object_object_add(object, "devices", list);
		json_object_object_add(object, "arrays", arrays);
		json_end(object);
	}
	return good;
}

static void devices_read(struct devices *devices, int count, char **paths)
{
	int i;

	devices->items = alloc_array(NULL, count, sizeof(*devices->items));
	for (i = 0; i < count; i++) {
		struct device *device = &devices->items[devices->count];
		struct fault fault = { 0 };

		memset(device, 0, sizeof(*device));
		device->path = paths[i];
		if (!device_read(device, &fault)) {
			devices->count++;
			continue;
		}
		fault_print(&fault);
		devices->failed = true;
		if (device->fd >= 0)
			close(device->fd);
	}
}

static void devices_free(struct devices *devices)
{
	size_t i;

	for (i = 0; i < devices->count; i++)
		close(devices->items[i].fd);
	free(devices->items);
}

/* Paths are no names of volumes: command_parse() does not take them. Sets @count of them. */
static int words_read(int argc, char **argv, bool *json, bool *help, int *count,
		      struct fault *fault)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "-J"))
			*json = true;
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			*help = true;
		else if (argv[i][0] != '-')
			argv[1 + (*count)++] = argv[i];
		else
			return fault_set(fault, -EINVAL, "unknown option %s", argv[i]);
	}
	if (!*help && !*count)
		return fault_set(fault, -EINVAL, "which device? a name is needed, as /dev/sdb");
	return 0;
}

int command_examine(const struct command *command, int argc, char **argv)
{
	bool json = false, help = false, good;
	struct devices devices = { 0 };
	struct fault fault = { 0 };
	int count = 0;

	if (words_read(argc, argv, &json, &help, &count, &fault))
		return command_usage(command, &fault);
	if (help)
		return command_help(command);
	devices_read(&devices, count, argv + 1);
	good = devices_print(&devices, json);
	devices_free(&devices);
	return good ? EXIT_DONE : EXIT_FAILED;
}
