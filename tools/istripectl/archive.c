// SPDX-License-Identifier: GPL-2.0
/* A folder or an archive of texts that others read. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "archive.h"
#include "interrupt.h"
#include "run.h"

typedef int (*collect_fn)(void *data, struct fault *fault);

void archive_error(struct archive *archive, const char *what, const char *why)
{
	char *more = alloc_printf("%s%s: %s\n", archive->errors ? archive->errors : "", what,
				  why);

	free(archive->errors);
	archive->errors = more;
}

/* Nothing comes into a file but through here. */
int archive_put(struct archive *archive, const char *name, char *text, struct fault *fault)
{
	char *path;
	FILE *out;
	int ret = 0;

	if (!*text) {
		free(text);
		return 0;
	}
	text = scrub_text(&archive->scrub, text);
	path = alloc_printf("%s/%s", archive->dir, name);
	printf("%s\n", name);
	fflush(stdout);
	out = fopen(path, "wxe");
	if (!out || fputs(text, out) < 0)
		ret = fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	if (out && fclose(out) && !ret)
		ret = fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	free(text);
	free(path);
	if (!ret && interrupt_seen())
		ret = fault_set(fault, -EINTR, "interrupted");
	return ret;
}

void page_begin(struct page *page)
{
	page->text = NULL;
	page->out = open_memstream(&page->text, &page->bytes);
	if (!page->out)
		abort();
}

int page_end(struct archive *archive, struct page *page, const char *name, struct fault *fault)
{
	fclose(page->out);
	return archive_put(archive, name, page->text, fault);
}

/* Errors come last: those of all others are known then. */
static int errors_put(struct archive *archive, struct fault *fault)
{
	char *errors = archive->errors;

	archive->errors = NULL;
	return errors ? archive_put(archive, "errors.txt", errors, fault) : 0;
}

static const char *ending(const char *path)
{
	static const char *const endings[] = { ".tar.gz", ".tgz", NULL };
	size_t i, bytes = strlen(path);

	for (i = 0; endings[i]; i++)
		if (bytes > strlen(endings[i]) &&
		    !strcmp(path + bytes - strlen(endings[i]), endings[i]))
			return endings[i];
	return NULL;
}

static int one_remove(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	return remove(path) ? -errno : 0;
}

static void folder_remove(const char *path)
{
	nftw(path, one_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static int folder_make(const char *path, struct fault *fault)
{
	if (mkdir(path, 0700))
		return fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int tar_make(const char *path, const char *parent, const char *name,
		    struct fault *fault)
{
	/* In the folder that is ours alone: beside it, somebody else may have made such a name. */
	char *new = alloc_printf("%s/%s.tar", parent, name);
	char *const argv[] = {
		"tar", "--force-local", "-C", (char *)parent, "-czf", new, "--", (char *)name,
		NULL
	};
	struct run run = { 0 };
	int ret = run_program(argv, NULL, NULL, &run, fault);

	if (!ret && run.code)
		ret = run_fault(&run, "tar", fault);
	if (!ret && rename(new, path))
		ret = fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	run_free(&run);
	free(new);
	return ret;
}

/* In a folder beside the archive, which nobody else may read. */
static int tar_put(struct archive *archive, const char *path, collect_fn collect, void *data,
		   struct fault *fault)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *parent = alloc_printf("%s.XXXXXX", path);
	char *name = alloc_text(base);
	int ret = 0;

	name[strlen(name) - strlen(ending(path))] = '\0';
	if (!*name || !mkdtemp(parent))
		ret = fault_set(fault, -errno, "%s: %s", path, strerror(errno));
	if (!ret) {
		archive->dir = alloc_printf("%s/%s", parent, name);
		ret = folder_make(archive->dir, fault);
		if (!ret)
			ret = collect(data, fault);
		if (!ret)
			ret = errors_put(archive, fault);
		if (!ret)
			ret = tar_make(path, parent, name, fault);
		folder_remove(parent);
	}
	free(name);
	free(parent);
	return ret;
}

static int folder_put(struct archive *archive, const char *path, collect_fn collect, void *data,
		      struct fault *fault)
{
	int ret = folder_make(path, fault);

	if (ret)
		return ret;
	archive->dir = alloc_text(path);
	ret = collect(data, fault);
	if (!ret)
		ret = errors_put(archive, fault);
	if (ret)
		folder_remove(path);
	return ret;
}

int archive_make(struct archive *archive, const char *path, collect_fn collect, void *data,
		 struct fault *fault)
{
	umask(0077);
	return ending(path) ? tar_put(archive, path, collect, data, fault) :
		folder_put(archive, path, collect, data, fault);
}

void archive_free(struct archive *archive)
{
	scrub_free(&archive->scrub);
	free(archive->errors);
	free(archive->dir);
	memset(archive, 0, sizeof(*archive));
}
