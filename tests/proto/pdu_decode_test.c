// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of what targets send. Every bad header is a good one with one field damaged.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/pdu.h"
#include "test_random.h"

#define BHS	ISCSI_HDR_LEN

union bytes {
	struct iscsi_hdr hdr;
	u8 b[BHS];
};

/* The fields that all of them have, at their places on the wire. */
static void header_make(union bytes *h, u8 opcode, u8 flags)
{
	memset(h, 0, sizeof(*h));
	h->b[0] = opcode;
	h->b[1] = flags;
	put_unaligned_be32(0x01020304, h->b + 16);
	put_unaligned_be32(0xffffffff, h->b + 20);
	put_unaligned_be32(0xb1b2b3b4, h->b + 24);
	put_unaligned_be32(0xc1c2c3c4, h->b + 28);
	put_unaligned_be32(0xd1d2d3d4, h->b + 32);
	if (opcode == ISCSI_OP_R2T) {
		put_unaligned_be32(0x05060708, h->b + 20);
		put_unaligned_be32(1, h->b + 44);
	}
}

static const struct opcode_row {
	u8 opcode;
	bool consumes_stat_sn;
} opcode_rows[] = {
	{ ISCSI_OP_NOOP_IN, true },
	{ ISCSI_OP_SCSI_CMD_RSP, true },
	{ ISCSI_OP_SCSI_TMFUNC_RSP, true },
	{ ISCSI_OP_LOGIN_RSP, true },
	{ ISCSI_OP_TEXT_RSP, true },
	{ ISCSI_OP_SCSI_DATA_IN, false },
	{ ISCSI_OP_LOGOUT_RSP, true },
	{ ISCSI_OP_R2T, false },
	{ ISCSI_OP_ASYNC_EVENT, true },
	{ ISCSI_OP_REJECT, true },
};

static const struct opcode_row *opcode_find(u8 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcode_rows); i++) {
		if (opcode_rows[i].opcode == opcode)
			return &opcode_rows[i];
	}
	return NULL;
}

/* Exactly the target's opcodes pass, whatever the two bits above them are. */
static void decode_opcodes(struct kunit *test)
{
	const struct opcode_row *row;
	struct istripe_pdu pdu;
	union bytes h;
	u32 i;
	int ret;

	for (i = 0; i < 256; i++) {
		header_make(&h, i & 0x3f, 0x80);
		h.b[0] = i;
		row = opcode_find(i & 0x3f);
		ret = istripe_pdu_decode(&h.hdr, &pdu);
		KUNIT_EXPECT_EQ_MSG(test, ret, row ? 0 : -EPROTO, "opcode %x", i);
		KUNIT_EXPECT_EQ(test, pdu.opcode, i & 0x3f);
		KUNIT_EXPECT_EQ(test, !pdu.problem, !ret);
		if (row)
			KUNIT_EXPECT_EQ_MSG(test, pdu.consumes_stat_sn, row->consumes_stat_sn,
					    "opcode %x", i);
	}
}

static void decode_common_fields(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcode_rows); i++) {
		u8 opcode = opcode_rows[i].opcode;

		header_make(&h, opcode, 0x80);
		h.b[4] = 255;
		KUNIT_EXPECT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
		KUNIT_EXPECT_TRUE(test, pdu.final);
		KUNIT_EXPECT_EQ(test, pdu.data_segment_bytes, 0);
		KUNIT_EXPECT_EQ(test, pdu.stat_sn, 0xb1b2b3b4);
		KUNIT_EXPECT_EQ(test, pdu.exp_cmd_sn, 0xc1c2c3c4);
		KUNIT_EXPECT_EQ(test, pdu.max_cmd_sn, 0xd1d2d3d4);
		KUNIT_EXPECT_EQ_MSG(test, pdu.itt, opcode == ISCSI_OP_ASYNC_EVENT ||
				    opcode == ISCSI_OP_REJECT ? ISTRIPE_TAG_RESERVED : 0x01020304,
				    "opcode %x", opcode);
		KUNIT_EXPECT_EQ(test, pdu.ttt,
				opcode == ISCSI_OP_R2T ? 0x05060708 : ISTRIPE_TAG_RESERVED);
	}
}

