// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "iscsi/transfer.h"
#include "test_random.h"

#define CHECK_CONDITION	0x02
#define BUSY		0x08

static struct istripe_keys keys_make(bool initial_r2t, bool immediate, u32 first_burst_bytes,
				     u32 xmit_bytes)
{
	struct istripe_keys keys = {};

	keys.value[ISTRIPE_KEY_INITIAL_R2T] = initial_r2t;
	keys.value[ISTRIPE_KEY_IMMEDIATE_DATA] = immediate;
	keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH] = first_burst_bytes;
	keys.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = xmit_bytes;
	keys.value[ISTRIPE_KEY_MAX_BURST_LENGTH] = 4096;
	keys.value[ISTRIPE_KEY_MAX_OUTSTANDING_R2T] = 2;
	return keys;
}

static struct istripe_pdu data_in_make(u32 data_sn, u32 offset, u32 bytes)
{
	return (struct istripe_pdu) {
		.opcode = ISCSI_OP_SCSI_DATA_IN,
		.data_segment_bytes = bytes,
		.data_in = { .data_sn = data_sn, .offset = offset },
	};
}

static struct istripe_pdu r2t_make(u32 r2t_sn, u32 offset, u32 bytes)
{
	return (struct istripe_pdu) {
		.opcode = ISCSI_OP_R2T,
		.r2t = { .r2t_sn = r2t_sn, .offset = offset, .desired_bytes = bytes },
	};
}

/* Either PDU that can carry status, saying the same. */
static struct istripe_pdu status_make(bool in_data_in, u8 status, char residual_flag, u32 residual)
{
	return (struct istripe_pdu) {
		.opcode = in_data_in ? ISCSI_OP_SCSI_DATA_IN : ISCSI_OP_SCSI_CMD_RSP,
		.final = true,
		.status = status,
		.overflow = residual_flag == 'O',
		.underflow = residual_flag == 'U',
		.residual = residual,
		.data_in = { .status_present = in_data_in },
	};
}

static const struct unasked_row {
	bool initial_r2t, immediate;
	u32 first_burst_bytes, xmit_bytes, length_bytes;
	u32 immediate_bytes, unsolicited_bytes;
} unasked_rows[] = {
	{ true, false, 65536, 8192, 4096, 0, 0 },
	{ true, true, 65536, 8192, 4096, 4096, 0 },
	{ true, true, 65536, 8192, 100000, 8192, 0 },
	{ true, true, 4096, 8192, 100000, 4096, 0 },
	{ false, true, 65536, 8192, 100000, 8192, 57344 },
	{ false, true, 65536, 8192, 10000, 8192, 1808 },
	{ false, true, 65536, 8192, 8192, 8192, 0 },
	{ false, true, 65536, 131072, 100000, 65536, 0 },
	{ false, false, 65536, 8192, 100000, 0, 65536 },
	{ false, false, 65536, 8192, 4096, 0, 4096 },
	{ false, true, 512, 512, 512, 512, 0 },
	{ false, true, 512, 512, 513, 512, 0 },
	{ false, true, 1024, 512, 1u << 31, 512, 512 },
	{ false, true, 65536, 8192, 0, 0, 0 },
};

static void transfer_unasked(struct kunit *test)
{
	struct istripe_transfer t;
	struct istripe_keys keys;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(unasked_rows); i++) {
		const struct unasked_row *row = &unasked_rows[i];

		keys = keys_make(row->initial_r2t, row->immediate, row->first_burst_bytes,
				 row->xmit_bytes);
		istripe_transfer_init(&t, &keys, false, row->length_bytes, row->length_bytes);
		KUNIT_EXPECT_EQ_MSG(test, t.immediate_bytes, row->immediate_bytes, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, t.unsolicited_bytes, row->unsolicited_bytes, "row %u", i);
		/* A read sends nothing. */
		istripe_transfer_init(&t, &keys, true, false, row->length_bytes);
		KUNIT_EXPECT_EQ(test, t.immediate_bytes, 0);
		KUNIT_EXPECT_EQ(test, t.unsolicited_bytes, 0);
	}
}

