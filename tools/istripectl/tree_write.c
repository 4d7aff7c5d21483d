// SPDX-License-Identifier: GPL-2.0
/* The configfs tree: making and removing volumes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "alloc.h"
#include "apply.h"
#include "conf.h"
#include "interrupt.h"
#include "klog.h"
#include "known.h"
#include "parse.h"
#include "remains.h"
#include "suggest.h"
#include "tree.h"

/* The walk */

/* An error of a line of a file has its number. */
static int setting_walk(const char *dir, const struct setting *setting,
			const struct tree_writer *writer, struct fault *fault)
{
	int ret = writer->set(dir, setting->name, setting->value, fault);
	struct fault why;

	if (!ret || ret == -EINTR || !setting->from)
		return ret;
	why = *fault;
	return fault_set(fault, ret, "%s: %s", setting->from, why.text);
}

static int settings_walk(const char *dir, const struct settings *settings,
			 const struct tree_writer *writer, struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < settings->count; i++)
		ret = setting_walk(dir, &settings->items[i], writer, fault);
	return ret;
}

/*
 * A setting that the path has no file for but the leg has is the leg's. The
 * first path may carry it; the others may have inherited it, no more.
 */
static int path_setting_walk(const char *leg_dir, const char *dir, const struct leg *leg,
			     const struct path *path, const struct setting *setting,
			     const struct tree_writer *writer, struct fault *fault)
{
	const char *first = settings_value(&leg->paths[0].settings, setting->name);

	if (writer->has(dir, setting->name) || !writer->has(leg_dir, setting->name))
		return setting_walk(dir, setting, writer, fault);
	if (path == leg->paths)
		return setting_walk(leg_dir, setting, writer, fault);
	if (!strcmp(first, setting->value))
		return 0;
	return fault_set(fault, -EINVAL, "leg %u path %u: %s is of the leg: give it in --leg",
			 leg->index, path->index, setting->name);
}

static int path_walk(const char *leg_dir, const struct leg *leg, const struct path *path,
		     const struct tree_writer *writer, struct fault *fault)
{
	char *dir = alloc_printf("%s/paths/%u", leg_dir, path->index);
	int ret = writer->make(dir, fault);
	size_t i;

	for (i = 0; !ret && i < path->settings.count; i++)
		ret = path_setting_walk(leg_dir, dir, leg, path, &path->settings.items[i], writer,
					fault);
	free(dir);
	return ret;
}

static int leg_walk(const char *volume_dir, const struct leg *leg,
		    const struct tree_writer *writer, struct fault *fault)
{
	char *dir = alloc_printf("%s/legs/%u", volume_dir, leg->index);
	int ret = writer->make(dir, fault);
	size_t i;

	if (!ret)
		ret = settings_walk(dir, &leg->settings, writer, fault);
	for (i = 0; !ret && i < leg->path_count; i++)
		ret = path_walk(dir, leg, &leg->paths[i], writer, fault);
	free(dir);
	return ret;
}

/* All but the volume's own directory. */
static int volume_walk(const struct volume *volume, const struct tree_writer *writer,
		       struct fault *fault)
{
	char *dir = tree_path(volume->name, NULL);
	int ret = settings_walk(dir, &volume->settings, writer, fault);
	size_t i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_walk(dir, &volume->legs[i], writer, fault);
	free(dir);
	return ret;
}

int tree_walk(const struct volume *volume, const struct tree_writer *writer, struct fault *fault)
{
	char *dir = tree_path(volume->name, NULL);
	int ret = writer->make(dir, fault);

	free(dir);
	return ret ? ret : volume_walk(volume, writer, fault);
}

/* Writing to the kernel */

static void next_step(int error, struct fault *fault)
{
	if (!advice_root(error, fault) && error == -EBUSY)
		fault_add(fault, "next: take the volume down, or wait while it is coming or going");
}

static int kernel_make(const char *dir, struct fault *fault)
{
	if (interrupt_seen())
		return fault_set(fault, -EINTR, "interrupted");
	if (!mkdir(dir, 0755))
		return 0;
	fault_set(fault, -errno, "%s cannot be made: %s", dir, strerror(errno));
	next_step(-errno, fault);
	return -errno;
}

