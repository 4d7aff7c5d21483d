// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "iscsi/keys.h"

/* RFC 7143 section 13, key by key: name, range, default; then what is offered. */
static const struct key_row {
	enum istripe_key key;
	const char *name;
	u32 min, max, rfc, offer;
} key_rows[] = {
	{ ISTRIPE_KEY_HEADER_DIGEST, "HeaderDigest", 0, 1, 0, 0 },
	{ ISTRIPE_KEY_DATA_DIGEST, "DataDigest", 0, 1, 0, 0 },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "MaxConnections", 1, 65535, 1, 1 },
	{ ISTRIPE_KEY_INITIAL_R2T, "InitialR2T", 0, 1, 1, 0 },
	{ ISTRIPE_KEY_IMMEDIATE_DATA, "ImmediateData", 0, 1, 1, 1 },
	{ ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH, "MaxRecvDataSegmentLength", 512, 16777215,
	  8192, 262144 },
	{ ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH, "MaxXmitDataSegmentLength", 512, 16777215,
	  8192, 262144 },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "MaxBurstLength", 512, 16777215, 262144, 1048576 },
	{ ISTRIPE_KEY_FIRST_BURST_LENGTH, "FirstBurstLength", 512, 16777215, 65536, 262144 },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, "DefaultTime2Wait", 0, 3600, 2, 2 },
	{ ISTRIPE_KEY_DEFAULT_TIME2RETAIN, "DefaultTime2Retain", 0, 3600, 20, 20 },
	{ ISTRIPE_KEY_MAX_OUTSTANDING_R2T, "MaxOutstandingR2T", 1, 65535, 1, 16 },
	{ ISTRIPE_KEY_DATA_PDU_IN_ORDER, "DataPDUInOrder", 0, 1, 1, 1 },
	{ ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER, "DataSequenceInOrder", 0, 1, 1, 1 },
	{ ISTRIPE_KEY_ERROR_RECOVERY_LEVEL, "ErrorRecoveryLevel", 0, 2, 0, 0 },
	{ ISTRIPE_KEY_IFMARKER, "IFMarker", 0, 1, 0, 0 },
	{ ISTRIPE_KEY_OFMARKER, "OFMarker", 0, 1, 0, 0 },
	{ ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL, "iSCSIProtocolLevel", 0, 31, 1, 1 },
	{ ISTRIPE_KEY_TASK_REPORTING, "TaskReporting", 0, 0, 0, 0 },
};

static void keys_table(struct kunit *test)
{
	struct istripe_keys rfc, offer;
	u32 i;

	istripe_keys_rfc_default(&rfc);
	istripe_keys_default_offer(&offer);
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(key_rows), ISTRIPE_KEY_COUNT);
	for (i = 0; i < ARRAY_SIZE(key_rows); i++) {
		const struct key_row *row = &key_rows[i];
		const struct istripe_key_rule *rule = istripe_key_rule(row->key);

		KUNIT_ASSERT_NOT_NULL(test, rule);
		KUNIT_EXPECT_STREQ(test, istripe_key_name(row->key), row->name);
		KUNIT_EXPECT_EQ_MSG(test, istripe_key_find(row->name), row->key, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, rule->min, row->min, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, rule->max, row->max, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, rfc.value[row->key], row->rfc, "%s", row->name);
		KUNIT_EXPECT_EQ_MSG(test, offer.value[row->key], row->offer, "%s", row->name);
		KUNIT_EXPECT_GT_MSG(test, strlen(istripe_key_range(row->key)), 0, "%s", row->name);
	}
}

static void keys_unknown(struct kunit *test)
{
	enum istripe_key bad[] = { ISTRIPE_KEY_COUNT, (enum istripe_key)-1 };
	char buf[ISTRIPE_KEY_TEXT_BYTES];
	u32 value = 4711, i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_NULL(test, istripe_key_rule(bad[i]));
		KUNIT_EXPECT_STREQ(test, istripe_key_name(bad[i]), "?");
		KUNIT_EXPECT_STREQ(test, istripe_key_range(bad[i]), "");
		KUNIT_EXPECT_EQ(test, istripe_key_format(bad[i], 0, buf, sizeof(buf)), -EINVAL);
		KUNIT_EXPECT_EQ(test, istripe_key_parse(bad[i], "1", &value), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, value, 4711);
	KUNIT_EXPECT_EQ(test, istripe_key_find("MaxBurst"), -ENOENT);
	KUNIT_EXPECT_EQ(test, istripe_key_find(""), -ENOENT);
}

