// SPDX-License-Identifier: GPL-2.0
/* doctor: what becomes of a volume at the next boot. */
#define _GNU_SOURCE
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apply.h"
#include "conf.h"
#include "doctor.h"
#include "fact.h"
#include "module.h"
#include "overridden.h"
#include "pacemaker.h"
#include "place.h"
#include "plan.h"
#include "text.h"
#include "unit.h"

#define OTHERS_MODE	077

/* @fails: what apply would do to I/O that waits; empty: nothing. */
static void conf_warn(struct doctor *doctor, const char *name, char *measured, const char *fails)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = measured,
		.wanted = alloc_printf("a volume that is as " CONF_DIR "/%s.conf says", name),
		.next = *fails ? alloc_printf("istripectl save %s", name) :
			alloc_printf("istripectl save %s # or, to follow it: istripectl apply %s",
				     name, name),
	},
	"the next boot, or apply, brings back what the file says%s", fails);
}

/* save fails then, too. */
static void file_warn(struct doctor *doctor, const char *name, const char *error)
{
	char *file = conf_path(name);
	char *then = alloc_printf("istripectl apply --dry-run %s", name);

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_text(error),
		.wanted = alloc_text("a file that can be applied"),
		.next = doctor_edit_step(file, then),
	},
	"apply fails, and so may the next boot");
	free(then);
	free(file);
}

/* The lines below the first one are a list. For free(). */
static char *lines_join(char *text)
{
	char *joined = alloc_text(""), *longer, *line;
	const char *between = "";

	while ((line = strsep(&text, "\n"))) {
		line += strspn(line, " ");
		longer = alloc_printf("%s%s%s", joined, between, line);
		free(joined);
		joined = longer;
		between = *line && line[strlen(line) - 1] == ':' ? " " : ", ";
	}
	return joined;
}

/* At boot the file counts then: records_follow() of apply.c. */
static void record_warn(struct doctor *doctor, const char *name, struct fault *fault)
{
	char *next = fault_next(fault), *advice = strstr(fault->text, "\nnext: ");

	if (advice)
		*advice = '\0';
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = lines_join(fault->text),
		.wanted = alloc_printf("records that can be followed, or from_node = no in "
				       CONF_DIR "/%s.conf", name),
		.next = next ? next : alloc_printf("istripectl apply --dry-run %s", name),
	},
	"apply fails, and a boot takes what the file says");
}

/* For free(). */
static char *names_join(const struct file_names *names, const char *between)
{
	char *text = alloc_text(""), *longer;
	size_t i;

	for (i = 0; i < names->count; i++) {
		longer = alloc_printf("%s%s%s", text, i ? between : "", names->items[i]);
		free(text);
		text = longer;
	}
	return text;
}

/* As conf_warn(). For free(). */
static char *records_step(const char *name, const char *commands, const char *fails)
{
	if (*fails && *commands)
		return alloc_text(commands);
	if (*fails)
		return alloc_printf("istripectl status %s # %s: istripectl apply %s", name,
				    "then, when all legs are live", name);
	return alloc_printf("%s%sistripectl apply %s", commands,
			    *commands ? " # or, to follow them: " : "", name);
}

static void records_warn(struct doctor *doctor, const char *name, const struct overridden *it,
			 const char *fails)
{
	char *settings = names_join(&it->settings, ", ");
	char *commands = names_join(&it->commands, " && ");

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("records of open-iscsi say otherwise: %s", settings),
		.wanted = alloc_printf("a volume that is as its records say, or from_node = no in "
				       CONF_DIR "/%s.conf", name),
		.next = records_step(name, commands, fails),
	},
	"the next boot, or apply, brings back what the records say, saved or not%s", fails);
	free(settings);
	free(commands);
}

static const char *plan_fails(const struct doctor_volume *volume, const struct plan *plan)
{
	const char *fails = "";
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct step *step = &plan->items[i];

		if (step->name && !strcmp(step->name, "recovery_timeout_ms"))
			fails = doctor_recovery_fails(volume, strtoll(step->from, NULL, 10),
						      strtoll(step->to, NULL, 10));
	}
	return fails;
}

static void differences_warn(struct doctor *doctor, const struct doctor_volume *volume,
			     const struct plan *plan)
{
	const struct step *first;
	size_t count = plan_differences(plan, &first);
	const char *fails = plan_fails(volume, plan);
	struct overridden overridden = { 0 };
	char *text = step_text(first);

	overridden_find(&volume->volume, &overridden);
	if (overridden.settings.count)
		records_warn(doctor, volume->name, &overridden, fails);
	if (count > overridden.settings.count)
		conf_warn(doctor, volume->name,
			  alloc_printf("%zu differences from it, as %s", count, text), fails);
	overridden_free(&overridden);
	free(text);
}

