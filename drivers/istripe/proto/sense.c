// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>

#include "proto/sense.h"

static const char *const verdict_names[ISTRIPE_SCSI_VERDICT_COUNT] = {
	[ISTRIPE_SCSI_GOOD] = "good",
	[ISTRIPE_SCSI_RETRY] = "to be sent again",
	[ISTRIPE_SCSI_RETRY_DELAY] = "busy",
	[ISTRIPE_SCSI_RESIZE] = "capacity changed",
	[ISTRIPE_SCSI_IDENTIFY] = "identity changed",
	[ISTRIPE_SCSI_MEDIUM] = "medium error",
	[ISTRIPE_SCSI_NOSPC] = "thin LUN out of space",
	[ISTRIPE_SCSI_PROTECT] = "write protected",
	[ISTRIPE_SCSI_UNSUPPORTED] = "not supported by the target",
	[ISTRIPE_SCSI_RESERVATION] = "reserved for another initiator",
	[ISTRIPE_SCSI_TRANSPORT] = "not served on this path",
	[ISTRIPE_SCSI_TARGET] = "target error",
};

#define ANY	(-1)

/* The first row that fits counts; what fits none is the target's error. */
static const struct {
	s16 key;
	s16 asc;
	s16 ascq;
	enum istripe_scsi_verdict verdict;
} sense_rows[] = {
	{ RECOVERED_ERROR,	ANY,	ANY,	ISTRIPE_SCSI_GOOD },
	/* No error, but not GOOD either: nothing says that the data are right. */
	{ NO_SENSE,		ANY,	ANY,	ISTRIPE_SCSI_RETRY },

	{ NOT_READY,		0x04,	0x02,	ISTRIPE_SCSI_TARGET },	/* START UNIT wanted */
	{ NOT_READY,		0x04,	0x03,	ISTRIPE_SCSI_TARGET },	/* intervention wanted */
	{ NOT_READY,		0x04,	0x0b,	ISTRIPE_SCSI_TRANSPORT },	/* standby */
	{ NOT_READY,		0x04,	0x0c,	ISTRIPE_SCSI_TRANSPORT },	/* unavailable */
	{ NOT_READY,		0x04,	0x12,	ISTRIPE_SCSI_TARGET },	/* offline */
	/* Becoming ready, formatting, ALUA transition, space allocation and their like. */
	{ NOT_READY,		0x04,	ANY,	ISTRIPE_SCSI_RETRY_DELAY },

	/* LIO's word for an error behind it, which may pass. */
	{ NOT_READY,		0x08,	ANY,	ISTRIPE_SCSI_RETRY },

	{ MEDIUM_ERROR,		ANY,	ANY,	ISTRIPE_SCSI_MEDIUM },
	{ BLANK_CHECK,		ANY,	ANY,	ISTRIPE_SCSI_MEDIUM },

	{ ILLEGAL_REQUEST,	0x1a,	0x00,	ISTRIPE_SCSI_UNSUPPORTED },	/* list length */
	{ ILLEGAL_REQUEST,	0x20,	0x00,	ISTRIPE_SCSI_UNSUPPORTED },	/* operation code */
	{ ILLEGAL_REQUEST,	0x22,	0x00,	ISTRIPE_SCSI_UNSUPPORTED },	/* obsolete code */
	{ ILLEGAL_REQUEST,	0x24,	0x00,	ISTRIPE_SCSI_UNSUPPORTED },	/* field in CDB */
	{ ILLEGAL_REQUEST,	0x25,	0x00,	ISTRIPE_SCSI_TRANSPORT },	/* no such LUN */
	{ ILLEGAL_REQUEST,	0x26,	ANY,	ISTRIPE_SCSI_UNSUPPORTED },	/* parameter list */

	{ UNIT_ATTENTION,	0x28,	0x00,	ISTRIPE_SCSI_IDENTIFY },	/* new medium? */
	{ UNIT_ATTENTION,	0x2a,	0x01,	ISTRIPE_SCSI_IDENTIFY },	/* mode pages */
	{ UNIT_ATTENTION,	0x2a,	0x09,	ISTRIPE_SCSI_RESIZE },		/* capacity */
	{ UNIT_ATTENTION,	0x3f,	0x03,	ISTRIPE_SCSI_IDENTIFY },	/* INQUIRY data */
	{ UNIT_ATTENTION,	0x3f,	0x05,	ISTRIPE_SCSI_IDENTIFY },	/* identifier */
	{ UNIT_ATTENTION,	0x3f,	0x0e,	ISTRIPE_SCSI_IDENTIFY },	/* LUN inventory */
	{ UNIT_ATTENTION,	ANY,	ANY,	ISTRIPE_SCSI_RETRY },

	{ DATA_PROTECT,		0x27,	0x07,	ISTRIPE_SCSI_NOSPC },
	{ DATA_PROTECT,		ANY,	ANY,	ISTRIPE_SCSI_PROTECT },

	{ ABORTED_COMMAND,	0x10,	ANY,	ISTRIPE_SCSI_MEDIUM },	/* protection information */
	{ ABORTED_COMMAND,	ANY,	ANY,	ISTRIPE_SCSI_RETRY },
};

static bool row_fits(s16 wanted, u8 value)
{
	return wanted == ANY || wanted == value;
}

/* Response codes 71h and 73h. */
static bool sense_deferred(const struct scsi_sense_hdr *sense)
{
	return sense->response_code & 1;
}

static enum istripe_scsi_verdict sense_lookup(const struct scsi_sense_hdr *sense)
{
	u32 i;

	/* CHECK CONDITION without sense data says nothing: try again, within limits. */
	if (!scsi_sense_valid(sense) || sense_deferred(sense))
		return ISTRIPE_SCSI_RETRY;
	for (i = 0; i < ARRAY_SIZE(sense_rows); i++)
		if (row_fits(sense_rows[i].key, sense->sense_key) &&
		    row_fits(sense_rows[i].asc, sense->asc) &&
		    row_fits(sense_rows[i].ascq, sense->ascq))
			return sense_rows[i].verdict;
	return ISTRIPE_SCSI_TARGET;
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
		return ISTRIPE_SCSI_RETRY_DELAY;
	case SAM_STAT_TASK_ABORTED:
		return ISTRIPE_SCSI_RETRY;
	case SAM_STAT_RESERVATION_CONFLICT:
		return ISTRIPE_SCSI_RESERVATION;
	default:
		return ISTRIPE_SCSI_TARGET;
	}
}

const char *istripe_scsi_verdict_name(enum istripe_scsi_verdict verdict)
{
	return verdict < ISTRIPE_SCSI_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}
