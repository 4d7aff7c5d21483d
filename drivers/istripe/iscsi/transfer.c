// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/minmax.h>

#include "iscsi/transfer.h"

/* Least MaxRecvDataSegmentLength that can be declared: RFC 7143 13.12. */
#define SEGMENT_BYTES_MIN	512u

static int transfer_fail(struct istripe_transfer *t, const char *problem)
{
	t->problem = problem;
	return -EPROTO;
}

/* A segment length of 0 would make a sender loop for ever, so it never gets here. */
static u32 transfer_clamp_segment(u32 bytes)
{
	return clamp(bytes, SEGMENT_BYTES_MIN, ISTRIPE_DATA_SEGMENT_BYTES_MAX);
}

/* RFC 7143 13.10, 13.11 and 13.14: what may be sent before the first R2T. */
static void transfer_plan_unasked(struct istripe_transfer *t, const struct istripe_keys *negotiated)
{
	u32 first_burst_bytes = min(negotiated->value[ISTRIPE_KEY_FIRST_BURST_LENGTH],
				    t->length_bytes);

	if (!t->write)
		return;
	if (negotiated->value[ISTRIPE_KEY_IMMEDIATE_DATA])
		t->immediate_bytes = min(first_burst_bytes, t->segment_bytes);
	if (!negotiated->value[ISTRIPE_KEY_INITIAL_R2T])
		t->unsolicited_bytes = first_burst_bytes - t->immediate_bytes;
	t->covered_bytes = t->immediate_bytes + t->unsolicited_bytes;
}

void istripe_transfer_init(struct istripe_transfer *t, const struct istripe_keys *negotiated,
			   bool read, bool write, u32 length_bytes)
{
	u32 xmit_bytes = negotiated->value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH];

	*t = (struct istripe_transfer) {
		.length_bytes = length_bytes,
		.segment_bytes = transfer_clamp_segment(xmit_bytes),
		.r2t_max = negotiated->value[ISTRIPE_KEY_MAX_OUTSTANDING_R2T],
		.read = read,
		.write = write,
	};
	transfer_plan_unasked(t, negotiated);
}

void istripe_transfer_shorten(struct istripe_transfer *t, u32 immediate_bytes)
{
	t->immediate_bytes = min(t->immediate_bytes, immediate_bytes);
	t->unsolicited_bytes = 0;
	t->covered_bytes = t->immediate_bytes;
}

static bool transfer_sn_is_next(const struct istripe_transfer *t, u32 sn)
{
	return sn - t->next_sn <= t->empty_pdus;
}

int istripe_transfer_data_in(struct istripe_transfer *t, const struct istripe_pdu *pdu)
{
	const struct istripe_pdu_data_in *data_in = &pdu->data_in;

	if (t->finished)
		return transfer_fail(t, "Data-In after the status");
	if (!t->read)
		return transfer_fail(t, "Data-In for a command that reads nothing");
	if (!pdu->data_segment_bytes) {
		t->empty_pdus++;
		return 0;
	}
	if (!transfer_sn_is_next(t, data_in->data_sn))
		return transfer_fail(t, "Data-In with a DataSN that is not the next");
	if (data_in->offset > t->covered_bytes)
		return transfer_fail(t, "Data-In leaves a hole before it");
	if (data_in->offset < t->covered_bytes)
		return transfer_fail(t, "Data-In overlaps data received before");
	if (pdu->data_segment_bytes > t->length_bytes - t->covered_bytes)
		return transfer_fail(t, "Data-In beyond the end of the transfer");
	t->empty_pdus -= data_in->data_sn - t->next_sn;
	t->next_sn = data_in->data_sn + 1;
	t->covered_bytes += pdu->data_segment_bytes;
	return 0;
}