enum damage { ITT, TTT, DATA, DESIRED };

/* One damage to a good header, and what is to become of it. */
static const struct damage_row {
	const char *what;
	u8 opcode, flags;
	enum damage damage;
	u32 value;
	int ret;
} damage_rows[] = {
	{ "response, no tag", ISCSI_OP_SCSI_CMD_RSP, 0x80, ITT, U32_MAX, -EPROTO },
	{ "data-in, no tag", ISCSI_OP_SCSI_DATA_IN, 0x80, ITT, U32_MAX, -EPROTO },
	{ "r2t, no tag", ISCSI_OP_R2T, 0x80, ITT, U32_MAX, -EPROTO },
	{ "tm, no tag", ISCSI_OP_SCSI_TMFUNC_RSP, 0x80, ITT, U32_MAX, -EPROTO },
	{ "logout, no tag", ISCSI_OP_LOGOUT_RSP, 0x80, ITT, U32_MAX, -EPROTO },
	{ "login, no tag", ISCSI_OP_LOGIN_RSP, 0x80, ITT, U32_MAX, -EPROTO },
	{ "text, no tag", ISCSI_OP_TEXT_RSP, 0x80, ITT, U32_MAX, -EPROTO },
	{ "nop-in, news", ISCSI_OP_NOOP_IN, 0x80, ITT, U32_MAX, 0 },
	{ "r2t, no ttt", ISCSI_OP_R2T, 0x80, TTT, U32_MAX, -EPROTO },
	{ "r2t for nothing", ISCSI_OP_R2T, 0x80, DESIRED, 0, -EPROTO },
	{ "r2t for all", ISCSI_OP_R2T, 0x80, DESIRED, U32_MAX, 0 },
	{ "nop-in, an answer with ttt", ISCSI_OP_NOOP_IN, 0x80, TTT, 1, 0 },
	{ "r2t with data", ISCSI_OP_R2T, 0x80, DATA, 1, -EPROTO },
	{ "tm with data", ISCSI_OP_SCSI_TMFUNC_RSP, 0x80, DATA, 4, -EPROTO },
	{ "logout with data", ISCSI_OP_LOGOUT_RSP, 0x80, DATA, 0xffffff, -EPROTO },
	{ "response with data", ISCSI_OP_SCSI_CMD_RSP, 0x80, DATA, 20, 0 },
	{ "nop-in with data", ISCSI_OP_NOOP_IN, 0x80, DATA, 0xffffff, 0 },
	{ "reject with data", ISCSI_OP_REJECT, 0x80, DATA, 48, 0 },
	{ "response O and U", ISCSI_OP_SCSI_CMD_RSP, 0x86, DATA, 0, -EPROTO },
	{ "response o and u", ISCSI_OP_SCSI_CMD_RSP, 0x98, DATA, 0, -EPROTO },
	{ "response O and u", ISCSI_OP_SCSI_CMD_RSP, 0x8c, DATA, 0, 0 },
	{ "status, not final", ISCSI_OP_SCSI_DATA_IN, 0x01, DATA, 8, -EPROTO },
	{ "status, O and U", ISCSI_OP_SCSI_DATA_IN, 0x87, DATA, 8, -EPROTO },
	{ "no status, O and U", ISCSI_OP_SCSI_DATA_IN, 0x86, DATA, 8, 0 },
	{ "data-in without data", ISCSI_OP_SCSI_DATA_IN, 0x00, DATA, 0, 0 },
	{ "login, T and C", ISCSI_OP_LOGIN_RSP, 0xc0, DATA, 0, -EPROTO },
	{ "text, F and C", ISCSI_OP_TEXT_RSP, 0xc0, DATA, 0, -EPROTO },
	{ "text, C", ISCSI_OP_TEXT_RSP, 0x40, DATA, 0, 0 },
};

