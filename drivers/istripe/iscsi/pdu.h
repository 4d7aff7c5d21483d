/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Basic header segments of RFC 7143 section 11: plain values to wire and back.
 *
 * Tags and numbers are u32 in host order here, big endian on the wire. Encoding writes all 48
 * bytes, reserved ones as zero. Decoding trusts nothing: what it accepts is free of contradictions
 * in itself. Whether it fits the task or the connection is for transfer.h and for the owner of
 * those to check. No decoded length has been compared with a buffer.
 */
#ifndef ISTRIPE_ISCSI_PDU_H
#define ISTRIPE_ISCSI_PDU_H

#include <linux/types.h>
#include <scsi/iscsi_proto.h>

/* Initiator Task Tag or Target Transfer Tag that names nothing. */
#define ISTRIPE_TAG_RESERVED	0xffffffffu

#define ISTRIPE_DATA_SEGMENT_BYTES_MAX	0xffffffu
#define ISTRIPE_REASON_WAITING_FOR_LOGOUT	12	/* of a Reject; RFC 7143 11.17.1 */

/* RFC 7143 11.3. */
struct istripe_pdu_scsi_command {
	struct scsi_lun lun;		/* logical unit */
	u32 itt;			/* tag of the task */
	u32 cmd_sn;			/* CmdSN, consumed by this PDU */
	u32 exp_stat_sn;		/* next StatSN that we expect on the connection */
	u32 expected_data_bytes;	/* ExpectedDataTransferLength */
	u32 data_segment_bytes;		/* immediate data behind the header */
	const u8 *cdb;			/* command descriptor block, ISCSI_CDB_SIZE bytes */
	bool read;			/* data are expected from the target */
	bool write;			/* data go to the target */
	bool final;			/* no unsolicited Data-Out follow, as for a read */
	u8 attribute;			/* task attribute, ISCSI_ATTR_* */
};

/* RFC 7143 11.7. */
struct istripe_pdu_data_out {
	struct scsi_lun lun;	/* left out on the wire when @ttt is reserved */
	u32 itt;		/* tag of the task */
	u32 ttt;		/* of the R2T that is answered; ISTRIPE_TAG_RESERVED: unsolicited */
	u32 exp_stat_sn;	/* next StatSN that we expect on the connection */
	u32 data_sn;		/* counts the PDUs of one sequence from 0 */
	u32 offset;		/* bytes from the start of the command's data */
	u32 data_segment_bytes;	/* data behind the header */
	bool final;		/* last PDU of its sequence */
};

/*
 * RFC 7143 11.18. This one, the next and logout are immediate, and have no CmdSN and ExpStatSN: the
 * transmit side fills them in.
 */
struct istripe_pdu_nop_out {
	struct scsi_lun lun;	/* copied from the NOP-In that is answered, else zero */
	u32 itt;		/* our ping's tag; ISTRIPE_TAG_RESERVED: no answer wanted */
	u32 ttt;		/* of the NOP-In that is answered, else ISTRIPE_TAG_RESERVED */
	u32 data_segment_bytes;	/* ping data behind the header */
};

/* RFC 7143 11.5. */
struct istripe_pdu_task_management {
	struct scsi_lun lun;	/* logical unit, zero for functions that concern the target */
	u32 itt;		/* tag of this request */
	u32 referenced_itt;	/* ABORT TASK: the task; sent as reserved for the others */
	u32 ref_cmd_sn;		/* ABORT TASK: CmdSN of the task; sent as zero for the others */
	u8 function;		/* ISCSI_TM_FUNC_* */
};

/**
 * istripe_pdu_encode_scsi_command() - SCSI Command, RFC 7143 11.3
 * @bhs: 48 bytes, all written
 * @c: what to say; lengths up to ISTRIPE_DATA_SEGMENT_BYTES_MAX
 */
void istripe_pdu_encode_scsi_command(struct iscsi_scsi_req *bhs,
				     const struct istripe_pdu_scsi_command *c);

