// SPDX-License-Identifier: GPL-2.0
/* Configuration files: where they are, and from the model to the text. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "conf.h"
#include "known.h"
#include "node.h"
#include "output.h"
#include "place.h"
#include "portal.h"
#include "text.h"
#include "unit.h"
#include "value.h"

#define SUFFIX	".conf"

/* Places */

char *conf_path(const char *name)
{
	return place_path(CONF_DIR "/%s" SUFFIX, name);
}

int conf_list(struct file_names *names, struct fault *fault)
{
	struct file_names files = { 0 };
	char *dir = place_path(CONF_DIR);
	int ret = file_list(dir, &files);
	size_t i;

	if (ret == -ENOENT)
		ret = 0;
	if (ret)
		fault_set(fault, ret, "%s: %s", dir, strerror(-ret));
	for (i = 0; i < files.count; i++) {
		char *end = strrchr(files.items[i], '.');

		if (!end || strcmp(end, SUFFIX))
			continue;
		*end = '\0';
		if (volume_name_valid(files.items[i]))
			file_names_add(names, files.items[i]);
	}
	file_names_free(&files);
	free(dir);
	return ret;
}

/* In the unit by its environment, and elsewhere while the unit is active. NULL: there is none. */
static char *credential_path(const char *volume, const char *file)
{
	const char *folder = secure_getenv("CREDENTIALS_DIRECTORY");
	char *path = folder ? alloc_printf("%s/%s", folder, file) : NULL;
	char *unit = unit_of_volume(volume);

	if (!path || file_mode(path) < 0) {
		free(path);
		path = place_path("/run/credentials/%s/%s", unit, file);
	}
	free(unit);
	if (file_mode(path) >= 0)
		return path;
	free(path);
	return NULL;
}

char *conf_secret_path(const char *volume, const char *file)
{
	char *path;

	if (file[0] == '/')
		return alloc_text(file);
	path = strchr(file, '/') ? NULL : credential_path(volume, file);
	return path ? path : place_path(CONF_DIR "/%s", file);
}

static void settings_secrets(const char *volume, struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++) {
		const struct setting *item = &settings->items[i];
		char *path, *value;

		if (!setting_is_secret(item->name) || !item->value || item->value[0] != '@' ||
		    !strcmp(item->value, "@-"))
			continue;
		path = conf_secret_path(volume, item->value + 1);
		value = alloc_printf("@%s", path);
		settings_put(settings, item->name, value);
		free(value);
		free(path);
	}
}

void conf_secrets(struct volume *volume)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			settings_secrets(volume->name, &volume->legs[i].paths[j].settings);
}

/* Values */

static void value_print(FILE *out, const char *value)
{
	size_t bytes = strlen(value);

	if (!bytes || (value[0] != '"' && !isspace((unsigned char)value[0]) &&
		       !isspace((unsigned char)value[bytes - 1]))) {
		fputs(value, out);
		return;
	}
	putc('"', out);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putc('\\', out);
		putc(*value, out);
	}
	putc('"', out);
}

static void setting_print(FILE *out, const char *name, const char *value)
{
	char *text = value_write(name, value);

	fprintf(out, "%s =%s", name, *text ? " " : "");
	value_print(out, text);
	putc('\n', out);
	free(text);
}

/* Settings that tell volumes apart are in the file also where they have their defaults. */
static bool is_identity(const char *name)
{
	static const char *const names[] = {
		"initiator_name", "chunk_bytes", "metadata", "target_name", "lun", "portal", "nic",
		NULL
	};

	return text_listed(names, name);
}

static bool is_printed(enum known_place place, const struct settings *settings, const char *name)
{
	const char *value = known_worth(place, settings, name);

	if (!strcmp(name, "metadata_create"))
		return false;
	return strcmp(value, known_default(place, name)) || (is_identity(name) && *value);
}

static void settings_print(FILE *out, enum known_place place, const struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		if (is_printed(place, settings, settings->items[i].name))
			setting_print(out, settings->items[i].name,
				      known_worth(place, settings, settings->items[i].name));
}

