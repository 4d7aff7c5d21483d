// SPDX-License-Identifier: GPL-2.0
/* The configfs tree: reading. tree_write.c writes. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "advice.h"
#include "alloc.h"
#include "conf.h"
#include "module.h"
#include "pacemaker.h"
#include "place.h"
#include "portal.h"
#include "suggest.h"
#include "tree.h"

#define CONFIG	"/sys/kernel/config"
#define TREE	CONFIG "/istripe"
#define NAMES_MAX	20	/* that an error lists */

char *tree_path(const char *name, const char *file)
{
	return place_path(TREE "/%s%s%s", name, file ? "/" : "", file ? file : "");
}

/* For free(). */
static char *missing_command(const char *release)
{
	char *version = module_dkms_version();

	if (!version)
		return module_build_command(release);
	free(version);
	return alloc_text("dkms status -m istripe");
}

/* The running kernel has none to be loaded. */
static void module_missing(const char *release, struct fault *fault)
{
	char *conf = module_excluded_by(release), *build = module_build_command(release);

	if (conf)
		fault_set(fault, -ENODEV,
			  "the module is not loaded: istripe does not support Linux %s\n"
			  "next: boot a kernel that BUILD_EXCLUSIVE_KERNEL allows: grep BUILD_EXCLUSIVE_KERNEL %s",
			  release, conf);
	else
		fault_set(fault, -ENODEV,
			  "the module is not loaded: Linux %s has no module istripe\n"
			  "next: %s && modprobe istripe", release, build);
	free(build);
	free(conf);
}

static int tree_missing(struct fault *fault)
{
	struct utsname host = { 0 };
	char *config = place_path(CONFIG), *command;
	struct file_names names = { 0 };
	bool mounted = !file_list(config, &names) && names.count;

	uname(&host);
	command = missing_command(host.release);
	if (module_is_missing(host.release))
		module_missing(host.release, fault);
	else if (mounted)
		fault_set(fault, -ENODEV,
			  "the module is not loaded\n"
			  "next: modprobe istripe; when modprobe fails: %s", command);
	else
		fault_set(fault, -ENODEV,
			  "the module is not loaded, or configfs is not mounted\n"
			  "next: modprobe istripe; mount -t configfs none " CONFIG
			  "; when modprobe fails: %s", command);
	file_names_free(&names);
	free(command);
	free(config);
	return -ENODEV;
}

int tree_check(struct fault *fault)
{
	char *tree = place_path(TREE);
	bool there = file_is_dir(tree) || (module_load() && file_is_dir(tree));

	free(tree);
	return there ? 0 : tree_missing(fault);
}

int tree_volume_missing(const char *name, struct fault *fault)
{
	char *conf = conf_path(name);

	fault_set(fault, -ENOENT, "there is no volume %s", name);
	if (file_mode(conf) >= 0 && pacemaker_may_have(name)) {
		fault_add(fault,
			  "it is in its file, but not configured: a cluster manager may bring it up");
	} else if (file_mode(conf) >= 0) {
		fault_add(fault,
			  "next: istripectl up %s: it is in its file, but not configured", name);
	} else {
		tree_names_add(name, fault);
		fault_add(fault,
			  "next: istripectl list; istripectl create, or a file %s/%s.conf",
			  CONF_DIR, name);
	}
	free(conf);
	return -ENOENT;
}

int tree_has_volume(const char *name, struct fault *fault)
{
	int ret = tree_check(fault);
	char *dir;

	if (ret)
		return ret;
	dir = tree_path(name, NULL);
	if (!file_is_dir(dir))
		ret = tree_volume_missing(name, fault);
	free(dir);
	return ret;
}

static void names_suggest(const char *name, const struct file_names *names,
			  struct suggestion *best)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		suggest_name(name, names->items[i], best);
}

static void names_list(const char *what, const struct file_names *names, struct fault *fault)
{
	size_t i;

	for (i = 0; i < names->count && i < NAMES_MAX; i++) {
		if (i)
			fault_append(fault, ", %s", names->items[i]);
		else
			fault_add(fault, "%s: %s", what, names->items[i]);
	}
	if (i < names->count)
		fault_append(fault, " and %zu more", names->count - i);
}

