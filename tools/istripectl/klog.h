/* SPDX-License-Identifier: GPL-2.0 */
/* What the module says in the kernel's log about a value it refuses. */
#ifndef ISTRIPECTL_KLOG_H
#define ISTRIPECTL_KLOG_H

#include <stdio.h>

#include "fault.h"

/**
 * klog_open() - remember where the kernel's log ends now
 *
 * Return: a descriptor for the other functions; -1 when the log cannot be read,
 * which they know how to live with.
 */
int klog_open(void);

/**
 * klog_explain() - add to a fault what has been logged since
 * @log: from klog_open()
 * @volume: the volume whose lines count
 * @fault: where to
 *
 * Return: how many lines there were.
 */
int klog_explain(int log, const char *volume, struct fault *fault);

/**
 * klog_print() - all lines of the kernel's log that name istripe, as far as the log still has them
 * @out: where to
 *
 * Return: 0; -errno: the log cannot be read.
 */
int klog_print(FILE *out);

/**
 * klog_count() - count lines of the module
 * @text: how they begin, behind the name of the module
 * @since_s: older ones do not count, in seconds since the machine has started
 *
 * Return: how many there are, as far as the log still has them; -errno: it cannot be read.
 */
int klog_count(const char *text, long long since_s);

/**
 * klog_close() - let go of the log
 * @log: from klog_open()
 */
void klog_close(int log);

#endif
