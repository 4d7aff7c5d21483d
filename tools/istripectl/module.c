// SPDX-License-Identifier: GPL-2.0
/* The kernel module, and the sources of it that this host has. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "module.h"
#include "place.h"
#include "run.h"

#define SOURCES		"/usr/src"
#define DKMS_NAME	"istripe-"
#define DKMS_FILE	"/dkms.conf"

static bool wanted;

void module_wanted(void)
{
	wanted = true;
}

/* Outside of tests also where the PATH of a plain user does not lead. */
static int modprobe_exec(void *context)
{
	static char *const words[] = { "modprobe", "istripe", NULL };

	(void)context;
	execvp(words[0], words);
	if (errno == ENOENT && !secure_getenv("ISTRIPECTL_ROOT"))
		execv("/usr/sbin/modprobe", words);
	return RUN_MISSING;
}

bool module_load(void)
{
	int code;

	if (!wanted)
		return false;
	wanted = false;
	return !run_child(modprobe_exec, NULL, &code) && !code;
}

/* The first name in a folder that begins so and has the file, for free(); NULL: none. */
static char *name_with(const char *folder, const char *begin, const char *file)
{
	char *dir = place_path("%s", folder), *found = NULL;
	struct file_names names = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; !found && i < names.count; i++) {
		char *path = alloc_printf("%s/%s%s", dir, names.items[i], file);

		if (!strncmp(names.items[i], begin, strlen(begin)) && file_mode(path) >= 0)
			found = alloc_text(names.items[i]);
		free(path);
	}
	file_names_free(&names);
	free(dir);
	return found;
}

char *module_dkms_version(void)
{
	char *own = place_path(SOURCES "/" DKMS_NAME ISTRIPECTL_VERSION DKMS_FILE);
	bool has_own = file_mode(own) >= 0;
	char *name, *version;

	free(own);
	if (has_own)
		return alloc_text(ISTRIPECTL_VERSION);
	name = name_with(SOURCES, DKMS_NAME, DKMS_FILE);
	version = name ? alloc_text(name + strlen(DKMS_NAME)) : NULL;
	free(name);
	return version;
}

char *module_build_command(const char *release)
{
	char *dkms = module_dkms_version();
	char *akmods = name_with(SOURCES "/akmods", "istripe-kmod", "");
	char *command;

	if (dkms)
		command = alloc_printf("dkms autoinstall -k %s", release);
	else if (akmods)
		command = alloc_printf("akmods --kernels %s", release);
	else
		command = alloc_printf("make install KDIR=/lib/modules/%s/build", release);
	free(akmods);
	free(dkms);
	return command;
}