static void conf_compare(struct doctor *doctor, const struct doctor_volume *volume)
{
	const struct step *first;
	struct plan plan = { 0 };
	struct fault fault = { 0 };
	int ret = apply_compare(&volume->volume, &plan, &fault);

	if (ret != -EBADMSG)
		fault.text[strcspn(fault.text, "\n")] = '\0';
	if (ret == -EBADMSG)
		record_warn(doctor, volume->name, &fault);
	else if (ret == -EINVAL || ret == -ENOENT)
		file_warn(doctor, volume->name, fault.text);
	else if (ret)
		doctor_skip(doctor, "%s", fault.text);
	else if (plan_differences(&plan, &first))
		differences_warn(doctor, volume, &plan);
	else
		doctor_pass(doctor);
	plan_free(&plan);
}

void doctor_conf(struct doctor *doctor, const struct doctor_volume *volume)
{
	if (apply_has_file(volume->name))
		conf_compare(doctor, volume);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("no " CONF_DIR "/%s.conf", volume->name),
			.wanted = alloc_text("a configuration file"),
			.next = alloc_printf("istripectl save %s", volume->name),
		},
		"the configuration is lost at a reboot; the data are not");
}

/* Units */

/* Whether a kernel that can be booted lacks the module. */
static bool kernel_lacks_module(const char *release)
{
	char *image = place_path("/boot/vmlinuz-%s", release);
	bool lacks = file_mode(image) >= 0 && module_is_missing(release);

	free(image);
	return lacks;
}

static void kernel_warn(struct doctor *doctor, const char *release)
{
	struct doctor_warning warning = {
		.measured = alloc_printf("Linux %s has no module istripe", release),
		.wanted = alloc_text("the module for each kernel that is installed"),
		.next = module_build_command(release),
	};
	char *conf = module_excluded_by(release);

	if (conf) {
		free(warning.measured);
		free(warning.wanted);
		free(warning.next);
		warning.measured = alloc_printf("Linux %s, which istripe does not support",
						release);
		warning.wanted = alloc_text("a kernel that BUILD_EXCLUSIVE_KERNEL allows");
		warning.next = alloc_printf("grep BUILD_EXCLUSIVE_KERNEL %s", conf);
	}
	free(conf);
	doctor_warn(doctor, &warning,
		    "the volume does not come up when this kernel is booted");
}

static void kernels_check(struct doctor *doctor)
{
	char *dir = place_path("/lib/modules");
	struct file_names releases = { 0 };
	bool found = false;
	size_t i;

	file_list(dir, &releases);
	for (i = 0; i < releases.count; i++) {
		if (!kernel_lacks_module(releases.items[i]))
			continue;
		found = true;
		kernel_warn(doctor, releases.items[i]);
	}
	if (!found)
		doctor_pass(doctor);
	file_names_free(&releases);
	free(dir);
}

static void unit_not_enabled(struct doctor *doctor, const struct doctor_volume *volume,
			     const char *unit)
{
	if (pacemaker_is_used()) {
		doctor_skip(doctor, "%s is not enabled: a cluster manager may bring the volume up",
			    unit);
		kernels_check(doctor);
		return;
	}
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("%s is not enabled", unit),
		.wanted = alloc_text("enabled"),
		.next = alloc_printf("systemctl enable %s%s", volume->up ? "--now " : "", unit),
	},
	"nothing brings the volume up after a reboot");
}

void doctor_unit(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *unit = unit_of_volume(volume->name);

	if (!fact_is_dir(place_path("/run/systemd/system")))
		doctor_skip(doctor, "systemd does not run");
	else if (!unit_is_enabled(unit))
		unit_not_enabled(doctor, volume, unit);
	else if (pacemaker_is_used() && pacemaker_has(volume->name))
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s is enabled, and Pacemaker has the volume, too",
						 unit),
			.wanted = alloc_text("a unit that is not enabled"),
			.next = alloc_printf("systemctl disable %s", unit),
		},
		"a boot brings the volume up here, also while another host has it");
	else
		kernels_check(doctor);
	free(unit);
}

/* Secrets */

static void secret_missing(struct doctor *doctor, const char *path)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_text(path),
		.measured = alloc_text("it is not there"),
		.wanted = alloc_text("the secret, which a configuration file takes from there"),
		.next = alloc_printf("install -m 600 /dev/stdin %s # and type it", path),
	},
	"at the next boot its paths are left out, or the volume does not come up");
}

static void secret_check(struct doctor *doctor, const char *path)
{
	int mode = file_mode(path);

	if (mode < 0)
		secret_missing(doctor, path);
	else if (!(mode & OTHERS_MODE))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(path),
			.measured = alloc_printf("mode %04o", mode),
			.wanted = alloc_text("mode 0600"),
			.next = alloc_printf("chmod 600 %s", path),
		},
		"others can read the secret, and istripectl refuses the file");
}

static void secret_add(struct file_names *secrets, const char *conf, const char *name)
{
	char *volume = alloc_printf("%.*s", (int)(strlen(conf) - strlen(".conf")), conf);
	char *path = conf_secret_path(volume, name);

	file_names_add_new(secrets, path);
	free(path);
	free(volume);
}

/* Of lines as chap_secret = @FILE. */
static void secrets_of_conf(const char *conf, struct file_names *secrets)
{
	char *text = fact_text(place_path(CONF_DIR "/%s", conf)), *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '='), *word;

		line += strspn(line, " \t");
		word = value && *line != '#' ? fact_word(value + 1, 0) : NULL;
		if (word && word[0] == '@' && word[1] && strcmp(word, "@-"))
			secret_add(secrets, conf, word + 1);
		free(word);
	}
	free(text);
}