static bool kernel_has(const char *dir, const char *name)
{
	char *path = alloc_printf("%s/%s", dir, name);
	bool has = file_mode(path) >= 0;

	free(path);
	return has;
}

static bool is_setting(const char *dir, const char *name)
{
	char *path = alloc_printf("%s/%s", dir, name);
	bool is = tree_is_setting(path, name);

	free(path);
	return is;
}

/* As it may be typed, and as its file is called. Allocated. */
static char *name_append(const char *line, const char *name)
{
	const char *short_name = parse_short_for(name);

	if (short_name)
		return alloc_printf("%s %s (%s)", line, short_name, name);
	return alloc_printf("%s %s", line, name);
}

static void names_add(const char *dir, struct fault *fault)
{
	struct file_names names = { 0 };
	char *line = alloc_text("it has:"), *longer;
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		if (!is_setting(dir, names.items[i]))
			continue;
		longer = name_append(line, names.items[i]);
		free(line);
		line = longer;
	}
	fault_add(fault, "%s", line);
	free(line);
	file_names_free(&names);
}

static void other_name_add(const char *name, bool make, struct fault *fault)
{
	const char *place = suggest_place(name, make), *other = suggest_setting(name);

	if (place && make)
		fault_add(fault, "%s is a setting of %s", name, place);
	else if (place)
		fault_add(fault, "%s is a setting of %s%s=...", name, place, name);
	else if (other)
		fault_add(fault, "did you mean %s=?", other);
}

/* A module of this version would take it. */
static bool is_known_choice(const char *name, const char *value)
{
	enum known_place place;
	const struct known *known = known_anywhere(name, &place);
	struct fault ignored;

	return known && known->kind == KNOWN_CHOICE &&
	       !known_check(place, name, value, &ignored);
}

static void set_fault(int error, const char *dir, const char *name, const char *value, bool make,
		      struct fault *fault)
{
	if (error == -ENOENT) {
		fault_set(fault, error, "this version of the module has no setting %s in %s", name,
			  dir);
		other_name_add(name, make, fault);
		names_add(dir, fault);
	} else if (error == -EINVAL && is_known_choice(name, value)) {
		fault_set(fault, error, "this version of the module has no %s=%s for %s", name,
			  value, dir);
	} else if (setting_is_secret(name)) {
		fault_set(fault, error, "%s/%s refuses the given secret of %zu bytes: %s", dir,
			  name, strlen(value), strerror(-error));
	} else {
		fault_set(fault, error, "%s/%s refuses \"%s\": %s", dir, name, value,
			  strerror(-error));
	}
}

static int kernel_write(const char *dir, const char *name, const char *value, bool make,
			struct fault *fault)
{
	char *path;
	int ret;

	if (interrupt_seen())
		return fault_set(fault, -EINTR, "interrupted");
	path = alloc_printf("%s/%s", dir, name);
	ret = file_write(path, value);
	free(path);
	if (ret)
		set_fault(ret, dir, name, value, make, fault);
	return ret;
}

static int kernel_set(const char *dir, const char *name, const char *value, struct fault *fault)
{
	int ret = kernel_write(dir, name, value, true, fault);

	if (ret)
		next_step(ret, fault);
	return ret;
}

static const struct tree_writer kernel_writer = {
	.make = kernel_make,
	.set = kernel_set,
	.has = kernel_has,
};

static int kernel_change(const char *dir, const char *name, const char *value,
			 struct fault *fault)
{
	int ret = kernel_write(dir, name, value, false, fault);

	if (ret)
		next_step(ret, fault);
	return ret;
}

/* Of a volume that is there. */
static const struct tree_writer change_writer = {
	.make = kernel_make,
	.set = kernel_change,
	.has = kernel_has,
};

