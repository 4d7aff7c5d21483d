// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>

#include "scsi/sense.h"

static const char *const verdict_names[ISTRIPE_SCSI_VERDICT_COUNT] = {
	[ISTRIPE_SCSI_GOOD] = "good",
	[ISTRIPE_SCSI_RETRY] = "to be sent again",
	[ISTRIPE_SCSI_TRANSIENT] = "to be sent again later",
	[ISTRIPE_SCSI_BUSY] = "busy",
	[ISTRIPE_SCSI_DEFERRED] = "deferred error",
	[ISTRIPE_SCSI_CHANGED] = "changed",
	[ISTRIPE_SCSI_MEDIUM] = "medium error",
	[ISTRIPE_SCSI_CORRUPT] = "protection information does not fit",
	[ISTRIPE_SCSI_NOSPC] = "thin LUN out of space",
	[ISTRIPE_SCSI_PROTECT] = "write protected",
	[ISTRIPE_SCSI_UNSUPPORTED] = "not supported by the target",
	[ISTRIPE_SCSI_RESERVATION] = "reserved for another initiator",
	[ISTRIPE_SCSI_NOT_SERVED] = "not served on this path",
	[ISTRIPE_SCSI_PATH_ERROR] = "failed on this path",
	[ISTRIPE_SCSI_TARGET] = "target error",
};

#define ANY	(-1)

