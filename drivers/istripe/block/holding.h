/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a session that is live holds back commands that it was given.
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
