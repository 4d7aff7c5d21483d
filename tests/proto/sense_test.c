// SPDX-License-Identifier: GPL-2.0
/*
 * Verdicts: what the other files rely on by name, and over all statuses and all sense
 * data that nothing is ever taken for success that is not. Sense data go through the
 * kernel's own decoder, in both formats, as they do in the driver.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "scsi/sense.h"
#include "test_random.h"

#define FIXED		0x70
#define FIXED_DEFERRED	0x71
#define DESCRIPTOR	0x72
#define DESCRIPTOR_DEFERRED 0x73

static enum istripe_scsi_verdict judge(u8 response_code, u8 key, u8 asc, u8 ascq)
{
	bool fixed = response_code < DESCRIPTOR;
	struct scsi_sense_hdr sense;
	u8 bytes[18] = { response_code };

	bytes[fixed ? 2 : 1] = key;
	bytes[fixed ? 12 : 2] = asc;
	bytes[fixed ? 13 : 3] = ascq;
	bytes[7] = 10;
	scsi_normalize_sense(bytes, sizeof(bytes), &sense);
	return istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense);
}

static void sense_table(struct kunit *test)
{
	static const struct {
		u8 key;
		u8 asc;
		u8 ascq;
		enum istripe_scsi_verdict want;
		const char *what;
	} rows[] = {
		{ 0x0, 0x00, 0x00, ISTRIPE_SCSI_TRANSIENT, "no sense" },
		{ 0x1, 0x17, 0x01, ISTRIPE_SCSI_GOOD, "recovered with retries" },
		{ 0x1, 0x5d, 0x00, ISTRIPE_SCSI_GOOD, "failure predicted" },
		{ 0x2, 0x04, 0x00, ISTRIPE_SCSI_BUSY, "not ready" },
		{ 0x2, 0x04, 0x01, ISTRIPE_SCSI_BUSY, "becoming ready" },
		{ 0x2, 0x04, 0x02, ISTRIPE_SCSI_PATH_ERROR, "start unit required" },
		{ 0x2, 0x04, 0x03, ISTRIPE_SCSI_PATH_ERROR, "manual intervention required" },
		{ 0x2, 0x04, 0x04, ISTRIPE_SCSI_BUSY, "format in progress" },
		{ 0x2, 0x04, 0x0a, ISTRIPE_SCSI_BUSY, "ALUA transition" },
		{ 0x2, 0x04, 0x0b, ISTRIPE_SCSI_NOT_SERVED, "ALUA standby" },
		{ 0x2, 0x04, 0x0c, ISTRIPE_SCSI_NOT_SERVED, "ALUA unavailable" },
		{ 0x2, 0x04, 0x12, ISTRIPE_SCSI_PATH_ERROR, "offline" },
		{ 0x2, 0x04, 0x14, ISTRIPE_SCSI_BUSY, "space allocation in progress" },
		{ 0x2, 0x08, 0x00, ISTRIPE_SCSI_TRANSIENT, "communication failure" },
		{ 0x2, 0x08, 0x01, ISTRIPE_SCSI_PATH_ERROR, "communication time-out" },
		{ 0x2, 0x00, 0x00, ISTRIPE_SCSI_PATH_ERROR, "no more is said" },
		{ 0x2, 0x3a, 0x00, ISTRIPE_SCSI_PATH_ERROR, "medium not present" },
		{ 0x3, 0x11, 0x00, ISTRIPE_SCSI_MEDIUM, "unrecovered read error" },
		{ 0x3, 0x13, 0x00, ISTRIPE_SCSI_MEDIUM, "address mark not found for data field" },
		{ 0x3, 0x14, 0x01, ISTRIPE_SCSI_MEDIUM, "record not found" },
		{ 0x3, 0x0c, 0x02, ISTRIPE_SCSI_TRANSIENT, "write error" },
		{ 0x3, 0x03, 0x00, ISTRIPE_SCSI_TRANSIENT, "peripheral device write fault" },
		{ 0x5, 0x27, 0x00, ISTRIPE_SCSI_PROTECT, "write protected, with the wrong key" },
		{ 0x4, 0x44, 0x00, ISTRIPE_SCSI_TARGET, "internal target failure" },
		{ 0x4, 0x00, 0x00, ISTRIPE_SCSI_TARGET, "hardware error" },
		{ 0x5, 0x10, 0x01, ISTRIPE_SCSI_CORRUPT, "guard check failed, on the way" },
		{ 0x5, 0x1a, 0x00, ISTRIPE_SCSI_UNSUPPORTED, "parameter list length" },
		{ 0x5, 0x20, 0x00, ISTRIPE_SCSI_UNSUPPORTED, "invalid operation code" },
		{ 0x5, 0x21, 0x00, ISTRIPE_SCSI_TARGET, "LBA out of range" },
		{ 0x5, 0x22, 0x00, ISTRIPE_SCSI_UNSUPPORTED, "illegal function" },
		{ 0x5, 0x24, 0x00, ISTRIPE_SCSI_UNSUPPORTED, "invalid field in CDB" },
		{ 0x5, 0x20, 0x02, ISTRIPE_SCSI_UNSUPPORTED, "access denied" },
		{ 0x5, 0x22, 0x01, ISTRIPE_SCSI_UNSUPPORTED, "invalid token operation" },
		{ 0x5, 0x24, 0x01, ISTRIPE_SCSI_UNSUPPORTED, "CDB decryption error" },
		{ 0x5, 0x24, 0xff, ISTRIPE_SCSI_UNSUPPORTED, "a vendor's" },
		{ 0x5, 0x25, 0x00, ISTRIPE_SCSI_NOT_SERVED, "logical unit not supported" },
		{ 0x5, 0x26, 0x00, ISTRIPE_SCSI_UNSUPPORTED, "invalid field in list" },
		{ 0x5, 0x26, 0x02, ISTRIPE_SCSI_UNSUPPORTED, "parameter value invalid" },
		{ 0x5, 0x94, 0x01, ISTRIPE_SCSI_PATH_ERROR, "owned by another controller" },
		{ 0x6, 0x04, 0x0a, ISTRIPE_SCSI_BUSY, "ALUA transition, by attention" },
		{ 0x6, 0x28, 0x00, ISTRIPE_SCSI_CHANGED, "medium may have changed" },
		{ 0x6, 0x29, 0x00, ISTRIPE_SCSI_RETRY, "power on or reset" },
		{ 0x6, 0x29, 0x07, ISTRIPE_SCSI_RETRY, "I_T nexus loss" },
		{ 0x6, 0x2a, 0x01, ISTRIPE_SCSI_CHANGED, "mode parameters changed" },
		{ 0x6, 0x2a, 0x05, ISTRIPE_SCSI_RETRY, "registrations preempted" },
		{ 0x6, 0x2a, 0x06, ISTRIPE_SCSI_RETRY, "ALUA state changed" },
		{ 0x6, 0x2a, 0x09, ISTRIPE_SCSI_CHANGED, "capacity changed" },
		{ 0x6, 0x38, 0x07, ISTRIPE_SCSI_RETRY, "soft threshold reached" },
		{ 0x6, 0x3f, 0x03, ISTRIPE_SCSI_CHANGED, "INQUIRY data changed" },
		{ 0x6, 0x3f, 0x05, ISTRIPE_SCSI_CHANGED, "device identifier changed" },
		{ 0x6, 0x3f, 0x0e, ISTRIPE_SCSI_CHANGED, "reported LUNs changed" },
		{ 0x7, 0x27, 0x00, ISTRIPE_SCSI_PROTECT, "write protected" },
		{ 0x7, 0x27, 0x07, ISTRIPE_SCSI_NOSPC, "space allocation failed" },
		{ 0x8, 0x00, 0x00, ISTRIPE_SCSI_MEDIUM, "blank check" },
		{ 0x9, 0x80, 0x00, ISTRIPE_SCSI_PATH_ERROR, "vendor specific" },
		{ 0xa, 0x00, 0x00, ISTRIPE_SCSI_TARGET, "copy aborted" },
		{ 0xb, 0x0c, 0x0c, ISTRIPE_SCSI_TRANSIENT, "unexpected unsolicited data" },
		{ 0xb, 0x10, 0x01, ISTRIPE_SCSI_CORRUPT, "guard check failed" },
		{ 0xb, 0x10, 0x03, ISTRIPE_SCSI_CORRUPT, "reference tag check failed" },
		{ 0xb, 0x47, 0x05, ISTRIPE_SCSI_TRANSIENT, "protocol service CRC error" },
		{ 0xd, 0x00, 0x00, ISTRIPE_SCSI_TARGET, "volume overflow" },
		{ 0xe, 0x1d, 0x00, ISTRIPE_SCSI_TARGET, "miscompare" },
		{ 0xc, 0x00, 0x00, ISTRIPE_SCSI_PATH_ERROR, "reserved" },
		{ 0xf, 0x00, 0x00, ISTRIPE_SCSI_PATH_ERROR, "completed" },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, judge(FIXED, rows[i].key, rows[i].asc, rows[i].ascq),
				    rows[i].want, "%s", rows[i].what);
		KUNIT_EXPECT_EQ_MSG(test,
				    judge(DESCRIPTOR, rows[i].key, rows[i].asc, rows[i].ascq),
				    rows[i].want, "%s", rows[i].what);
	}
}

/* Without CHECK CONDITION sense data do not count, whatever they say. */
static void sense_status(struct kunit *test)
{
	static const struct {
		u8 status;
		enum istripe_scsi_verdict want;
	} rows[] = {
		{ SAM_STAT_GOOD, ISTRIPE_SCSI_GOOD },
		{ SAM_STAT_CONDITION_MET, ISTRIPE_SCSI_GOOD },
		{ SAM_STAT_BUSY, ISTRIPE_SCSI_BUSY },
		{ SAM_STAT_TASK_SET_FULL, ISTRIPE_SCSI_BUSY },
		{ SAM_STAT_ACA_ACTIVE, ISTRIPE_SCSI_BUSY },
		{ SAM_STAT_TASK_ABORTED, ISTRIPE_SCSI_TRANSIENT },
		{ SAM_STAT_RESERVATION_CONFLICT, ISTRIPE_SCSI_RESERVATION },
	};
	const struct scsi_sense_hdr none = {};
	const struct scsi_sense_hdr recovered = { .response_code = FIXED, .sense_key = 1 };
	u32 status, i;

	for (status = 0; status <= 0xff; status++) {
		enum istripe_scsi_verdict want = ISTRIPE_SCSI_TRANSIENT;

		if (status == SAM_STAT_CHECK_CONDITION)
			continue;
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			if (rows[i].status == status)
				want = rows[i].want;
		KUNIT_EXPECT_EQ(test, istripe_sense_verdict(status, &none), want);
		KUNIT_EXPECT_EQ(test, istripe_sense_verdict(status, &recovered), want);
	}
}