static void decode_damaged(struct kunit *test)
{
	static const u8 places[] = { [ITT] = 16, [TTT] = 20, [DATA] = 4, [DESIRED] = 44 };
	struct istripe_pdu pdu;
	union bytes h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(damage_rows); i++) {
		const struct damage_row *row = &damage_rows[i];

		header_make(&h, row->opcode, row->flags);
		put_unaligned_be32(row->value, h.b + places[row->damage]);
		KUNIT_EXPECT_EQ_MSG(test, istripe_pdu_decode(&h.hdr, &pdu), row->ret,
				    "%s", row->what);
		KUNIT_EXPECT_EQ_MSG(test, !pdu.problem, !row->ret, "%s", row->what);
	}
}

/* Some targets do not reserve the Target Transfer Tag of an answer. */
static void decode_nop_in_answer(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_NOOP_IN, 0x80);
	put_unaligned_be32(0, h.b + 20);
	KUNIT_EXPECT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_NE(test, pdu.itt, ISTRIPE_TAG_RESERVED);
	KUNIT_EXPECT_EQ(test, pdu.ttt, ISTRIPE_TAG_RESERVED);
	KUNIT_EXPECT_TRUE(test, pdu.consumes_stat_sn);
}

static void decode_scsi_response(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_SCSI_CMD_RSP, 0x84);
	h.b[2] = 1;
	h.b[3] = 0x28;
	put_unaligned_be32(0xe1e2e3e4, h.b + 36);
	put_unaligned_be32(0x99999999, h.b + 40);
	put_unaligned_be32(0xf1f2f3f4, h.b + 44);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.scsi_response, 1);
	KUNIT_EXPECT_EQ(test, pdu.status, 0x28);
	KUNIT_EXPECT_EQ(test, pdu.residual, 0xf1f2f3f4);
	KUNIT_EXPECT_TRUE(test, pdu.overflow);
	KUNIT_EXPECT_FALSE(test, pdu.underflow);

	h.b[1] = 0x82;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_FALSE(test, pdu.overflow);
	KUNIT_EXPECT_TRUE(test, pdu.underflow);

	/* Without O and U the count means nothing (11.4.5.1). */
	h.b[1] = 0x80;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.residual, 0);
}

static void decode_data_in(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_SCSI_DATA_IN, 0x83);
	h.b[3] = 0x04;
	put_unaligned_be32(0x123456, h.b + 4);
	put_unaligned_be32(0x05060708, h.b + 20);
	put_unaligned_be32(0xe1e2e3e4, h.b + 36);
	put_unaligned_be32(0xf1f2f3f4, h.b + 40);
	put_unaligned_be32(0x77777777, h.b + 44);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_TRUE(test, pdu.consumes_stat_sn);
	KUNIT_EXPECT_EQ(test, pdu.data_segment_bytes, 0x123456);
	KUNIT_EXPECT_EQ(test, pdu.data_in.data_sn, 0xe1e2e3e4);
	KUNIT_EXPECT_EQ(test, pdu.data_in.offset, 0xf1f2f3f4);
	KUNIT_EXPECT_TRUE(test, pdu.data_in.status_present);
	KUNIT_EXPECT_EQ(test, pdu.status, 0x04);
	KUNIT_EXPECT_TRUE(test, pdu.underflow);
	KUNIT_EXPECT_EQ(test, pdu.residual, 0x77777777);
	KUNIT_EXPECT_EQ(test, pdu.ttt, ISTRIPE_TAG_RESERVED);

	/* Without S status and residual mean nothing, nor does A at ErrorRecoveryLevel 0. */
	h.b[1] = 0x46;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_FALSE(test, pdu.consumes_stat_sn);
	KUNIT_EXPECT_FALSE(test, pdu.final);
	KUNIT_EXPECT_FALSE(test, pdu.data_in.status_present);
	KUNIT_EXPECT_FALSE(test, pdu.underflow);
	KUNIT_EXPECT_EQ(test, pdu.residual, 0);
	KUNIT_EXPECT_EQ(test, pdu.ttt, ISTRIPE_TAG_RESERVED);
}

