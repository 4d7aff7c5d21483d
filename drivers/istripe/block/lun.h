/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A LUN as it was found, and the questions that find it (SPC-4, SBC-3); ask_lun.h says when they
 * are asked. istripe_lun_ask() sends any other command of the driver's own.
 */
#ifndef ISTRIPE_BLOCK_LUN_H
#define ISTRIPE_BLOCK_LUN_H

#include <linux/blkdev.h>
#include <linux/log2.h>

#include <istripe/params.h>
#include "scsi/alua.h"
#include "scsi/vpd.h"

struct istripe_reason;
struct istripe_session;

#define ISTRIPE_SERIAL_BYTES	64
#define ISTRIPE_IDENTIFICATION_BYTES	512

/* How much of a LUN is known; that must not change while it is asked. */
enum istripe_lun_known {
	ISTRIPE_LUN_UNKNOWN,		/* nothing: everything is about to be asked */
	ISTRIPE_LUN_ASKED,		/* part of it; the rest is about to be asked */
	ISTRIPE_LUN_KNOWN,
};

/* How a LUN has shown that it takes no writes, in order of certainty. */
enum istripe_protected {
	ISTRIPE_PROTECTED_NO,
	ISTRIPE_PROTECTED_REFUSED,	/* it has refused a write */
	ISTRIPE_PROTECTED_REPORTED,	/* it says so */
};

/* The result of the last reset of the LUN: lun_reset.h. */
enum istripe_lun_reset_result {
	ISTRIPE_LUN_RESET_UNTRIED,
	ISTRIPE_LUN_RESET_UNNEEDED,	/* the login was enough, see fence.c */
	ISTRIPE_LUN_RESET_COMPLETE,
	ISTRIPE_LUN_RESET_UNANSWERED,
	ISTRIPE_LUN_RESET_REJECTED,	/* this time */
	ISTRIPE_LUN_RESET_UNSUPPORTED,	/* the target says so, or always refuses */
	ISTRIPE_LUN_RESET_RESULTS
};

/* Persistent reservations; @listed and @told are false, too, when a key of our own is known. */
struct istripe_lun_keys {
	bool told;
	bool listed;			/* somebody has registered a key */
	bool busy;			/* the LUN, to the end: it may tell later */
};

/* A logical unit as found. */
struct istripe_lun {
	struct scsi_lun address;	/* as the target lists it */
	char designator[ISTRIPE_DESIGNATOR_BYTES];	/* "naa.6001405...", identity of the leg */
	bool by_serial;			/* @designator is made of the serial number */
	u8 identification[ISTRIPE_IDENTIFICATION_BYTES];	/* VPD 83h, as much as fits */
	u32 identification_bytes;
	char serial[ISTRIPE_SERIAL_BYTES];	/* VPD 80h, printable, may be empty */
	char serial_designator[ISTRIPE_DESIGNATOR_BYTES];	/* made of VPD 80h, may be empty */
	struct istripe_vpd_inquiry inquiry;	/* standard INQUIRY data */
	bool changed;			/* it reported a change while it was asked */
	bool untold;			/* a question failed that it may answer the next time */
	bool reserved;			/* for another host: it did not answer all questions */
	/* Not usable: only @address, @designator, @identification and @inquiry are known. */
	struct istripe_access access;
	struct istripe_vpd_capacity capacity;	/* READ CAPACITY(16) */
	struct istripe_vpd_block_limits limits;	/* VPD B0h */
	struct istripe_vpd_provisioning provisioning;	/* VPD B2h */
	bool rotational;		/* VPD B1h says that it spins, or does not say */
	struct istripe_vpd_caching caching;	/* MODE SENSE: caching page, device-specific byte */
	struct istripe_lun_keys keys;
};

/* All that is known of a LUN; while another host has reserved it, it may not tell it again. */
struct istripe_lun_before {
	bool known;
	struct istripe_vpd_capacity capacity;
	struct istripe_vpd_caching caching;
	struct istripe_access access;	/* of this nexus; whether or not it was told */
	bool keyed;			/* a key of ours is registered: no question */
};