/* CHECK CONDITION is success for nothing but a recovered error, all 2^20 sense data. */
static void sense_never_good(struct kunit *test)
{
	struct scsi_sense_hdr sense = { .response_code = FIXED };
	u32 key, asc, ascq, wrong = 0;

	for (key = 0; key < 16; key++)
		for (asc = 0; asc < 256; asc++)
			for (ascq = 0; ascq < 256; ascq++) {
				enum istripe_scsi_verdict verdict;

				sense.sense_key = key;
				sense.asc = asc;
				sense.ascq = ascq;
				verdict = istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense);
				wrong += (verdict == ISTRIPE_SCSI_GOOD) != (key == 1);
				wrong += verdict >= ISTRIPE_SCSI_VERDICT_COUNT;
			}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

/* Deferred sense data are an earlier command's: this one was not carried out. */
static void sense_deferred_retries(struct kunit *test)
{
	enum istripe_scsi_verdict want;
	u32 key;

	for (key = 0; key < 16; key++) {
		want = key == NO_SENSE || key == RECOVERED_ERROR || key == UNIT_ATTENTION ?
		       ISTRIPE_SCSI_TRANSIENT : ISTRIPE_SCSI_DEFERRED;
		KUNIT_EXPECT_EQ(test, judge(FIXED_DEFERRED, key, 0x0c, 0), want);
		KUNIT_EXPECT_EQ(test, judge(DESCRIPTOR_DEFERRED, key, 0x0c, 0), want);
	}
}