/* Data that were not sent unasked are missing until the target has asked for them. */
static void transfer_shorten(struct kunit *test)
{
	struct istripe_keys keys = keys_make(false, true, 65536, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;

	istripe_transfer_init(&t, &keys, false, true, 131072);
	istripe_transfer_shorten(&t, 2048);
	KUNIT_EXPECT_EQ(test, t.immediate_bytes, 2048);
	KUNIT_EXPECT_EQ(test, t.unsolicited_bytes, 0);
	pdu = r2t_make(0, 8192, 4096);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	pdu = r2t_make(0, 2048, 4096);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	istripe_transfer_init(&t, &keys, false, true, 512);
	istripe_transfer_shorten(&t, 2048);
	KUNIT_EXPECT_EQ(test, t.immediate_bytes, 512);
}

/* Segments of a sequence get somewhere, even with keys that nobody may negotiate. */
static void transfer_segments(struct kunit *test)
{
	static const u32 xmit_bytes[] = { 0, 1, 512, 8192, 16777215, U32_MAX };
	struct istripe_transfer t;
	struct istripe_keys keys;
	u32 i, left, segment, count;

	for (i = 0; i < ARRAY_SIZE(xmit_bytes); i++) {
		keys = keys_make(false, true, 65536, xmit_bytes[i]);
		istripe_transfer_init(&t, &keys, false, true, 100000);
		for (left = 100000, count = 0; left; left -= segment, count++) {
			segment = istripe_transfer_segment_bytes(&t, left);
			KUNIT_ASSERT_GT(test, segment, 0);
			KUNIT_ASSERT_LE(test, segment, min(left, max(512u, xmit_bytes[i])));
		}
		KUNIT_EXPECT_EQ(test, count, DIV_ROUND_UP(100000, clamp(xmit_bytes[i], 512u,
									100000u)));
		KUNIT_EXPECT_EQ(test, istripe_transfer_segment_bytes(&t, 0), 0);
		KUNIT_EXPECT_LE(test, istripe_transfer_segment_bytes(&t, U32_MAX),
				ISTRIPE_DATA_SEGMENT_BYTES_MAX);
	}
}

/* One more PDU for a transfer of 10000 bytes of which 4000 came in two Data-In. */
static const struct data_in_row {
	const char *what;
	u32 data_sn, offset, bytes;
	int ret;
} data_in_rows[] = {
	{ "next", 2, 4000, 1000, 0 },
	{ "the rest", 2, 4000, 6000, 0 },
	{ "empty", 2, 4000, 0, 0 },
	{ "empty, at the start", 2, 0, 0, 0 },
	{ "empty, beyond", 2, 10001, 0, 0 },
	{ "empty, DataSN repeated", 1, 4000, 0, 0 },
	{ "empty, DataSN skipped", 3, 4000, 0, 0 },
	{ "empty, of zeroes", 0, 0, 0, 0 },
	{ "one too many", 2, 4000, 6001, -EPROTO },
	{ "hole", 2, 4001, 1000, -EPROTO },
	{ "overlap", 2, 3999, 1000, -EPROTO },
	{ "again", 2, 0, 4000, -EPROTO },
	{ "DataSN repeated", 1, 4000, 1000, -EPROTO },
	{ "DataSN skipped", 3, 4000, 1000, -EPROTO },
	{ "at the end", 2, 10000, 1, -EPROTO },
	{ "beyond", 2, 10001, 1, -EPROTO },
	{ "offset + length wraps to 10000", 2, U32_MAX - 6999, 17000, -EPROTO },
	{ "offset + length wraps to 0", 2, U32_MAX, 1, -EPROTO },
	{ "longest", 2, 4000, 0xffffff, -EPROTO },
};

static void transfer_data_in(struct kunit *test)
{
	struct istripe_keys keys = keys_make(false, true, 65536, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(data_in_rows); i++) {
		const struct data_in_row *row = &data_in_rows[i];

		istripe_transfer_init(&t, &keys, true, false, 10000);
		pdu = data_in_make(0, 0, 1500);
		KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);
		pdu = data_in_make(1, 1500, 2500);
		KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);
		pdu = data_in_make(row->data_sn, row->offset, row->bytes);
		KUNIT_EXPECT_EQ_MSG(test, istripe_transfer_data_in(&t, &pdu), row->ret,
				    "%s", row->what);
		KUNIT_EXPECT_EQ_MSG(test, !t.problem, !row->ret, "%s", row->what);
	}
}