/* Settings that a section could have, with their defaults. */
static void defaults_print(FILE *out, enum known_place place, const struct settings *settings)
{
	const struct known *known;

	for (known = known_settings(place); known->name; known++) {
		bool once = is_identity(known->name) || setting_is_of_one_path(known->name);

		if (is_printed(place, settings, known->name) || setting_is_secret(known->name) ||
		    !strcmp(known->name, "metadata_create") || (place == KNOWN_PATH && once))
			continue;
		putc('#', out);
		setting_print(out, known->name, known->value);
	}
}

/* Legs and paths */

/* Whether all paths of the legs from @first to before @end have the value that @setting has. */
static bool is_shared(const struct volume *volume, size_t first, size_t end,
		      const struct setting *setting)
{
	size_t i, j;

	if (setting_is_of_one_path(setting->name) || !setting->value)
		return false;
	for (i = first; i < end; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; j < leg->path_count; j++)
			if (strcmp(known_worth(KNOWN_PATH, &leg->paths[j].settings, setting->name),
				   setting->value))
				return false;
	}
	return true;
}

/* The LUN is said for each leg; other settings may be the same for all paths of the volume. */
static bool is_shared_by_all(const struct volume *volume, const struct setting *setting)
{
	return strcmp(setting->name, "target_name") && strcmp(setting->name, "lun") &&
	       is_shared(volume, 0, volume->leg_count, setting);
}

static void all_paths_print(FILE *out, const struct volume *volume)
{
	const struct settings *first = &volume->legs[0].paths[0].settings;
	struct settings shared = { 0 };
	size_t i;

	for (i = 0; i < first->count; i++)
		if (is_shared_by_all(volume, &first->items[i]))
			settings_put(&shared, first->items[i].name, first->items[i].value);
	fputs("\n# What all paths have that do not say otherwise\n[paths]\n", out);
	settings_print(out, KNOWN_PATH, &shared);
	for (i = 0; i < first->count; i++)
		if (!settings_find(&shared, first->items[i].name) &&
		    is_printed(KNOWN_PATH, first, first->items[i].name))
			settings_put(&shared, first->items[i].name, first->items[i].value);
	defaults_print(out, KNOWN_PATH, &shared);
	settings_free(&shared);
}

static void path_print(FILE *out, const struct volume *volume, size_t leg, const struct path *path)
{
	struct settings own = { 0 };
	size_t i;

	for (i = 0; i < path->settings.count; i++) {
		const struct setting *item = &path->settings.items[i];

		if (!is_shared_by_all(volume, item) && !is_shared(volume, leg, leg + 1, item))
			settings_put(&own, item->name, item->value ? item->value : "");
	}
	fprintf(out, "\n[leg %u path %u]\n", volume->legs[leg].index, path->index);
	settings_print(out, KNOWN_PATH, &own);
	settings_free(&own);
}

static void leg_print(FILE *out, const struct volume *volume, size_t number)
{
	const struct leg *leg = &volume->legs[number];
	const struct settings *first = &leg->paths[0].settings;
	struct settings shared = { 0 };
	size_t i;

	for (i = 0; i < first->count; i++)
		if (!is_shared_by_all(volume, &first->items[i]) &&
		    is_shared(volume, number, number + 1, &first->items[i]))
			settings_put(&shared, first->items[i].name, first->items[i].value);
	fprintf(out, "\n[leg %u]\n", leg->index);
	settings_print(out, KNOWN_PATH, &shared);
	settings_print(out, KNOWN_LEG, &leg->settings);
	defaults_print(out, KNOWN_LEG, &leg->settings);
	settings_free(&shared);
	for (i = 0; i < leg->path_count; i++)
		path_print(out, volume, number, &leg->paths[i]);
}

static void identity_put(enum known_place place, struct settings *settings, const char *name)
{
	if (!settings_find(settings, name))
		settings_put(settings, name, known_default(place, name));
}

