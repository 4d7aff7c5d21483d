// SPDX-License-Identifier: GPL-2.0
/*
 * The answers of two common targets, LIO and tgt, to the questions of a LUN's bring-up, byte
 * by byte as they build them: the values that must be understood; an answer that is cut
 * anywhere or damaged anyhow is never read beyond its end; and all text of the result can
 * be shown.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <scsi/scsi_common.h>

#include <compat/unaligned.h>

#include "scsi/vpd.h"
#include "test_random.h"

#define LUN_MAX		16383u

/* LIO's designators that are not the LUN's own: of ports, groups, the target. */
struct lio_others {
	u8 port[8];
	u8 port_group[8];
	u8 lun_group[8];
	u8 port_name[4];
	char port_text[32];
	u8 target_name[4];
	char target_text[20];
};

#define LIO_OTHERS {							\
	.port = { 0x51, 0x94, 0, 4, 0, 0, 0, 1 },			\
	.port_group = { 0x51, 0x95, 0, 4, 0, 0, 0, 0 },			\
	.lun_group = { 0x01, 0x06, 0, 4, 0, 0, 0, 0 },			\
	.port_name = { 0x53, 0x98, 0, 32 },				\
	.port_text = "iqn.2003-01.org.x:a,t,0x0001",			\
	.target_name = { 0x53, 0xa8, 0, 20 },				\
	.target_text = "iqn.2003-01.org.x:a",				\
}

static const struct {
	u8 header[8];
	char text[28];
	u8 rest[60];
} lio_inquiry = {
	.header = { 0, 0, 6, 2, 91, 0, 0, 2 },
	.text = "LIO-ORG disk0           4.0 ",
	.rest = { [22] = 0x00, 0xc0, 0x09, 0x60, 0x04, 0x60, 0x04, 0xc0 },
};

static const u8 lio_pages[] = { 0, 0, 0, 8, 0, 0x80, 0x83, 0x86, 0xb0, 0xb1, 0xb2, 0xb3 };

static const struct {
	u8 header[4];
	char text[37];
} lio_serial = {
	.header = { 0, 0x80, 0, 37 },
	.text = "b2f2b3e1-c6bc-4a0f-9fd2-ba4c15d7e860",
};

static const struct {
	u8 header[4];
	u8 naa[4 + 16];
	u8 t10[4];
	char t10_text[51];
	struct lio_others others;
} lio_identification = {
	.header = { 0, 0x83, 0, 159 },
	.naa = { 1, 3, 0, 16, 0x60, 0x01, 0x40, 0x5b, 0x2f, 0x2b, 0x3e, 0x1c, 0x6b, 0xc4, 0xa0,
		 0xf9, 0xfd, 0x2b, 0xa4, 0xc1 },
	.t10 = { 2, 1, 0, 51 },
	.t10_text = "LIO-ORG disk0:b2f2b3e1-c6bc-4a0f-9fd2-ba4c15d7e860",
	.others = LIO_OTHERS,
};

/* The serial number has not been set: nothing says which LUN it is. */
static const struct {
	u8 header[4];
	u8 t10[4];
	char t10_text[9];
	struct lio_others others;
} lio_no_serial = {
	.header = { 0, 0x83, 0, 97 },
	.t10 = { 2, 1, 0, 9 },
	.t10_text = "LIO-ORG ",
	.others = LIO_OTHERS,
};

static const u8 lio_limits_thin[64] = {
	0, 0xb0, 0, 60, 1, 1, 0, 1, 0, 0, 0x80, 0, 0, 0, 0x40, 0,
	0, 0, 0, 0, 0, 0x3f, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1,
	0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
};

/* Without thin provisioning the page claims to end before all that is in it. */
static const u8 lio_limits_thick[64] = {
	0, 0xb0, 0, 16, 1, 1, 0, 1, 0, 0, 0x80, 0, 0, 0, 0x40, 0, [42] = 0xff, 0xff,
};

static const u8 lio_characteristics[64] = { 0, 0xb1, 0, 60, 0, 1 };
static const u8 lio_provisioning[8] = { 0, 0xb2, 0, 4, 0, 0xe4 };
static const u8 lio_capacity[32] = {
	0, 0, 0, 0, 0, 0x1f, 0xff, 0xff, 0, 0, 2, 0, 0, 3, 0xc0, 0,
};

static const u8 lio_mode[24] = { 23, 0, 0x10, 0, 0x08, 18, 0x04, [16] = 0x20 };