/* Data-In of 500 bytes, so many empty ones, another with this DataSN, and the status. */
static const struct empty_row {
	u32 empties, data_sn;
	int ret;
} empty_rows[] = {
	{ 0, 1, 0 },
	{ 0, 2, -EPROTO },
	{ 1, 0, -EPROTO },
	{ 1, 1, 0 },
	{ 1, 2, 0 },
	{ 1, 3, -EPROTO },
	{ 3, 4, 0 },
	{ 3, 5, -EPROTO },
};

/* Empty Data-In have a DataSN of their own, or none. */
static void transfer_empty_data_in(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct istripe_transfer t;
	u32 i, k, transferred_bytes;
	struct istripe_pdu pdu;

	for (i = 0; i < ARRAY_SIZE(empty_rows); i++) {
		const struct empty_row *row = &empty_rows[i];

		istripe_transfer_init(&t, &keys, true, false, 1000);
		pdu = data_in_make(0, 0, 500);
		KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);
		pdu = data_in_make(1, 0, 0);
		for (k = 0; k < row->empties; k++)
			KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);
		pdu = data_in_make(row->data_sn, 500, 500);
		KUNIT_EXPECT_EQ_MSG(test, istripe_transfer_data_in(&t, &pdu), row->ret,
				    "row %u", i);
		if (row->ret)
			continue;
		pdu = status_make(false, SAM_STAT_GOOD, 0, 0);
		KUNIT_EXPECT_EQ_MSG(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), 0,
				    "row %u", i);
	}
}

/* Close to 4 GiB, where offset + length would wrap (P2, P3). */
static void transfer_wrap(struct kunit *test)
{
	struct istripe_keys keys = keys_make(false, false, 0xfffff800, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 i;

	istripe_transfer_init(&t, &keys, true, false, U32_MAX);
	for (i = 0; i < 256; i++) {
		pdu = data_in_make(i, i * 0xffffff, 0xffffff);
		KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);
	}
	for (i = 256; i < 0xffffff; i = i * 2 + 1) {
		pdu = data_in_make(256, 0xffffff00, i);
		KUNIT_EXPECT_EQ(test, istripe_transfer_data_in(&t, &pdu), -EPROTO);
	}
	pdu = data_in_make(256, 0xffffff00, 255);
	KUNIT_EXPECT_EQ(test, istripe_transfer_data_in(&t, &pdu), 0);

	istripe_transfer_init(&t, &keys, false, true, 0xfffffff0);
	pdu = r2t_make(0, 0xfffff800, 0x7f1);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	pdu = r2t_make(0, 0xfffff800, 4096);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	pdu = r2t_make(0, 0xfffff800, U32_MAX);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	pdu = r2t_make(0, 0xfffff800, 0x7f0);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
}

static void transfer_wrong_direction(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct istripe_pdu data_in = data_in_make(0, 0, 512);
	struct istripe_pdu r2t = r2t_make(0, 0, 512);
	struct istripe_transfer t;

	istripe_transfer_init(&t, &keys, false, true, 4096);
	KUNIT_EXPECT_EQ(test, istripe_transfer_data_in(&t, &data_in), -EPROTO);
	istripe_transfer_init(&t, &keys, true, false, 4096);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &r2t), -EPROTO);
	istripe_transfer_init(&t, &keys, false, false, 0);
	KUNIT_EXPECT_EQ(test, istripe_transfer_data_in(&t, &data_in), -EPROTO);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &r2t), -EPROTO);
}