static void decode_r2t_and_nop_in(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_R2T, 0x80);
	put_unaligned_be32(0xe1e2e3e4, h.b + 36);
	put_unaligned_be32(0xf1f2f3f4, h.b + 40);
	put_unaligned_be32(0x71727374, h.b + 44);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.r2t.r2t_sn, 0xe1e2e3e4);
	KUNIT_EXPECT_EQ(test, pdu.r2t.offset, 0xf1f2f3f4);
	KUNIT_EXPECT_EQ(test, pdu.r2t.desired_bytes, 0x71727374);

	/* A ping of the target's shows the next StatSN and consumes none (11.19.2). */
	header_make(&h, ISCSI_OP_NOOP_IN, 0x80);
	h.b[9] = 7;
	put_unaligned_be32(U32_MAX, h.b + 16);
	put_unaligned_be32(0x05060708, h.b + 20);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_FALSE(test, pdu.consumes_stat_sn);
	KUNIT_EXPECT_EQ(test, pdu.ttt, 0x05060708);
	KUNIT_EXPECT_EQ(test, pdu.lun.scsi_lun[1], 7);
}

static void decode_login_response(struct kunit *test)
{
	static const u8 isid[6] = { 0x80, 1, 2, 3, 4, 5 };
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_LOGIN_RSP, 0x87);
	h.b[3] = 2;
	memcpy(h.b + 8, isid, sizeof(isid));
	put_unaligned_be16(0x6789, h.b + 14);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_TRUE(test, pdu.consumes_stat_sn);
	KUNIT_EXPECT_EQ(test, pdu.login_response.version_active, 2);
	KUNIT_EXPECT_MEMEQ(test, pdu.login_response.isid, isid, sizeof(isid));
	KUNIT_EXPECT_EQ(test, pdu.login_response.tsih, 0x6789);
	KUNIT_EXPECT_EQ(test, pdu.login_response.csg, 1);
	KUNIT_EXPECT_EQ(test, pdu.login_response.nsg, 3);
	KUNIT_EXPECT_TRUE(test, pdu.login_response.transit);
	KUNIT_EXPECT_FALSE(test, pdu.login_response.continue_);

	h.b[36] = 2;
	h.b[37] = 1;
	h.b[1] = 0x48;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_FALSE(test, pdu.consumes_stat_sn);
	KUNIT_EXPECT_EQ(test, pdu.login_response.status_class, 2);
	KUNIT_EXPECT_EQ(test, pdu.login_response.status_detail, 1);
	KUNIT_EXPECT_EQ(test, pdu.login_response.csg, 2);
	KUNIT_EXPECT_TRUE(test, pdu.login_response.continue_);
}

static void decode_others(struct kunit *test)
{
	struct istripe_pdu pdu;
	union bytes h;

	header_make(&h, ISCSI_OP_SCSI_TMFUNC_RSP, 0x80);
	h.b[2] = 5;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.task_management_response, 5);

	header_make(&h, ISCSI_OP_LOGOUT_RSP, 0x80);
	h.b[2] = 3;
	put_unaligned_be32(0x00020014, h.b + 40);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.logout_response.response, 3);
	KUNIT_EXPECT_EQ(test, pdu.logout_response.time2wait_s, 2);

	header_make(&h, ISCSI_OP_ASYNC_EVENT, 0x80);
	h.b[8] = 0x40;
	h.b[9] = 7;
	h.b[36] = 2;
	put_unaligned_be16(2, h.b + 40);
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.lun.scsi_lun[0], 0x40);
	KUNIT_EXPECT_EQ(test, pdu.lun.scsi_lun[1], 7);
	KUNIT_EXPECT_EQ(test, pdu.async.event, 2);
	KUNIT_EXPECT_EQ(test, pdu.async.parameter2, 2);

	header_make(&h, ISCSI_OP_REJECT, 0x80);
	h.b[2] = 4;
	KUNIT_ASSERT_EQ(test, istripe_pdu_decode(&h.hdr, &pdu), 0);
	KUNIT_EXPECT_EQ(test, pdu.reject_reason, 4);
}

