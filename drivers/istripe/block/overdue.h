/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Overdue commands of a path: older than command_timeout_ms and not answered. Whoever
 * notices reports the tag; the path's worker aborts the command, resets the LUN, or
 * gives the session up, in that order.
 */
#ifndef ISTRIPE_BLOCK_OVERDUE_H
#define ISTRIPE_BLOCK_OVERDUE_H

#include <linux/types.h>

struct istripe_path;

/**
 * istripe_overdue_report() - report a command that is older than its timeout
 * @path: the path it was sent over
 * @itt: its tag
 * @give_up: aborting has not helped before
 *
 * Context: any.
 * Return: true; false when nothing new came of it: the path is not live, or is already
 * looking after this command.
 */
bool istripe_overdue_report(struct istripe_path *path, u32 itt, bool give_up);

/**
 * istripe_overdue_recover() - deal with what was reported
 * @path: live
 *
 * Returns when every reported command has ended, or with a fault of the session.
 *
 * Context: the path's worker, sleeps.
 */
void istripe_overdue_recover(struct istripe_path *path);

/**
 * istripe_overdue_forget_unsent() - forget the commands that had to wait for us
 * @path: live
 *
 * What has been sent stays reported.
 *
 * Context: the path's worker.
 */
void istripe_overdue_forget_unsent(struct istripe_path *path);

/**
 * istripe_overdue_clear() - forget what was reported: it was another session's
 * @path: the path
 *
 * Context: the path's worker.
 */
void istripe_overdue_clear(struct istripe_path *path);

#endif
