// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/negotiation.h"
#include "test_negotiation.h"
#include "test_random.h"

static const struct declared_row {
	u32 bound;
	const char *word;
	int result;
	u32 value;
} declared_rows[] = {
	{ 262144, NULL, 0, 8192 },
	{ 512, NULL, 0, 512 },
	{ 262144, "512", 0, 512 },
	{ 262144, "65536", 0, 65536 },
	{ 262144, "16777215", 0, 262144 },
	{ 16777215, "16777215", 0, 16777215 },
	{ 262144, "0x2000", 0, 8192 },
	{ 262144, "511", -EPROTO },
	{ 262144, "0", -EPROTO },
	{ 262144, "16777216", 0, 262144 },
	{ 16777215, "16777216", 0, 16777215 },
	{ 16777215, "4294967295", 0, 16777215 },
	{ 262144, "4294967296", -EPROTO },
	{ 262144, "", -EPROTO },
	{ 262144, "Reject", -EPROTO },
	{ 262144, "NotUnderstood", -EPROTO },
	{ 262144, "Irrelevant", -EPROTO },
	{ 262144, "Yes", -EPROTO },
};

/* MaxRecvDataSegmentLength: each side speaks for itself, nobody answers. */
static void declared(struct kunit *test)
{
	char sent[1024], answer[64];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(declared_rows); i++) {
		const struct declared_row *row = &declared_rows[i];
		struct istripe_text_writer w, reply;
		struct istripe_negotiation n;
		struct istripe_keys keys;
		int err = 0;

		istripe_keys_default_offer(&keys);
		keys.value[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH] = 131072;
		keys.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = row->bound;
		istripe_negotiation_init(&n, &keys, NULL);
		istripe_text_writer_init(&w, sent, sizeof(sent));
		istripe_text_writer_init(&reply, answer, sizeof(answer));
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&n, &w), 0);
		KUNIT_EXPECT_STREQ(test, text_find(&w, "MaxRecvDataSegmentLength"), "131072");
		KUNIT_EXPECT_NULL(test, text_find(&w, "MaxXmitDataSegmentLength"));
		if (row->word)
			err = say(&n, "MaxRecvDataSegmentLength", row->word, &reply);
		KUNIT_EXPECT_EQ_MSG(test, err, row->result, "row %u", i);
		KUNIT_EXPECT_EQ(test, reply.used, 0);
		if (err)
			continue;
		KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&n), 0);
		KUNIT_EXPECT_EQ(test, n.result.value[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH],
				131072);
		KUNIT_EXPECT_EQ_MSG(test,
				    n.result.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH],
				    row->value, "row %u", i);
	}
}

struct bench {
	struct istripe_negotiation n;
	struct istripe_text_writer sent, reply;
	char sent_buf[1024], reply_buf[1024];
};

static struct bench bench;

static struct bench *bench_begin(const struct istripe_keys *session)
{
	struct istripe_keys keys;

	istripe_keys_default_offer(&keys);
	istripe_negotiation_init(&bench.n, &keys, session);
	istripe_text_writer_init(&bench.sent, bench.sent_buf, sizeof(bench.sent_buf));
	istripe_text_writer_init(&bench.reply, bench.reply_buf, sizeof(bench.reply_buf));
	return &bench;
}

static u32 text_pairs(const struct istripe_text_writer *w)
{
	u32 i, pairs = 0;

	for (i = 0; i < w->used; i++)
		pairs += !w->buf[i];
	return pairs;
}

/* The first request of a session, word for word. */
static void offer_text(struct kunit *test)
{
	static const char text[] =
		"HeaderDigest=None\0DataDigest=None\0MaxConnections=1\0InitialR2T=No\0"
		"ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0MaxBurstLength=1048576\0"
		"FirstBurstLength=262144\0DefaultTime2Wait=2\0DefaultTime2Retain=20\0"
		"MaxOutstandingR2T=16\0DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0"
		"ErrorRecoveryLevel=0";
	struct bench *b = bench_begin(NULL);
	u32 size;

	KUNIT_EXPECT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_ASSERT_EQ(test, b->sent.used, sizeof(text));
	KUNIT_EXPECT_EQ(test, memcmp(b->sent.buf, text, sizeof(text)), 0);
	for (size = 0; size < sizeof(text); size++) {
		b = bench_begin(NULL);
		istripe_text_writer_init(&b->sent, b->sent_buf, size);
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), -EMSGSIZE);
	}
}

