/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounting of one SCSI command: what we may send unasked, what the target may send and ask for,
 * and whether its status can be believed (RFC 7143 4.2.5, 11.4, 11.7, 11.8).
 *
 * We accept nothing but DataPDUInOrder=Yes, DataSequenceInOrder=Yes and ErrorRecoveryLevel=0, so
 * data come and are asked for front to back without gaps, and one number says what is covered.
 *
 * A transfer belongs to the receive side of its connection. The transmit side may read
 * @immediate_bytes, @unsolicited_bytes and @segment_bytes, which are constant once the command is
 * sent.
 */
#ifndef ISTRIPE_ISCSI_TRANSFER_H
#define ISTRIPE_ISCSI_TRANSFER_H

#include <linux/types.h>

#include "iscsi/keys.h"
#include "iscsi/pdu.h"

/* State of one command's data. */
struct istripe_transfer {
	u32 length_bytes;	/* ExpectedDataTransferLength */
	u32 immediate_bytes;	/* sent with the command: RFC 7143 13.11 to 13.14 */
	u32 unsolicited_bytes;	/* sent unasked after it: 13.10; the F bit says that it is 0 */
	u32 segment_bytes;	/* longest data segment that the target takes */
	u32 r2t_max;		/* R2Ts that may be outstanding */
	u32 covered_bytes;	/* prefix that was received, or was sent unasked or asked for */
	u32 solicited_bytes;	/* write: end of what R2Ts have asked for */
	u32 next_sn;		/* next DataSN or R2TSN */
	u32 empty_pdus;		/* Data-In without data since, which may have a DataSN each */
	u32 r2t_outstanding;	/* R2Ts that are not answered yet */
	bool read;		/* data come from the target */
	bool write;		/* data go to the target */
	bool self_describing;	/* its data say how many they are: residuals do not count */
	bool finished;		/* the status has come */
	const char *problem;	/* after -EPROTO, why, in words */
};

/**
 * istripe_transfer_init() - start accounting for a command
 * @t: overwritten, before the command is sent
 * @negotiated: keys of the session
 * @read: data come from the target; excludes @write
 * @write: data go to the target
 * @length_bytes: ExpectedDataTransferLength; 0 for neither
 */
void istripe_transfer_init(struct istripe_transfer *t, const struct istripe_keys *negotiated,
			   bool read, bool write, u32 length_bytes);

/**
 * istripe_transfer_shorten() - send less unasked than the target allows
 * @t: transfer of a write
 * @immediate_bytes: with the command, at most; nothing unasked follows it
 *
 * The target asks for the rest (RFC 7143 4.2.4.1: both are limits, not demands).
 *
 * Context: the transmit side, before it sends the command.
 */
void istripe_transfer_shorten(struct istripe_transfer *t, u32 immediate_bytes);

/**
 * istripe_transfer_segment_bytes() - data segment of the next Data-Out of a sequence
 * @t: transfer
 * @left_bytes: rest of the sequence
 * Return: bytes, 0 only when @left_bytes is 0. The PDU that sends all of @left_bytes has the F bit.
 */
static inline u32 istripe_transfer_segment_bytes(const struct istripe_transfer *t, u32 left_bytes)
{
	return left_bytes < t->segment_bytes ? left_bytes : t->segment_bytes;
}

/**
 * istripe_transfer_data_in() - may the target send this Data-In
 * @t: transfer, advanced
 * @pdu: decoded Data-In
 *
 * Call when the header has come, before any byte is placed: after it offset and length lie within
 * the command's data (P1, P2). MaxBurstLength is not checked: some targets end no sequence before
 * the data end, and the command's length bounds the data. Offset and DataSN of a Data-In without
 * data are not looked at, as open-iscsi does not; it may count for the DataSN behind it, or not.
 *
 * Return: 0; -EPROTO not a read, DataSN out of order, a hole, an overlap, beyond the end, or after
 * the status.
 */
int istripe_transfer_data_in(struct istripe_transfer *t, const struct istripe_pdu *pdu);

/**
 * istripe_transfer_r2t() - may the target ask for these data
 * @t: transfer, advanced
 * @pdu: decoded R2T
 *
 * The first R2Ts may ask again for data that were sent unsolicited (RFC 7143 4.2.5.2), but none for
 * data that an R2T has asked for. MaxBurstLength is not checked here either.
 *
 * Return: 0; -EPROTO not a write, R2TSN out of order, nothing asked for, a hole, an overlap with an
 * earlier R2T, beyond the end, more than MaxOutstandingR2T outstanding, or after the status (P3).
 */
int istripe_transfer_r2t(struct istripe_transfer *t, const struct istripe_pdu *pdu);

/**
 * istripe_transfer_r2t_done() - an R2T has been answered
 * @t: transfer
 *
 * Call when the answer's last Data-Out goes to TCP or before, never after: the target's next R2T
 * may come before the sender has even returned. One call for each R2T; calls too many are ignored.
 */
void istripe_transfer_r2t_done(struct istripe_transfer *t);

/**
 * istripe_transfer_status() - can this status be believed
 * @t: transfer, finished afterwards
 * @pdu: decoded SCSI Response, or Data-In with status
 * @transferred_bytes: set to what was transferred, from the start of the data; after an error 0
 *
 * GOOD and CONDITION MET are believed only when the data received, or sent and asked for, are all
 * that the residual says were transferred (P1). With another status @transferred_bytes is the least
 * that both agree on, with a response other than "command completed" 0, and so with a residual
 * larger than the transfer. ExpDataSN is not read: what it counts has been counted.
 *
 * Return: 0; -EPROTO Data-In got lost, the residual contradicts the transfer, data are missing, or
 * a second status.
 */
int istripe_transfer_status(struct istripe_transfer *t, const struct istripe_pdu *pdu,
			    u32 *transferred_bytes);

#endif
