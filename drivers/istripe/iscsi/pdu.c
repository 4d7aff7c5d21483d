// SPDX-License-Identifier: GPL-2.0
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/pdu.h"

/* Bytes of a SenseLength field, RFC 7143 11.4.7.1. */
#define SENSE_LENGTH_BYTES	2

static itt_t tag_encode(u32 itt)
{
	return (__force itt_t)cpu_to_be32(itt);
}

void istripe_pdu_encode_scsi_command(struct iscsi_scsi_req *bhs,
				     const struct istripe_pdu_scsi_command *c)
{
	*bhs = (struct iscsi_scsi_req) {
		.opcode = ISCSI_OP_SCSI_CMD,
		.flags = (c->final ? ISCSI_FLAG_CMD_FINAL : 0) |
			 (c->read ? ISCSI_FLAG_CMD_READ : 0) |
			 (c->write ? ISCSI_FLAG_CMD_WRITE : 0) |
			 (c->attribute & ISCSI_FLAG_CMD_ATTR_MASK),
		.lun = c->lun,
		.itt = tag_encode(c->itt),
		.data_length = cpu_to_be32(c->expected_data_bytes),
		.cmdsn = cpu_to_be32(c->cmd_sn),
		.exp_statsn = cpu_to_be32(c->exp_stat_sn),
	};
	put_unaligned_be24(c->data_segment_bytes, bhs->dlength);
	memcpy(bhs->cdb, c->cdb, sizeof(bhs->cdb));
}

void istripe_pdu_encode_data_out(struct iscsi_data *bhs, const struct istripe_pdu_data_out *d)
{
	*bhs = (struct iscsi_data) {
		.opcode = ISCSI_OP_SCSI_DATA_OUT,
		.flags = d->final ? ISCSI_FLAG_CMD_FINAL : 0,
		.itt = tag_encode(d->itt),
		.ttt = cpu_to_be32(d->ttt),
		.exp_statsn = cpu_to_be32(d->exp_stat_sn),
		.datasn = cpu_to_be32(d->data_sn),
		.offset = cpu_to_be32(d->offset),
	};
	if (d->ttt != ISTRIPE_TAG_RESERVED)
		bhs->lun = d->lun;
	put_unaligned_be24(d->data_segment_bytes, bhs->dlength);
}

void istripe_pdu_encode_nop_out(struct iscsi_nopout *bhs, const struct istripe_pdu_nop_out *n)
{
	*bhs = (struct iscsi_nopout) {
		.opcode = ISCSI_OP_NOOP_OUT | ISCSI_OP_IMMEDIATE,
		.flags = ISCSI_FLAG_CMD_FINAL,
		.lun = n->lun,
		.itt = tag_encode(n->itt),
		.ttt = cpu_to_be32(n->ttt),
	};
	put_unaligned_be24(n->data_segment_bytes, bhs->dlength);
}

void istripe_pdu_encode_task_management(struct iscsi_tm *bhs,
					const struct istripe_pdu_task_management *t)
{
	bool abort = t->function == ISCSI_TM_FUNC_ABORT_TASK;

	*bhs = (struct iscsi_tm) {
		.opcode = ISCSI_OP_SCSI_TMFUNC | ISCSI_OP_IMMEDIATE,
		.flags = ISCSI_FLAG_CMD_FINAL | (t->function & ISCSI_FLAG_TM_FUNC_MASK),
		.lun = t->lun,
		.itt = tag_encode(t->itt),
		.rtt = tag_encode(abort ? t->referenced_itt : ISTRIPE_TAG_RESERVED),
		.refcmdsn = cpu_to_be32(abort ? t->ref_cmd_sn : 0),
	};
}

void istripe_pdu_encode_logout(struct iscsi_logout *bhs, u32 itt)
{
	*bhs = (struct iscsi_logout) {
		.opcode = ISCSI_OP_LOGOUT | ISCSI_OP_IMMEDIATE,
		.flags = ISCSI_FLAG_CMD_FINAL | ISCSI_LOGOUT_REASON_CLOSE_SESSION,
		.itt = tag_encode(itt),
	};
}

static int pdu_refuse(struct istripe_pdu *pdu, const char *problem)
{
	pdu->problem = problem;
	return -EPROTO;
}

