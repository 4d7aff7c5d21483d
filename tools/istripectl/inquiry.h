/* SPDX-License-Identifier: GPL-2.0 */
/* What a LUN says of itself over one path, asked with tools of libiscsi. */
#ifndef ISTRIPECTL_INQUIRY_H
#define ISTRIPECTL_INQUIRY_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

/* From where to where a session leads. */
struct inquiry_way {
	const char *portal, *nic, *target, *lun;
	const char *initiator;			/* name of this host */
	const struct settings *settings;	/* chap_user and so on, empty for none */
};

struct inquiry {
	bool disk;
	/* Designators of the logical unit (VPD page 83h), and its serial number; empty: none */
	char *identity;
};

/**
 * inquiry_chap() - tell a program of libiscsi the names and secrets of CHAP
 * @settings: chap_user and so on, empty for none
 *
 * To be called in the child: the environment of a process is seen by root alone, a command line by
 * all.
 *
 * Return: 0; -1, and errno.
 */
int inquiry_chap(const struct settings *settings);

/**
 * inquiry_ask() - log in, ask a LUN for its identity, and log out
 * @way: which LUN, and over which path
 * @inquiry: set on success, for inquiry_free()
 * @fault: set on failure
 *
 * The session has an ISID of its own: it ends no other one.
 *
 * Return: 0; -ENOPKG iscsi-inq is not installed; another -errno: the LUN has not answered.
 */
int inquiry_ask(const struct inquiry_way *way, struct inquiry *inquiry, struct fault *fault);

/**
 * inquiry_size() - the same for the size of a LUN
 * @way: as inquiry_ask()
 *
 * Return: bytes; 0: not known.
 */
unsigned long long inquiry_size(const struct inquiry_way *way);

/**
 * inquiry_free() - free what was learned
 * @inquiry: empty afterwards
 */
void inquiry_free(struct inquiry *inquiry);

#endif