/* Random headers: accepted ones contain no contradiction, refused ones have a reason. */
static void decode_random(struct kunit *test)
{
	struct test_random r = { .s = 0xdec0de };
	struct istripe_pdu pdu;
	union bytes h;
	u32 i;
	int ret;

	for (i = 0; i < 20000; i++) {
		test_random_fill(&r, &h, sizeof(h));
		h.b[0] = opcode_rows[test_random_below(&r, ARRAY_SIZE(opcode_rows))].opcode;
		ret = istripe_pdu_decode(&h.hdr, &pdu);
		KUNIT_EXPECT_EQ(test, !pdu.problem, !ret);
		KUNIT_EXPECT_EQ(test, pdu.data_segment_bytes,
				get_unaligned_be32(h.b + 4) & 0xffffff);
		if (ret)
			KUNIT_EXPECT_EQ(test, ret, -EPROTO);
		else if (pdu.opcode == ISCSI_OP_SCSI_DATA_IN)
			KUNIT_EXPECT_TRUE(test, pdu.final || !pdu.data_in.status_present);
		else if (pdu.opcode == ISCSI_OP_R2T)
			KUNIT_EXPECT_TRUE(test, pdu.r2t.desired_bytes && !pdu.data_segment_bytes);
	}
}

static const struct stat_sn_row {
	u8 opcode, flags;
	u32 itt, ttt;
	u32 stat_sn, exp_stat_sn;
	int ret;
	u32 after;
} stat_sn_rows[] = {
	{ ISCSI_OP_SCSI_CMD_RSP, 0x80, 1, U32_MAX, 5, 5, 0, 6 },
	{ ISCSI_OP_SCSI_CMD_RSP, 0x80, 1, U32_MAX, U32_MAX, U32_MAX, 0, 0 },
	{ ISCSI_OP_SCSI_CMD_RSP, 0x80, 1, U32_MAX, 0, 0, 0, 1 },
	{ ISCSI_OP_SCSI_CMD_RSP, 0x80, 1, U32_MAX, 6, 5, -EPROTO, 5 },
	{ ISCSI_OP_SCSI_CMD_RSP, 0x80, 1, U32_MAX, 4, 5, -EPROTO, 5 },
	{ ISCSI_OP_SCSI_DATA_IN, 0x81, 1, U32_MAX, 5, 5, 0, 6 },
	{ ISCSI_OP_SCSI_DATA_IN, 0x81, 1, U32_MAX, 6, 5, -EPROTO, 5 },
	{ ISCSI_OP_SCSI_DATA_IN, 0x80, 1, U32_MAX, 99, 5, 0, 5 },
	{ ISCSI_OP_R2T, 0x80, 1, 7, 5, 5, 0, 5 },
	{ ISCSI_OP_R2T, 0x80, 1, 7, 0, 5, 0, 5 },
	{ ISCSI_OP_NOOP_IN, 0x80, 1, U32_MAX, 5, 5, 0, 6 },
	{ ISCSI_OP_NOOP_IN, 0x80, 1, U32_MAX, 7, 5, -EPROTO, 5 },
	{ ISCSI_OP_NOOP_IN, 0x80, U32_MAX, 7, 5, 5, 0, 5 },
	{ ISCSI_OP_ASYNC_EVENT, 0x80, U32_MAX, 0, 5, 5, 0, 6 },
	{ ISCSI_OP_REJECT, 0x80, U32_MAX, 0, 6, 5, -EPROTO, 5 },
};

static void decode_stat_sn(struct kunit *test)
{
	struct istripe_pdu pdu;
	u32 exp_stat_sn, i;
	union bytes h;

	for (i = 0; i < ARRAY_SIZE(stat_sn_rows); i++) {
		const struct stat_sn_row *row = &stat_sn_rows[i];

		header_make(&h, row->opcode, row->flags);
		put_unaligned_be32(row->itt, h.b + 16);
		put_unaligned_be32(row->ttt, h.b + 20);
		put_unaligned_be32(row->stat_sn, h.b + 24);
		KUNIT_ASSERT_EQ_MSG(test, istripe_pdu_decode(&h.hdr, &pdu), 0, "row %u", i);
		exp_stat_sn = row->exp_stat_sn;
		KUNIT_EXPECT_EQ_MSG(test, istripe_pdu_check_stat_sn(&pdu, &exp_stat_sn), row->ret,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, exp_stat_sn, row->after, "row %u", i);
		KUNIT_EXPECT_EQ(test, !pdu.problem, !row->ret);
	}
}