static bool superblocks_say_chunk(const struct volume *volume)
{
	return !strcmp(known_worth(KNOWN_VOLUME, &volume->settings, "metadata"), "md");
}

void conf_leave_chunk(struct volume *volume)
{
	const char *name = "chunk_bytes";

	if (!volume->up && superblocks_say_chunk(volume) &&
	    !strcmp(settings_value(&volume->settings, name), known_default(KNOWN_VOLUME, name)))
		settings_drop(&volume->settings, name);
}

/* Nobody should have to know what the default of these was. */
static void identities_put(struct volume *volume)
{
	size_t i, j;

	if (!superblocks_say_chunk(volume))
		identity_put(KNOWN_VOLUME, &volume->settings, "chunk_bytes");
	identity_put(KNOWN_VOLUME, &volume->settings, "metadata");
	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			identity_put(KNOWN_PATH, &volume->legs[i].paths[j].settings, "lun");
}

static void volume_print(FILE *out, const struct volume *volume)
{
	size_t i;

	fprintf(out,
		"# Volume %s of istripe, see istripe.conf(5). After a change: istripectl apply %s\n"
		"# Lines with # before a name show defaults.\n\n[volume]\n",
		volume->name, volume->name);
	settings_print(out, KNOWN_VOLUME, &volume->settings);
	defaults_print(out, KNOWN_VOLUME, &volume->settings);
	all_paths_print(out, volume);
	for (i = 0; i < volume->leg_count; i++)
		leg_print(out, volume, i);
}

static int legs_check(const struct volume *volume, struct fault *fault)
{
	size_t i;

	if (!volume->leg_count)
		return fault_set(fault, -EINVAL, "%s has no leg", volume->name);
	for (i = 0; i < volume->leg_count; i++)
		if (!volume->legs[i].path_count)
			return fault_set(fault, -EINVAL, "%s: leg %u has no path", volume->name,
					 volume->legs[i].index);
	return 0;
}

int conf_print(FILE *out, const struct volume *volume, struct fault *fault)
{
	struct volume copy = { 0 };
	int ret = legs_check(volume, fault);

	if (ret)
		return ret;
	volume_copy(volume, &copy);
	identities_put(&copy);
	volume_print(out, &copy);
	volume_free(&copy);
	return 0;
}

/* The file */

/* The path of the file that there was before, or NULL. */
static const struct path *path_before(const struct volume *before, unsigned int leg,
				      unsigned int path)
{
	const struct leg *there = volume_find_leg(before, leg);

	return there ? leg_find_path(there, path) : NULL;
}

static bool same_value(const struct settings *a, const struct settings *b, const char *name)
{
	return !strcmp(settings_value(a, name), settings_value(b, name));
}

struct secret {
	const char *name, *user;	/* of the settings */
};

static bool same_secret(const struct secret *secret, const struct settings *a,
			const struct settings *b)
{
	return same_value(a, b, secret->user) && same_value(a, b, "target_name");
}

/* Where the file has said that the secret of this user and target is; empty: nowhere. */
static const char *secret_before(const struct secret *secret, const struct settings *settings,
				 const struct path *own, const struct volume *before)
{
	size_t i, j;

	if (own && same_secret(secret, settings, &own->settings) &&
	    *settings_value(&own->settings, secret->name))
		return settings_value(&own->settings, secret->name);
	for (i = 0; i < before->leg_count; i++) {
		for (j = 0; j < before->legs[i].path_count; j++) {
			const struct settings *other = &before->legs[i].paths[j].settings;

			if (same_secret(secret, settings, other) &&
			    *settings_value(other, secret->name))
				return settings_value(other, secret->name);
		}
	}
	return "";
}