/* A second R2T for 10000 bytes, 2000 unsolicited, the first one asked for 2000..4999. */
static const struct r2t_row {
	const char *what;
	u32 r2t_sn, offset, bytes;
	int ret;
} r2t_rows[] = {
	{ "next", 1, 5000, 1000, 0 },
	{ "a whole burst", 1, 5000, 4096, 0 },
	{ "more than a burst", 1, 5000, 4097, 0 },
	{ "the rest", 1, 5000, 5000, 0 },
	{ "nothing", 1, 5000, 0, -EPROTO },
	{ "hole", 1, 5001, 1000, -EPROTO },
	{ "overlap", 1, 4999, 1000, -EPROTO },
	{ "the first again", 1, 2000, 3000, -EPROTO },
	{ "unsolicited data after it", 1, 0, 2000, -EPROTO },
	{ "R2TSN repeated", 0, 5000, 1000, -EPROTO },
	{ "R2TSN skipped", 2, 5000, 1000, -EPROTO },
	{ "beyond", 1, 10000, 1, -EPROTO },
	{ "far beyond", 1, 10001, 1, -EPROTO },
	{ "end beyond", 1, 9000, 1001, -EPROTO },
	{ "wraps to 10000", 1, U32_MAX - 999, 11000, -EPROTO },
	{ "wraps to 0", 1, U32_MAX, 1, -EPROTO },
	{ "all", 1, 0, U32_MAX, -EPROTO },
};

static void transfer_r2t(struct kunit *test)
{
	struct istripe_keys keys = keys_make(false, true, 2000, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(r2t_rows); i++) {
		const struct r2t_row *row = &r2t_rows[i];

		istripe_transfer_init(&t, &keys, false, true, 10000);
		pdu = r2t_make(0, 2000, 3000);
		KUNIT_ASSERT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
		pdu = r2t_make(row->r2t_sn, row->offset, row->bytes);
		KUNIT_EXPECT_EQ_MSG(test, istripe_transfer_r2t(&t, &pdu), row->ret,
				    "%s", row->what);
		KUNIT_EXPECT_EQ_MSG(test, !t.problem, !row->ret, "%s", row->what);
	}
}