static const struct {
	u8 header[8];
	char text[28];
	u8 rest[30];
} tgt_inquiry = {
	.header = { 0, 0, 5, 0x12, 61, 0, 0, 2 },
	.text = "IET     VIRTUAL-DISK    0001",
	.rest = { [22] = 0x04, 0xc0, 0x09, 0x60, 0x03, 0x00 },
};

static const u8 tgt_pages[] = { 0, 0, 0, 6, 0, 0x80, 0x83, 0xb0, 0xb1, 0xb2 };

static const struct {
	u8 header[4];
	char text[36];
} tgt_serial = {
	.header = { 0, 0x80, 0, 36 },
	.text = "                              beaf11",
};

/* A NAA of its own making; behind it comes what tgt has room for and does not fill. */
static const struct {
	u8 header[4];
	u8 t10[4];
	char t10_text[36];
	u8 naa[4 + 8];
	u8 rest[20];
} tgt_identification = {
	.header = { 0, 0x83, 0, 72 },
	.t10 = { 2, 1, 0, 36 },
	.t10_text = "IET     00010001",
	.naa = { 1, 3, 0, 8, 0x30, 0, 0, 1, 0, 0, 0, 1 },
};

static const u8 tgt_limits[64] = {
	0, 0xb0, 0, 60, 0, 0x80, [20] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

static const u8 tgt_characteristics[68] = { 0, 0xb1, 0, 64 };
static const u8 tgt_provisioning[8] = { 0, 0xb2, 0, 4, 0, 0xe4, 0x02, 0 };
static const u8 tgt_capacity[32] = {
	0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0x10, 0, 0, 0, 0xc0, 0,
};

static const u8 tgt_mode[24] = {
	23, 0, 0x10, 0, 0x08, 18, 0x14, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x80, 0x14,
};

#define ANSWER(answer)	{ (const u8 *)&(answer), sizeof(answer) }

struct answer {
	const u8 *data;
	u32 bytes;
};

static const struct answer answers[] = {
	ANSWER(lio_inquiry), ANSWER(lio_pages), ANSWER(lio_serial), ANSWER(lio_identification),
	ANSWER(lio_no_serial), ANSWER(lio_limits_thin), ANSWER(lio_limits_thick),
	ANSWER(lio_characteristics), ANSWER(lio_provisioning), ANSWER(lio_capacity),
	ANSWER(lio_mode), ANSWER(tgt_inquiry), ANSWER(tgt_pages), ANSWER(tgt_serial),
	ANSWER(tgt_identification), ANSWER(tgt_limits), ANSWER(tgt_characteristics),
	ANSWER(tgt_provisioning), ANSWER(tgt_capacity), ANSWER(tgt_mode),
};

static void answers_inquiry(struct kunit *test)
{
	struct istripe_vpd_inquiry inquiry;
	struct answer lio = ANSWER(lio_inquiry), tgt = ANSWER(tgt_inquiry);

	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(lio.data, lio.bytes, &inquiry), 0);
	KUNIT_EXPECT_EQ(test, lio.bytes, lio.data[4] + 5u);
	KUNIT_EXPECT_EQ(test, inquiry.qualifier, 0);
	KUNIT_EXPECT_EQ(test, inquiry.device_type, TYPE_DISK);
	KUNIT_EXPECT_STREQ(test, inquiry.vendor, "LIO-ORG");
	KUNIT_EXPECT_STREQ(test, inquiry.product, "disk0");
	KUNIT_ASSERT_EQ(test, istripe_vpd_inquiry_decode(tgt.data, tgt.bytes, &inquiry), 0);
	KUNIT_EXPECT_EQ(test, tgt.bytes, tgt.data[4] + 5u);
	KUNIT_EXPECT_STREQ(test, inquiry.vendor, "IET");
	KUNIT_EXPECT_STREQ(test, inquiry.product, "VIRTUAL-DISK");
}

static void answers_pages(struct kunit *test)
{
	static const u8 pages[] = { 0, 0x80, 0x83, 0xb0, 0xb1, 0xb2 };
	struct answer lio = ANSWER(lio_pages), tgt = ANSWER(tgt_pages);
	static const u8 none[4] = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		KUNIT_EXPECT_TRUE(test, istripe_vpd_page_listed(lio.data, lio.bytes, pages[i]));
		KUNIT_EXPECT_TRUE(test, istripe_vpd_page_listed(tgt.data, tgt.bytes, pages[i]));
	}
	KUNIT_EXPECT_FALSE(test, istripe_vpd_page_listed(tgt.data, tgt.bytes, 0x86));
	/* LIO lists no page at all before the LUN has got a serial number. */
	KUNIT_EXPECT_FALSE(test, istripe_vpd_page_listed(none, sizeof(none), 0));
}

