/* SPDX-License-Identifier: GPL-2.0 */
/* A folder or an archive of texts that others read: nothing comes into it with a secret. */
#ifndef ISTRIPECTL_ARCHIVE_H
#define ISTRIPECTL_ARCHIVE_H

#include <stdio.h>

#include "fault.h"
#include "scrub.h"

struct archive {
	struct scrub scrub;	/* set by the caller */
	char *dir;		/* the files are written to it */
	char *errors;		/* what could not be had, a line each; NULL: nothing */
};

/* A text that grows until it is a file of the archive. */
struct page {
	FILE *out;
	char *text;
	size_t bytes;
};

/**
 * archive_make() - make the folder or the archive, which nobody else may read
 * @archive: zeroed by the caller but for @scrub
 * @path: its name: an archive when it ends in .tar.gz or .tgz
 * @collect: puts files into it
 * @data: for @collect
 * @fault: set on failure; nothing is left then
 *
 * Return: 0; -errno; what @collect says.
 */
int archive_make(struct archive *archive, const char *path,
		 int (*collect)(void *data, struct fault *fault), void *data, struct fault *fault);

/**
 * archive_put() - one more file, and a line with its name to standard output
 * @archive: the archive
 * @name: of the file, one that is not there yet
 * @text: for free(); overwritten and freed. No file is made of an empty one
 * @fault: set on failure
 *
 * Return: 0; -errno, -EINTR when interrupted.
 */
int archive_put(struct archive *archive, const char *name, char *text, struct fault *fault);

/**
 * archive_error() - note that something could not be had
 * @archive: the archive
 * @what: the file or the program
 * @why: the reason
 */
void archive_error(struct archive *archive, const char *what, const char *why);

/**
 * page_begin() - begin a text
 * @page: set; @page->out is written to
 */
void page_begin(struct page *page);

/**
 * page_end() - make a file of a text
 * @archive: the archive
 * @page: from page_begin()
 * @name: as archive_put()
 * @fault: as archive_put()
 *
 * Return: as archive_put().
 */
int page_end(struct archive *archive, struct page *page, const char *name, struct fault *fault);

/**
 * archive_free() - forget all of it, the secrets thoroughly
 * @archive: empty afterwards
 */
void archive_free(struct archive *archive);

#endif
