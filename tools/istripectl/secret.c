// SPDX-License-Identifier: GPL-2.0
/* Secrets: read with read() only, since a stream would keep a copy. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "alloc.h"
#include "conf.h"
#include "file.h"
#include "interrupt.h"
#include "place.h"
#include "secret.h"

#define SECRET_BYTES	256	/* longest secret of all: 255 bytes and a NUL */
#define STRONG_BYTES	12	/* 96 bits, RFC 7143 section 9.2.1 */

void secret_warn(const char *what, size_t bytes)
{
	static struct file_names warned;	/* paths of a volume share a file */
	struct fault said = { 0 };

	if (bytes >= STRONG_BYTES || file_names_have(&warned, what))
		return;
	file_names_add(&warned, what);
	fault_set(&said, 0,
		  "warning: the secret of %s has %zu byte%s; RFC 7143 asks for %d or more", what,
		  bytes, bytes == 1 ? "" : "s", STRONG_BYTES);
	fault_print(&said);
}

/* One line without its end, byte by byte: what follows is somebody else's. */
static int line_read(int fd, char line[static SECRET_BYTES])
{
	size_t used = 0;
	ssize_t got;

	for (;;) {
		if (interrupt_seen())
			return -EINTR;
		got = read(fd, line + used, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got || line[used] == '\n')
			break;
		if (++used == SECRET_BYTES)
			return -EMSGSIZE;
	}
	line[used] = '\0';
	return used;
}

static int file_permit(int fd, const char *path, struct fault *fault)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fault_set(fault, -EINVAL,
				 "%s is not a regular file\nnext: put the secret into one, of mode 0600",
				 path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return fault_set(fault, -EPERM,
				 "%s holds a secret and must be root's\nnext: chown root %s", path,
				 path);
	if (st.st_mode & 0177)
		return fault_set(fault, -EPERM,
				 "%s holds a secret, and its mode is %04o: others may read it\nnext: chmod 600 %s, and think of who may have read it",
				 path, (unsigned int)(st.st_mode & 07777), path);
	return 0;
}

/* @from: a file, or what was asked for; @bytes: how many its first line has, in words. */
static int size_fault(const char *from, const char *bytes, struct fault *fault)
{
	return fault_set(fault, -EINVAL,
			 "%s: a secret is a line of 1 to %d bytes, and this one has %s", from,
			 SECRET_BYTES - 1, bytes);
}

static int file_secret(const char *path, char *secret, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), ret;

	if (fd < 0)
		return fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	ret = file_permit(fd, path, fault);
	if (!ret) {
		ret = line_read(fd, secret);
		if (ret == -EMSGSIZE)
			size_fault(path, "more", fault);
		else if (ret < 0)
			fault_set(fault, ret, "%s: %s", path, strerror(-ret));
		else if (!ret)
			ret = size_fault(path, "none", fault);
	}
	close(fd);
	return ret < 0 ? ret : 0;
}

/* Signals are noted, not obeyed, so that the terminal always gets its echo back. */
static int terminal_secret(const char *prompt, char *secret)
{
	struct termios before, quiet;
	bool terminal = !tcgetattr(STDIN_FILENO, &before);
	int ret;

	if (terminal) {
		fprintf(stderr, "%s: ", prompt);
		quiet = before;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	ret = line_read(STDIN_FILENO, secret);
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fputc('\n', stderr);
	}
	return ret;
}

static int typed_secret(const char *prompt, char *secret, struct fault *fault)
{
	int ret = terminal_secret(prompt, secret);

	if (!ret)
		return size_fault(prompt, "none", fault);
	if (ret == -EMSGSIZE)
		return size_fault(prompt, "more", fault);
	if (ret < 0)
		return fault_set(fault, ret, "%s: %s", prompt,
				 ret == -EINTR ? "interrupted" : strerror(-ret));
	return 0;
}