/* A burst past the end of the transfer, within MaxBurstLength. */
static void transfer_r2t_end(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 2000, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;

	istripe_transfer_init(&t, &keys, false, true, 1000);
	pdu = r2t_make(0, 0, 1001);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	pdu = r2t_make(0, 0, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
}

/* RFC 7143 4.2.5.2: what was sent unsolicited and thrown away may be asked for. */
static void transfer_r2t_for_unsolicited(struct kunit *test)
{
	struct istripe_keys keys = keys_make(false, true, 6000, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 transferred_bytes;

	istripe_transfer_init(&t, &keys, false, true, 10000);
	pdu = r2t_make(0, 0, 4000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	istripe_transfer_r2t_done(&t);
	pdu = r2t_make(1, 4000, 4000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	istripe_transfer_r2t_done(&t);
	pdu = r2t_make(2, 8000, 2000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	istripe_transfer_r2t_done(&t);
	pdu = status_make(false, SAM_STAT_GOOD, 0, 0);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), 0);
	KUNIT_EXPECT_EQ(test, transferred_bytes, 10000);
}

static void transfer_r2t_outstanding(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 2000, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 i;

	istripe_transfer_init(&t, &keys, false, true, 10000);
	istripe_transfer_r2t_done(&t);	/* none to be done: no credit either */
	for (i = 0; i < 2; i++) {
		pdu = r2t_make(i, i * 1000, 1000);
		KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	}
	pdu = r2t_make(2, 2000, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
	istripe_transfer_r2t_done(&t);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	pdu = r2t_make(3, 3000, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);
}

/* Status for a transfer of 1000 bytes of which covered_bytes have come or been asked for. */
static const struct status_row {
	const char *what;
	char direction;			/* R, W, N(one: length 0) */
	u32 covered_bytes;
	u8 status;
	char flag;
	u32 residual;
	int ret;
	u32 transferred_bytes;
} status_rows[] = {
	{ "read", 'R', 1000, SAM_STAT_GOOD, 0, 0, 0, 1000 },
	{ "read, nothing came", 'R', 0, SAM_STAT_GOOD, 0, 0, -EPROTO, 0 },
	{ "read, one missing", 'R', 999, SAM_STAT_GOOD, 0, 0, -EPROTO, 0 },
	{ "read, one less", 'R', 999, SAM_STAT_GOOD, 'U', 1, 0, 999 },
	{ "read, none at all", 'R', 0, SAM_STAT_GOOD, 'U', 1000, 0, 0 },
	{ "read, says one less", 'R', 1000, SAM_STAT_GOOD, 'U', 1, -EPROTO, 0 },
	{ "read, says less than it sent", 'R', 600, SAM_STAT_GOOD, 'U', 500, -EPROTO, 0 },
	{ "read, says more than it sent", 'R', 400, SAM_STAT_GOOD, 'U', 500, -EPROTO, 0 },
	{ "read, had more", 'R', 1000, SAM_STAT_GOOD, 'O', 500, 0, 1000 },
	{ "read, had more, short", 'R', 900, SAM_STAT_GOOD, 'O', 500, -EPROTO, 0 },
	{ "read, underflow 0", 'R', 1000, SAM_STAT_GOOD, 'U', 0, 0, 1000 },
	{ "residual too large", 'R', 0, SAM_STAT_GOOD, 'U', 1001, 0, 0 },
	{ "residual too large, all came", 'R', 1000, SAM_STAT_GOOD, 'U', 1001, 0, 0 },
	{ "residual huge", 'R', 0, CHECK_CONDITION, 'U', U32_MAX, 0, 0 },
	{ "residual huge, part came", 'R', 300, CHECK_CONDITION, 'U', U32_MAX, 0, 0 },
	{ "residual huge, busy", 'W', 0, BUSY, 'U', U32_MAX, 0, 0 },
	{ "write, residual too large", 'W', 1000, SAM_STAT_GOOD, 'U', 1001, 0, 0 },
	{ "overflow huge", 'R', 1000, SAM_STAT_GOOD, 'O', U32_MAX, 0, 1000 },
	{ "condition met", 'R', 999, SAM_STAT_CONDITION_MET, 0, 0, -EPROTO, 0 },
	{ "failed read, part came", 'R', 300, CHECK_CONDITION, 0, 0, 0, 300 },
	{ "failed read, less counts", 'R', 300, CHECK_CONDITION, 'U', 900, 0, 100 },
	{ "failed read, more told", 'R', 300, CHECK_CONDITION, 'U', 500, 0, 300 },
	{ "busy", 'R', 0, BUSY, 0, 0, 0, 0 },
	{ "write", 'W', 1000, SAM_STAT_GOOD, 0, 0, 0, 1000 },
	{ "write, not asked for", 'W', 0, SAM_STAT_GOOD, 0, 0, -EPROTO, 0 },
	{ "write, one not asked for", 'W', 999, SAM_STAT_GOOD, 0, 0, -EPROTO, 0 },
	{ "write, took less", 'W', 1000, SAM_STAT_GOOD, 'U', 400, 0, 600 },
	{ "write, took none", 'W', 1000, SAM_STAT_GOOD, 'U', 1000, 0, 0 },
	{ "write, asked for less", 'W', 600, SAM_STAT_GOOD, 'U', 400, 0, 600 },
	{ "write refused at once", 'W', 0, CHECK_CONDITION, 'U', 1000, 0, 0 },
	{ "write refused, no residual", 'W', 0, CHECK_CONDITION, 0, 0, 0, 0 },
	{ "write, wanted more", 'W', 1000, SAM_STAT_GOOD, 'O', 24, 0, 1000 },
	{ "no data", 'N', 0, SAM_STAT_GOOD, 0, 0, 0, 0 },
	{ "no data, had some", 'N', 0, SAM_STAT_GOOD, 'O', 512, 0, 0 },
	{ "no data, less", 'N', 0, SAM_STAT_GOOD, 'U', 1, 0, 0 },
};

static void status_row_prepare(struct kunit *test, const struct status_row *row,
			       struct istripe_transfer *t)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	bool read = row->direction == 'R';
	bool write = row->direction == 'W';
	struct istripe_pdu pdu;

	istripe_transfer_init(t, &keys, read, write, read || write ? 1000 : 0);
	if (read && row->covered_bytes) {
		pdu = data_in_make(0, 0, row->covered_bytes);
		KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(t, &pdu), 0);
	}
	if (write && row->covered_bytes) {
		pdu = r2t_make(0, 0, row->covered_bytes);
		KUNIT_ASSERT_EQ(test, istripe_transfer_r2t(t, &pdu), 0);
		istripe_transfer_r2t_done(t);
	}
}

/* The rules are the same whichever PDU brings the status (P19). */
static void transfer_status(struct kunit *test)
{
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 i, in_data_in, transferred_bytes;

	for (i = 0; i < ARRAY_SIZE(status_rows); i++) {
		const struct status_row *row = &status_rows[i];

		for (in_data_in = 0; in_data_in < 2; in_data_in++) {
			status_row_prepare(test, row, &t);
			pdu = status_make(in_data_in, row->status, row->flag, row->residual);
			transferred_bytes = 77;
			KUNIT_EXPECT_EQ_MSG(test, istripe_transfer_status(&t, &pdu,
									  &transferred_bytes),
					    row->ret, "%s", row->what);
			KUNIT_EXPECT_EQ_MSG(test, transferred_bytes, row->transferred_bytes,
					    "%s", row->what);
			KUNIT_EXPECT_EQ_MSG(test, !t.problem, !row->ret, "%s", row->what);
		}
	}
}

static void transfer_nothing_after_status(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu, status = status_make(false, BUSY, 0, 0);
	u32 transferred_bytes;

	istripe_transfer_init(&t, &keys, true, false, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &status, &transferred_bytes), 0);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &status, &transferred_bytes), -EPROTO);
	pdu = data_in_make(0, 0, 100);
	KUNIT_EXPECT_EQ(test, istripe_transfer_data_in(&t, &pdu), -EPROTO);

	istripe_transfer_init(&t, &keys, false, true, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &status, &transferred_bytes), 0);
	pdu = r2t_make(0, 0, 100);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), -EPROTO);

	/* Not a status at all. */
	istripe_transfer_init(&t, &keys, true, false, 1000);
	pdu = data_in_make(0, 0, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), -EPROTO);
}

