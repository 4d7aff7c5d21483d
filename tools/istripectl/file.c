// SPDX-License-Identifier: GPL-2.0
/* Small files of one value. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "text.h"

#define READ_BYTES	4096

/* Other systems end lines with a carriage return, too. */
static void returns_drop(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (text[0] != '\r' || (text[1] && text[1] != '\n'))
			*to++ = *text;
	*to = '\0';
}

/* Lines stay lines: only what is within them is cleaned. */
static void lines_clean(char *text)
{
	char *line = text;

	returns_drop(text);
	while ((line = strchr(line, '\t')))
		*line = ' ';
	while ((line = strsep(&text, "\n"))) {
		text_clean(line);
		if (text)
			text[-1] = '\n';
	}
}

static ssize_t read_all(int fd, char **text)
{
	size_t used = 0;
	ssize_t got;

	do {
		*text = alloc_array(*text, used + READ_BYTES + 1, 1);
		got = read(fd, *text + used, READ_BYTES);
		if (got > 0)
			used += got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : (ssize_t)used;
}

int file_read_as_is(const char *path, char **text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *all = NULL;
	ssize_t bytes;

	if (fd < 0)
		return -errno;
	bytes = read_all(fd, &all);
	close(fd);
	if (bytes < 0) {
		free(all);
		return bytes;
	}
	if (bytes && all[bytes - 1] == '\n')
		bytes--;
	all[bytes] = '\0';
	*text = all;
	return 0;
}

int file_read(const char *path, char **text)
{
	int ret = file_read_as_is(path, text);

	if (!ret)
		lines_clean(*text);
	return ret;
}

int file_write(const char *path, const char *value)
{
	size_t bytes = strlen(value);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	char *line;
	int ret = 0;

	if (fd < 0)
		return -errno;
	line = alloc_array(NULL, bytes + 1, 1);
	memcpy(line, value, bytes);
	line[bytes] = '\n';
	if (write(fd, line, bytes + 1) < 0)
		ret = -errno;
	explicit_bzero(line, bytes + 1);
	free(line);
	close(fd);
	return ret;
}

int file_mode(const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	return st.st_mode & 07777;
}

bool file_is_named(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

bool file_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool file_names_have(const struct file_names *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return false;
}

void file_names_add(struct file_names *names, const char *name)
{
	*alloc_append(names->items, names->count) = alloc_text(name);
}

void file_names_add_new(struct file_names *names, const char *name)
{
	if (!file_names_have(names, name))
		file_names_add(names, name);
}

static int names_compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int file_list(const char *path, struct file_names *names)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			file_names_add(names, entry->d_name);
	closedir(dir);
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), names_compare);
	return 0;
}

void file_names_free(struct file_names *names)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	memset(names, 0, sizeof(*names));
}
