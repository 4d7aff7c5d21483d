/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_REASON_H
#define ISTRIPE_REASON_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ISTRIPE_REASON_BYTES	320	/* the longest says why writes wait for a fence */

/* Why something has failed, in words: one line, for last_error and the log. */
struct istripe_reason {
	char text[ISTRIPE_REASON_BYTES];
};

/**
 * istripe_reason_set() - say why
 * @reason: filled; a text that is too long is cut
 * @fmt: the words
 *
 * Context: any.
 */
__printf(2, 3) void istripe_reason_set(struct istripe_reason *reason, const char *fmt, ...);

/**
 * istripe_reason_fail() - say why, and fail
 * @reason: as for istripe_reason_set()
 * @error: negative errno
 * @fmt: the words
 *
 * Context: any.
 * Return: @error.
 */
__printf(3, 4) int istripe_reason_fail(struct istripe_reason *reason, int error,
				       const char *fmt, ...);

/**
 * istripe_reason_add() - say more, behind what was said
 * @reason: has a text, perhaps an empty one; cut when it gets too long
 * @fmt: the words
 *
 * Context: any.
 */
__printf(2, 3) void istripe_reason_add(struct istripe_reason *reason, const char *fmt, ...);

#endif
