/* SPDX-License-Identifier: GPL-2.0 */
/* Errors in words, for what people read. */
#ifndef ISTRIPE_ISCSI_ERROR_H
#define ISTRIPE_ISCSI_ERROR_H

/**
 * istripe_error_words() - what an errno means on the way to a target
 * @error: negative errno
 * Return: a constant string, never NULL.
 */
const char *istripe_error_words(int error);

#endif