/* Every length against every claim (P18); the buffer is exactly as long as told. */
static void decode_sense(struct kunit *test)
{
	const u8 *sense;
	u32 bytes, claim, sense_bytes;
	u8 *data;
	int ret;

	for (bytes = 0; bytes <= 24; bytes++) {
		data = kunit_kzalloc(test, bytes ?: 1, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, data);
		for (claim = 0; claim <= 300; claim++) {
			if (bytes >= 2)
				put_unaligned_be16(claim, data);
			ret = istripe_pdu_sense(data, bytes, &sense, &sense_bytes);
			if (!bytes || (bytes >= 2 && !claim)) {
				KUNIT_EXPECT_EQ(test, ret, 0);
				KUNIT_EXPECT_NULL(test, sense);
				KUNIT_EXPECT_EQ(test, sense_bytes, 0);
			} else if (bytes >= 2 && claim <= bytes - 2) {
				KUNIT_EXPECT_EQ(test, ret, 0);
				KUNIT_EXPECT_PTR_EQ(test, sense, (const u8 *)data + 2);
				KUNIT_EXPECT_EQ(test, sense_bytes, claim);
			} else {
				KUNIT_EXPECT_EQ(test, ret, -EPROTO);
				KUNIT_EXPECT_EQ(test, sense_bytes, 0);
			}
		}
		kunit_kfree(test, data);
	}
}

static void decode_rejected(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, BHS, GFP_KERNEL);
	u32 bytes, itt = 0;
	u8 opcode = 0xff;

	KUNIT_ASSERT_NOT_NULL(test, data);
	data[0] = 0x41;
	put_unaligned_be32(0x01020304, data + 16);
	for (bytes = 0; bytes < BHS; bytes++)
		KUNIT_EXPECT_EQ(test, istripe_pdu_rejected(data, bytes, &opcode, &itt), -EPROTO);
	KUNIT_EXPECT_EQ(test, istripe_pdu_rejected(data, BHS, &opcode, &itt), 0);
	KUNIT_EXPECT_EQ(test, opcode, 1);
	KUNIT_EXPECT_EQ(test, itt, 0x01020304);
}

static void decode_names(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 256; i++) {
		KUNIT_EXPECT_NOT_NULL(test, istripe_pdu_opcode_name(i));
		KUNIT_EXPECT_NOT_NULL(test, istripe_pdu_reject_reason_name(i));
		KUNIT_EXPECT_NOT_NULL(test, istripe_pdu_async_event_name(i));
	}
	KUNIT_EXPECT_STREQ(test, istripe_pdu_opcode_name(0xff), "Reject");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_opcode_name(0x41), "SCSI Command");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_opcode_name(0x30), "unknown");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_reject_reason_name(4), "protocol error");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_reject_reason_name(0), "unknown");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_async_event_name(255), "vendor specific event");
	KUNIT_EXPECT_STREQ(test, istripe_pdu_async_event_name(254), "unknown");
}

static struct kunit_case istripe_pdu_decode_cases[] = {
	KUNIT_CASE(decode_opcodes),
	KUNIT_CASE(decode_common_fields),
	KUNIT_CASE(decode_damaged),
	KUNIT_CASE(decode_nop_in_answer),
	KUNIT_CASE(decode_scsi_response),
	KUNIT_CASE(decode_data_in),
	KUNIT_CASE(decode_r2t_and_nop_in),
	KUNIT_CASE(decode_login_response),
	KUNIT_CASE(decode_others),
	KUNIT_CASE(decode_random),
	KUNIT_CASE(decode_stat_sn),
	KUNIT_CASE(decode_sense),
	KUNIT_CASE(decode_rejected),
	KUNIT_CASE(decode_names),
	{}
};

static struct kunit_suite istripe_pdu_decode_suite = {
	.name = "istripe_pdu_decode",
	.test_cases = istripe_pdu_decode_cases,
};

kunit_test_suite(istripe_pdu_decode_suite);
