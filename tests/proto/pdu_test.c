// SPDX-License-Identifier: GPL-2.0
/*
 * Headers are compared byte for byte with what RFC 7143 section 11 draws, written down
 * here once more by hand: nothing of this test goes through the structures of the code.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/digest.h"
#include "iscsi/pdu.h"
#include "test_random.h"

#define BHS	ISCSI_HDR_LEN

/* A header as bytes, aligned so that it can be decoded in place. */
union bytes {
	struct iscsi_hdr hdr;
	struct iscsi_scsi_req scsi;
	struct iscsi_data data_out;
	struct iscsi_nopout nop_out;
	struct iscsi_tm tm;
	struct iscsi_logout logout;
	u8 b[BHS];
};

static const struct scsi_lun lun_7 = { .scsi_lun = { 0, 7 } };

static void expect_header(struct kunit *test, const union bytes *is, const u8 *should)
{
	u32 i;

	for (i = 0; i < BHS; i++)
		KUNIT_EXPECT_EQ_MSG(test, is->b[i], should[i], "byte %u", i);
}

/* The example of RFC 7143 appendix A.4, with its digest. */
static void pdu_scsi_command_rfc_example(struct kunit *test)
{
	static const u8 cdb[ISCSI_CDB_SIZE] = { 0x28, [8] = 2 };
	static const struct istripe_pdu_scsi_command command = {
		.itt = 0x14000000, .cmd_sn = 0x14, .exp_stat_sn = 0x18,
		.expected_data_bytes = 0x400, .cdb = cdb, .read = true, .final = true,
	};
	static const u8 should[BHS] = {
		0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28,
		[40] = 0x02,
	};
	static const u8 digest[] = { 0x56, 0x3a, 0x96, 0xd9 };
	union bytes h;
	u8 is[4];

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_scsi_command(&h.scsi, &command);
	expect_header(test, &h, should);
	put_unaligned_le32(istripe_digest_of(h.b, BHS), is);
	KUNIT_EXPECT_MEMEQ(test, is, digest, sizeof(digest));
}

static void pdu_scsi_command_write(struct kunit *test)
{
	static const u8 cdb[ISCSI_CDB_SIZE] = {
		0x8a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	};
	static const struct istripe_pdu_scsi_command command = {
		.lun = { .scsi_lun = { 0x40, 0x01 } }, .itt = 0x01020304, .cmd_sn = 0xa1a2a3a4,
		.exp_stat_sn = 0xb1b2b3b4, .expected_data_bytes = 0xc1c2c3c4,
		.data_segment_bytes = 0x123456, .cdb = cdb, .write = true,
		.attribute = ISCSI_ATTR_SIMPLE,
	};
	static const u8 should[BHS] = {
		0x01, 0x21, 0, 0, 0, 0x12, 0x34, 0x56, 0x40, 0x01, [16] = 1, 2, 3, 4,
		0xc1, 0xc2, 0xc3, 0xc4, 0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
		0x8a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	};
	union bytes h;

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_scsi_command(&h.scsi, &command);
	expect_header(test, &h, should);
}

static void pdu_data_out(struct kunit *test)
{
	struct istripe_pdu_data_out d = {
		.lun = lun_7, .itt = 0x01020304, .ttt = 0x05060708, .exp_stat_sn = 0xb1b2b3b4,
		.data_sn = 0xd1d2d3d4, .offset = 0xe1e2e3e4, .data_segment_bytes = 0xffffff,
		.final = true,
	};
	u8 should[BHS] = {
		0x05, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0, 7, [16] = 1, 2, 3, 4, 5, 6, 7, 8,
		[28] = 0xb1, 0xb2, 0xb3, 0xb4, [36] = 0xd1, 0xd2, 0xd3, 0xd4,
		0xe1, 0xe2, 0xe3, 0xe4,
	};
	union bytes h;

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_data_out(&h.data_out, &d);
	expect_header(test, &h, should);

	/* Unsolicited: the LUN is reserved (11.7.4). */
	d.ttt = ISTRIPE_TAG_RESERVED;
	d.final = false;
	memset(should + 20, 0xff, 4);
	should[1] = 0;
	should[9] = 0;
	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_data_out(&h.data_out, &d);
	expect_header(test, &h, should);
}