/**
 * istripe_pdu_encode_data_out() - SCSI Data-Out, RFC 7143 11.7
 * @bhs: 48 bytes, all written
 * @d: what to say; lengths up to ISTRIPE_DATA_SEGMENT_BYTES_MAX
 */
void istripe_pdu_encode_data_out(struct iscsi_data *bhs, const struct istripe_pdu_data_out *d);

/**
 * istripe_pdu_encode_nop_out() - NOP-Out, RFC 7143 11.18
 * @bhs: 48 bytes, all written
 * @n: what to say
 */
void istripe_pdu_encode_nop_out(struct iscsi_nopout *bhs, const struct istripe_pdu_nop_out *n);

/**
 * istripe_pdu_encode_task_management() - Task Management Function Request, RFC 7143 11.5
 * @bhs: 48 bytes, all written
 * @t: what to say
 */
void istripe_pdu_encode_task_management(struct iscsi_tm *bhs,
					const struct istripe_pdu_task_management *t);

/**
 * istripe_pdu_encode_logout() - Logout Request that closes the session, RFC 7143 11.14
 * @bhs: 48 bytes, all written
 * @itt: tag of this request
 */
void istripe_pdu_encode_logout(struct iscsi_logout *bhs, u32 itt);

/* SCSI Data-In, RFC 7143 11.7. */
struct istripe_pdu_data_in {
	u32 data_sn;
	u32 offset;
	bool status_present;		/* S bit */
};

/* Ready To Transfer, RFC 7143 11.8. */
struct istripe_pdu_r2t {
	u32 r2t_sn;
	u32 offset;
	u32 desired_bytes;		/* > 0 */
};

/* Logout Response, RFC 7143 11.15. */
struct istripe_pdu_logout_response {
	u8 response;			/* ISCSI_LOGOUT_* */
	u16 time2wait_s;
};

/* Login Response, RFC 7143 11.13. */
struct istripe_pdu_login_response {
	u8 version_active;
	u8 isid[6];
	u16 tsih;
	u8 status_class;
	u8 status_detail;
	u8 csg;
	u8 nsg;
	bool transit;
	bool continue_;
};

/* Asynchronous Message, RFC 7143 11.9. */
struct istripe_pdu_async {
	u8 event;			/* ISCSI_ASYNC_MSG_* */
	u16 parameter2;
	u16 parameter3;
};

/*
 * A header that the target sent. ISCSI_OP_NOOP_IN needs no member: an answer to our ping has a
 * valid @itt, a ping of the target's a valid @ttt, neither means that only the numbers are news.
 */
struct istripe_pdu {
	u8 opcode;		/* ISCSI_OP_* of the target's, no flag bits; selects in the union */
	bool final;		/* F bit */
	bool consumes_stat_sn;	/* @stat_sn is its own: every response, Async, Reject */
	u32 itt;		/* ISTRIPE_TAG_RESERVED: not about a task of ours */
	u32 ttt;	/* Target Transfer Tag of R2T and NOP-In, else ISTRIPE_TAG_RESERVED */
	u32 stat_sn;		/* StatSN */
	u32 exp_cmd_sn;		/* ExpCmdSN */
	u32 max_cmd_sn;		/* MaxCmdSN */
	u32 data_segment_bytes;	/* 0..ISTRIPE_DATA_SEGMENT_BYTES_MAX, without padding */
	struct scsi_lun lun;	/* for NOP-In and SCSI events */
	u8 status;		/* SAM status byte: of SCSI Response, Data-In with status */
	bool overflow;		/* of the same */
	bool underflow;
	u32 residual;		/* bytes; 0 unless @overflow or @underflow */
	const char *problem;	/* after -EPROTO, why, in words */
	union {
		u8 scsi_response;	/* ISCSI_STATUS_CMD_COMPLETED, or why there is no status */
		struct istripe_pdu_data_in data_in;	/* ISCSI_OP_SCSI_DATA_IN */
		struct istripe_pdu_r2t r2t;	/* ISCSI_OP_R2T */
		u8 task_management_response;	/* ISCSI_TMF_RSP_* */
		struct istripe_pdu_logout_response logout_response;	/* ISCSI_OP_LOGOUT_RSP */
		struct istripe_pdu_login_response login_response;	/* ISCSI_OP_LOGIN_RSP */
		struct istripe_pdu_async async;	/* ISCSI_OP_ASYNC_EVENT */
		u8 reject_reason;	/* ISCSI_REASON_* */
	};
};