/* Data-In with status has the same fields in the same places. */
static void decode_status(const struct iscsi_scsi_rsp *rsp, struct istripe_pdu *pdu)
{
	pdu->status = rsp->cmd_status;
	pdu->overflow = rsp->flags & ISCSI_FLAG_CMD_OVERFLOW;
	pdu->underflow = rsp->flags & ISCSI_FLAG_CMD_UNDERFLOW;
	if (pdu->overflow || pdu->underflow)
		pdu->residual = be32_to_cpu(rsp->residual_count);
}

static int decode_scsi_response(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_scsi_rsp *rsp = (const struct iscsi_scsi_rsp *)bhs;
	u8 bidi = ISCSI_FLAG_CMD_BIDI_OVERFLOW | ISCSI_FLAG_CMD_BIDI_UNDERFLOW;

	pdu->scsi_response = rsp->response;
	decode_status(rsp, pdu);
	if ((pdu->overflow && pdu->underflow) || (rsp->flags & bidi) == bidi)
		return pdu_refuse(pdu, "SCSI Response with overflow and underflow");
	return 0;
}

static int decode_data_in(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_data_rsp *rsp = (const struct iscsi_data_rsp *)bhs;

	pdu->data_in.data_sn = be32_to_cpu(rsp->datasn);
	pdu->data_in.offset = be32_to_cpu(rsp->offset);
	if (!(rsp->flags & ISCSI_FLAG_DATA_STATUS))
		return 0;
	if (!pdu->final)
		return pdu_refuse(pdu, "Data-In with status that is not final");
	pdu->consumes_stat_sn = true;
	pdu->data_in.status_present = true;
	decode_status((const struct iscsi_scsi_rsp *)bhs, pdu);
	if (pdu->overflow && pdu->underflow)
		return pdu_refuse(pdu, "Data-In with overflow and underflow");
	return 0;
}

static int decode_r2t(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_r2t_rsp *rsp = (const struct iscsi_r2t_rsp *)bhs;

	pdu->ttt = be32_to_cpu(rsp->ttt);
	pdu->r2t.r2t_sn = be32_to_cpu(rsp->r2tsn);
	pdu->r2t.offset = be32_to_cpu(rsp->data_offset);
	pdu->r2t.desired_bytes = be32_to_cpu(rsp->data_length);
	if (pdu->ttt == ISTRIPE_TAG_RESERVED)
		return pdu_refuse(pdu, "R2T without a Target Transfer Tag");
	if (!pdu->r2t.desired_bytes)
		return pdu_refuse(pdu, "R2T for no data");
	return 0;
}

/* Ping data of a target break RFC 7143 11.19, but some targets send them; they are echoed (P56). */
static int decode_nop_in(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	pdu->lun = bhs->lun;
	pdu->ttt = be32_to_cpu(bhs->ttt);
	if (pdu->itt == ISTRIPE_TAG_RESERVED)
		pdu->consumes_stat_sn = false;
	else
		/* An answer asks for none, whatever the target has left in this field. */
		pdu->ttt = ISTRIPE_TAG_RESERVED;
	return 0;
}

static int decode_task_management_response(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_tm_rsp *rsp = (const struct iscsi_tm_rsp *)bhs;

	pdu->task_management_response = rsp->response;
	return 0;
}

static int decode_logout_response(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_logout_rsp *rsp = (const struct iscsi_logout_rsp *)bhs;

	pdu->logout_response.response = rsp->response;
	pdu->logout_response.time2wait_s = be16_to_cpu(rsp->t2wait);
	return 0;
}

static int decode_login_response(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_login_rsp *rsp = (const struct iscsi_login_rsp *)bhs;
	struct istripe_pdu_login_response *l = &pdu->login_response;

	l->version_active = rsp->active_version;
	memcpy(l->isid, rsp->isid, sizeof(l->isid));
	l->tsih = be16_to_cpu(rsp->tsih);
	l->status_class = rsp->status_class;
	l->status_detail = rsp->status_detail;
	l->csg = ISCSI_LOGIN_CURRENT_STAGE(rsp->flags);
	l->nsg = ISCSI_LOGIN_NEXT_STAGE(rsp->flags);
	l->transit = rsp->flags & ISCSI_FLAG_LOGIN_TRANSIT;
	l->continue_ = rsp->flags & ISCSI_FLAG_LOGIN_CONTINUE;
	if (l->transit && l->continue_)
		return pdu_refuse(pdu, "Login Response with T and C bit");
	/* StatSN holds for success only: RFC 7143 11.13.4. */
	if (l->status_class != ISCSI_STATUS_CLS_SUCCESS)
		pdu->consumes_stat_sn = false;
	return 0;
}

