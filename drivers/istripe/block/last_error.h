/* SPDX-License-Identifier: GPL-2.0 */
/* Why a nexus was lost last, or its last login failed: errno, time and words. */
#ifndef ISTRIPE_BLOCK_LAST_ERROR_H
#define ISTRIPE_BLOCK_LAST_ERROR_H

#include <linux/types.h>

struct istripe_nexus;
struct istripe_reason;

/* Any context. */
void istripe_last_error_note(struct istripe_nexus *nexus, int error, const char *why);

/**
 * istripe_last_error_read() - copy the last reason, in words
 * @nexus: the nexus
 * @why: filled, empty when there was none
 * Context: any.
 */
void istripe_last_error_read(struct istripe_nexus *nexus, struct istripe_reason *why);

/* Is it the same in words? Any context. */
bool istripe_last_error_is(struct istripe_nexus *nexus, const char *why);

#endif
