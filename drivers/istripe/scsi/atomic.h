/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Atomic writes, SBC-4: what WRITE ATOMIC(16) of a LUN covers, and what is left of it
 * for a volume, one request of which must be one such command on one leg.
 *
 * The block layer asks for writes whose length is a power of two and whose place is a
 * multiple of that length, and may join neighbours into one request.
 */
#ifndef ISTRIPE_SCSI_ATOMIC_H
#define ISTRIPE_SCSI_ATOMIC_H

#include "layout/stripe.h"
#include "scsi/vpd.h"

/**
 * struct istripe_atomic - an offer of atomic writes; all 0: there is none
 * @unit_min_bytes:	shortest write, a power of two
 * @unit_max_bytes:	longest write, a power of two, at least @unit_min_bytes
 * @max_bytes:		longest command, at least @unit_max_bytes, a multiple of @unit_min_bytes
 * @alignment_bytes:	each command starts at a multiple of it on the LUN; a power of two, at
 *			most @unit_min_bytes
 * @boundary_bytes:	no command crosses a multiple of it on the volume; a power of two, at
 *			least @max_bytes; 0: there is no boundary
 */
struct istripe_atomic {
	u32 unit_min_bytes;
	u32 unit_max_bytes;
	u32 max_bytes;
	u32 alignment_bytes;
	u32 boundary_bytes;
};

/**
 * istripe_atomic_of_lun() - what a LUN offers
 * @limits: VPD B0h
 * @capacity: READ CAPACITY(16)
 * @offer: filled
 *
 * Figures that make no sense, or that the block layer has no words for, are no offer. Nor is
 * one that holds only between atomic boundaries (MAXIMUM ATOMIC TRANSFER LENGTH 0): there, a
 * command may be torn at each of them.
 *
 * Context: any.
 */
void istripe_atomic_of_lun(const struct istripe_vpd_block_limits *limits,
			   const struct istripe_vpd_capacity *capacity,
			   struct istripe_atomic *offer);

/**
 * istripe_atomic_narrow() - what two LUNs offer
 * @offer: of the one; becomes what both offer
 * @other: of the other one
 *
 * Context: any.
 */
void istripe_atomic_narrow(struct istripe_atomic *offer, const struct istripe_atomic *other);

/**
 * istripe_atomic_place() - what is left when the data are striped
 * @offer: of all legs; becomes that of the volume
 * @s: geometry
 *
 * No write crosses a chunk: its halves would be commands of two LUNs.
 *
 * Context: any.
 */
void istripe_atomic_place(struct istripe_atomic *offer, const struct istripe_stripe *s);

/**
 * istripe_atomic_at_least() - does a LUN take all atomic writes that another one takes
 * @offer: of the one
 * @needed: of the other one
 *
 * Context: any.
 * Return: true or false.
 */
bool istripe_atomic_at_least(const struct istripe_atomic *offer,
			     const struct istripe_atomic *needed);

#endif