/* Answers as a common target gives them. */
static void whole_login(struct kunit *test)
{
	static const char * const answers[][2] = {
		{ "HeaderDigest", "None" }, { "DataDigest", "None" }, { "MaxConnections", "1" },
		{ "InitialR2T", "Yes" }, { "ImmediateData", "No" },
		{ "MaxRecvDataSegmentLength", "131072" }, { "MaxBurstLength", "262144" },
		{ "FirstBurstLength", "262144" }, { "DefaultTime2Wait", "2" },
		{ "DefaultTime2Retain", "20" }, { "MaxOutstandingR2T", "8" },
		{ "DataPDUInOrder", "Yes" }, { "DataSequenceInOrder", "Yes" },
		{ "ErrorRecoveryLevel", "0" },
	};
	static const u32 result[ISTRIPE_KEY_COUNT] = {
		[ISTRIPE_KEY_MAX_CONNECTIONS] = 1,
		[ISTRIPE_KEY_INITIAL_R2T] = 1,
		[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH] = 262144,
		[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = 131072,
		[ISTRIPE_KEY_MAX_BURST_LENGTH] = 262144,
		[ISTRIPE_KEY_FIRST_BURST_LENGTH] = 262144,
		[ISTRIPE_KEY_DEFAULT_TIME2WAIT] = 2,
		[ISTRIPE_KEY_DEFAULT_TIME2RETAIN] = 20,
		[ISTRIPE_KEY_MAX_OUTSTANDING_R2T] = 8,
		[ISTRIPE_KEY_DATA_PDU_IN_ORDER] = 1,
		[ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER] = 1,
		[ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL] = 1,
	};
	struct bench *b = bench_begin(NULL);
	u32 i;

	KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ(test, say(&b->n, answers[i][0], answers[i][1], &b->reply), 0);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, b->reply.used, 0);
	for (i = 0; i < ISTRIPE_KEY_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[i], result[i], "%s",
				    istripe_key_name(i));
}

/* A target that says nothing at all gets what is safe. */
static void silence(struct kunit *test)
{
	static const u32 result[ISTRIPE_KEY_COUNT] = {
		[ISTRIPE_KEY_MAX_CONNECTIONS] = 1,
		[ISTRIPE_KEY_INITIAL_R2T] = 1,
		[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH] = 262144,
		[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = 8192,
		[ISTRIPE_KEY_MAX_BURST_LENGTH] = 262144,
		[ISTRIPE_KEY_FIRST_BURST_LENGTH] = 65536,
		[ISTRIPE_KEY_DEFAULT_TIME2WAIT] = 2,
		[ISTRIPE_KEY_DEFAULT_TIME2RETAIN] = 20,
		[ISTRIPE_KEY_MAX_OUTSTANDING_R2T] = 16,
		[ISTRIPE_KEY_DATA_PDU_IN_ORDER] = 1,
		[ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER] = 1,
		[ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL] = 1,
	};
	struct bench *b = bench_begin(NULL);
	u32 i;

	KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	for (i = 0; i < ISTRIPE_KEY_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[i], result[i], "%s",
				    istripe_key_name(i));
}

/* Nothing was sent, nothing was received: the defaults of section 13. */
static void nothing_offered(struct kunit *test)
{
	struct bench *b = bench_begin(NULL);
	struct istripe_keys rfc;

	istripe_keys_rfc_default(&rfc);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&b->n.result, &rfc, sizeof(rfc)), 0);
}

static const struct stranger_row {
	const char *key, *value;
	int result;
	const char *reply;
} stranger_rows[] = {
	{ "X-com.example.speed", "11", 0, "NotUnderstood" },
	{ "X#NodeArchitecture", "a", 0, "NotUnderstood" },
	{ "RDMAExtensions", "Yes", 0, "NotUnderstood" },
	{ "MaxXmitDataSegmentLength", "512", 0, "NotUnderstood" },
	{ "headerdigest", "None", 0, "NotUnderstood" },
	{ "CHAP", "1", 0, "NotUnderstood" },
	{ "IFMarkInt", "2048~8192", 0, "Reject" },
	{ "OFMarkInt", "2048", 0, "Reject" },
	{ "X-com.example.speed", "NotUnderstood", -EPROTO },
	{ "X-com.example.speed", "Reject", -EPROTO },
	{ "X-com.example.speed", "Irrelevant", -EPROTO },
	{ "IFMarkInt", "Reject", -EPROTO },
	{ "AuthMethod", "CHAP", -ENOENT },
	{ "CHAP_A", "5", -ENOENT },
	{ "CHAP_R", "0x00", -ENOENT },
	{ "InitiatorAlias", "a", -ENOENT },
	{ "InitiatorName", "a", -ENOENT },
	{ "SendTargets", "All", -ENOENT },
	{ "SessionType", "Normal", -ENOENT },
	{ "TargetAddress", "[::1]:3260,1", -ENOENT },
	{ "TargetAlias", "Reject", -ENOENT },
	{ "TargetName", "iqn.2003-01.org.example:a", -ENOENT },
	{ "TargetPortalGroupTag", "1", -ENOENT },
};