/*
 * The LUN has @timeout_ms for each answer. One other than "busy" begins it anew, unless @renews
 * says no; NULL: yes. All answers together take @all_ms at most.
 */
struct istripe_lun_time {
	u32 timeout_ms;
	u32 all_ms;
	bool (*renews)(const struct istripe_session *session);
};

/*
 * Asks a LUN what it is, within @time; called by the worker of the nexus, sleeps. See
 * istripe_session_execute() for @session.
 *
 * A LUN is addressed as the target lists it: plain, or flat (SAM-5 4.7.5). The unit attentions that
 * a login leaves behind are consumed (P20). When the LUN says that it has changed while it is
 * asked, everything is asked again. Through a target port that takes no I/O now only the identity
 * and @lun->access are found; that is no error. A reservation conflict is none either: @before is
 * taken for the answer, as far as it is known.
 *
 * 0, @lun is filled; -ENXIO there is no such LUN; -EMEDIUMTYPE it is not a disk we can use; -EPROTO
 * nonsense; -ESTALE it changes all the time; -EIO; -EBUSY; -ETIMEDOUT; -ENOTCONN.
 */
int istripe_lun_probe(struct istripe_session *session, u16 number, enum istripe_alua alua,
		      const struct istripe_lun_time *time, const struct istripe_lun_before *before,
		      struct istripe_lun *lun, struct istripe_reason *why);

/* Is @designator the LUN's, or one of several that it offers? */
bool istripe_lun_is(const struct istripe_lun *lun, const char *designator);

/* Also if it was known by its serial number before it had VPD 83h: see istripe_vpd_names_are(). */
bool istripe_lun_was(const struct istripe_lun *lun, const char *known, const char *since);

/* Capacity in sectors of 512 bytes, for any size of block. */
static inline u64 istripe_lun_sectors(const struct istripe_lun *lun)
{
	return lun->capacity.blocks * (lun->capacity.block_bytes >> SECTOR_SHIFT);
}

/* Whole blocks of the LUN in so many sectors. */
static inline u64 istripe_lun_blocks(const struct istripe_lun *lun, u64 sectors)
{
	return sectors >> (ilog2(lun->capacity.block_bytes) - SECTOR_SHIFT);
}

/* One command of our own; its data are in session->internal.page. */
struct istripe_lun_command {
	const struct scsi_lun *address;
	const u8 *cdb;
	u32 bytes;			/* of data */
	bool write;			/* the data go to the LUN */
	bool valid;			/* not to one that has said that it may be another */
	/* The target reports access states: a refusal for that is final, even if it may pass. */
	bool tpgs;
	/* If not ISTRIPE_LUN_KNOWN, an answer takes internal.answer_ms at most, if not 0. */
	enum istripe_lun_known known;
	unsigned long deadline;		/* jiffies */
	u32 busy_ms;			/* that a busy LUN is asked again; 0: until @deadline */
	/* Or NULL: called again and again, with ask_lock, until it is answered; it may fault. */
	void (*meanwhile)(struct istripe_session *session);
};

/*
 * Sends a command, as istripe_session_execute() does, until the LUN gives a final answer; that is
 * in session->internal. The command is sent again, within limits, while the target reports unit
 * attentions, and until its deadline while it is busy or not ready yet.
 *
 * 0 GOOD; -EIO the LUN refused; -ENOLINK because of the port's access state; -ESTALE it may have
 * changed, and @known is not ISTRIPE_LUN_UNKNOWN, or, before this was sent, @valid is set; -EBUSY
 * it was busy until the end, and nothing is under way; -ETIMEDOUT, and errors of the connection;
 * those of istripe_lun_has_dropped().
 */
int istripe_lun_ask(struct istripe_session *session, const struct istripe_lun_command *command);

/*
 * Of a command of our own: has a reset of the LUN, over this nexus or another, ended it, or the
 * target itself? Nothing of it is carried out any more: it may be sent again.
 */
static inline bool istripe_lun_has_dropped(int error)
{
	return error == -EAGAIN || error == -ECANCELED;
}

/* Did it fail with the connection? Then a write may still be carried out. */
static inline bool istripe_lun_is_lost(int error)
{
	return error == -ENOTCONN || error == -ETIMEDOUT;
}

#endif