void tree_names_add(const char *name, struct fault *fault)
{
	struct file_names volumes = { 0 }, files = { 0 };
	struct suggestion best = { 0 };
	struct fault ignored;

	tree_list(&volumes, &ignored);
	conf_list(&files, &ignored);
	names_suggest(name, &volumes, &best);
	names_suggest(name, &files, &best);
	if (best.name && strcmp(best.name, name))
		fault_add(fault, "did you mean %s?", best.name);
	names_list("volumes", &volumes, fault);
	names_list("configuration files", &files, fault);
	file_names_free(&volumes);
	file_names_free(&files);
}

int tree_list(struct file_names *names, struct fault *fault)
{
	struct file_names all = { 0 };
	char *tree = place_path(TREE);
	int ret = tree_check(fault);
	size_t i;

	if (!ret) {
		ret = file_list(tree, &all);
		if (ret)
			fault_set(fault, ret, "%s: %s", tree, strerror(-ret));
	}
	for (i = 0; i < all.count; i++) {
		char *dir = tree_path(all.items[i], NULL);

		if (file_is_dir(dir))
			file_names_add(names, all.items[i]);
		free(dir);
	}
	file_names_free(&all);
	free(tree);
	return ret;
}

bool tree_is_setting(const char *path, const char *name)
{
	int mode = file_mode(path);

	return mode >= 0 && (mode & 0222) && strcmp(name, "enable") && strcmp(name, "unfenced");
}

/* The module has numbers of interfaces, where people, and files, have names. */
static void setting_take(struct settings *settings, const char *name, const char *value)
{
	bool address = !strcmp(name, "portal") || !strcmp(name, "source_address");
	char *named = value && address ? portal_name_nic(value) : NULL;

	settings_put(settings, name, named ? named : value);
	free(named);
}

static int setting_read(const char *dir, const char *name, struct settings *settings)
{
	char *path = alloc_printf("%s/%s", dir, name), *value = NULL;
	int ret = 0;

	if (tree_is_setting(path, name)) {
		if (file_mode(path) & 0444)
			ret = file_read(path, &value);
		if (!ret)
			setting_take(settings, name, value);
	}
	free(value);
	free(path);
	return ret;
}

static void setting_fault(int error, const char *dir, const char *name, struct fault *fault)
{
	fault_set(fault, error, "%s/%s: %s", dir, name, strerror(-error));
	advice_root(error, fault);
}

static int settings_read(const char *dir, struct settings *settings, struct fault *fault)
{
	struct file_names names = { 0 };
	int ret = file_list(dir, &names);
	size_t i;

	if (ret)
		fault_set(fault, ret, "%s: %s", dir, strerror(-ret));
	for (i = 0; !ret && i < names.count; i++) {
		ret = setting_read(dir, names.items[i], settings);
		if (ret)
			setting_fault(ret, dir, names.items[i], fault);
	}
	file_names_free(&names);
	return ret;
}

/* Calls @read for each directory with a number for a name. */
static int numbers_read(const char *dir, void *object,
			int (*read)(const char *dir, unsigned int index, void *object,
				    struct fault *fault),
			struct fault *fault)
{
	struct file_names names = { 0 };
	int ret = file_list(dir, &names);
	size_t i;

	if (ret)
		fault_set(fault, ret, "%s: %s", dir, strerror(-ret));
	for (i = 0; !ret && i < names.count; i++) {
		char *child = alloc_printf("%s/%s", dir, names.items[i]);

		if (isdigit((unsigned char)names.items[i][0]))
			ret = read(child, strtoul(names.items[i], NULL, 10), object, fault);
		free(child);
	}
	file_names_free(&names);
	return ret;
}

static int leg_check_fenced(const char *dir, unsigned int index, void *object,
			    struct fault *fault)
{
	char *file = alloc_printf("%s/unfenced", dir), *paths = NULL;
	const char *name = object;
	int ret = 0;

