// SPDX-License-Identifier: GPL-2.0
/* Paths and settings of a file that cannot be made now, and do not keep the others down. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "conf.h"
#include "leave_out.h"
#include "place.h"
#include "portal.h"
#include "secret.h"
#include "tree.h"

/* Errors that leave a path out are in the path. */
static int path_take(const struct leg *leg, struct path *path, struct fault *taken,
		     struct fault *fault)
{
	int ret = portal_resolve_first(&path->settings, taken, fault);

	if (ret) {
		path->left_out = ret;
		return 0;
	}
	ret = secret_load_path(leg, path, fault);
	path->left_out = ret == -ENOENT ? ret : 0;
	return path->left_out ? 0 : ret;
}

/* A leg without any path fails, with what may pass by itself if there is that. */
static int leg_take(const char *volume, struct leg *leg, bool first_address, struct fault *left,
		    struct fault *fault)
{
	struct fault first = { 0 };
	bool any = false;
	int error = 0;
	size_t i;

	for (i = 0; i < leg->path_count; i++) {
		struct path *path = &leg->paths[i];
		struct fault why = { 0 }, taken = { 0 };
		int ret = path_take(leg, path, first_address ? &taken : NULL, &why);

		if (ret) {
			*fault = why;
			return ret;
		}
		if (!path->left_out) {
			if (*taken.text)
				fault_add(left, "warning: leg %u path %u of %s: %s", leg->index,
					  path->index, volume, taken.text);
			any = true;
			continue;
		}
		fault_add(left, "warning: leg %u path %u of %s is left out: %s", leg->index,
			  path->index, volume, why.text);
		if (!error || (error != -EAGAIN && path->left_out == -EAGAIN)) {
			error = path->left_out;
			first = why;
		}
	}
	if (any)
		return 0;
	*fault = first;
	return error;
}

/* @error: 0: any. */
static bool any_is(const struct volume *volume, int error)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			if (error ? volume->legs[i].paths[j].left_out == error :
				    volume->legs[i].paths[j].left_out)
				return true;
	return false;
}

static int legs_take(const struct volume *from, struct volume *volume, bool first_address,
		     struct fault *left, struct fault *fault)
{
	int ret = 0;
	size_t i;

	volume_free(volume);
	*left = (struct fault) { 0 };
	volume_copy(from, volume);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_take(volume->name, &volume->legs[i], first_address, left, fault);
	return ret;
}

int leave_out_paths(struct volume *volume, bool first_address, struct retry *late,
		    struct fault *left, struct fault *fault)
{
	struct volume from = *volume;
	int ret;

	*volume = (struct volume) { 0 };
	do
		ret = legs_take(&from, volume, first_address, left, fault);
	while (!ret && late && any_is(volume, -EAGAIN) && retry_again(late, left));
	if (any_is(volume, 0))
		fault_add(left, "next: mend that; then istripectl apply %s, or up --saved, adds it",
			  volume->name);
	volume_free(&from);
	return ret;
}

void leave_out_forget(struct volume *volume)
{
	size_t i, j, kept;

	for (i = 0; i < volume->leg_count; i++) {
		struct leg *leg = &volume->legs[i];

		for (j = kept = 0; j < leg->path_count; j++) {
			if (leg->paths[j].left_out)
				settings_free(&leg->paths[j].settings);
			else
				leg->paths[kept++] = leg->paths[j];
		}
		leg->path_count = kept;
	}
}

static FILE *record_open(const char *path, int flags, const char *mode)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static char *record_path(const char *name)
{
	return place_path("/run/istripe-%s.left-out", name);
}

static bool path_is_there(const char *name, unsigned int leg, unsigned int path)
{
	char *file = alloc_printf("legs/%u/paths/%u/portal", leg, path);
	char *value = tree_value(name, file);
	bool there = value;

	free(value);
	free(file);
	return there;
}

/* A line for each path. */
static void record_print(FILE *out, const struct volume *volume)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; j < leg->path_count; j++) {
			unsigned int path = leg->paths[j].index;

			if (leg->paths[j].left_out &&
			    !path_is_there(volume->name, leg->index, path))
				fprintf(out, "%u %u\n", leg->index, path);
		}
	}
}

void leave_out_record(const struct volume *volume)
{
	char *path = record_path(volume->name);
	FILE *out;

	unlink(path);
	out = record_open(path, O_CREAT | O_EXCL | O_WRONLY, "w");
	if (out) {
		record_print(out, volume);
		if (!ftell(out))
			unlink(path);
		fclose(out);
	}
	free(path);
}