static void answers_serial(struct kunit *test)
{
	struct answer lio = ANSWER(lio_serial), tgt = ANSWER(tgt_serial);
	char text[40];

	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode(lio.data, lio.bytes, text, sizeof(text)),
			0);
	KUNIT_EXPECT_STREQ(test, text, "b2f2b3e1-c6bc-4a0f-9fd2-ba4c15d7e860");
	KUNIT_ASSERT_EQ(test, istripe_vpd_serial_decode(tgt.data, tgt.bytes, text, sizeof(text)),
			0);
	KUNIT_EXPECT_STREQ(test, text, "beaf11");
}

static void answers_identification(struct kunit *test)
{
	static const struct {
		struct answer answer;
		const char *want;
	} rows[] = {
		{ ANSWER(lio_identification), "naa.6001405b2f2b3e1c6bc4a0f9fd2ba4c1" },
		{ ANSWER(lio_no_serial), NULL },
		{ ANSWER(tgt_identification), "t10.IET     00010001" },
	};
	char text[ISTRIPE_VPD_DESIGNATOR_BYTES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct answer *a = &rows[i].answer;

		/* The answers above are whole: they claim what they have. */
		KUNIT_ASSERT_EQ(test, get_unaligned_be16(a->data + 2) + 4u, a->bytes);
		KUNIT_EXPECT_EQ(test,
				istripe_vpd_designator_decode(a->data, a->bytes, text,
							      sizeof(text)),
				rows[i].want ? 0 : -ENOENT);
		KUNIT_EXPECT_STREQ(test, text, rows[i].want ?: "");
	}
}

static struct istripe_vpd_block_limits limits_of(struct kunit *test, struct answer answer)
{
	struct istripe_vpd_block_limits limits;

	KUNIT_ASSERT_EQ(test, istripe_vpd_block_limits_decode(answer.data, answer.bytes, &limits),
			0);
	return limits;
}

static void answers_limits(struct kunit *test)
{
	struct istripe_vpd_block_limits limits;

	/* Nobody has atomic writes. */
	limits = limits_of(test, (struct answer)ANSWER(lio_limits_thin));
	KUNIT_EXPECT_EQ(test, limits.max_atomic, 0u);
	KUNIT_EXPECT_EQ(test, limits.optimal_granularity, 1u);
	KUNIT_EXPECT_EQ(test, limits.max_transfer, 32768u);
	KUNIT_EXPECT_EQ(test, limits.optimal_transfer, 16384u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap, 0x3fffffu);
	KUNIT_EXPECT_EQ(test, limits.max_unmap_descriptors, 1u);
	KUNIT_EXPECT_EQ(test, limits.unmap_granularity, 1u);
	KUNIT_EXPECT_TRUE(test, limits.unmap_alignment_valid);
	KUNIT_EXPECT_EQ(test, limits.unmap_alignment, 1u);
	KUNIT_EXPECT_EQ(test, limits.max_write_same, 0xffffull);
	limits = limits_of(test, (struct answer)ANSWER(lio_limits_thick));
	KUNIT_EXPECT_EQ(test, limits.max_atomic, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_transfer, 32768u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_write_same, 0ull);
	limits = limits_of(test, (struct answer)ANSWER(tgt_limits));
	KUNIT_EXPECT_EQ(test, limits.max_atomic, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_transfer, 0u);
	KUNIT_EXPECT_EQ(test, limits.max_unmap, U32_MAX);
	KUNIT_EXPECT_EQ(test, limits.max_unmap_descriptors, U32_MAX);
	KUNIT_EXPECT_FALSE(test, limits.unmap_alignment_valid);
	KUNIT_EXPECT_EQ(test, limits.max_write_same, 0ull);
}