	if (!file_read(file, &paths) && *paths)
		ret = fault_set(fault, -EBUSY,
				"%s: leg %u, path %s: writes were left that the target may still carry out, and only this volume knows: no other host may write to this LUN\n"
				"next: istripectl up %s, until it works; or, only after a restart of the target: istripectl path confirm %s %u %.*s (one path), or istripectl delete --force %s (all)",
				name, index, paths, name, name, index, (int)strcspn(paths, " "),
				paths, name);
	free(paths);
	free(file);
	return ret;
}

bool tree_has_left(const char *name, unsigned int leg, unsigned int path)
{
	char *file = alloc_printf("legs/%u/unfenced", leg), *left = tree_value(name, file);
	char *number = alloc_printf(" %u ", path), *all = alloc_printf(" %s ", left ? left : "");
	bool has = strstr(all, number);

	free(all);
	free(number);
	free(left);
	free(file);
	return has;
}

int tree_check_fenced(const char *name, struct fault *fault)
{
	char *legs = tree_path(name, "legs");
	int ret = numbers_read(legs, (void *)name, leg_check_fenced, fault);

	free(legs);
	return ret;
}

/* A directory that is being removed loses its files first; one file alone never goes. */
static bool is_gone(const char *dir, int error)
{
	return error ? error == -ENOENT : !file_is_dir(dir);
}

static int path_read(const char *dir, unsigned int index, void *object, struct fault *fault)
{
	struct path *path = leg_add_path(object, index);
	char *file = alloc_printf("%s/enable", dir), *text = NULL;
	int ret;

	path->off = !file_read(file, &text) && !strcmp(text, "0");
	free(text);
	free(file);
	ret = settings_read(dir, &path->settings, fault);
	if (!is_gone(dir, ret))
		return ret;
	leg_drop_path(object);
	return 0;
}

static int leg_read(const char *dir, unsigned int index, void *object, struct fault *fault)
{
	struct leg *leg = volume_add_leg(object, index);
	char *paths = alloc_printf("%s/paths", dir);
	int ret = settings_read(dir, &leg->settings, fault);

	if (!ret)
		ret = numbers_read(paths, leg, path_read, fault);
	free(paths);
	if (!is_gone(dir, ret))
		return ret;
	volume_drop_leg(object);
	return 0;
}

char *tree_value(const char *name, const char *file)
{
	char *path = tree_path(name, file), *text = NULL;

	file_read(path, &text);
	free(path);
	return text;
}

void tree_read_states(struct volume *volume)
{
	char *enable = tree_value(volume->name, "enable");

	volume->up = enable && !strcmp(enable, "1");
	free(enable);
	free(volume->device);
	volume->device = tree_value(volume->name, "device");
	free(volume->last_error);
	volume->last_error = tree_value(volume->name, "last_error");
}

/* A device name is a name: nothing else is looked up. */
static void legs_read_found(struct volume *volume)
{
	const char *device = volume->device;
	size_t i;

	if (!volume->up || !device || !*device || strchr(device, '/'))
		return;
	for (i = 0; i < volume->leg_count; i++) {
		struct leg *leg = &volume->legs[i];
		char *file = place_path("/sys/block/%s/istripe/legs/%u/designator", device,
					leg->index);

		file_read(file, &leg->found);
		free(file);
	}
}

int tree_read(const char *name, struct volume *volume, struct fault *fault)
{
	char *dir, *legs;
	int ret = tree_has_volume(name, fault);

	if (ret)
		return ret;
	volume->name = alloc_text(name);
	dir = tree_path(name, NULL);
	legs = tree_path(name, "legs");
	ret = settings_read(dir, &volume->settings, fault);
	if (!ret)
		ret = numbers_read(legs, volume, leg_read, fault);
	if (!ret) {
		tree_read_states(volume);
		legs_read_found(volume);
	}
	if (is_gone(dir, ret))
		ret = tree_volume_missing(name, fault);
	free(dir);
	free(legs);
	return ret;
}
