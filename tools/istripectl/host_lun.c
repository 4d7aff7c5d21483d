// SPDX-License-Identifier: GPL-2.0
/* LUNs that sessions of open-iscsi show to this host. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fact.h"
#include "file.h"
#include "host_lun.h"
#include "place.h"

#define FLAT	16384	/* address method of flat space (SAM), in the number that sysfs has */

char *host_lun_number(const char *disk)
{
	unsigned long long number = strtoull(strrchr(disk, ':') + 1, NULL, 10);

	return alloc_printf("%llu", number / FLAT == 1 ? number - FLAT : number);
}

/* @path: .../iscsi_session/session3/device/target3:0:0/3:0:0:1/block/sdb */
static void disk_take(const char *path, struct host_luns *luns)
{
	const char *session_end = strstr(path, "/device/target");
	const char *block = strrchr(path, '/') - strlen("/block");
	char *target = fact_text(alloc_printf("%.*s/targetname", (int)(session_end - path), path));
	char *wwid = fact_text(alloc_printf("%.*s/wwid", (int)(block - path), path));

	if (target && wwid && *wwid) {
		*alloc_append(luns->items, luns->count) = (struct host_lun) {
			.target = target, .wwid = wwid,
			.lun = host_lun_number(path),
			.disk = alloc_text(block + strlen("/block/")),
		};
		return;
	}
	free(target);
	free(wwid);
}

void host_luns_read(struct host_luns *luns)
{
	char *pattern = place_path("/sys/class/iscsi_session/*/device/target*/*:*/block/*");
	glob_t disks = { 0 };
	size_t i;

	glob(pattern, 0, NULL, &disks);
	for (i = 0; i < disks.gl_pathc; i++)
		disk_take(disks.gl_pathv[i], luns);
	globfree(&disks);
	free(pattern);
}

bool host_lun_has_map(const struct host_lun *lun)
{
	char *dir = place_path("/sys/block/%s/holders", lun->disk);
	struct file_names names = { 0 };
	bool has = false;
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count && !has; i++) {
		char *uuid = fact_text(place_path("/sys/block/%s/dm/uuid", names.items[i]));

		has = uuid && !strncmp(uuid, "mpath-", strlen("mpath-"));
		free(uuid);
	}
	file_names_free(&names);
	free(dir);
	return has;
}

static bool leg_has_lun(const struct leg *leg, const struct host_lun *lun)
{
	size_t i;

	for (i = 0; i < leg->path_count; i++) {
		const struct settings *path = &leg->paths[i].settings;
		const char *its = settings_value(path, "lun");

		if (!strcmp(settings_value(path, "target_name"), lun->target) &&
		    !strcmp(*its ? its : "0", lun->lun))
			return true;
	}
	return false;
}

const struct leg *host_lun_leg(const struct host_lun *lun, const struct volume *volume)
{
	size_t i;

	for (i = 0; i < volume->leg_count; i++)
		if (leg_has_lun(&volume->legs[i], lun))
			return &volume->legs[i];
	return NULL;
}

void host_luns_free(struct host_luns *luns)
{
	size_t i;

	for (i = 0; i < luns->count; i++) {
		free(luns->items[i].target);
		free(luns->items[i].lun);
		free(luns->items[i].wwid);
		free(luns->items[i].disk);
	}
	free(luns->items);
	memset(luns, 0, sizeof(*luns));
}