/* Truncated or absent sense data: another try, never success. */
static void sense_short(struct kunit *test)
{
	static const u8 full[18] = { FIXED, 0, 1, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x17, 1 };
	struct scsi_sense_hdr sense;
	u32 len;

	for (len = 0; len <= 2; len++) {
		scsi_normalize_sense(full, len, &sense);
		KUNIT_EXPECT_EQ(test, istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense),
				ISTRIPE_SCSI_TRANSIENT);
	}
	scsi_normalize_sense(full, 3, &sense);
	KUNIT_EXPECT_EQ(test, istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense),
			ISTRIPE_SCSI_GOOD);
}

/* Sense data that scsi_normalize_sense() has not accepted, or of another format, do not count. */
static void sense_invalid(struct kunit *test)
{
	struct scsi_sense_hdr sense = { .sense_key = RECOVERED_ERROR };
	u32 code;

	for (code = 0; code <= 0x7f; code++) {
		sense.response_code = code;
		KUNIT_EXPECT_EQ(test, istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense),
				code == 0x70 || code == 0x72 ? ISTRIPE_SCSI_GOOD :
				ISTRIPE_SCSI_TRANSIENT);
	}
}

static void sense_random_bytes(struct kunit *test)
{
	struct test_random r = { .s = 0x5e45e };
	struct scsi_sense_hdr sense;
	u8 bytes[32];
	u32 i;

	for (i = 0; i < 20000; i++) {
		u32 len = test_random_below(&r, sizeof(bytes) + 1);
		enum istripe_scsi_verdict verdict;

		test_random_fill(&r, bytes, sizeof(bytes));
		bytes[0] = (bytes[0] & 0x83) | 0x70;
		scsi_normalize_sense(bytes, len, &sense);
		verdict = istripe_sense_verdict(SAM_STAT_CHECK_CONDITION, &sense);
		KUNIT_ASSERT_LT(test, (u32)verdict, (u32)ISTRIPE_SCSI_VERDICT_COUNT);
		KUNIT_ASSERT_EQ(test, verdict == ISTRIPE_SCSI_GOOD,
				len && sense.response_code <= 0x72 &&
				!(sense.response_code & 1) && sense.sense_key == 1);
	}
}