static int decode_text_response(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	if (pdu->final && bhs->flags & ISCSI_FLAG_TEXT_CONTINUE)
		return pdu_refuse(pdu, "Text Response with F and C bit");
	return 0;
}

static int decode_async(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_async *async = (const struct iscsi_async *)bhs;

	/* Bytes 16 to 19 are a constant here, whatever the target made of it. */
	pdu->itt = ISTRIPE_TAG_RESERVED;
	pdu->lun = bhs->lun;
	pdu->async.event = async->async_event;
	pdu->async.parameter2 = be16_to_cpu(async->param2);
	pdu->async.parameter3 = be16_to_cpu(async->param3);
	return 0;
}

static int decode_reject(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	const struct iscsi_reject *reject = (const struct iscsi_reject *)bhs;

	pdu->itt = ISTRIPE_TAG_RESERVED;
	pdu->reject_reason = reject->reason;
	return 0;
}

/* @decode is NULL for opcodes of the initiator, and may correct @consumes_stat_sn. */
struct pdu_kind {
	const char *name;
	int (*decode)(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu);
	bool consumes_stat_sn;
	bool needs_itt;
	bool no_data;
};

static const struct pdu_kind pdu_kinds[ISCSI_OPCODE_MASK + 1] = {
	[ISCSI_OP_NOOP_OUT] = { .name = "NOP-Out" },
	[ISCSI_OP_SCSI_CMD] = { .name = "SCSI Command" },
	[ISCSI_OP_SCSI_TMFUNC] = { .name = "Task Management Function Request" },
	[ISCSI_OP_LOGIN] = { .name = "Login Request" },
	[ISCSI_OP_TEXT] = { .name = "Text Request" },
	[ISCSI_OP_SCSI_DATA_OUT] = { .name = "SCSI Data-Out" },
	[ISCSI_OP_LOGOUT] = { .name = "Logout Request" },
	[ISCSI_OP_SNACK] = { .name = "SNACK Request" },
	[ISCSI_OP_NOOP_IN] = {
		.name = "NOP-In", .decode = decode_nop_in, .consumes_stat_sn = true,
	},
	[ISCSI_OP_SCSI_CMD_RSP] = {
		.name = "SCSI Response", .decode = decode_scsi_response,
		.consumes_stat_sn = true, .needs_itt = true,
	},
	[ISCSI_OP_SCSI_TMFUNC_RSP] = {
		.name = "Task Management Function Response",
		.decode = decode_task_management_response,
		.consumes_stat_sn = true, .needs_itt = true, .no_data = true,
	},
	[ISCSI_OP_LOGIN_RSP] = {
		.name = "Login Response", .decode = decode_login_response,
		.consumes_stat_sn = true, .needs_itt = true,
	},
	[ISCSI_OP_TEXT_RSP] = {
		.name = "Text Response", .decode = decode_text_response,
		.consumes_stat_sn = true, .needs_itt = true,
	},
	[ISCSI_OP_SCSI_DATA_IN] = {
		.name = "SCSI Data-In", .decode = decode_data_in, .needs_itt = true,
	},
	[ISCSI_OP_LOGOUT_RSP] = {
		.name = "Logout Response", .decode = decode_logout_response,
		.consumes_stat_sn = true, .needs_itt = true, .no_data = true,
	},
	[ISCSI_OP_R2T] = {
		.name = "R2T", .decode = decode_r2t, .needs_itt = true, .no_data = true,
	},
	[ISCSI_OP_ASYNC_EVENT] = {
		.name = "Asynchronous Message", .decode = decode_async, .consumes_stat_sn = true,
	},
	[ISCSI_OP_REJECT] = {
		.name = "Reject", .decode = decode_reject, .consumes_stat_sn = true,
	},
};

int istripe_pdu_decode(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu)
{
	u8 opcode = bhs->opcode & ISCSI_OPCODE_MASK;
	const struct pdu_kind *kind = &pdu_kinds[opcode];

	*pdu = (struct istripe_pdu) {
		.opcode = opcode,
		.final = bhs->flags & ISCSI_FLAG_CMD_FINAL,
		.consumes_stat_sn = kind->consumes_stat_sn,
		.itt = be32_to_cpu((__force __be32)bhs->itt),
		.ttt = ISTRIPE_TAG_RESERVED,
		.stat_sn = be32_to_cpu(bhs->statsn),
		.exp_cmd_sn = be32_to_cpu(bhs->exp_statsn),
		.max_cmd_sn = be32_to_cpu(bhs->max_statsn),
		.data_segment_bytes = get_unaligned_be24(bhs->dlength),
	};
	if (!kind->decode)
		return pdu_refuse(pdu, kind->name ? "PDU that only initiators send" :
				  "PDU with an unknown opcode");
	if (kind->needs_itt && pdu->itt == ISTRIPE_TAG_RESERVED)
		return pdu_refuse(pdu, "PDU without an Initiator Task Tag");
	if (kind->no_data && pdu->data_segment_bytes)
		return pdu_refuse(pdu, "PDU with data where there can be none");
	return kind->decode(bhs, pdu);
}