static void strangers(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stranger_rows); i++) {
		const struct stranger_row *row = &stranger_rows[i];
		struct bench *b = bench_begin(NULL);

		KUNIT_EXPECT_EQ_MSG(test, say(&b->n, row->key, row->value, &b->reply), row->result,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, text_pairs(&b->reply), row->reply ? 1 : 0, "row %u", i);
		if (row->reply) {
			KUNIT_ASSERT_NOT_NULL(test, text_find(&b->reply, row->key));
			KUNIT_EXPECT_STREQ(test, text_find(&b->reply, row->key), row->reply);
		}
		KUNIT_EXPECT_EQ(test, b->n.received, 0);
	}
}

/* A key that the target sends first is answered, and then not offered any more. */
static void target_first(struct kunit *test)
{
	struct bench *b = bench_begin(NULL);

	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxBurstLength", "65536", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, say(&b->n, "HeaderDigest", "CRC32C,None", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxRecvDataSegmentLength", "65536", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, text_pairs(&b->reply), 2);
	KUNIT_EXPECT_STREQ(test, text_find(&b->reply, "MaxBurstLength"), "65536");
	KUNIT_EXPECT_STREQ(test, text_find(&b->reply, "HeaderDigest"), "None");
	KUNIT_EXPECT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_EXPECT_NULL(test, text_find(&b->sent, "MaxBurstLength"));
	KUNIT_EXPECT_NULL(test, text_find(&b->sent, "HeaderDigest"));
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "DataDigest"));
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "MaxRecvDataSegmentLength"));
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, b->n.result.value[ISTRIPE_KEY_MAX_BURST_LENGTH], 65536);
	KUNIT_EXPECT_EQ(test, b->n.result.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH], 65536);
}

static void reply_full(struct kunit *test)
{
	struct bench *b = bench_begin(NULL);

	istripe_text_writer_init(&b->reply, b->reply_buf, strlen("MaxBurstLength=65536"));
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxBurstLength", "65536", &b->reply), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, say(&b->n, "X-com.example.speed", "1", &b->reply), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, b->reply.used, 0);
}

/* FirstBurstLength with MaxBurstLength, and when it may be irrelevant: section 13.14. */
static const struct burst_row {
	u32 offer_max, offer_first;
	const char *r2t, *immediate, *max, *first;
	int finish;
	u32 result;
	bool waits;	/* for an R2T: the target may go by another length */
} burst_rows[] = {
	{ 1048576, 262144, "No", "Yes", "1048576", "262144", 0, 262144, false },
	{ 1048576, 262144, "No", "Yes", "65536", "262144", 0, 65536, true },
	{ 65536, 65536, "No", "Yes", "32768", "65536", 0, 32768, true },
	{ 1048576, 524288, "No", "Yes", "2097152", "524288", 0, 524288, false },
	{ 1048576, 524288, "No", "Yes", "Reject", "524288", 0, 262144, true },
	{ 1048576, 262144, "No", "Yes", "512", NULL, 0, 512, true },
	{ 65536, 262144, "No", "Yes", "65536", "65536", 0, 65536, false },
	{ 1048576, 65536, "No", "Yes", "1048576", "131072", 0, 65536, true },
	{ 1048576, 65536, "No", "Yes", "1048576", NULL, 0, 65536, false },
	{ 1048576, 65536, "No", "Yes", "1048576", "Reject", 0, 65536, false },
	{ 1048576, 32768, "No", "Yes", "1048576", NULL, 0, 32768, true },
	{ 1048576, 262144, "Yes", "No", "1048576", "Irrelevant", 0, 65536, true },
	{ 1048576, 262144, "Yes", "Yes", "1048576", "Irrelevant", -EPROTO },
	{ 1048576, 262144, "No", "No", "1048576", "Irrelevant", -EPROTO },
	{ 1048576, 262144, "No", "Yes", "1048576", "Reject", 0, 65536, true },
};