int tree_volume_exists(const char *name, struct fault *fault)
{
	return fault_set(fault, -EEXIST,
			 "volume %s exists already\n"
			 "next: another name; or, to see that volume: istripectl show %s; if nobody needs it: istripectl delete %s",
			 name, name, name);
}

/* The first directory is the one that may be somebody else's. */
static int volume_make(const char *name, struct fault *fault)
{
	char *dir = tree_path(name, NULL);
	int ret = kernel_make(dir, fault);

	free(dir);
	return ret == -EEXIST ? tree_volume_exists(name, fault) : ret;
}

/* A part that cannot be removed again stays noted. */
static int volume_fill(const struct volume *volume, int lock, struct fault *fault)
{
	int ret = volume_walk(volume, &kernel_writer, fault);
	struct fault after = { 0 };

	if (!ret)
		remains_end(lock);
	else if (tree_remove(volume->name, lock, &after))
		fault_add(fault, "and not all of it could be removed: %s", after.text);
	return ret;
}

int tree_create(const struct volume *volume, int lock, struct fault *fault)
{
	struct fault missing;
	bool is_there = !tree_has_volume(volume->name, &missing);
	int log = klog_open(), ret;

	/* Once more when its directory has a number. One that is there is none of ours. */
	if (!is_there)
		remains_begin(lock, volume->name);
	ret = volume_make(volume->name, fault);
	if (ret) {
		if (!is_there)
			remains_end(lock);
	} else {
		remains_begin(lock, volume->name);
		ret = volume_fill(volume, lock, fault);
	}
	if (ret == -EINVAL && !klog_explain(log, volume->name, fault))
		fault_add(fault, "next: dmesg | grep istripe: may say what is allowed");
	klog_close(log);
	return ret;
}

/* The driver's table of values */

static int table_make(const char *dir, struct fault *fault)
{
	(void)dir;
	(void)fault;
	return 0;
}

static int file_set(const char *dir, const char *name, const char *value, struct fault *fault)
{
	enum known_place place;

	(void)dir;
	return known_anywhere(name, &place) ? known_check(place, name, value, fault) : 0;
}

/* As the kernel, which would be the next to refuse it. */
static int table_set(const char *dir, const char *name, const char *value, struct fault *fault)
{
	struct fault why = { 0 };
	int ret = file_set(dir, name, value, &why);

	if (!ret)
		return 0;
	set_fault(ret, dir, name, value, true, fault);
	fault_add(fault, "%s", why.text);
	return ret;
}

static bool table_has(const char *dir, const char *name)
{
	return known_find(strstr(dir, "/paths/") ? KNOWN_PATH : KNOWN_LEG, name);
}

int tree_check_values(const struct volume *volume, bool of_file, struct fault *fault)
{
	const struct tree_writer writer = {
		.make = table_make,
		.set = of_file ? file_set : table_set,
		.has = table_has,
	};

	return tree_walk(volume, &writer, fault);
}

/* Removing */

/* @removed: set when it was there. */
static int dir_remove(const char *dir, bool *removed, struct fault *fault)
{
	if (!rmdir(dir)) {
		*removed = true;
		return 0;
	}
	if (errno == ENOENT)
		return 0;
	fault_set(fault, -errno, "%s cannot be removed: %s", dir, strerror(errno));
	next_step(-errno, fault);
	return -errno;
}

/* Directories in @dir, the last one first; what they hold by @inner first. */
static int children_remove(const char *dir, const char *inner, bool *removed,
			   struct fault *fault)
{
	struct file_names names = { 0 };
	int ret = file_list(dir, &names);
	size_t i;

	if (ret)
		ret = ret == -ENOENT ? 0 : fault_set(fault, ret, "%s: %s", dir, strerror(-ret));
	for (i = names.count; !ret && i-- > 0;) {
		char *child = alloc_printf("%s/%s", dir, names.items[i]);

		if (inner) {
			char *below = alloc_printf("%s/%s", child, inner);

			ret = children_remove(below, NULL, removed, fault);
			free(below);
		}
		if (!ret)
			ret = dir_remove(child, removed, fault);
		free(child);
	}
	file_names_free(&names);
	return ret;
}