/* In the order of their numbers. */
static void path_insert(struct leg *leg, struct path *path)
{
	size_t i = leg->path_count;
	struct path added;

	leg_add_path(leg, path->index);
	added = leg->paths[i];
	added.left_out = -ENOENT;
	added.settings = path->settings;
	path->settings = (struct settings) { 0 };
	for (; i && leg->paths[i - 1].index > added.index; i--)
		leg->paths[i] = leg->paths[i - 1];
	leg->paths[i] = added;
}

static void paths_insert(FILE *record, struct volume *volume, const struct volume *before)
{
	unsigned int number, path;

	while (fscanf(record, "%u %u", &number, &path) == 2) {
		struct leg *leg = volume_find_leg(volume, number);
		const struct leg *its = volume_find_leg(before, number);
		struct path *own = its ? leg_find_path(its, path) : NULL;

		if (leg && own && !leg_find_path(leg, path))
			path_insert(leg, own);
	}
}

void leave_out_keep(struct volume *volume)
{
	char *path = record_path(volume->name), *file = conf_path(volume->name);
	FILE *record = record_open(path, O_RDONLY, "r");
	struct volume before = { 0 };
	struct fault ignored;

	if (record && !conf_read(file, volume->name, &before, &ignored))
		paths_insert(record, volume, &before);
	if (record)
		fclose(record);
	volume_free(&before);
	free(file);
	free(path);
}

/* Congestion controls */

#define CONGESTION	"congestion_control"

bool leave_out_forgives(const char *setting, int error)
{
	return error == -EINVAL && !strcmp(setting, CONGESTION);
}

int leave_out_add_path(const char *name, unsigned int leg, struct path *path, struct fault *fault)
{
	char *value = alloc_text(settings_value(&path->settings, CONGESTION));
	struct fault after = { 0 };
	int ret;

	settings_drop(&path->settings, CONGESTION);
	ret = tree_add_path(name, leg, path, fault);
	if (!ret && *value)
		ret = tree_set(name, leg, path->index, CONGESTION, value, &after);
	if (ret && *after.text) {
		if (leave_out_forgives(CONGESTION, ret)) {
			ret = 0;
		} else {
			*fault = after;
			tree_remove_path(name, leg, path->index, &after);
		}
	}
	free(value);
	return ret;
}

/* Calls @each for paths that are to have one, until it fails. */
static int congestion_each(const struct volume *volume,
			   int (*each)(const struct volume *volume, const struct leg *leg,
				       const struct path *path, const char *value,
				       struct fault *fault),
			   struct fault *fault)
{
	int ret = 0;
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; !ret && j < leg->path_count; j++) {
			const char *value = settings_value(&leg->paths[j].settings, CONGESTION);

			if (!leg->paths[j].left_out && *value)
				ret = each(volume, leg, &leg->paths[j], value, fault);
		}
	}
	return ret;
}

static int congestion_write(const struct volume *volume, const struct leg *leg,
			    const struct path *path, const char *value, struct fault *fault)
{
	struct fault why = { 0 };
	int ret = tree_set(volume->name, leg->index, path->index, CONGESTION, value, &why);

	if (!ret || leave_out_forgives(CONGESTION, ret))
		return 0;
	*fault = why;
	return ret;
}

int leave_out_create(const struct volume *volume, int lock, struct fault *fault)
{
	struct volume without = { 0 };
	struct fault after = { 0 };
	size_t i, j;
	int ret;

	volume_copy(volume, &without);
	for (i = 0; i < without.leg_count; i++)
		for (j = 0; j < without.legs[i].path_count; j++)
			settings_drop(&without.legs[i].paths[j].settings, CONGESTION);
	ret = tree_create(&without, lock, fault);
	if (!ret) {
		ret = congestion_each(volume, congestion_write, fault);
		if (ret && tree_remove(volume->name, lock, &after))
			fault_add(fault, "and not all of it could be removed: %s", after.text);
	}
	volume_free(&without);
	return ret;
}

static int congestion_compare(const struct volume *volume, const struct leg *leg,
			      const struct path *path, const char *value, struct fault *fault)
{
	char *file = alloc_printf("legs/%u/paths/%u/" CONGESTION, leg->index, path->index);
	char *is = tree_value(volume->name, file);

	if (is && strcmp(is, value)) {
		fault_add(fault,
			  "warning: leg %u path %u of %s is without congestion_control = %s, which this kernel refuses",
			  leg->index, path->index, volume->name, value);
	}
	free(is);
	free(file);
	return 0;
}

void leave_out_mention(const struct volume *volume)
{
	struct fault said = { 0 };

	congestion_each(volume, congestion_compare, &said);
	if (*said.text)
		fault_add(&said,
			  "next: load its module, as by modprobe tcp_bbr, or correct the file; then istripectl apply %s",
			  volume->name);
	fault_print(&said);
}
