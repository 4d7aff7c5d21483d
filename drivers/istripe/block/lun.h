/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LUN bring-up: the questions asked after every login, before a nexus goes live
 * (SPC-4, SBC-3), and what was learnt.
 */
#ifndef ISTRIPE_BLOCK_LUN_H
#define ISTRIPE_BLOCK_LUN_H

#include <linux/blkdev.h>

#include <istripe/params.h>
#include "scsi/vpd.h"

struct istripe_session;

#define ISTRIPE_SERIAL_BYTES	64

/* What of a LUN is known, and so must not change while it is asked. */
enum istripe_lun_known {
	ISTRIPE_LUN_UNKNOWN,		/* nothing: everything is about to be asked */
	ISTRIPE_LUN_ASKED,		/* some of it; the rest is about to be asked */
	ISTRIPE_LUN_KNOWN,
};

/* How it is known that a LUN takes no writes; the later one says more. */
enum istripe_protected {
	ISTRIPE_PROTECTED_NO,
	ISTRIPE_PROTECTED_REFUSED,	/* it has refused a write */
	ISTRIPE_PROTECTED_REPORTED,	/* it says so */
};

/**
 * struct istripe_lun - a logical unit as found
 * @address:	the LUN as the target lists it
 * @designator:	canonical text, "naa.6001405...", identity of the leg
 * @serial:	VPD 80h, printable, may be empty
 * @inquiry:	standard INQUIRY data
 * @capacity:	READ CAPACITY(16)
 * @limits:	VPD B0h
 * @provisioning: VPD B2h
 * @rotational:	VPD B1h says that it spins, or does not say
 * @caching:	MODE SENSE, caching page and device-specific parameter
 */
struct istripe_lun {
	struct scsi_lun address;
	char designator[ISTRIPE_DESIGNATOR_BYTES];
	char serial[ISTRIPE_SERIAL_BYTES];
	struct istripe_vpd_inquiry inquiry;
	struct istripe_vpd_capacity capacity;
	struct istripe_vpd_block_limits limits;
	struct istripe_vpd_provisioning provisioning;
	bool rotational;
	struct istripe_vpd_caching caching;
};

/**
 * istripe_lun_probe() - ask a LUN what it is
 * @session: see istripe_session_execute()
 * @number: the LUN
 * @timeout_ms: for all of it
 * @lun: filled on success
 * @why: reason on failure
 * @why_bytes: its size
 *
 * Numbers above 255 are addressed in the form in which the target lists them: plain, or
 * flat (SAM-5 4.7.5).
 *
 * Consumes the unit attentions that a login leaves behind (P20). When the LUN says that it
 * has changed while it is asked, all is asked again.
 *
 * Context: the nexus's worker, sleeps.
 * Return: 0; -ENXIO there is no such LUN; -EMEDIUMTYPE it is not a disk we can use;
 * -EPROTO nonsense; -ESTALE it changes all the time; -EIO; -EBUSY; -ETIMEDOUT; -ENOTCONN.
 */
int istripe_lun_probe(struct istripe_session *session, u16 number, u32 timeout_ms,
		      struct istripe_lun *lun, char *why, size_t why_bytes);

/**
 * istripe_lun_sectors() - capacity
 * @lun: probed
 *
 * Context: any.
 * Return: sectors of 512 bytes, whatever its blocks are.
 */
static inline u64 istripe_lun_sectors(const struct istripe_lun *lun)
{
	return lun->capacity.blocks * (lun->capacity.block_bytes >> SECTOR_SHIFT);
}

/**
 * istripe_lun_ask() - send one command of our own until the LUN gives a last answer
 * @session: see istripe_session_execute()
 * @number: the LUN
 * @cdb: see there
 * @bytes: see there
 * @write: see there
 * @known: what the target must not say may have changed
 * @deadline: jiffies
 *
 * Asks again while the target has unit attentions to get rid of, within limits, or is
 * busy or not ready yet, until @deadline. Only a LUN that is known has all that time for
 * one command. The answer is in session->internal.
 *
 * Context: see istripe_session_execute().
 * Return: 0 GOOD; -EIO the LUN refused; -ESTALE see @known; -EBUSY it was busy until the
 * end, and nothing is under way; -ETIMEDOUT, and errors of the connection.
 */
int istripe_lun_ask(struct istripe_session *session, const struct scsi_lun *number,
		    const u8 *cdb, u32 bytes, bool write, enum istripe_lun_known known,
		    unsigned long deadline);

#endif
