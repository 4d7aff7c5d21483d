/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reason why commands of a live path wait before they are sent: the leg's fence (fence.h), or,
 * of one of its sessions (istripe_session_holding()), a reset (lun_reset.h; control_req.c on the
 * path that asks), a revalidation (ask_lun.h), the command window, or the pace (pace.h).
 */
#ifndef ISTRIPE_BLOCK_HOLDING_H
#define ISTRIPE_BLOCK_HOLDING_H

struct istripe_path;

/**
 * istripe_holding() - what do commands of a live path wait for before they are sent?
 * @path: of a running volume
 * Context: process, in a section of leg->srcu; does not wait for recovery.
 * Return: a word of the ABI of sysfs, of the first session that holds some back; "none".
 */
const char *istripe_holding(const struct istripe_path *path);

#endif