static void bursts(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(burst_rows); i++) {
		const struct burst_row *row = &burst_rows[i];
		struct bench *b = bench_begin(NULL);
		struct istripe_keys keys = b->n.offer;

		keys.value[ISTRIPE_KEY_MAX_BURST_LENGTH] = row->offer_max;
		keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH] = row->offer_first;
		istripe_negotiation_init(&b->n, &keys, NULL);
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
		/* In an order that leaves the judgement to the end. */
		if (row->first)
			KUNIT_EXPECT_EQ(test, say(&b->n, "FirstBurstLength", row->first,
						  &b->reply), 0);
		KUNIT_EXPECT_EQ(test, say(&b->n, "InitialR2T", row->r2t, &b->reply), 0);
		KUNIT_EXPECT_EQ(test, say(&b->n, "ImmediateData", row->immediate, &b->reply), 0);
		KUNIT_EXPECT_EQ(test, say(&b->n, "MaxBurstLength", row->max, &b->reply), 0);
		KUNIT_EXPECT_EQ_MSG(test, istripe_negotiation_finish(&b->n), row->finish, "row %u",
				    i);
		if (row->finish)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[ISTRIPE_KEY_FIRST_BURST_LENGTH],
				    row->result, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[ISTRIPE_KEY_INITIAL_R2T], row->waits,
				    "row %u", i);
		/* The key is not as the target has said. */
		if (row->waits && !strcmp(row->r2t, "No"))
			KUNIT_EXPECT_GT_MSG(test, strlen(b->n.note), 0, "row %u", i);
	}
}

/* A further connection of a session speaks of its own keys only. */
static void further_connection(struct kunit *test)
{
	struct istripe_keys session;
	struct bench *b;
	u32 key;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++)
		session.value[key] = istripe_key_rule(key)->max;
	b = bench_begin(&session);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_EXPECT_EQ(test, text_pairs(&b->sent), 3);
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "HeaderDigest"));
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "DataDigest"));
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "MaxRecvDataSegmentLength"));
	KUNIT_EXPECT_EQ(test, say(&b->n, "HeaderDigest", "None", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxRecvDataSegmentLength", "512", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxBurstLength", "512", &b->reply), -EPROTO);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		if (istripe_key_rule(key)->flags & ISTRIPE_KEY_LEADING)
			KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[key], session.value[key],
					    "%s", istripe_key_name(key));
	}
	KUNIT_EXPECT_EQ(test, b->n.result.value[ISTRIPE_KEY_HEADER_DIGEST], 0);
	KUNIT_EXPECT_EQ(test, b->n.result.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH], 512);
}

/* Offers are brought into range, whatever is in the structure. */
static void wild_offers(struct kunit *test)
{
	struct test_random r = { 13 };
	struct istripe_keys keys;
	u32 round, key;

	for (round = 0; round < 2000; round++) {
		struct bench *b = bench_begin(NULL);

		for (key = 0; key < ISTRIPE_KEY_COUNT; key++)
			keys.value[key] = test_random_u32(&r) >> test_random_below(&r, 32);
		istripe_negotiation_init(&b->n, &keys, NULL);
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
		KUNIT_ASSERT_LE(test, b->n.offer.value[ISTRIPE_KEY_FIRST_BURST_LENGTH],
				b->n.offer.value[ISTRIPE_KEY_MAX_BURST_LENGTH]);
		for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
			const struct istripe_key_rule *rule = istripe_key_rule(key);

			KUNIT_ASSERT_GE(test, b->n.offer.value[key], rule->min);
			KUNIT_ASSERT_LE(test, b->n.offer.value[key],
					rule->choices ? rule->choice_count - 1 : rule->max);
		}
	}
}

/* A message is one printable line, whatever the target sent. */
static void problem_printable(struct kunit *test)
{
	struct bench *b = bench_begin(NULL);
	static char value[256];
	const char *c;

	memset(value, 0xc3, sizeof(value) - 1);
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxOutstandingR2T", value, &b->reply), -EPROTO);
	KUNIT_EXPECT_GT(test, strlen(b->n.problem), 10);
	for (c = b->n.problem; *c; c++)
		KUNIT_EXPECT_TRUE(test, *c >= ' ' && *c < 0x7f);
}

static struct kunit_case negotiation_cases[] = {
	KUNIT_CASE(declared),
	KUNIT_CASE(offer_text),
	KUNIT_CASE(whole_login),
	KUNIT_CASE(silence),
	KUNIT_CASE(nothing_offered),
	KUNIT_CASE(strangers),
	KUNIT_CASE(target_first),
	KUNIT_CASE(reply_full),
	KUNIT_CASE(bursts),
	KUNIT_CASE(further_connection),
	KUNIT_CASE(wild_offers),
	KUNIT_CASE(problem_printable),
	{}
};

static struct kunit_suite istripe_negotiation_suite = {
	.name = "istripe_negotiation",
	.test_cases = negotiation_cases,
};

kunit_test_suite(istripe_negotiation_suite);
