/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Serial number arithmetic of RFC 1982 with SERIAL_BITS 32, as RFC 7143 section 4.2.2.1 asks for
 * CmdSN, StatSN and DataSN.
 */
#ifndef ISTRIPE_ISCSI_SERIAL_H
#define ISTRIPE_ISCSI_SERIAL_H

#include <linux/types.h>

/**
 * istripe_serial_lt() - is @a before @b
 * @a: a serial number
 * @b: a serial number
 *
 * Numbers exactly 2^31 apart have no order: false both ways.
 *
 * Return: true when @a precedes @b.
 */
static inline bool istripe_serial_lt(u32 a, u32 b)
{
	u32 distance = b - a;

	return distance && distance < 0x80000000u;
}

/**
 * istripe_serial_le() - is @a before @b or equal to it
 * @a: a serial number
 * @b: a serial number
 * Return: true when @a does not follow @b and the two can be ordered.
 */
static inline bool istripe_serial_le(u32 a, u32 b)
{
	return a == b || istripe_serial_lt(a, b);
}

#endif
