// SPDX-License-Identifier: GPL-2.0
/* The kernel module, and the sources of it that this host has. */
#define _GNU_SOURCE
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "alloc.h"
#include "fact.h"
#include "file.h"
#include "module.h"
#include "place.h"
#include "run.h"

#define SOURCES		"/usr/src"
#define DKMS_NAME	"istripe-"
#define DKMS_FILE	"/dkms.conf"
#define DKMS_OVERRIDE	"/etc/dkms/istripe"

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

bool module_is_missing(const char *release)
{
	char *modules = fact_text(place_path("/lib/modules/%s/modules.dep", release));
	bool missing = modules && !strstr(modules, "istripe.ko");

	free(modules);
	return missing;
}

/* Sets @conf to its file; both are for free(). NULL: dkms builds for any. */
static char *kernels_pattern(const char *version, const char *release, const char *machine,
			     char **conf)
{
	/* As dkms reads them: the last one that has it counts. */
	char *const files[] = {
		place_path("/usr/src/istripe-%s/dkms.conf", version),
		place_path(DKMS_OVERRIDE ".conf"),
		place_path(DKMS_OVERRIDE "-%s.conf", version),
		place_path(DKMS_OVERRIDE "-%s-%s.conf", version, release),
		place_path(DKMS_OVERRIDE "-%s-%s-%s.conf", version, release, machine),
	};
	char *pattern = NULL;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *text = fact_text(alloc_text(files[i]));
		char *value = fact_line(text, "BUILD_EXCLUSIVE_KERNEL=");

		if (value) {
			free(pattern);
			pattern = alloc_text(value + strspn(value, "\"'"));
			pattern[strcspn(pattern, "\"'")] = '\0';
			free(*conf);
			*conf = alloc_text(files[i]);
		}
		free(value);
		free(text);
		free(files[i]);
	}
	return pattern;
}

/* As dkms compares: an extended regular expression. */
char *module_excluded_by(const char *release)
{
	struct utsname host = { 0 };
	char *version = module_dkms_version(), *conf = NULL, *pattern = NULL;
	bool excluded = false;
	regex_t regex;

	uname(&host);
	if (version)
		pattern = kernels_pattern(version, release, host.machine, &conf);
	free(version);
	if (pattern && !regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB)) {
		excluded = regexec(&regex, release, 0, NULL, 0);
		regfree(&regex);
	}
	free(pattern);
	if (excluded)
		return conf;
	free(conf);
	return NULL;
}

/* Nothing builds without the kernel's headers. For free(); NULL: they are there. */
static char *headers_command(const char *release)
{
	if (fact_is_dir(place_path("/lib/modules/%s/build", release)))
		return NULL;
	if (fact_program("dpkg"))
		return alloc_printf("apt install linux-headers-%s && ", release);
	if (fact_rpm())
		return alloc_printf("dnf install kernel-devel-%s && ", release);
	return NULL;
}

char *module_build_command(const char *release)
{
	char *dkms = module_dkms_version();
	char *akmods = name_with(SOURCES "/akmods", "istripe-kmod", "");
	char *headers = headers_command(release), *command;
	const char *first = headers ? headers : "";

	if (dkms)
		command = alloc_printf("%sdkms autoinstall -k %s", first, release);
	else if (akmods)
		command = alloc_printf("%sakmods --kernels %s", first, release);
	else
		command = alloc_printf("%smake install KDIR=/lib/modules/%s/build", first, release);
	free(headers);
	free(akmods);
	free(dkms);
	return command;
}