/* The first row that fits counts. */
static const struct sense_row {
	s16 key;
	s16 asc;
	s16 ascq;
	enum istripe_scsi_verdict verdict;
	const char *change;	/* of ISTRIPE_SCSI_CHANGED */
} sense_rows[] = {
	{ RECOVERED_ERROR,	ANY,	ANY,	ISTRIPE_SCSI_GOOD },
	/* No error, but not GOOD either: nothing says that the data are right. */
	{ NO_SENSE,		ANY,	ANY,	ISTRIPE_SCSI_TRANSIENT },

	/* START UNIT, or intervention, is wanted. */
	{ NOT_READY,		0x04,	0x02,	ISTRIPE_SCSI_PATH_ERROR },
	{ NOT_READY,		0x04,	0x03,	ISTRIPE_SCSI_PATH_ERROR },
	{ NOT_READY,		0x04,	0x0b,	ISTRIPE_SCSI_NOT_SERVED },	/* standby */
	{ NOT_READY,		0x04,	0x0c,	ISTRIPE_SCSI_NOT_SERVED },	/* unavailable */
	{ NOT_READY,		0x04,	0x12,	ISTRIPE_SCSI_PATH_ERROR },	/* offline */
	/* Becoming ready, formatting, ALUA transition, space allocation and their like. */
	{ NOT_READY,		0x04,	ANY,	ISTRIPE_SCSI_BUSY },

	/* LIO's word for an error behind it, which may pass. */
	{ NOT_READY,		0x08,	0x00,	ISTRIPE_SCSI_TRANSIENT },
	{ NOT_READY,		ANY,	ANY,	ISTRIPE_SCSI_PATH_ERROR },

	/* Unrecovered, no address mark, no record: the data are gone. sd, too, ends these only. */
	{ MEDIUM_ERROR,		0x11,	ANY,	ISTRIPE_SCSI_MEDIUM },
	{ MEDIUM_ERROR,		0x13,	ANY,	ISTRIPE_SCSI_MEDIUM },
	{ MEDIUM_ERROR,		0x14,	ANY,	ISTRIPE_SCSI_MEDIUM },
	/* A write that failed, among others: the same blocks may be written the next time. */
	{ MEDIUM_ERROR,		ANY,	ANY,	ISTRIPE_SCSI_TRANSIENT },
	{ BLANK_CHECK,		ANY,	ANY,	ISTRIPE_SCSI_MEDIUM },

	/* Protection information does not fit the data, as found before the command and within. */
	{ ILLEGAL_REQUEST,	0x10,	ANY,	ISTRIPE_SCSI_CORRUPT },
	{ ABORTED_COMMAND,	0x10,	ANY,	ISTRIPE_SCSI_CORRUPT },

	{ ILLEGAL_REQUEST,	0x1a,	0x00,	ISTRIPE_SCSI_UNSUPPORTED },	/* list length */
	{ ILLEGAL_REQUEST,	0x20,	ANY,	ISTRIPE_SCSI_UNSUPPORTED },	/* operation code */
	{ ILLEGAL_REQUEST,	0x21,	ANY,	ISTRIPE_SCSI_TARGET },	/* block out of range */
	{ ILLEGAL_REQUEST,	0x22,	ANY,	ISTRIPE_SCSI_UNSUPPORTED },	/* obsolete code */
	{ ILLEGAL_REQUEST,	0x24,	ANY,	ISTRIPE_SCSI_UNSUPPORTED },	/* field in CDB */
	{ ILLEGAL_REQUEST,	0x25,	0x00,	ISTRIPE_SCSI_NOT_SERVED },	/* no such LUN */
	{ ILLEGAL_REQUEST,	0x26,	ANY,	ISTRIPE_SCSI_UNSUPPORTED },	/* parameter list */
	{ ILLEGAL_REQUEST,	0x27,	ANY,	ISTRIPE_SCSI_PROTECT },
	/* Of another controller, among others. */
	{ ILLEGAL_REQUEST,	ANY,	ANY,	ISTRIPE_SCSI_PATH_ERROR },

	/* ALUA transition: some targets say it so. */
	{ UNIT_ATTENTION,	0x04,	0x0a,	ISTRIPE_SCSI_BUSY },
	{ UNIT_ATTENTION,	0x28,	0x00,	ISTRIPE_SCSI_CHANGED,
	  "the medium may have changed" },
	{ UNIT_ATTENTION,	0x2a,	0x01,	ISTRIPE_SCSI_CHANGED, "mode parameters changed" },
	{ UNIT_ATTENTION,	0x2a,	0x09,	ISTRIPE_SCSI_CHANGED, "capacity data has changed" },
	{ UNIT_ATTENTION,	0x3f,	0x03,	ISTRIPE_SCSI_CHANGED, "INQUIRY data has changed" },
	{ UNIT_ATTENTION,	0x3f,	0x05,	ISTRIPE_SCSI_CHANGED, "device identifier changed" },
	{ UNIT_ATTENTION,	0x3f,	0x0e,	ISTRIPE_SCSI_CHANGED,
	  "reported LUNs data has changed" },
	{ UNIT_ATTENTION,	ANY,	ANY,	ISTRIPE_SCSI_RETRY },

	{ DATA_PROTECT,		0x27,	0x07,	ISTRIPE_SCSI_NOSPC },
	{ DATA_PROTECT,		ANY,	ANY,	ISTRIPE_SCSI_PROTECT },

	{ ABORTED_COMMAND,	ANY,	ANY,	ISTRIPE_SCSI_TRANSIENT },

	{ HARDWARE_ERROR,	ANY,	ANY,	ISTRIPE_SCSI_TARGET },
	{ COPY_ABORTED,		ANY,	ANY,	ISTRIPE_SCSI_TARGET },
	{ VOLUME_OVERFLOW,	ANY,	ANY,	ISTRIPE_SCSI_TARGET },
	{ MISCOMPARE,		ANY,	ANY,	ISTRIPE_SCSI_TARGET },
	/* A vendor's own, among others: another controller may not say it. */
	{ ANY,			ANY,	ANY,	ISTRIPE_SCSI_PATH_ERROR },
};

static bool row_fits(s16 wanted, u8 value)
{
	return wanted == ANY || wanted == value;
}

/* 70h to 73h; 7Fh is a vendor's format, and the others are reserved. */
static bool sense_format_known(const struct scsi_sense_hdr *sense)
{
	return scsi_sense_valid(sense) && sense->response_code <= 0x73;
}

static const struct sense_row *sense_find(const struct scsi_sense_hdr *sense)
{
	const struct sense_row *row = sense_rows;

	/* The last row fits all. */
	while (!row_fits(row->key, sense->sense_key) || !row_fits(row->asc, sense->asc) ||
	       !row_fits(row->ascq, sense->ascq))
		row++;
	return row;
}

/* Of an earlier command. Recovered errors and unit attentions are none. */
static bool sense_deferred_error(const struct scsi_sense_hdr *sense)
{
	return sense_format_known(sense) && !istripe_sense_current(sense) &&
	       sense->sense_key != NO_SENSE && sense->sense_key != RECOVERED_ERROR &&
	       sense->sense_key != UNIT_ATTENTION;
}

