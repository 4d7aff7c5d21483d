/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Atomic writes, SBC-4: the limits of WRITE ATOMIC(16) of a LUN, and those of a volume, each
 * request of which must be one such command on one leg.
 *
 * The block layer asks for writes whose length is a power of two and whose place is a multiple of
 * that length, and may join neighbours into one request.
 */
#ifndef ISTRIPE_SCSI_ATOMIC_H
#define ISTRIPE_SCSI_ATOMIC_H

#include "layout/stripe.h"
#include "scsi/vpd.h"

/* An offer of atomic writes; all 0: there is none. */
struct istripe_atomic {
	u32 unit_min_bytes;	/* shortest write, a power of two */
	u32 unit_max_bytes;	/* longest write, a power of two, at least @unit_min_bytes */
	u32 max_bytes;		/* longest command, a multiple of @unit_min_bytes */
	u32 alignment_bytes;	/* of a command's start on the LUN; at most @unit_min_bytes */
	u32 boundary_bytes;	/* that no command crosses on the volume; 0: there is none */
};

/**
 * istripe_atomic_of_lun() - work out the offer of a LUN
 * @limits: VPD B0h
 * @capacity: READ CAPACITY(16)
 * @offer: filled
 *
 * Figures that make no sense, or that the block layer cannot express, are no offer. Nor is one
 * that holds only between atomic boundaries (MAXIMUM ATOMIC TRANSFER LENGTH 0).
 */
void istripe_atomic_of_lun(const struct istripe_vpd_block_limits *limits,
			   const struct istripe_vpd_capacity *capacity,
			   struct istripe_atomic *offer);

/**
 * istripe_atomic_narrow() - work out the common offer of two LUNs
 * @offer: of the one; becomes what both offer
 * @other: of the other one
 */
void istripe_atomic_narrow(struct istripe_atomic *offer, const struct istripe_atomic *other);

/**
 * istripe_atomic_place() - narrow an offer to what striping leaves
 * @offer: of all legs; becomes that of the volume
 * @s: geometry
 *
 * No write crosses a chunk: its halves would be commands of two LUNs.
 */
void istripe_atomic_place(struct istripe_atomic *offer, const struct istripe_stripe *s);

/**
 * istripe_atomic_at_least() - does a LUN take all atomic writes that another one takes
 * @offer: of the one
 * @needed: of the other one
 * Return: true or false.
 */
bool istripe_atomic_at_least(const struct istripe_atomic *offer,
			     const struct istripe_atomic *needed);

#endif