/* P4: the target may answer while it still has an R2T open. */
static void transfer_early_status(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct istripe_pdu pdu = r2t_make(0, 0, 1000);
	struct istripe_transfer t;
	u32 transferred_bytes;

	istripe_transfer_init(&t, &keys, false, true, 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
	pdu = status_make(false, CHECK_CONDITION, 'U', 1000);
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), 0);
	KUNIT_EXPECT_EQ(test, transferred_bytes, 0);
}

/* With another response code there is nothing to believe. */
static void transfer_other_response(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u32 transferred_bytes;

	istripe_transfer_init(&t, &keys, true, false, 1000);
	pdu = status_make(false, SAM_STAT_GOOD, 'U', U32_MAX);
	pdu.scsi_response = ISCSI_STATUS_TARGET_FAILURE;
	KUNIT_EXPECT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), 0);
	KUNIT_EXPECT_EQ(test, transferred_bytes, 0);
}

#define MAP_BYTES	24

/*
 * A target that says anything, against a map with one mark for each byte: Data-In are
 * accepted exactly when they fit the map, GOOD is believed only when it is full.
 */
static void transfer_against_map(struct kunit *test)
{
	struct istripe_keys keys = keys_make(true, false, 65536, 8192);
	struct test_random r = { .s = 0x3a9 };
	u32 round, i, sn, next, transferred_bytes, full = 0;
	struct istripe_transfer t;
	struct istripe_pdu pdu;
	u8 map[MAP_BYTES];
	bool fits;

	for (round = 0; round < 4000; round++) {
		memset(map, 0, sizeof(map));
		istripe_transfer_init(&t, &keys, true, false, MAP_BYTES);
		for (sn = 0; sn < 3;) {
			for (next = 0; next < MAP_BYTES && map[next]; next++)
				;
			i = test_random_below(&r, 4) ? next : test_random_below(&r, MAP_BYTES + 2);
			pdu = data_in_make(test_random_below(&r, 16) ? sn : sn + 1, i,
					   test_random_below(&r, MAP_BYTES + 2));
			if (!pdu.data_segment_bytes)
				continue;
			fits = pdu.data_in.data_sn == sn && i == next &&
			       i + pdu.data_segment_bytes <= MAP_BYTES;
			KUNIT_ASSERT_EQ(test, istripe_transfer_data_in(&t, &pdu),
					fits ? 0 : -EPROTO);
			if (!fits)
				break;
			memset(map + i, 1, pdu.data_segment_bytes);
			sn++;
		}
		pdu = status_make(round & 1, SAM_STAT_GOOD, 0, 0);
		fits = !memchr(map, 0, sizeof(map));
		full += fits;
		KUNIT_ASSERT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes),
				fits ? 0 : -EPROTO);
	}
	KUNIT_EXPECT_GT(test, full, 100);
	KUNIT_EXPECT_LT(test, full, 3900);
}