int istripe_pdu_check_stat_sn(struct istripe_pdu *pdu, u32 *exp_stat_sn)
{
	if (!pdu->consumes_stat_sn)
		return 0;
	if (pdu->stat_sn != *exp_stat_sn)
		return pdu_refuse(pdu, "PDU with a StatSN that is not the next");
	WRITE_ONCE(*exp_stat_sn, pdu->stat_sn + 1);
	return 0;
}

int istripe_pdu_sense(const u8 *data, u32 data_bytes, const u8 **sense, u32 *sense_bytes)
{
	u32 bytes;

	*sense = NULL;
	*sense_bytes = 0;
	if (!data_bytes)
		return 0;
	if (data_bytes < SENSE_LENGTH_BYTES)
		return -EPROTO;
	bytes = get_unaligned_be16(data);
	if (bytes > data_bytes - SENSE_LENGTH_BYTES)
		return -EPROTO;
	if (!bytes)
		return 0;
	*sense = data + SENSE_LENGTH_BYTES;
	*sense_bytes = bytes;
	return 0;
}

int istripe_pdu_rejected(const u8 *data, u32 data_bytes, u8 *opcode, u32 *itt)
{
	if (data_bytes < ISCSI_HDR_LEN)
		return -EPROTO;
	*opcode = data[0] & ISCSI_OPCODE_MASK;
	*itt = get_unaligned_be32(data + offsetof(struct iscsi_hdr, itt));
	return 0;
}

static const char *name_of(const char * const *names, u32 count, u8 value)
{
	return value < count && names[value] ? names[value] : "unknown";
}

const char *istripe_pdu_opcode_name(u8 opcode)
{
	return pdu_kinds[opcode & ISCSI_OPCODE_MASK].name ?: "unknown";
}

const char *istripe_pdu_reject_reason_name(u8 reason)
{
	static const char * const names[] = {
		[ISCSI_REASON_DATA_DIGEST_ERROR] = "data digest error",
		[ISCSI_REASON_DATA_SNACK_REJECT] = "SNACK rejected",
		[ISCSI_REASON_PROTOCOL_ERROR] = "protocol error",
		[ISCSI_REASON_CMD_NOT_SUPPORTED] = "command not supported",
		[ISCSI_REASON_IMM_CMD_REJECT] = "too many immediate commands",
		[ISCSI_REASON_TASK_IN_PROGRESS] = "task in progress",
		[ISCSI_REASON_INVALID_SNACK] = "invalid SNACK",
		[ISCSI_REASON_BOOKMARK_INVALID] = "invalid PDU field",
		[ISCSI_REASON_BOOKMARK_NO_RESOURCES] = "out of resources",
		[ISCSI_REASON_NEGOTIATION_RESET] = "negotiation reset",
		[ISTRIPE_REASON_WAITING_FOR_LOGOUT] = "waiting for logout",
	};

	return name_of(names, ARRAY_SIZE(names), reason);
}

const char *istripe_pdu_async_event_name(u8 event)
{
	static const char * const names[] = {
		[ISCSI_ASYNC_MSG_SCSI_EVENT] = "SCSI event",
		[ISCSI_ASYNC_MSG_REQUEST_LOGOUT] = "target requests logout",
		[ISCSI_ASYNC_MSG_DROPPING_CONNECTION] = "target will drop the connection",
		[ISCSI_ASYNC_MSG_DROPPING_ALL_CONNECTIONS] = "target will drop all connections",
		[ISCSI_ASYNC_MSG_PARAM_NEGOTIATION] = "target requests negotiation",
		[5] = "active tasks of a logical unit were terminated",
		[ISCSI_ASYNC_MSG_VENDOR_SPECIFIC] = "vendor specific event",
	};

	return name_of(names, ARRAY_SIZE(names), event);
}
