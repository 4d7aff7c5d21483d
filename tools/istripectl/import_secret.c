// SPDX-License-Identifier: GPL-2.0
/* Secrets of node records. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "conf.h"
#include "file.h"
#include "import_secret.h"
#include "place.h"
#include "secret.h"

struct secret {
	char *file;		/* its name in the folder of configurations */
	char *text;
	bool made;
};

struct secrets {
	struct secret *items;
	size_t count;
};

static const char *const names[] = { "chap_secret", "chap_mutual_secret" };

static void secrets_free(struct secrets *secrets)
{
	size_t i;

	for (i = 0; i < secrets->count; i++) {
		alloc_wipe(secrets->items[i].text);
		free(secrets->items[i].file);
	}
	free(secrets->items);
}

/* The first path with a secret names the file. */
static const char *file_of(struct secrets *secrets, const char *text, const char *name,
			   const char *volume, const struct leg *leg, const struct path *path)
{
	const char *kind = strcmp(name, names[0]) ? "mutual" : "chap";
	char *file, *what;
	size_t i;

	for (i = 0; i < secrets->count; i++)
		if (!strcmp(secrets->items[i].text, text))
			return secrets->items[i].file;
	if (path == leg->paths)
		file = alloc_printf("%s-leg%u-%s.secret", volume, leg->index, kind);
	else
		file = alloc_printf("%s-leg%u-path%u-%s.secret", volume, leg->index, path->index,
				    kind);
	what = alloc_printf("leg %u path %u: %s", leg->index, path->index, name);
	secret_warn(what, strlen(text));
	free(what);
	*alloc_append(secrets->items, secrets->count) = (struct secret) {
		.file = file, .text = alloc_text(text),
	};
	return file;
}

/* The secrets of a record are text; one that begins with '@' cannot be told from a file. */
static void path_name(struct secrets *secrets, const char *volume, const struct leg *leg,
		      struct path *path)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = settings_value(&path->settings, names[i]);
		char *value;

		if (!*text || *text == '@')
			continue;
		value = alloc_printf("@%s", file_of(secrets, text, names[i], volume, leg, path));
		settings_put(&path->settings, names[i], value);
		free(value);
	}
}

static void volume_name(struct volume *volume, struct secrets *secrets)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			path_name(secrets, volume->name, &volume->legs[i],
				  &volume->legs[i].paths[j]);
}

void import_secrets_name(struct volume *volume)
{
	struct secrets secrets = { 0 };

	volume_name(volume, &secrets);
	secrets_free(&secrets);
}

/* Files */

/*
 * Whether there is such a file with this secret, as after an import that failed later. Bytes are
 * compared as they are: file_read() would change some of them.
 */
static bool secret_is_there(const char *path, const char *secret)
{
	int fd = file_mode(path) == 0600 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t bytes = strlen(secret), got;
	char *there;
	bool same;

	if (fd < 0)
		return false;
	there = alloc_array(NULL, bytes + 2, 1);
	got = read(fd, there, bytes + 2);
	close(fd);
	same = (got == bytes || (got == bytes + 1 && there[bytes] == '\n')) &&
	       !memcmp(there, secret, bytes);
	explicit_bzero(there, bytes + 2);
	free(there);
	return same;
}

/* On the disk before a file names it. */
static int secret_store(int fd, const char *text)
{
	char *line = alloc_printf("%s\n", text);
	size_t bytes = strlen(line);
	ssize_t written = write(fd, line, bytes);
	int ret = 0;

	if (written < 0 || fsync(fd))
		ret = -errno;
	else if ((size_t)written < bytes)
		ret = -ENOSPC;
	alloc_wipe(line);
	return ret;
}

static int secret_write(struct secret *secret, struct fault *fault)
{
	char *path = place_path(CONF_DIR "/%s", secret->file);
	int fd, ret = 0;

	if (!secret_is_there(path, secret->text)) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		secret->made = fd >= 0;
		ret = fd < 0 ? -errno : secret_store(fd, secret->text);
		if (fd >= 0)
			close(fd);
	}
	if (ret == -EEXIST)
		fault_set(fault, ret,
			  "%s is there already, with another secret\nnext: remove it, if no configuration names it",
			  path);
	else if (ret)
		fault_set(fault, ret, "%s: %s", path, strerror(-ret));
	free(path);
	return ret;
}

static void secret_remove(const struct secret *secret)
{
	char *path = place_path(CONF_DIR "/%s", secret->file);

	if (secret->made)
		unlink(path);
	free(path);
}

int import_secrets_write(struct volume *volume, struct fault *fault)
{
	struct secrets secrets = { 0 };
	char *dir = place_path(CONF_DIR);
	int ret = 0;
	size_t i;

	volume_name(volume, &secrets);
	if (secrets.count && mkdir(dir, 0755) && errno != EEXIST)
		ret = fault_set(fault, -errno, "%s: %s", dir, strerror(errno));
	for (i = 0; !ret && i < secrets.count; i++)
		ret = secret_write(&secrets.items[i], fault);
	for (i = 0; ret && i < secrets.count; i++)
		secret_remove(&secrets.items[i]);
	secrets_free(&secrets);
	free(dir);
	return ret;
}