/* An honest target is believed, whatever was negotiated and however it cuts. */
static void transfer_honest_write(struct kunit *test)
{
	struct test_random r = { .s = 0x600d };
	u32 round, sn, end, bytes, length_bytes, transferred_bytes;
	struct istripe_transfer t;
	struct istripe_keys keys;
	struct istripe_pdu pdu;

	for (round = 0; round < 2000; round++) {
		keys = keys_make(test_random_below(&r, 2), test_random_below(&r, 2),
				 512 + test_random_below(&r, 8192),
				 512 + test_random_below(&r, 8192));
		length_bytes = 1 + test_random_below(&r, 60000);
		istripe_transfer_init(&t, &keys, false, true, length_bytes);
		end = t.immediate_bytes + t.unsolicited_bytes;
		KUNIT_ASSERT_LE(test, end, length_bytes);
		KUNIT_ASSERT_LE(test, end, keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH]);
		for (sn = 0; end < length_bytes; sn++) {
			bytes = min(1 + test_random_below(&r, 4096), length_bytes - end);
			if (sn >= 2)
				istripe_transfer_r2t_done(&t);
			pdu = r2t_make(sn, end, bytes);
			KUNIT_ASSERT_EQ(test, istripe_transfer_r2t(&t, &pdu), 0);
			end += bytes;
		}
		pdu = status_make(false, SAM_STAT_GOOD, 0, 0);
		KUNIT_ASSERT_EQ(test, istripe_transfer_status(&t, &pdu, &transferred_bytes), 0);
		KUNIT_ASSERT_EQ(test, transferred_bytes, length_bytes);
	}
}

static struct kunit_case istripe_transfer_cases[] = {
	KUNIT_CASE(transfer_unasked),
	KUNIT_CASE(transfer_shorten),
	KUNIT_CASE(transfer_segments),
	KUNIT_CASE(transfer_data_in),
	KUNIT_CASE(transfer_empty_data_in),
	KUNIT_CASE(transfer_wrap),
	KUNIT_CASE(transfer_wrong_direction),
	KUNIT_CASE(transfer_r2t),
	KUNIT_CASE(transfer_r2t_end),
	KUNIT_CASE(transfer_r2t_for_unsolicited),
	KUNIT_CASE(transfer_r2t_outstanding),
	KUNIT_CASE(transfer_status),
	KUNIT_CASE(transfer_nothing_after_status),
	KUNIT_CASE(transfer_early_status),
	KUNIT_CASE(transfer_other_response),
	KUNIT_CASE(transfer_against_map),
	KUNIT_CASE(transfer_honest_write),
	{}
};

static struct kunit_suite istripe_transfer_suite = {
	.name = "istripe_transfer",
	.test_cases = istripe_transfer_cases,
};

kunit_test_suite(istripe_transfer_suite);