static void sense_of_medium(struct kunit *test)
{
	struct scsi_sense_hdr sense = { .asc = 0x0c, .ascq = 0x02 };
	u32 code, key;

	for (code = 0x70; code <= 0x73; code++)
		for (key = 0; key < 16; key++) {
			sense.response_code = code;
			sense.sense_key = key;
			KUNIT_EXPECT_EQ(test, istripe_sense_of_medium(&sense),
					key == MEDIUM_ERROR && !(code & 1));
		}
}

static void sense_write_protected(struct kunit *test)
{
	static const struct {
		u8 key, asc, ascq;
		bool expect;
	} rows[] = {
		{ 0x7, 0x27, 0x00, true }, { 0x7, 0x27, 0x01, true }, { 0x7, 0x27, 0x02, true },
		{ 0x7, 0x27, 0x03, false }, { 0x7, 0x27, 0x07, false }, { 0x7, 0x20, 0x02, false },
		{ 0x5, 0x27, 0x00, false }, { 0x0, 0x00, 0x00, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_sense_hdr sense = {
			.response_code = 0x70, .sense_key = rows[i].key,
			.asc = rows[i].asc, .ascq = rows[i].ascq,
		};

		KUNIT_EXPECT_EQ(test, istripe_sense_write_protected(&sense), rows[i].expect);
	}
}

/* Whether it is not sent again, and whether data of others may be lost. */
static void sense_flushes(struct kunit *test)
{
	static const struct {
		u8 code, key, asc, ascq;
		bool lost, loses;
	} rows[] = {
		{ FIXED, 0x3, 0x0c, 0x00, true, true }, { FIXED, 0x2, 0x08, 0x00, true, true },
		{ FIXED, 0xb, 0x00, 0x00, true, true }, { FIXED, 0x4, 0x44, 0x00, false, true },
		{ FIXED_DEFERRED, 0x4, 0x44, 0x00, true, true },
		{ FIXED, 0x4, 0x03, 0x00, false, true }, { FIXED, 0x7, 0x27, 0x07, false, true },
		{ FIXED, 0x2, 0x08, 0x01, false, true }, { FIXED, 0x2, 0x04, 0x03, false, true },
		{ FIXED, 0xb, 0x47, 0x05, false, true }, { FIXED, 0x1, 0x17, 0x01, false, false },
		{ FIXED, 0x2, 0x04, 0x01, false, false }, { FIXED, 0x2, 0x04, 0x0b, false, false },
		{ FIXED, 0x5, 0x20, 0x00, false, false }, { FIXED, 0x5, 0x25, 0x00, false, false },
		{ FIXED, 0x6, 0x29, 0x00, false, false }, { FIXED, 0x6, 0x2a, 0x01, false, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_sense_hdr sense = {
			.response_code = rows[i].code, .sense_key = rows[i].key,
			.asc = rows[i].asc, .ascq = rows[i].ascq,
		};

		KUNIT_EXPECT_EQ_MSG(test, istripe_sense_flush_is_lost(SYNCHRONIZE_CACHE, &sense),
				    rows[i].lost, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    istripe_sense_flush_may_lose(SYNCHRONIZE_CACHE_16, &sense),
				    rows[i].loses, "row %u", i);
		KUNIT_EXPECT_FALSE(test, istripe_sense_flush_is_lost(WRITE_16, &sense));
		KUNIT_EXPECT_FALSE(test, istripe_sense_flush_may_lose(WRITE_16, &sense));
	}
}

static void sense_preempted(struct kunit *test)
{
	static const struct {
		u8 key, asc, ascq;
		bool expect;
	} rows[] = {
		{ 0x6, 0x2a, 0x03, true }, { 0x6, 0x2a, 0x05, true }, { 0x6, 0x2a, 0x04, false },
		{ 0x6, 0x2a, 0x06, false }, { 0x6, 0x29, 0x03, false }, { 0x5, 0x2a, 0x05, false },
		{ 0x0, 0x00, 0x00, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_sense_hdr sense = {
			.response_code = 0x70, .sense_key = rows[i].key,
			.asc = rows[i].asc, .ascq = rows[i].ascq,
		};

		KUNIT_EXPECT_EQ(test, istripe_sense_preempted(&sense), rows[i].expect);
	}
}

static void sense_names(struct kunit *test)
{
	u32 a, b;

	for (a = 0; a < ISTRIPE_SCSI_VERDICT_COUNT; a++) {
		KUNIT_ASSERT_NOT_NULL(test, istripe_scsi_verdict_name(a));
		KUNIT_EXPECT_STRNEQ(test, istripe_scsi_verdict_name(a), "unknown");
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_STRNEQ(test, istripe_scsi_verdict_name(a),
					    istripe_scsi_verdict_name(b));
	}
	KUNIT_EXPECT_STREQ(test, istripe_scsi_verdict_name(ISTRIPE_SCSI_VERDICT_COUNT), "unknown");
	KUNIT_EXPECT_STREQ(test, istripe_scsi_verdict_name(-1), "unknown");
}

static void sense_stopped(struct kunit *test)
{
	static const struct {
		u8 code, key, asc, ascq;
		bool expect;
	} rows[] = {
		{ FIXED, 0x2, 0x04, 0x02, true }, { DESCRIPTOR, 0x2, 0x04, 0x02, true },
		{ FIXED, 0x2, 0x04, 0x01, false }, { FIXED, 0x2, 0x04, 0x03, false },
		{ FIXED, 0x2, 0x3a, 0x02, false }, { FIXED, 0x6, 0x04, 0x02, false },
		{ FIXED_DEFERRED, 0x2, 0x04, 0x02, false }, { 0x7f, 0x2, 0x04, 0x02, false },
		{ 0x00, 0x2, 0x04, 0x02, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_sense_hdr sense = {
			.response_code = rows[i].code, .sense_key = rows[i].key,
			.asc = rows[i].asc, .ascq = rows[i].ascq,
		};

		KUNIT_EXPECT_EQ_MSG(test, istripe_sense_stopped(&sense), rows[i].expect, "row %u",
				    i);
	}
}

static struct kunit_case sense_cases[] = {
	KUNIT_CASE(sense_table),
	KUNIT_CASE(sense_status),
	KUNIT_CASE(sense_never_good),
	KUNIT_CASE(sense_deferred_retries),
	KUNIT_CASE(sense_short),
	KUNIT_CASE(sense_invalid),
	KUNIT_CASE(sense_random_bytes),
	KUNIT_CASE(sense_of_medium),
	KUNIT_CASE(sense_write_protected),
	KUNIT_CASE(sense_flushes),
	KUNIT_CASE(sense_preempted),
	KUNIT_CASE(sense_stopped),
	KUNIT_CASE(sense_names),
	{}
};

static struct kunit_suite istripe_sense_suite = {
	.name = "istripe_sense",
	.test_cases = sense_cases,
};

kunit_test_suite(istripe_sense_suite);