/* One name for all paths; of several users or targets, the first path of each names its file. */
static char *secret_invent(const struct secret *secret, const struct settings *settings,
			   const struct volume *volume)
{
	const struct leg *leg, *first_leg = NULL;
	const struct path *path, *first = NULL;
	bool others = false;

	for (leg = volume->legs; leg < volume->legs + volume->leg_count; leg++) {
		for (path = leg->paths; path < leg->paths + leg->path_count; path++) {
			if (!*settings_value(&path->settings, secret->user))
				continue;
			if (!same_secret(secret, settings, &path->settings)) {
				others = true;
			} else if (!first) {
				first_leg = leg;
				first = path;
			}
		}
	}
	if (!others || !first)
		return alloc_printf("@%s.%s", volume->name, secret->name);
	if (first == first_leg->paths)
		return alloc_printf("@%s-leg%u.%s", volume->name, first_leg->index, secret->name);
	return alloc_printf("@%s-leg%u-path%u.%s", volume->name, first_leg->index, first->index,
			    secret->name);
}

/*
 * Without a user's name there may be a secret all the same: that of a target of any name. The
 * module refuses it for a path that has no CHAP.
 */
static bool may_have_secret(const struct secret *secret, const struct settings *settings)
{
	return *settings_value(settings, secret->user) ||
	       (!strcmp(secret->user, "chap_mutual_user") &&
		*settings_value(settings, "chap_user"));
}

/*
 * The kernel does not say secrets: a file that has said where this user's are goes on to. A record
 * that is followed says its own.
 */
static void secrets_keep(const struct volume *volume, struct settings *settings,
			 const struct path *own, const struct volume *before)
{
	static const struct secret secrets[] = {
		{ "chap_secret", "chap_user" }, { "chap_mutual_secret", "chap_mutual_user" },
	};
	size_t i;

	for (i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
		const struct setting *secret = settings_find(settings, secrets[i].name);
		const char *file = secret_before(&secrets[i], settings, own, before);
		char *invented;

		if ((secret && secret->value) || !may_have_secret(&secrets[i], settings) ||
		    (!*file && (!*settings_value(settings, secrets[i].user) ||
				node_follows_path(volume, settings))))
			continue;
		invented = *file ? NULL : secret_invent(&secrets[i], settings, volume);
		settings_put(settings, secrets[i].name, *file ? file : invented)->invented = !*file;
		free(invented);
	}
}

/* Nor does it say whether the volume or a path follows node records of open-iscsi. */
static void node_keep(struct settings *settings, const struct settings *before)
{
	const char *value = settings_value(before, NODE_SETTING);

	if (*value && !settings_find(settings, NODE_SETTING))
		settings_put(settings, NODE_SETTING, value);
}

/* Names of hosts, and of interfaces that are gone, are in the file only. */
static int address_keep(const char *volume, const struct leg *leg, struct path *path,
			const struct settings *before, const char *name, struct fault *fault)
{
	const char *address = settings_value(&path->settings, name);
	char *kept;

	if (!*address)
		return 0;
	kept = portal_keep(address, settings_value(before, name),
			   settings_value(&path->settings, "nic"));
	if (!kept)
		return fault_set(fault, -ENODEV,
				 "leg %u path %u: %s %s: its interface is gone, and nothing tells its name\n"
				 "next: istripectl set %s --leg %u --path %u %s=ADDRESS%%NIC, or remove the path",
				 leg->index, path->index, name, address, volume, leg->index,
				 path->index, name);
	settings_put(&path->settings, name, kept);
	free(kept);
	return 0;
}

static int path_keep(const struct volume *volume, const struct leg *leg, struct path *path,
		     const struct volume *before, struct fault *fault)
{
	const struct path *own = path_before(before, leg->index, path->index);
	const struct settings nothing = { 0 }, *its = own ? &own->settings : &nothing;
	int ret;

	/* It is as the file has it. */
	if (path->left_out)
		return 0;
	ret = address_keep(volume->name, leg, path, its, "portal", fault);
	node_keep(&path->settings, its);
	secrets_keep(volume, &path->settings, own, before);
	if (!ret)
		ret = address_keep(volume->name, leg, path, its, "source_address", fault);
	return ret;
}