static enum istripe_scsi_verdict sense_lookup(const struct scsi_sense_hdr *sense)
{
	if (sense_deferred_error(sense))
		return ISTRIPE_SCSI_DEFERRED;
	/* Nothing is said of this command: try again, within limits. */
	if (!sense_format_known(sense) || !istripe_sense_current(sense))
		return ISTRIPE_SCSI_TRANSIENT;
	return sense_find(sense)->verdict;
}

enum istripe_scsi_verdict istripe_sense_verdict(u8 status, const struct scsi_sense_hdr *sense)
{
	switch (status) {
	case SAM_STAT_GOOD:
	case SAM_STAT_CONDITION_MET:
		return ISTRIPE_SCSI_GOOD;
	case SAM_STAT_CHECK_CONDITION:
		return sense_lookup(sense);
	case SAM_STAT_BUSY:
	case SAM_STAT_TASK_SET_FULL:
	case SAM_STAT_ACA_ACTIVE:
		return ISTRIPE_SCSI_BUSY;
	case SAM_STAT_TASK_ABORTED:
		return ISTRIPE_SCSI_TRANSIENT;
	case SAM_STAT_RESERVATION_CONFLICT:
		return ISTRIPE_SCSI_RESERVATION;
	default:
		return ISTRIPE_SCSI_TRANSIENT;
	}
}

bool istripe_sense_write_protected(const struct scsi_sense_hdr *sense)
{
	return sense->sense_key == DATA_PROTECT &&
	       sense->asc == ISTRIPE_ASC_WRITE_PROTECTED && sense->ascq <= 0x02;
}

static bool opcode_flushes(u8 opcode)
{
	return opcode == SYNCHRONIZE_CACHE || opcode == SYNCHRONIZE_CACHE_16;
}

/* So say LIO and SPDK when their own flush has failed, which their kernel tells once. */
static bool sense_flush_failed_behind(const struct scsi_sense_hdr *sense)
{
	return (sense->sense_key == NOT_READY && sense->asc == 0x08 && sense->ascq == 0x00) ||
	       (sense->sense_key == ABORTED_COMMAND && sense->asc == 0x00 && sense->ascq == 0x00);
}

bool istripe_sense_flush_is_lost(u8 opcode, const struct scsi_sense_hdr *sense)
{
	return opcode_flushes(opcode) &&
	       (sense->sense_key == MEDIUM_ERROR || sense_deferred_error(sense) ||
		sense_flush_failed_behind(sense));
}

bool istripe_sense_flush_may_lose(u8 opcode, const struct scsi_sense_hdr *sense)
{
	if (!opcode_flushes(opcode))
		return false;
	switch (sense_lookup(sense)) {
	case ISTRIPE_SCSI_GOOD:
	case ISTRIPE_SCSI_RETRY:
	case ISTRIPE_SCSI_CHANGED:
	case ISTRIPE_SCSI_BUSY:
	case ISTRIPE_SCSI_UNSUPPORTED:
	case ISTRIPE_SCSI_NOT_SERVED:
		return false;
	default:
		return true;
	}
}

bool istripe_sense_stopped(const struct scsi_sense_hdr *sense)
{
	return sense_format_known(sense) && istripe_sense_current(sense) &&
	       sense->sense_key == NOT_READY && sense->asc == ISTRIPE_ASC_NOT_READY &&
	       sense->ascq == 0x02;
}

bool istripe_sense_preempted(const struct scsi_sense_hdr *sense)
{
	return sense->sense_key == UNIT_ATTENTION &&
	       sense->asc == ISTRIPE_ASC_PARAMETERS_CHANGED &&
	       (sense->ascq == 0x03 || sense->ascq == 0x05);
}

bool istripe_sense_of_target(const struct scsi_sense_hdr *sense)
{
	return sense->sense_key == UNIT_ATTENTION &&
	       sense->asc == ISTRIPE_ASC_TARGET_CHANGED && sense->ascq == 0x0e;
}

const char *istripe_sense_change_name(const struct scsi_sense_hdr *sense)
{
	return sense_find(sense)->change ?: "it has changed";
}

const char *istripe_scsi_verdict_name(enum istripe_scsi_verdict verdict)
{
	return verdict < ISTRIPE_SCSI_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}
