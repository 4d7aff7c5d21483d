// SPDX-License-Identifier: GPL-2.0
/*
 * Headers from a hostile target, with the data segment behind them: what is accepted must
 * be free of contradictions, and nothing is found outside of the data.
 */
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "iscsi/pdu.h"

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_residual(const struct istripe_pdu *pdu)
{
	require(!(pdu->overflow && pdu->underflow));
	require(pdu->overflow || pdu->underflow || !pdu->residual);
}

static void check_accepted(const struct istripe_pdu *pdu)
{
	bool has_itt = pdu->itt != ISTRIPE_TAG_RESERVED;
	bool has_ttt = pdu->ttt != ISTRIPE_TAG_RESERVED;

	switch (pdu->opcode) {
	case ISCSI_OP_SCSI_CMD_RSP:
		require(has_itt);
		check_residual(pdu);
		break;
	case ISCSI_OP_SCSI_DATA_IN:
		require(has_itt);
		require(pdu->final || !pdu->data_in.status_present);
		require(pdu->data_in.status_present == pdu->consumes_stat_sn);
		check_residual(pdu);
		break;
	case ISCSI_OP_R2T:
		require(has_itt && has_ttt && pdu->r2t.desired_bytes && !pdu->data_segment_bytes);
		break;
	case ISCSI_OP_NOOP_IN:
		require(!(has_itt && has_ttt));
		break;
	case ISCSI_OP_ASYNC_EVENT:
	case ISCSI_OP_REJECT:
		require(!has_itt);
		break;
	default:
		require(has_itt);
	}
}

static void check_stat_sn(struct istripe_pdu *pdu, u32 exp_stat_sn)
{
	u32 after = exp_stat_sn;
	int ret = istripe_pdu_check_stat_sn(pdu, &after);

	if (!pdu->consumes_stat_sn)
		require(!ret && after == exp_stat_sn);
	else if (pdu->stat_sn == exp_stat_sn)
		require(!ret && after == exp_stat_sn + 1);
	else
		require(ret == -EPROTO && after == exp_stat_sn);
}

static void check_data(const u8 *data, u32 data_bytes)
{
	u32 sense_bytes, sum = 0, itt, i;
	const u8 *sense;
	u8 opcode;

	if (!istripe_pdu_sense(data, data_bytes, &sense, &sense_bytes)) {
		require(!sense == !sense_bytes);
		for (i = 0; i < sense_bytes; i++)
			sum += sense[i];
	}
	if (!istripe_pdu_rejected(data, data_bytes, &opcode, &itt))
		sum += istripe_pdu_opcode_name(opcode)[0];
	require(sum < U32_MAX);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	struct istripe_pdu pdu;
	struct iscsi_hdr bhs;
	int ret;

	if (size < sizeof(bhs))
		return 0;
	memcpy(&bhs, bytes, sizeof(bhs));
	ret = istripe_pdu_decode(&bhs, &pdu);
	require(!ret == !pdu.problem && (!ret || ret == -EPROTO));
	require(pdu.opcode <= ISCSI_OPCODE_MASK);
	if (!ret) {
		check_accepted(&pdu);
		check_stat_sn(&pdu, be32_to_cpu(bhs.exp_statsn));
		check_stat_sn(&pdu, pdu.stat_sn);
	}
	check_data(bytes + sizeof(bhs), size - sizeof(bhs));
	return 0;
}
