/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounting of one SCSI command: what we may send unasked, what the target may
 * send and ask for, and whether its status can be believed (RFC 7143 4.2.5, 11.4,
 * 11.7, 11.8).
 *
 * We accept nothing but DataPDUInOrder=Yes, DataSequenceInOrder=Yes and
 * ErrorRecoveryLevel=0, so data come and are asked for front to back without gaps.
 * Then one number is the coverage: everything below it has been transferred.
 *
 * A transfer belongs to the receive side of its connection. What is set by
 * istripe_transfer_init() and istripe_transfer_shorten() and constant after them (@immediate_bytes,
 * @unsolicited_bytes, @segment_bytes) may be read by the transmit side too.
 */
#ifndef ISTRIPE_ISCSI_TRANSFER_H
#define ISTRIPE_ISCSI_TRANSFER_H

#include <linux/types.h>

#include "iscsi/keys.h"
#include "iscsi/pdu.h"

/**
 * struct istripe_transfer - state of one command's data
 * @length_bytes:	ExpectedDataTransferLength
 * @immediate_bytes:	sent with the command
 * @unsolicited_bytes:	sent unasked after it
 * @segment_bytes:	longest data segment that the target takes
 * @burst_bytes:	longest sequence that the target may ask for
 * @r2t_max:		R2Ts that may be outstanding
 * @covered_bytes:	read: received; write: sent unasked or asked for; always a prefix
 * @solicited_bytes:	write: end of what R2Ts have asked for
 * @next_sn:		next DataSN or R2TSN
 * @r2t_outstanding:	R2Ts that are not answered yet
 * @read:		data come from the target
 * @write:		data go to the target
 * @finished:		the status has come
 * @problem:		after -EPROTO, why, in words
 */
struct istripe_transfer {
	u32 length_bytes;
	u32 immediate_bytes;
	u32 unsolicited_bytes;
	u32 segment_bytes;
	u32 burst_bytes;
	u32 r2t_max;
	u32 covered_bytes;
	u32 solicited_bytes;
	u32 next_sn;
	u32 r2t_outstanding;
	bool read;
	bool write;
	bool finished;
	const char *problem;
};

/**
 * istripe_transfer_init() - start accounting for a command
 * @t: initialised, whatever it was before
 * @negotiated: what holds in the session
 * @read: data come from the target; excludes @write
 * @write: data go to the target
 * @length_bytes: ExpectedDataTransferLength; 0 for neither
 *
 * Context: any; before the command is sent.
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
 * Context: whoever sends the command, before it does: no answer can have come.
 */
void istripe_transfer_shorten(struct istripe_transfer *t, u32 immediate_bytes);

/**
 * istripe_transfer_immediate_bytes() - data to send with the command
 * @t: transfer
 *
 * As much as ImmediateData, FirstBurstLength and the target's MaxRecvDataSegmentLength
 * allow (RFC 7143 13.11, 13.14, 13.12).
 *
 * Context: any, constant.
 * Return: bytes from the start of the data, 0..length.
 */
static inline u32 istripe_transfer_immediate_bytes(const struct istripe_transfer *t)
{
	return t->immediate_bytes;
}

/**
 * istripe_transfer_unsolicited_bytes() - data to send unasked in Data-Out PDUs
 * @t: transfer
 *
 * As much as InitialR2T and FirstBurstLength allow (RFC 7143 13.10, 13.14). The command
 * PDU has the F bit exactly when this is 0 (11.3.1).
 *
 * Context: any, constant.
 * Return: bytes that follow the immediate ones, 0..length.
 */
static inline u32 istripe_transfer_unsolicited_bytes(const struct istripe_transfer *t)
{
	return t->unsolicited_bytes;
}

/**
 * istripe_transfer_segment_bytes() - data segment of the next Data-Out of a sequence
 * @t: transfer
 * @left_bytes: what is left of the sequence
 *
 * The PDU has the F bit when this is all that is left.
 *
 * Context: any, constant.
 * Return: bytes, 0 only when @left_bytes is 0.
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
 * Call when the header has come, before any byte is placed: afterwards offset and length
 * are known to lie within the command's data (P1, P2). When the PDU also carries status,
 * call istripe_transfer_status() when it is complete.
 *
 * MaxBurstLength is not checked: it is the target's own pace, bounded by the command's
 * length anyway, and there are targets that never end a sequence before the data end.
 *
 * Context: receive side.
 * Return: 0; -EPROTO not a read, DataSN out of order, a hole, an overlap, beyond the
 * end, or after the status.
 */
int istripe_transfer_data_in(struct istripe_transfer *t, const struct istripe_pdu *pdu);

/**
 * istripe_transfer_r2t() - may the target ask for these data
 * @t: transfer, advanced
 * @pdu: decoded R2T
 *
 * What was sent unsolicited may be asked for again by the first R2Ts: RFC 7143 4.2.5.2
 * has initiators honour that. What an R2T asked for may not.
 *
 * Context: receive side.
 * Return: 0; -EPROTO not a write, R2TSN out of order, nothing or more than
 * MaxBurstLength asked for, a hole, an overlap with an earlier R2T, beyond the end, more
 * than MaxOutstandingR2T outstanding, or after the status (P3).
 */
int istripe_transfer_r2t(struct istripe_transfer *t, const struct istripe_pdu *pdu);

/**
 * istripe_transfer_r2t_done() - an R2T has been answered
 * @t: transfer
 *
 * Call when the answer's last Data-Out goes to TCP or before, never after: the target's
 * next R2T may come before the sender has even returned. One call for each R2T; calls
 * too many are ignored.
 *
 * Context: receive side.
 */
void istripe_transfer_r2t_done(struct istripe_transfer *t);

/**
 * istripe_transfer_status() - can this status be believed
 * @t: transfer, finished afterwards
 * @pdu: decoded SCSI Response, or Data-In with status
 * @transferred_bytes: set to what was transferred, from the start of the data; after an
 *	error 0
 *
 * GOOD and CONDITION MET are believed only when the data received, or sent and asked
 * for, are all that the residual says were transferred (P1). With any other status
 * @transferred_bytes is the least that both agree on. ExpDataSN is checked when it is not
 * 0: not every target fills it in.
 *
 * A response other than "command completed" tells nothing about data: 0 transferred, and
 * the caller looks at @pdu->scsi_response.response.
 *
 * Context: receive side.
 * Return: 0; -EPROTO Data-In got lost, the residual is larger than the transfer or
 * contradicts it, data are missing, or a second status.
 */
int istripe_transfer_status(struct istripe_transfer *t, const struct istripe_pdu *pdu,
			    u32 *transferred_bytes);

#endif
