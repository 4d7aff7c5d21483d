/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Texts for others to read, without secrets. Two ways, each enough for most: a line that says a
 * secret by its name loses the value, and the secrets that this host has are taken out wherever
 * they are, by whoever they were written.
 */
#ifndef ISTRIPECTL_SCRUB_H
#define ISTRIPECTL_SCRUB_H

#include <stddef.h>

#include "records.h"

struct scrub {
	char **secrets;
	size_t count;
};

/**
 * scrub_collect() - learn the secrets of this host
 * @scrub: zeroed by the caller, filled
 * @records: the records of open-iscsi, with passwords
 *
 * Those in and beside configuration files of volumes, in the records, and in iscsid.conf.
 */
void scrub_collect(struct scrub *scrub, const struct records *records);

/**
 * scrub_text() - take secrets out of a text
 * @scrub: the secrets
 * @text: for free(); overwritten and freed
 *
 * Return: the text without them, for free().
 */
char *scrub_text(const struct scrub *scrub, char *text);

/**
 * scrub_free() - forget the secrets, thoroughly
 * @scrub: empty afterwards
 */
void scrub_free(struct scrub *scrub);

#endif