/**
 * istripe_pdu_decode() - understand a header from the target
 * @bhs: 48 bytes
 * @pdu: filled; after an error only @opcode and @problem hold
 *
 * Reserved bits and fields are ignored (RFC 7143 section 11). Refused are: an opcode that is not
 * the target's, a tag missing or one too many, contradicting flags, a status on a Data-In that is
 * not final, an R2T for nothing, data where there can be none.
 *
 * Return: 0; -EPROTO with @pdu->problem set.
 */
int istripe_pdu_decode(const struct iscsi_hdr *bhs, struct istripe_pdu *pdu);

/**
 * istripe_pdu_check_stat_sn() - verify and count the StatSN of a PDU
 * @pdu: decoded; its @problem is set on error
 * @exp_stat_sn: the connection's ExpStatSN, advanced when the PDU consumes a StatSN
 *
 * At ErrorRecoveryLevel 0 nothing can bring back a lost status, so a number that is not the next
 * one ends the connection (RFC 7143 4.2.2.2). The number in a PDU that consumes none is not
 * verified: some targets leave it 0.
 *
 * Context: the connection's receive side, the only writer of @exp_stat_sn.
 * Return: 0; -EPROTO a status is missing or repeated.
 */
int istripe_pdu_check_stat_sn(struct istripe_pdu *pdu, u32 *exp_stat_sn);

/**
 * istripe_pdu_sense() - find sense data in the data segment of a SCSI Response or Async
 * @data: the data segment
 * @data_bytes: its length
 * @sense: set to the sense data within @data, NULL when there are none
 * @sense_bytes: set to their length, 0 when there are none
 *
 * RFC 7143 11.4.7.2 (SenseLength and Sense Data) and 11.9.4. The length that the peer claims never
 * reaches beyond @data (P18).
 *
 * Return: 0; -EPROTO the claimed length does not fit.
 */
int istripe_pdu_sense(const u8 *data, u32 data_bytes, const u8 **sense, u32 *sense_bytes);

/**
 * istripe_pdu_rejected() - find out which PDU a Reject is about, RFC 7143 11.17
 * @data: data segment of the Reject
 * @data_bytes: its length
 * @opcode: set to the rejected PDU's opcode, without flag bits
 * @itt: set to its Initiator Task Tag
 * Return: 0; -EPROTO there is no whole header in @data.
 */
int istripe_pdu_rejected(const u8 *data, u32 data_bytes, u8 *opcode, u32 *itt);

/**
 * istripe_pdu_opcode_name() - an opcode in the words of RFC 7143
 * @opcode: of either side, flag bits are ignored
 * Return: a constant string, never NULL.
 */
const char *istripe_pdu_opcode_name(u8 opcode);

/**
 * istripe_pdu_reject_reason_name() - a Reject's reason in words, RFC 7143 11.17.1
 * @reason: ISCSI_REASON_*
 * Return: a constant string, never NULL.
 */
const char *istripe_pdu_reject_reason_name(u8 reason);

/**
 * istripe_pdu_async_event_name() - an asynchronous event in words, RFC 7143 11.9.1
 * @event: ISCSI_ASYNC_MSG_*
 * Return: a constant string, never NULL.
 */
const char *istripe_pdu_async_event_name(u8 event);

#endif