static void answers_provisioning(struct kunit *test)
{
	struct answer lio = ANSWER(lio_provisioning), tgt = ANSWER(tgt_provisioning);
	struct istripe_vpd_provisioning p;

	KUNIT_ASSERT_EQ(test, istripe_vpd_provisioning_decode(lio.data, lio.bytes, &p), 0);
	KUNIT_EXPECT_TRUE(test, p.unmap && p.write_same16);
	KUNIT_ASSERT_EQ(test, istripe_vpd_provisioning_decode(tgt.data, tgt.bytes, &p), 0);
	KUNIT_EXPECT_TRUE(test, p.unmap && p.write_same16);
	lio = (struct answer)ANSWER(lio_characteristics);
	KUNIT_EXPECT_FALSE(test, istripe_vpd_rotational(lio.data, lio.bytes));
	tgt = (struct answer)ANSWER(tgt_characteristics);
	KUNIT_EXPECT_TRUE(test, istripe_vpd_rotational(tgt.data, tgt.bytes));
}

static void answers_capacity(struct kunit *test)
{
	struct answer lio = ANSWER(lio_capacity), tgt = ANSWER(tgt_capacity);
	struct istripe_vpd_capacity c;

	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(lio.data, lio.bytes, &c), 0);
	KUNIT_EXPECT_EQ(test, c.blocks, 1ull << 21);
	KUNIT_EXPECT_EQ(test, c.block_bytes, 512u);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 4096u);
	KUNIT_EXPECT_TRUE(test, c.provisioning && c.reads_zeroes);
	KUNIT_ASSERT_EQ(test, istripe_vpd_capacity_decode(tgt.data, tgt.bytes, &c), 0);
	KUNIT_EXPECT_EQ(test, c.blocks, 1ull << 16);
	KUNIT_EXPECT_EQ(test, c.block_bytes, 4096u);
	KUNIT_EXPECT_EQ(test, c.physical_block_bytes, 4096u);
	KUNIT_EXPECT_TRUE(test, c.provisioning && c.reads_zeroes);
}

static void answers_mode(struct kunit *test)
{
	struct istripe_vpd_caching c;
	u8 read_only[sizeof(tgt_mode)];

	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(lio_mode, sizeof(lio_mode), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.dpofua && c.write_cache);
	KUNIT_EXPECT_FALSE(test, c.write_protected);
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(tgt_mode, sizeof(tgt_mode), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.dpofua && c.write_cache);
	KUNIT_EXPECT_FALSE(test, c.write_protected);
	memcpy(read_only, tgt_mode, sizeof(read_only));
	read_only[2] |= 0x80;
	KUNIT_ASSERT_EQ(test, istripe_vpd_caching_decode(read_only, sizeof(read_only), &c), 0);
	KUNIT_EXPECT_TRUE(test, c.write_protected);
}

