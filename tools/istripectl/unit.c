// SPDX-License-Identifier: GPL-2.0
/* Units of systemd. */
#include <stdlib.h>

#include "alloc.h"
#include "file.h"
#include "place.h"
#include "text.h"
#include "unit.h"

#define SYSTEMD_DIR	"/etc/systemd/system"

/* A link that leads nowhere is of a unit that has been removed. */
static bool links_to_unit(const char *dir, const char *name)
{
	char *path = place_path(SYSTEMD_DIR "/%s/%s", dir, name);
	bool found = file_mode(path) >= 0;

	free(path);
	return found;
}

/* enable puts a link to a unit into the folder of each target that wants it. */
bool unit_is_enabled(const char *unit)
{
	char *dir = place_path(SYSTEMD_DIR);
	struct file_names names = { 0 };
	bool found = false;
	size_t i;

	file_list(dir, &names);
	for (i = 0; !found && i < names.count; i++)
		if (text_ends(names.items[i], ".wants") || text_ends(names.items[i], ".requires"))
			found = links_to_unit(names.items[i], unit);
	file_names_free(&names);
	free(dir);
	return found;
}

char *unit_of_volume(const char *name)
{
	return alloc_printf("istripe@%s.service", name);
}

bool unit_of_volume_is_enabled(const char *name)
{
	char *unit = unit_of_volume(name);
	bool enabled = unit_is_enabled(unit);

	free(unit);
	return enabled;
}