/* Where configuration files look for the name. */
static void folder_add(const char *setting, const char *name, struct fault *fault)
{
	char *path = place_path(CONF_DIR "/%s", name);

	if (name[0] != '/' && file_mode(path) >= 0)
		fault_add(fault,
			  "next: %s=@" CONF_DIR "/%s: names are relative to the current folder",
			  setting, name);
	free(path);
}

static int setting_load(struct settings *settings, size_t i, const char *prompt,
			struct fault *fault)
{
	const char *value = settings->items[i].value;
	char secret[SECRET_BYTES] = "";
	int ret;

	if (!strcmp(value, "@-"))
		ret = typed_secret(prompt, secret, fault);
	else
		ret = file_secret(value + 1, secret, fault);
	if (ret == -ENOENT)
		folder_add(settings->items[i].name, value + 1, fault);
	if (!ret) {
		secret_warn(strcmp(value, "@-") ? value + 1 : prompt, strlen(secret));
		settings_put(settings, settings->items[i].name, secret);
	}
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

static int settings_load(struct settings *settings, const char *where, struct fault *fault)
{
	char prompt[128];
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < settings->count; i++) {
		const struct setting *item = &settings->items[i];

		if (!setting_is_secret(item->name) || !item->value || item->value[0] != '@')
			continue;
		snprintf(prompt, sizeof(prompt), "%s%s", where, item->name);
		ret = setting_load(settings, i, prompt, fault);
	}
	return ret;
}

int secret_load_path(const struct leg *leg, struct path *path, struct fault *fault)
{
	char where[64];

	snprintf(where, sizeof(where), "leg %u path %u: ", leg->index, path->index);
	return settings_load(&path->settings, where, fault);
}

static int leg_load(struct leg *leg, struct fault *fault)
{
	char where[64];
	int ret;
	size_t i;

	snprintf(where, sizeof(where), "leg %u: ", leg->index);
	ret = settings_load(&leg->settings, where, fault);
	for (i = 0; !ret && i < leg->path_count; i++)
		ret = secret_load_path(leg, &leg->paths[i], fault);
	return ret;
}

int secret_load(struct volume *volume, struct fault *fault)
{
	int ret = settings_load(&volume->settings, "", fault);
	size_t i;

	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = leg_load(&volume->legs[i], fault);
	return ret;
}

static void settings_peek(struct settings *settings)
{
	char secret[SECRET_BYTES];
	struct fault ignored;
	size_t i;

	for (i = 0; i < settings->count; i++) {
		const struct setting *item = &settings->items[i];

		if (setting_is_secret(item->name) && item->value && item->value[0] == '@' &&
		    strcmp(item->value, "@-") && !file_secret(item->value + 1, secret, &ignored))
			settings_put(settings, item->name, secret);
	}
	explicit_bzero(secret, sizeof(secret));
}

void secret_peek(struct volume *volume)
{
	size_t i, j;

	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			settings_peek(&volume->legs[i].paths[j].settings);
}

int secret_locate(struct settings *settings, struct fault *fault)
{
	size_t i;
	int ret;

	for (i = 0; i < settings->count; i++) {
		const struct setting *item = &settings->items[i];
		char *path, *value;

		if (!setting_is_secret(item->name) || !item->value || item->value[0] != '@')
			continue;
		if (!strcmp(item->value, "@-"))
			return fault_set(fault, -EINVAL,
					 "%s=@- cannot be saved\nnext: put the secret into a file of mode 0600, and give %s=@FILE",
					 item->name, item->name);
		path = realpath(item->value + 1, NULL);
		if (!path) {
			ret = fault_set(fault, -errno, "%s: %s", item->value + 1, strerror(errno));
			folder_add(item->name, item->value + 1, fault);
			return ret;
		}
		value = alloc_printf("@%s", path);
		settings_put(settings, item->name, value);
		free(value);
		free(path);
	}
	return 0;
}
