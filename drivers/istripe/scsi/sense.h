/* SPDX-License-Identifier: GPL-2.0 */
/* The meaning of a SCSI status and its sense data for the command: a table of verdicts. */
#ifndef ISTRIPE_SCSI_SENSE_H
#define ISTRIPE_SCSI_SENSE_H

#include <linux/types.h>
#include <scsi/scsi_common.h>
#include <scsi/scsi_proto.h>

enum istripe_scsi_verdict {
	ISTRIPE_SCSI_GOOD,		/* done */
	ISTRIPE_SCSI_RETRY,	/* send it again; the target has told us something and forgot it */
	ISTRIPE_SCSI_TRANSIENT,		/* may be: send it again, later and later */
	ISTRIPE_SCSI_BUSY,		/* send it again a little later */
	ISTRIPE_SCSI_DEFERRED,	/* send it again; an earlier command, which was GOOD, has failed */
	ISTRIPE_SCSI_CHANGED,	/* revalidate the LUN, then send it again */
	ISTRIPE_SCSI_MEDIUM,		/* the medium is bad here */
	ISTRIPE_SCSI_CORRUPT,		/* protection information does not fit the data */
	ISTRIPE_SCSI_NOSPC,		/* a thin LUN has run out of space */
	ISTRIPE_SCSI_PROTECT,		/* write protected */
	ISTRIPE_SCSI_UNSUPPORTED,	/* the target does not know the command or a field of it */
	ISTRIPE_SCSI_RESERVATION,	/* reserved for another initiator */
	ISTRIPE_SCSI_NOT_SERVED,	/* not this way: standby, unavailable, no such LUN here */
	ISTRIPE_SCSI_PATH_ERROR, /* an error, that another path may not have */
	ISTRIPE_SCSI_TARGET,	/* hardware error, or anything that is not worth another try */
	ISTRIPE_SCSI_VERDICT_COUNT,
};

/* Additional sense codes that count outside of the table (SPC-4 annex D). */
enum istripe_asc {
	ISTRIPE_ASC_NOT_READY			= 0x04,
	ISTRIPE_ASC_INVALID_OPCODE		= 0x20,
	ISTRIPE_ASC_ILLEGAL_FUNCTION		= 0x22,
	ISTRIPE_ASC_INVALID_FIELD_IN_CDB	= 0x24,
	ISTRIPE_ASC_INVALID_FIELD_IN_LIST	= 0x26,
	ISTRIPE_ASC_WRITE_PROTECTED		= 0x27,
	ISTRIPE_ASC_RESET_OCCURRED		= 0x29,
	ISTRIPE_ASC_PARAMETERS_CHANGED		= 0x2a,
	ISTRIPE_ASC_THIN_PROVISIONING		= 0x38,
	ISTRIPE_ASC_TARGET_CHANGED		= 0x3f,
	ISTRIPE_ASC_FAILURE_PREDICTED		= 0x5d,
};

#define ISTRIPE_ASCQ_SOFT_THRESHOLD_REACHED	0x07

/* Of the command that it came with: fixed or descriptor format, not deferred (SPC-5 4.5.1). */
static inline bool istripe_sense_current(const struct scsi_sense_hdr *sense)
{
	return sense->response_code == 0x70 || sense->response_code == 0x72;
}

/**
 * istripe_sense_was_reset() - does the LUN say that it was reset
 * @sense: of any answer
 * Return: true for POWER ON, RESET, OR BUS DEVICE RESET OCCURRED and its kinds; false.
 */
static inline bool istripe_sense_was_reset(const struct scsi_sense_hdr *sense)
{
	return sense->sense_key == UNIT_ATTENTION && sense->asc == ISTRIPE_ASC_RESET_OCCURRED;
}

/**
 * istripe_sense_of_medium() - is an error one of the medium
 * @sense: of the command that got CHECK CONDITION
 * Return: true for a medium error of this command, whichever; false.
 */
static inline bool istripe_sense_of_medium(const struct scsi_sense_hdr *sense)
{
	return istripe_sense_current(sense) && sense->sense_key == MEDIUM_ERROR;
}

/**
 * istripe_sense_verdict() - judge an answer
 * @status: SAM status byte
 * @sense: decoded by scsi_normalize_sense(); response_code 0: there are none
 *
 * Sense data of an error that belongs to an earlier command (deferred, SPC-5 4.5.7) say that this
 * one was not carried out, whatever its sense key: it is to be sent again.
 *
 * Return: the verdict; SAM-5 5.3, SPC-5 4.5.6 and annex F.
 */
enum istripe_scsi_verdict istripe_sense_verdict(u8 status, const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_write_protected() - is the LUN as a whole write protected
 * @sense: of a command that was refused with ISTRIPE_SCSI_PROTECT
 *
 * Not so for blocks that this initiator may not write (ACCESS DENIED) and their like.
 *
 * Return: true for WRITE PROTECTED, by hardware or software (SPC-5 annex F); false.
 */
bool istripe_sense_write_protected(const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_flush_is_lost() - is a flush not to be sent again
 * @opcode: of the command that got CHECK CONDITION
 * @sense: of its answer
 * Return: true for a medium error of SYNCHRONIZE CACHE, a deferred error, ABORTED COMMAND without
 * more, and LOGICAL UNIT COMMUNICATION FAILURE: the next flush would be GOOD; false.
 */
bool istripe_sense_flush_is_lost(u8 opcode, const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_flush_may_lose() - may data be lost that other commands have written
 * @opcode: of the command that got CHECK CONDITION
 * @sense: of its answer
 * Return: true for SYNCHRONIZE CACHE that was carried out, or may have been, and has failed; false.
 */
bool istripe_sense_flush_may_lose(u8 opcode, const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_stopped() - is the LUN to be started
 * @sense: of a command that got CHECK CONDITION
 * Return: true for INITIALIZING COMMAND REQUIRED (SPC-5 annex F): START STOP UNIT is wanted; false.
 */
bool istripe_sense_stopped(const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_preempted() - has another host ended the registration of this nexus
 * @sense: of a command that was not carried out
 * Return: true for REGISTRATIONS PREEMPTED and RESERVATIONS PREEMPTED (SPC-5 5.14.11), the second
 * after CLEAR; false, also for RESERVATIONS RELEASED, after which the nexus is still registered.
 */
bool istripe_sense_preempted(const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_of_target() - is a report not about its LUN alone
 * @sense: of the report
 * Return: true for REPORTED LUNS DATA HAS CHANGED, which SCST says of any LUN; false.
 */
bool istripe_sense_of_target(const struct scsi_sense_hdr *sense);

/**
 * istripe_sense_change_name() - the change in SPC's words
 * @sense: with ISTRIPE_SCSI_CHANGED as its verdict
 * Return: a constant string, never NULL.
 */
const char *istripe_sense_change_name(const struct scsi_sense_hdr *sense);

/**
 * istripe_scsi_verdict_name() - a verdict in words
 * @verdict: of istripe_sense_verdict()
 * Return: a constant string, never NULL.
 */
const char *istripe_scsi_verdict_name(enum istripe_scsi_verdict verdict);

#endif