/* A file that cannot be read says more than is known here: it is not replaced. */
static int file_keep(struct volume *volume, const char *path, bool anew, struct fault *fault)
{
	struct volume before = { 0 };
	struct fault why = { 0 };
	int ret = anew ? 0 : conf_read(path, volume->name, &before, &why);
	size_t i, j;

	if (ret && ret != -ENOENT) {
		*fault = why;
		fault_add(fault, "next: mend it, or move it away; it is as it was");
		volume_free(&before);
		return ret;
	}
	node_keep(&volume->settings, &before.settings);
	for (i = 0, ret = 0; !ret && i < volume->leg_count; i++)
		for (j = 0; !ret && j < volume->legs[i].path_count; j++)
			ret = path_keep(volume, &volume->legs[i], &volume->legs[i].paths[j],
					&before, fault);
	volume_free(&before);
	return ret;
}

/* A name is there after a power cut when its folder is. */
static int dir_sync(const char *dir, struct fault *fault)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;

	if (fd < 0 || fsync(fd))
		ret = fault_set(fault, -errno, "%s: %s", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The file that a symbolic link leads to, or @path itself: for free(). */
static int real_path(const char *path, char **real, struct fault *fault)
{
	struct stat st;

	*real = realpath(path, NULL);
	if (!*real && errno == ENOENT && lstat(path, &st))
		*real = alloc_text(path);
	return *real ? 0 : fault_set(fault, -errno, "%s: %s", path, strerror(errno));
}

static mode_t umask_now(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

/* The new file is its owner's, and for the same others to read as the one before. */
static int text_open(struct output *output, const char *path, struct fault *fault)
{
	struct stat before, now;
	bool there = !stat(path, &before);
	int ret;

	if (there && !S_ISREG(before.st_mode))
		return fault_set(fault, -EINVAL, "%s is not a regular file\nnext: move it away",
				 path);
	ret = output_open(output, path, there ? before.st_mode & 07777 : 0644 & ~umask_now(),
			  fault);
	if (ret || !there || fstat(fileno(output->out), &now) ||
	    (now.st_uid == before.st_uid && now.st_gid == before.st_gid) ||
	    !fchown(fileno(output->out), before.st_uid, before.st_gid))
		return ret;
	return output_close(output, fault_set(fault, -errno, "%s: %s", path, strerror(errno)),
			    fault);
}

static int text_write(const char *path, const struct volume *volume, struct fault *fault)
{
	struct output output;
	int ret = text_open(&output, path, fault);

	if (ret)
		return ret;
	ret = conf_print(output.out, volume, fault);
	if (!ret && (fflush(output.out) || fsync(fileno(output.out))))
		ret = fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	return output_close(&output, ret, fault);
}

/* Two at a time do no harm: each has a temporary file of its own. */
static int file_write_whole(const char *path, const struct volume *volume, struct fault *fault)
{
	char *real, *end;
	int ret = real_path(path, &real, fault);

	if (ret)
		return ret;
	ret = text_write(real, volume, fault);
	end = strrchr(real, '/');
	if (!ret && end) {
		*end = '\0';
		ret = dir_sync(*real ? real : "/", fault);
	}
	free(real);
	return ret;
}

int conf_check(struct volume *volume, struct fault *fault)
{
	char *path = conf_path(volume->name);
	int ret = file_keep(volume, path, false, fault);

	free(path);
	return ret ? ret : legs_check(volume, fault);
}

int conf_write(struct volume *volume, bool anew, struct fault *fault)
{
	char *dir = place_path(CONF_DIR), *path = conf_path(volume->name);
	int ret = file_keep(volume, path, anew, fault);

	if (!ret && mkdir(dir, 0755) && errno != EEXIST)
		ret = fault_set(fault, -errno, "%s: %s", dir, strerror(errno));
	if (!ret)
		ret = file_write_whole(path, volume, fault);
	free(path);
	free(dir);
	return ret;
}