/* LIO lists its LUNs as int_to_scsilun() writes them; every number there can be. */
static void answers_luns_lio(struct kunit *test)
{
	u8 data[8 + 3 * 8] = { 0, 0, 0, 3 * 8 };
	struct scsi_lun lun;
	u32 number, bit, wrong = 0;

	for (number = 0; number <= LUN_MAX; number++) {
		int_to_scsilun(0, (struct scsi_lun *)(data + 8));
		int_to_scsilun(LUN_MAX, (struct scsi_lun *)(data + 16));
		int_to_scsilun(number, (struct scsi_lun *)(data + 24));
		wrong += data[24] != number >> 8 || data[25] != (number & 0xff);
		int_to_scsilun(number, &lun);
		wrong += istripe_vpd_lun_listed(data, sizeof(data), &lun) != 1;
		for (bit = 0; bit < 14; bit++) {
			u32 other = number ^ 1 << bit;

			int_to_scsilun(other, &lun);
			wrong += istripe_vpd_lun_listed(data, sizeof(data), &lun) !=
				 (other == 0 || other == LUN_MAX);
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

/*
 * tgt lists those above 255 in the flat form, and takes the other form for the LUN of
 * the low byte: such a number must not be found, or another LUN would be written to.
 */
static void answers_luns_tgt(struct kunit *test)
{
	u8 data[8 + 2 * 8] = { 0, 0, 0, 2 * 8 };
	struct scsi_lun lun;
	u32 number, wrong = 0;

	for (number = 1; number <= LUN_MAX; number++) {
		put_unaligned_be16(number > 255 ? 0x4000 | number : number, data + 16);
		int_to_scsilun(number, &lun);
		wrong += istripe_vpd_lun_listed(data, sizeof(data), &lun) != (number <= 255);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

static void expect_text(struct kunit *test, const char *text, u32 text_bytes)
{
	u32 i, length = strnlen(text, text_bytes);

	KUNIT_ASSERT_LT(test, length, text_bytes);
	for (i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			KUNIT_FAIL(test, "byte 0x%02x in a text", text[i]);
}

static void expect_texts(struct kunit *test, const u8 *data, u32 bytes)
{
	char text[ISTRIPE_VPD_DESIGNATOR_BYTES];
	struct istripe_vpd_inquiry inquiry;

	if (!istripe_vpd_inquiry_decode(data, bytes, &inquiry)) {
		expect_text(test, inquiry.vendor, sizeof(inquiry.vendor));
		expect_text(test, inquiry.product, sizeof(inquiry.product));
	}
	if (!istripe_vpd_serial_decode(data, bytes, text, 16))
		expect_text(test, text, 16);
	if (istripe_vpd_designator_decode(data, bytes, text, sizeof(text)) != -EPROTO)
		expect_text(test, text, sizeof(text));
}

/* The properties that the callers rely on, with any answer to any question. */
static void expect_sane(struct kunit *test, const u8 *data, u32 bytes)
{
	struct istripe_vpd_block_limits limits;
	struct istripe_vpd_provisioning provisioning;
	struct istripe_vpd_capacity capacity;
	struct istripe_vpd_caching caching;
	struct scsi_lun lun = {};

	expect_texts(test, data, bytes);
	if (istripe_vpd_page_listed(data, bytes, 0x80))
		KUNIT_EXPECT_GT(test, bytes, 4u);
	if (!istripe_vpd_block_limits_decode(data, bytes, &limits))
		KUNIT_EXPECT_GE(test, bytes, 16u);
	if (!istripe_vpd_rotational(data, bytes))
		KUNIT_EXPECT_GE(test, bytes, 6u);
	if (!istripe_vpd_provisioning_decode(data, bytes, &provisioning))
		KUNIT_EXPECT_GE(test, bytes, 6u);
	if (!istripe_vpd_capacity_decode(data, bytes, &capacity))
		KUNIT_EXPECT_LE(test, capacity.blocks, (u64)S64_MAX / capacity.block_bytes);
	if (!istripe_vpd_caching_decode(data, bytes, &caching) && !caching.write_cache)
		KUNIT_EXPECT_GE(test, bytes, 7u);
	if (istripe_vpd_lun_listed(data, bytes, &lun) == 1)
		KUNIT_EXPECT_GE(test, bytes, 16u);
}

/* Memory ends where the answer does, so that a byte read too many is noticed. */
static void answers_cut(struct kunit *test)
{
	u32 i, bytes;
	u8 *exact;

	for (i = 0; i < ARRAY_SIZE(answers); i++)
		for (bytes = 0; bytes <= answers[i].bytes; bytes++) {
			exact = kunit_kmalloc(test, bytes ?: 1, GFP_KERNEL);
			KUNIT_ASSERT_NOT_ERR_OR_NULL(test, exact);
			memcpy(exact, answers[i].data, bytes);
			expect_sane(test, exact + !bytes, bytes);
			kunit_kfree(test, exact);
		}
}

static void answers_damaged(struct kunit *test)
{
	struct test_random r = { .s = 0x114 };
	u32 round, pick, bytes, flips;
	u8 *exact;

	for (round = 0; round < 20000; round++) {
		pick = test_random_below(&r, ARRAY_SIZE(answers));
		bytes = 1 + test_random_below(&r, answers[pick].bytes);
		exact = kunit_kmalloc(test, bytes, GFP_KERNEL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, exact);
		memcpy(exact, answers[pick].data, bytes);
		for (flips = 1 + test_random_below(&r, 4); flips; flips--)
			exact[test_random_below(&r, bytes)] = test_random_u32(&r);
		expect_sane(test, exact, bytes);
		kunit_kfree(test, exact);
	}
}

static struct kunit_case lun_answers_cases[] = {
	KUNIT_CASE(answers_inquiry),
	KUNIT_CASE(answers_pages),
	KUNIT_CASE(answers_serial),
	KUNIT_CASE(answers_identification),
	KUNIT_CASE(answers_limits),
	KUNIT_CASE(answers_provisioning),
	KUNIT_CASE(answers_capacity),
	KUNIT_CASE(answers_mode),
	KUNIT_CASE(answers_luns_lio),
	KUNIT_CASE(answers_luns_tgt),
	KUNIT_CASE(answers_cut),
	KUNIT_CASE(answers_damaged),
	{}
};

static struct kunit_suite istripe_lun_answers_suite = {
	.name = "istripe_lun_answers",
	.test_cases = lun_answers_cases,
};

kunit_test_suite(istripe_lun_answers_suite);