int tree_remove(const char *name, int lock, struct fault *fault)
{
	char *legs = tree_path(name, "legs"), *dir = tree_path(name, NULL);
	struct fault said;
	bool part = remains_refuse(lock, name, &said), removed = false;
	int ret;

	remains_begin(lock, name);
	ret = children_remove(legs, "paths", &removed, fault);
	if (!ret)
		ret = dir_remove(dir, &removed, fault);
	/* A refusal that leaves all of it is no part, unless it was one. */
	if (!ret || (!removed && !part))
		remains_end(lock);
	free(legs);
	free(dir);
	return ret;
}

static char *path_dir(const char *name, unsigned int leg, unsigned int path)
{
	char *file = alloc_printf("legs/%u/paths/%u", leg, path), *dir = tree_path(name, file);

	free(file);
	return dir;
}

int tree_add_path(const char *name, unsigned int leg, const struct path *path,
		  struct fault *fault)
{
	char *dir = path_dir(name, leg, path->index);
	int log = klog_open(), ret = kernel_make(dir, fault);

	if (!ret) {
		ret = settings_walk(dir, &path->settings, &change_writer, fault);
		if (ret)
			rmdir(dir);
	}
	if (ret == -EINVAL)
		klog_explain(log, name, fault);
	klog_close(log);
	free(dir);
	return ret;
}

/* Allocated. */
static char *place_dir(const char *name, int leg, int path)
{
	char *file = NULL, *dir;

	if (leg >= 0 && path >= 0)
		file = alloc_printf("legs/%d/paths/%d", leg, path);
	else if (leg >= 0)
		file = alloc_printf("legs/%d", leg);
	dir = tree_path(name, file);
	free(file);
	return dir;
}

int tree_check_name(const char *name, int leg, int path, const char *setting,
		    struct fault *fault)
{
	char *dir = place_dir(name, leg, path);
	int ret = kernel_has(dir, setting) ? 0 : -ENOENT;

	if (ret)
		set_fault(ret, dir, setting, "", false, fault);
	free(dir);
	return ret;
}

static bool is_up(const char *name)
{
	char *enable = tree_value(name, "enable");
	bool up = enable && !strcmp(enable, "1");

	free(enable);
	return up;
}

void tree_add_anew(const char *name, struct fault *fault)
{
	char *save = apply_has_file(name) ? alloc_text("") :
					    alloc_printf("istripectl save %s, ", name);

	fault_add(fault,
		  "next: %sedit " CONF_DIR "/%s.conf, istripectl apply %s: the path logs in anew",
		  save, name, name);
	free(save);
}

/* Down or not, the module would refuse this value. */
static void range_add(int leg, int path, const char *setting, const char *value,
		      struct fault *fault)
{
	enum known_place place = path >= 0 ? KNOWN_PATH : leg >= 0 ? KNOWN_LEG : KNOWN_VOLUME;
	struct fault why = { 0 };

	if (known_check(place, setting, value, &why))
		fault_add(fault, "%s", why.text);
}

int tree_set(const char *name, int leg, int path, const char *setting, const char *value,
	     struct fault *fault)
{
	const struct known *known = path < 0 ? NULL : known_find(KNOWN_PATH, setting);
	char *dir = place_dir(name, leg, path);
	int log = klog_open(), lines = 0, ret;

	ret = kernel_write(dir, setting, value, false, fault);
	if (ret)
		lines = klog_explain(log, name, fault);
	if (ret == -EBUSY)
		range_add(leg, path, setting, value, fault);
	if (ret == -EBUSY && known && !known->live && is_up(name))
		tree_add_anew(name, fault);
	else if (ret && !(lines && known && known->live))
		next_step(ret, fault);
	klog_close(log);
	free(dir);
	return ret;
}

int tree_remove_path(const char *name, unsigned int leg, unsigned int path,
		     struct fault *fault)
{
	char *dir = path_dir(name, leg, path);
	bool removed;
	int ret = dir_remove(dir, &removed, fault);

	free(dir);
	return ret;
}