static void pdu_nop_out(struct kunit *test)
{
	const struct istripe_pdu_nop_out n = {
		.lun = lun_7, .itt = ISTRIPE_TAG_RESERVED, .ttt = 0x05060708,
		.data_segment_bytes = 0x010203,
	};
	static const u8 should[BHS] = {
		0x40, 0x80, 0, 0, 0, 1, 2, 3, 0, 7, [16] = 0xff, 0xff, 0xff, 0xff, 5, 6, 7, 8,
	};
	union bytes h;

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_nop_out(&h.nop_out, &n);
	expect_header(test, &h, should);
}

static void pdu_task_management(struct kunit *test)
{
	struct istripe_pdu_task_management t = {
		.lun = lun_7, .itt = 0x01020304, .referenced_itt = 0x05060708,
		.ref_cmd_sn = 0xc1c2c3c4, .function = ISCSI_TM_FUNC_ABORT_TASK,
	};
	u8 should[BHS] = {
		0x42, 0x81, [9] = 7, [16] = 1, 2, 3, 4, 5, 6, 7, 8,
		[32] = 0xc1, 0xc2, 0xc3, 0xc4,
	};
	union bytes h;

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_task_management(&h.tm, &t);
	expect_header(test, &h, should);

	t.function = ISCSI_TM_FUNC_LOGICAL_UNIT_RESET;
	should[1] = 0x85;
	memset(should + 20, 0xff, 4);
	memset(should + 32, 0, 4);
	istripe_pdu_encode_task_management(&h.tm, &t);
	expect_header(test, &h, should);
}

static void pdu_logout(struct kunit *test)
{
	static const u8 should[BHS] = { 0x46, 0x80, [16] = 1, 2, 3, 4 };
	union bytes h;

	memset(&h, 0xff, sizeof(h));
	istripe_pdu_encode_logout(&h.logout, 0x01020304);
	expect_header(test, &h, should);
}

/* Everything random: what was put in is found at its place. */
static void pdu_encode_random(struct kunit *test)
{
	struct test_random r = { .s = 0x5eed1 };
	u8 cdb[ISCSI_CDB_SIZE];
	struct istripe_pdu_scsi_command c = { .cdb = cdb };
	struct istripe_pdu_data_out d;
	union bytes h;
	u32 i;

	for (i = 0; i < 2000; i++) {
		test_random_fill(&r, cdb, sizeof(cdb));
		c.lun = lun_7;
		c.itt = test_random_u32(&r);
		c.cmd_sn = test_random_u32(&r);
		c.exp_stat_sn = test_random_u32(&r);
		c.expected_data_bytes = test_random_u32(&r);
		c.data_segment_bytes = test_random_below(&r, 1 << 24);
		c.read = test_random_below(&r, 2);
		c.write = test_random_below(&r, 2);
		c.final = test_random_below(&r, 2);
		c.attribute = test_random_below(&r, 5);
		istripe_pdu_encode_scsi_command(&h.scsi, &c);
		KUNIT_EXPECT_EQ(test, h.b[1],
				c.final << 7 | c.read << 6 | c.write << 5 | c.attribute);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 4), c.data_segment_bytes);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 16), c.itt);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 20), c.expected_data_bytes);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 24), c.cmd_sn);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 28), c.exp_stat_sn);
		KUNIT_EXPECT_MEMEQ(test, h.b + 32, cdb, sizeof(cdb));

		d = (struct istripe_pdu_data_out) {
			.itt = test_random_u32(&r), .ttt = test_random_u32(&r),
			.exp_stat_sn = test_random_u32(&r), .data_sn = test_random_u32(&r),
			.offset = test_random_u32(&r),
			.data_segment_bytes = test_random_below(&r, 1 << 24),
		};
		istripe_pdu_encode_data_out(&h.data_out, &d);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 4), d.data_segment_bytes);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 16), d.itt);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 20), d.ttt);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 28), d.exp_stat_sn);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 36), d.data_sn);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(h.b + 40), d.offset);
	}
}

static struct kunit_case istripe_pdu_cases[] = {
	KUNIT_CASE(pdu_scsi_command_rfc_example),
	KUNIT_CASE(pdu_scsi_command_write),
	KUNIT_CASE(pdu_data_out),
	KUNIT_CASE(pdu_nop_out),
	KUNIT_CASE(pdu_task_management),
	KUNIT_CASE(pdu_logout),
	KUNIT_CASE(pdu_encode_random),
	{}
};

static struct kunit_suite istripe_pdu_suite = {
	.name = "istripe_pdu",
	.test_cases = istripe_pdu_cases,
};

kunit_test_suite(istripe_pdu_suite);
