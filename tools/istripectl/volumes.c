// SPDX-License-Identifier: GPL-2.0
/* The volumes that this host knows. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "tree.h"
#include "volumes.h"

bool volumes_have(const struct file_names *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return false;
}

int volumes_list(struct file_names *names, bool *loaded, struct fault *fault)
{
	struct file_names files = { 0 };
	struct fault missing = { 0 };
	int ret = tree_list(names, &missing);
	size_t i;

	*loaded = !ret;
	if (ret && ret != -ENODEV) {
		*fault = missing;
		return ret;
	}
	ret = conf_list(&files, fault);
	for (i = 0; i < files.count; i++) {
		if (volumes_have(names, files.items[i]))
			continue;
		names->items = alloc_array(names->items, names->count + 1, sizeof(*names->items));
		names->items[names->count++] = alloc_text(files.items[i]);
	}
	file_names_free(&files);
	return ret;
}
