/* SPDX-License-Identifier: GPL-2.0 */
/* Uevents of volumes, as Documentation/ABI/testing/uevent-istripe has them. */
#ifndef ISTRIPECTL_UEVENT_H
#define ISTRIPECTL_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

struct uevent {
	char *text;		/* variables as NAME=VALUE, each with its NUL */
	size_t bytes;
};

struct uevents {
	struct uevent *items;
	size_t count;
};

/**
 * uevents_take() - look at a message of the kernel, and keep it when it has an ISTRIPE_ACTION
 * @uevents: where to
 * @text: the message
 * @bytes: its length
 *
 * Return: whether it is about a volume in any way.
 */
bool uevents_take(struct uevents *uevents, const char *text, size_t bytes);

/**
 * uevent_value() - a variable
 * @uevent: where to look
 * @name: its name
 *
 * Return: its value without control characters, for free(); empty when there is none.
 */
char *uevent_value(const struct uevent *uevent, const char *name);

/**
 * uevents_free() - forget all of them
 * @uevents: empty afterwards
 */
void uevents_free(struct uevents *uevents);

#endif
