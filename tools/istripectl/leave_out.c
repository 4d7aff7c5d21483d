// SPDX-License-Identifier: GPL-2.0
/* Paths of a file that cannot be made now, and do not keep the others down. */
#include <errno.h>
#include <stdbool.h>

#include "leave_out.h"
#include "portal.h"
#include "secret.h"

/* Errors that leave a path out are in the path. */
static int path_take(const struct leg *leg, struct path *path, struct fault *fault)
{
	int ret = portal_resolve(&path->settings, fault);

	if (ret) {
		path->left_out = ret;
		return 0;
	}
	ret = secret_load_path(leg, path, fault);
	path->left_out = ret == -ENOENT ? ret : 0;
	return path->left_out ? 0 : ret;
}

/* A leg without any path fails, with what may pass by itself if there is that. */
static int leg_take(const char *volume, struct leg *leg, struct fault *left, struct fault *fault)
{
	struct fault first = { 0 };
	bool any = false;
	int error = 0;
	size_t i;

	for (i = 0; i < leg->path_count; i++) {
		struct path *path = &leg->paths[i];
		struct fault why = { 0 };
		int ret = path_take(leg, path, &why);

		if (ret) {
			*fault = why;
			return ret;
		}
		if (!path->left_out) {
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

static bool any_is(const struct volume *volume, int error)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			if (volume->legs[i].paths[j].left_out == error)
				return true;
	return false;
}

static int legs_take(const struct volume *from, struct volume *volume, struct fault *left,
		     struct fault *fault)
{
	int ret = 0;
	size_t i;

	volume_free(volume);
	*left = (struct fault) { 0 };
	volume_copy(from, volume);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_take(volume->name, &volume->legs[i], left, fault);
	return ret;
}

int leave_out_paths(struct volume *volume, struct retry *late, struct fault *left,
		    struct fault *fault)
{
	struct volume from = *volume;
	int ret;

	*volume = (struct volume) { 0 };
	do
		ret = legs_take(&from, volume, left, fault);
	while (!ret && late && any_is(volume, -EAGAIN) && retry_again(late, left));
	if (*left->text)
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
