/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An outage of a leg: since when no path takes its I/O, for how much longer that waits, and why.
 */
#ifndef ISTRIPE_BLOCK_OUTAGE_REPORT_H
#define ISTRIPE_BLOCK_OUTAGE_REPORT_H

#include <linux/types.h>

struct istripe_leg;
struct istripe_reason;

/**
 * istripe_outage_report_ms() - for how long has no path of a leg taken I/O?
 * @leg: that runs
 * Context: any.
 * Return: milliseconds; 0: a path takes I/O.
 */
u32 istripe_outage_report_ms(struct istripe_leg *leg);

/**
 * istripe_outage_report_left_ms() - how long will I/O still wait for a path, if none comes?
 * @leg: that runs
 * Context: any.
 * Return: milliseconds; 0: it fails, or a path takes I/O; -1: it waits for ever.
 */
s32 istripe_outage_report_left_ms(struct istripe_leg *leg);

/**
 * istripe_outage_report_why() - why does I/O wait although paths are, or may be, live?
 * @leg: that runs
 * @why: the last command that no path serves, else the path whose failed writes keep all I/O back,
 * else the target port that takes none; empty when I/O is served, or no path is logged in
 * Context: any.
 */
void istripe_outage_report_why(struct istripe_leg *leg, struct istripe_reason *why);

#endif