static const struct text_row {
	enum istripe_key key;
	const char *text;
	int result;
	u32 value;
} text_rows[] = {
	{ ISTRIPE_KEY_HEADER_DIGEST, "None", 0, ISTRIPE_DIGEST_NONE },
	{ ISTRIPE_KEY_HEADER_DIGEST, "CRC32C", 0, ISTRIPE_DIGEST_CRC32C },
	{ ISTRIPE_KEY_DATA_DIGEST, "CRC32C,None", 0, ISTRIPE_DIGEST_CRC32C_NONE },
	{ ISTRIPE_KEY_DATA_DIGEST, "None,CRC32C", 0, ISTRIPE_DIGEST_NONE_CRC32C },
	{ ISTRIPE_KEY_DATA_DIGEST, "CRC32", -EINVAL },
	{ ISTRIPE_KEY_DATA_DIGEST, "None,None", -EINVAL },
	{ ISTRIPE_KEY_DATA_DIGEST, "CRC32C, None", -EINVAL },
	{ ISTRIPE_KEY_DATA_DIGEST, "1", -EINVAL },
	{ ISTRIPE_KEY_DATA_DIGEST, "", -EINVAL },
	{ ISTRIPE_KEY_INITIAL_R2T, "Yes", 0, 1 },
	{ ISTRIPE_KEY_INITIAL_R2T, "No", 0, 0 },
	{ ISTRIPE_KEY_INITIAL_R2T, "no", -EINVAL },
	{ ISTRIPE_KEY_INITIAL_R2T, " No", -EINVAL },
	{ ISTRIPE_KEY_INITIAL_R2T, "1", -EINVAL },
	{ ISTRIPE_KEY_INITIAL_R2T, "Yes No", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "512", 0, 512 },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "16777215", 0, 16777215 },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "0x40000", 0, 262144 },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "511", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "16777216", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "-1", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "256K", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "1024 1024", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "000000000000000000000000000000512", -EINVAL },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "512\n", -EINVAL },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "0", -EINVAL },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "65535", 0, 65535 },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "65536", -EINVAL },
	{ ISTRIPE_KEY_MAX_OUTSTANDING_R2T, "0", -EINVAL },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, "0", 0, 0 },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, "3600", 0, 3600 },
	{ ISTRIPE_KEY_DEFAULT_TIME2RETAIN, "3601", -EINVAL },
	/* what this initiator cannot do is refused */
	{ ISTRIPE_KEY_ERROR_RECOVERY_LEVEL, "0", 0, 0 },
	{ ISTRIPE_KEY_ERROR_RECOVERY_LEVEL, "1", -EINVAL },
	{ ISTRIPE_KEY_DATA_PDU_IN_ORDER, "Yes", 0, 1 },
	{ ISTRIPE_KEY_DATA_PDU_IN_ORDER, "No", -EINVAL },
	{ ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER, "No", -EINVAL },
	{ ISTRIPE_KEY_IFMARKER, "No", 0, 0 },
	{ ISTRIPE_KEY_IFMARKER, "Yes", -EINVAL },
	{ ISTRIPE_KEY_OFMARKER, "Yes", -EINVAL },
	{ ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL, "1", 0, 1 },
	{ ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL, "2", -EINVAL },
	{ ISTRIPE_KEY_TASK_REPORTING, "RFC3720", 0, 0 },
	{ ISTRIPE_KEY_TASK_REPORTING, "FastAbort", -EINVAL },
};

static void keys_parse(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(text_rows); i++) {
		const struct text_row *row = &text_rows[i];
		u32 value = 4711;

		KUNIT_EXPECT_EQ_MSG(test, istripe_key_parse(row->key, row->text, &value),
				    row->result, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, value, row->result ? 4711 : row->value, "row %u", i);
	}
}

static const struct shown_row {
	enum istripe_key key;
	u32 value;
	const char *text;
} shown_rows[] = {
	{ ISTRIPE_KEY_INITIAL_R2T, 1, "Yes" },
	{ ISTRIPE_KEY_INITIAL_R2T, 0, "No" },
	{ ISTRIPE_KEY_HEADER_DIGEST, ISTRIPE_DIGEST_CRC32C, "CRC32C" },
	{ ISTRIPE_KEY_HEADER_DIGEST, ISTRIPE_DIGEST_NONE_CRC32C, "None,CRC32C" },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, 262144, "262144" },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, 0, "0" },
	{ ISTRIPE_KEY_TASK_REPORTING, 0, "RFC3720" },
};

static void keys_format(struct kunit *test)
{
	char buf[ISTRIPE_KEY_TEXT_BYTES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shown_rows); i++) {
		const struct shown_row *row = &shown_rows[i];

		KUNIT_EXPECT_EQ(test, istripe_key_format(row->key, row->value, buf, sizeof(buf)),
				(int)strlen(row->text));
		KUNIT_EXPECT_STREQ(test, buf, row->text);
	}
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_INITIAL_R2T, 2, buf, sizeof(buf)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_HEADER_DIGEST, 4, buf, sizeof(buf)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_MAX_BURST_LENGTH, 511, buf,
						 sizeof(buf)), -EINVAL);
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_MAX_BURST_LENGTH, 512, buf, 4), 3);
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_MAX_BURST_LENGTH, 512, buf, 3),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, istripe_key_format(ISTRIPE_KEY_MAX_BURST_LENGTH, 512, buf, 0),
			-EMSGSIZE);
}

/* A text that is shown can be written back, for every value that can be offered. */
static void keys_round_trip(struct kunit *test)
{
	char buf[ISTRIPE_KEY_TEXT_BYTES];
	u32 key, value, back, seen;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		const struct istripe_key_rule *rule = istripe_key_rule(key);
		u32 max = rule->choices ? rule->choice_count - 1 : rule->max;

		seen = 0;
		for (value = rule->min; value <= max; value += 1 + value / 13) {
			KUNIT_ASSERT_GT(test, istripe_key_format(key, value, buf, sizeof(buf)), 0);
			if (istripe_key_parse(key, buf, &back)) {
				KUNIT_ASSERT_TRUE(test, rule->flags & ISTRIPE_KEY_FIXED);
				continue;
			}
			KUNIT_ASSERT_EQ(test, back, value);
			seen++;
		}
		if (rule->flags & ISTRIPE_KEY_FIXED)
			KUNIT_EXPECT_EQ_MSG(test, seen, 1, "%s", rule->name);
	}
}

static struct kunit_case keys_cases[] = {
	KUNIT_CASE(keys_table),
	KUNIT_CASE(keys_unknown),
	KUNIT_CASE(keys_parse),
	KUNIT_CASE(keys_format),
	KUNIT_CASE(keys_round_trip),
	{}
};

static struct kunit_suite istripe_keys_suite = {
	.name = "istripe_keys",
	.test_cases = keys_cases,
};

kunit_test_suite(istripe_keys_suite);