void doctor_secret_modes(struct doctor *doctor)
{
	struct file_names files = { 0 }, secrets = { 0 };
	char *dir = place_path(CONF_DIR);
	size_t i;

	file_list(dir, &files);
	for (i = 0; i < files.count; i++) {
		if (text_ends(files.items[i], ".conf"))
			secrets_of_conf(files.items[i], &secrets);
		if (text_ends(files.items[i], ".secret")) {
			char *file = place_path(CONF_DIR "/%s", files.items[i]);

			file_names_add_new(&secrets, file);
			free(file);
		}
	}
	for (i = 0; i < secrets.count; i++)
		secret_check(doctor, secrets.items[i]);
	if (!secrets.count)
		doctor_skip(doctor, "no configuration file names a secret");
	file_names_free(&secrets);
	file_names_free(&files);
	free(dir);
}

/* multipathd */

#define MULTIPATH_DIR	"/etc/multipath/conf.d"

/* The map that multipath has made of the disk, for free(); NULL: none. */
static char *multipath_holder(const char *device)
{
	char *dir = place_path("/sys/block/%s/holders", device), *found = NULL;
	struct file_names names = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; !found && i < names.count; i++) {
		char *uuid = fact_text(place_path("/sys/block/%s/dm/uuid", names.items[i]));

		if (uuid && !strncmp(uuid, "mpath-", strlen("mpath-"))) {
			found = fact_text(place_path("/sys/block/%s/dm/name", names.items[i]));
			found = found ? found : alloc_text(names.items[i]);
		}
		free(uuid);
	}
	file_names_free(&names);
	free(dir);
	return found;
}

/* Whether a line as devnode "^istripe" means the disk. */
static bool devnode_means(const char *line, const char *device)
{
	char pattern[256];
	regex_t regex;
	bool means;

	if (sscanf(line, " devnode \"%255[^\"]\"", pattern) != 1 ||
	    regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	means = !regexec(&regex, device, 0, NULL, 0);
	regfree(&regex);
	return means;
}

/*
 * Whether one file excepts the disk from the blacklist. multipathd's own blacklist has all but
 * SCSI disks, DASDs and NVMe.
 */
static bool conf_excepts(char *path, const char *device)
{
	char *text = fact_text(path), *rest = text, *line;
	bool within = false, excepts = false;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (strstr(line, "blacklist_exceptions"))
			within = true;
		else if (strchr(line, '}'))
			within = false;
		else if (within)
			excepts |= devnode_means(line, device);
	}
	free(text);
	return excepts;
}

/* The first file that does, for free(); NULL: none. */
static char *multipath_excepts(const char *device)
{
	char *dir = place_path(MULTIPATH_DIR), *found = NULL;
	struct file_names names = { 0 };
	size_t i;

	if (conf_excepts(place_path("/etc/multipath.conf"), device))
		found = alloc_text("/etc/multipath.conf");
	file_list(dir, &names);
	for (i = 0; !found && i < names.count; i++) {
		char *file = alloc_printf(MULTIPATH_DIR "/%s", names.items[i]);

		if (text_ends(file, ".conf") && conf_excepts(place_path("%s", file), device))
			found = alloc_text(file);
		free(file);
	}
	file_names_free(&names);
	free(dir);
	return found;
}

/* Exceptions are asked first: a blacklist is in vain as long as they have the disk. */
static char *multipath_step(const char *map, const char *file)
{
	char *word = text_quoted(map ? map : ""), *step, *then;

	then = alloc_printf("%s%s%smultipathd reconfigure", map ? "multipath -f " : "",
			    map ? word : "", map ? " && " : "");
	if (file)
		step = doctor_edit_step(file, then);
	else
		step = alloc_printf("mkdir -p %s && printf '%s' > %s/istripe.conf && %s",
				    MULTIPATH_DIR,
				    "blacklist {\\n\\tdevnode \"^istripe\"\\n}\\n",
				    MULTIPATH_DIR, then);
	free(then);
	free(word);
	return step;
}

static void multipath_warn(struct doctor *doctor, const char *map, const char *file)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = map ? alloc_printf("it has made %s of the disk", map) :
			    alloc_printf("blacklist_exceptions of %s have the disk", file),
		.wanted = alloc_text(file ? "no such devnode in blacklist_exceptions" :
				     "devnode \"^istripe\" in its blacklist"),
		.next = multipath_step(map, file),
	},
	"it takes the disk, which cannot be mounted then; istripe has paths of its own");
}

void doctor_multipath(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *map, *file;

	if (!volume->up) {
		doctor_skip(doctor, "the volume is down");
		return;
	}
	map = multipath_holder(volume->live.name);
	file = multipath_excepts(volume->live.name);
	if (!map && !fact_process("multipathd"))
		doctor_skip(doctor, "multipathd does not run");
	else if (map || file)
		multipath_warn(doctor, map, file);
	else
		doctor_pass(doctor);
	free(map);
	free(file);
}