static int transfer_check_r2t_range(struct istripe_transfer *t, const struct istripe_pdu_r2t *r2t)
{
	if (!r2t->desired_bytes)
		return transfer_fail(t, "R2T for no data");
	if (r2t->offset > t->length_bytes || r2t->desired_bytes > t->length_bytes - r2t->offset)
		return transfer_fail(t, "R2T beyond the end of the transfer");
	if (r2t->offset < t->solicited_bytes)
		return transfer_fail(t, "R2T for data that another R2T asked for");
	if (r2t->offset > t->covered_bytes)
		return transfer_fail(t, "R2T leaves a hole before it");
	return 0;
}

int istripe_transfer_r2t(struct istripe_transfer *t, const struct istripe_pdu *pdu)
{
	const struct istripe_pdu_r2t *r2t = &pdu->r2t;
	int ret;

	if (t->finished)
		return transfer_fail(t, "R2T after the status");
	if (!t->write)
		return transfer_fail(t, "R2T for a command that writes nothing");
	if (r2t->r2t_sn != t->next_sn)
		return transfer_fail(t, "R2T with an R2TSN that is not the next");
	ret = transfer_check_r2t_range(t, r2t);
	if (ret)
		return ret;
	if (t->r2t_outstanding >= t->r2t_max)
		return transfer_fail(t, "more R2Ts than MaxOutstandingR2T");
	t->next_sn++;
	t->r2t_outstanding++;
	t->solicited_bytes = r2t->offset + r2t->desired_bytes;
	t->covered_bytes = max(t->covered_bytes, t->solicited_bytes);
	return 0;
}

void istripe_transfer_r2t_done(struct istripe_transfer *t)
{
	if (t->r2t_outstanding)
		t->r2t_outstanding--;
}

/* GOOD means every byte: RFC 7143 11.4.5.1, P1. */
static int transfer_check_coverage(struct istripe_transfer *t, u32 told_bytes)
{
	if (t->covered_bytes < told_bytes)
		return transfer_fail(t, t->read ? "GOOD status for a read with data missing" :
				     "GOOD status for a write that was not asked for in full");
	if (t->read && t->covered_bytes > told_bytes)
		return transfer_fail(t, "residual contradicts the data received");
	return 0;
}

static bool status_is_success(u8 status)
{
	return status == SAM_STAT_GOOD || status == SAM_STAT_CONDITION_MET;
}

/* The same for Data-In with status and SCSI Response (P19). */
static int transfer_check(struct istripe_transfer *t, const struct istripe_pdu *pdu,
			  u32 *transferred_bytes)
{
	u32 missing_bytes = pdu->underflow ? pdu->residual : 0;
	u32 told_bytes;
	int ret = 0;

	if (t->self_describing) {
		*transferred_bytes = t->covered_bytes;
		return 0;
	}
	/* Nonsense: nothing is known to have been transferred. */
	if (missing_bytes > t->length_bytes)
		return 0;
	told_bytes = t->length_bytes - missing_bytes;
	if (status_is_success(pdu->status))
		ret = transfer_check_coverage(t, told_bytes);
	if (!ret)
		*transferred_bytes = min(told_bytes, t->covered_bytes);
	return ret;
}

static int transfer_check_response(struct istripe_transfer *t, const struct istripe_pdu *pdu,
				   u32 *transferred_bytes)
{
	if (pdu->scsi_response != ISCSI_STATUS_CMD_COMPLETED)
		return 0;
	return transfer_check(t, pdu, transferred_bytes);
}

int istripe_transfer_status(struct istripe_transfer *t, const struct istripe_pdu *pdu,
			    u32 *transferred_bytes)
{
	*transferred_bytes = 0;
	if (t->finished)
		return transfer_fail(t, "second status");
	t->finished = true;
	if (pdu->opcode == ISCSI_OP_SCSI_CMD_RSP)
		return transfer_check_response(t, pdu, transferred_bytes);
	if (pdu->opcode == ISCSI_OP_SCSI_DATA_IN && pdu->data_in.status_present)
		return transfer_check(t, pdu, transferred_bytes);
	return transfer_fail(t, "no status in this PDU");
}
