// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "proto/negotiation.h"
#include "test_random.h"

/*
 * The reference: RFC 7143 section 13 written down a second time, as what the two
 * parties may say to each other, without looking at the driver's table.
 */
static const struct reference {
	enum istripe_key key;
	const char *wire;
	char kind;	/* & and, | or, < min, > max, l list */
	u32 low, high, rfc;
	bool shy;	/* offered only when not the default; may be NotUnderstood */
	bool never;	/* never offered */
} references[] = {
	{ ISTRIPE_KEY_HEADER_DIGEST, "HeaderDigest", 'l', 0, 3, 0 },
	{ ISTRIPE_KEY_DATA_DIGEST, "DataDigest", 'l', 0, 3, 0 },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "MaxConnections", '<', 1, 65535, 1 },
	{ ISTRIPE_KEY_INITIAL_R2T, "InitialR2T", '|', 0, 1, 1 },
	{ ISTRIPE_KEY_IMMEDIATE_DATA, "ImmediateData", '&', 0, 1, 1 },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "MaxBurstLength", '<', 512, 16777215, 262144 },
	{ ISTRIPE_KEY_FIRST_BURST_LENGTH, "FirstBurstLength", '<', 512, 16777215, 65536 },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, "DefaultTime2Wait", '>', 0, 3600, 2 },
	{ ISTRIPE_KEY_DEFAULT_TIME2RETAIN, "DefaultTime2Retain", '<', 0, 3600, 20 },
	{ ISTRIPE_KEY_MAX_OUTSTANDING_R2T, "MaxOutstandingR2T", '<', 1, 65535, 1 },
	{ ISTRIPE_KEY_DATA_PDU_IN_ORDER, "DataPDUInOrder", '|', 0, 1, 1 },
	{ ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER, "DataSequenceInOrder", '|', 0, 1, 1 },
	{ ISTRIPE_KEY_ERROR_RECOVERY_LEVEL, "ErrorRecoveryLevel", '<', 0, 2, 0 },
	{ ISTRIPE_KEY_IFMARKER, "IFMarker", '&', 0, 1, 0, .never = true },
	{ ISTRIPE_KEY_OFMARKER, "OFMarker", '&', 0, 1, 0, .never = true },
	{ ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL, "iSCSIProtocolLevel", '<', 0, 31, 1, .shy = true },
	{ ISTRIPE_KEY_TASK_REPORTING, "TaskReporting", 'l', 0, 2, 0, .shy = true },
};

/* What an offer of a list admits, in order; and the value of each word. */
static const char * const digest_offers[] = { "None", "CRC32C", "CRC32C,None", "None,CRC32C" };
static const char * const report_offers[] = { "RFC3720", "ResponseFence", "FastAbort" };

/* NULL: the target says nothing. */
static const char * const words[] = {
	NULL, "", "0", "1", "2", "3", "20", "31", "32", "511", "512", "513", "8192", "65535",
	"65536", "262144", "262145", "3600", "3601", "16777215", "16777216", "4294967296", "0x200",
	"0x1", "-1", "+1", "01", "1,2", "1~2", "Yes", "No", "yes", "YES", "None", "CRC32C",
	"CRC32C,None", "None,CRC32C", "crc32c", "Foo", "Foo,None", "Foo,CRC32C", "RFC3720",
	"FastAbort", "ResponseFence,RFC3720", "Reject", "Irrelevant", "NotUnderstood",
};

struct expected {
	int receive, finish;
	u32 value;
	const char *reply;	/* word */
};

static const char *list_offer(const struct reference *ref, u32 offer)
{
	return ref->shy ? report_offers[offer] : digest_offers[offer];
}

/* Number of the word in the list of single values, or -1. */
static int list_value(const struct reference *ref, const char *word, u32 bytes)
{
	u32 singles = ref->shy ? ARRAY_SIZE(report_offers) : 2, i;

	for (i = 0; i < singles; i++) {
		const char *single = list_offer(ref, i);

		if (strlen(single) == bytes && !strncmp(single, word, bytes))
			return i;
	}
	return -1;
}

static bool list_admits(const struct reference *ref, u32 offer, const char *word, u32 bytes)
{
	char copy[32];

	scnprintf(copy, sizeof(copy), "%.*s", bytes, word);
	return list_value(ref, word, bytes) >= 0 && strstr(list_offer(ref, offer), copy);
}

static bool number_of(const char *word, u32 *number)
{
	u64 value = 0;

	if (!strcmp(word, "0x200") || !strcmp(word, "0x1")) {
		*number = word[2] == '2' ? 512 : 1;
		return true;
	}
	if (!*word || (word[0] == '0' && word[1]))
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9')
			return false;
		value = value * 10 + *word - '0';
	}
	*number = value;
	return value <= U32_MAX;
}

static bool said_value(const struct reference *ref, const char *word, u32 *value)
{
	if (ref->kind == '&' || ref->kind == '|') {
		*value = !strcmp(word, "Yes");
		return *value || !strcmp(word, "No");
	}
	return number_of(word, value) && *value >= ref->low && *value <= ref->high;
}

static u32 result_of(const struct reference *ref, u32 a, u32 b)
{
	switch (ref->kind) {
	case '&':
		return a && b;
	case '|':
		return a || b;
	case '<':
		return a < b ? a : b;
	default:
		return a > b ? a : b;
	}
}

static bool is_constant(const char *word)
{
	return !strcmp(word, "Reject") || !strcmp(word, "Irrelevant") ||
	       !strcmp(word, "NotUnderstood");
}

/* Offered, but the target gave no value. */
static struct expected expect_no_value(const struct reference *ref, u32 offer)
{
	struct expected e = { 0 };

	if (ref->kind == 'l')
		e.finish = ref->shy || offer != 1 ? 0 : -EPROTO;
	else if (ref->kind == '|')
		e.value = 1;
	else if (ref->kind != '&')
		e.value = result_of(ref, offer, ref->rfc);
	return e;
}

static struct expected expect_answer(const struct reference *ref, u32 offer, const char *word)
{
	struct expected broken = { .receive = -EPROTO };
	struct expected e = { 0 };

	if (!word || !strcmp(word, "Reject"))
		return expect_no_value(ref, offer);
	if (!strcmp(word, "NotUnderstood"))
		return ref->shy ? expect_no_value(ref, offer) : broken;
	if (!strcmp(word, "Irrelevant"))
		return strcmp(ref->wire, "FirstBurstLength") ? broken :
							       expect_no_value(ref, offer);
	if (ref->kind == 'l') {
		if (strchr(word, ',') || !list_admits(ref, offer, word, strlen(word)))
			return broken;
		e.value = list_value(ref, word, strlen(word));
		return e;
	}
	if (!said_value(ref, word, &e.value) || result_of(ref, offer, e.value) != e.value)
		return broken;
	return e;
}

static struct expected expect_first(const struct reference *ref, u32 offer, const char *word)
{
	static char text[16];
	struct expected e = { .value = ref->rfc };
	u32 said = 0;

	if (!word)
		return e;
	if (is_constant(word)) {
		e.receive = -EPROTO;
		return e;
	}
	if (ref->kind == 'l') {
		const char *member = word;

		e.reply = "Reject";
		while (member) {
			const char *comma = strchr(member, ',');
			u32 bytes = comma ? comma - member : strlen(member);

			if (list_admits(ref, offer, member, bytes)) {
				e.value = list_value(ref, member, bytes);
				e.reply = list_offer(ref, e.value);
				break;
			}
			member = comma ? comma + 1 : NULL;
		}
		return e;
	}
	if (!said_value(ref, word, &said)) {
		e.receive = -EPROTO;
		return e;
	}
	e.value = result_of(ref, offer, said);
	scnprintf(text, sizeof(text), "%u", e.value);
	e.reply = ref->kind == '<' || ref->kind == '>' ? text : e.value ? "Yes" : "No";
	return e;
}

static struct istripe_text_pair pair_of(const char *key, const char *value)
{
	struct istripe_text_pair p = { .value = value };

	strscpy(p.key, key, sizeof(p.key));
	p.key_bytes = strlen(key);
	p.value_bytes = strlen(value);
	return p;
}

static int say(struct istripe_negotiation *n, const char *key, const char *value,
	       struct istripe_text_writer *reply)
{
	struct istripe_text_pair p = pair_of(key, value);

	return istripe_negotiation_receive(n, &p, reply);
}

/* The value of a key in a text, or NULL; pairs are ended by NUL. */
static const char *text_find(const struct istripe_text_writer *w, const char *key)
{
	u32 at, bytes = strlen(key);

	for (at = 0; at < w->used; at += strlen(w->buf + at) + 1) {
		if (!strncmp(w->buf + at, key, bytes) && w->buf[at + bytes] == '=')
			return w->buf + at + bytes + 1;
	}
	return NULL;
}

static void reference_keys(struct istripe_keys *keys, const struct reference *ref, u32 offer)
{
	istripe_keys_default_offer(keys);
	keys->value[ISTRIPE_KEY_MAX_BURST_LENGTH] = 16777215;
	keys->value[ref->key] = offer;
}

static void judge(struct kunit *test, const struct reference *ref, u32 offer, const char *word,
		  bool ask)
{
	static char sent[1024], answer[1024];
	struct istripe_text_writer w, reply;
	struct istripe_negotiation n;
	struct istripe_keys keys;
	struct expected e;
	bool offered = ask && !ref->never && !(ref->shy && offer == ref->rfc);
	int err = 0;

	e = offered ? expect_answer(ref, offer, word) : expect_first(ref, offer, word);
	reference_keys(&keys, ref, offer);
	istripe_negotiation_init(&n, &keys, NULL, false);
	istripe_text_writer_init(&w, sent, sizeof(sent));
	istripe_text_writer_init(&reply, answer, sizeof(answer));
	if (ask) {
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&n, &w), 0);
		KUNIT_ASSERT_EQ(test, !!text_find(&w, ref->wire), offered);
	}
	if (strcmp(ref->wire, "MaxBurstLength"))
		KUNIT_ASSERT_EQ(test, say(&n, "MaxBurstLength", "16777215", &reply), 0);
	reply.used = 0;
	if (word)
		err = say(&n, ref->wire, word, &reply);
	KUNIT_EXPECT_EQ_MSG(test, err, e.receive, "%s: offer %u, answer %s, ask %d", ref->wire,
			    offer, word, ask);
	if (err) {
		KUNIT_EXPECT_GT(test, strlen(n.problem), 0);
		return;
	}
	if (e.reply) {
		KUNIT_ASSERT_NOT_NULL(test, text_find(&reply, ref->wire));
		KUNIT_EXPECT_STREQ(test, text_find(&reply, ref->wire), e.reply);
	} else {
		KUNIT_EXPECT_EQ(test, reply.used, 0);
	}
	KUNIT_EXPECT_EQ_MSG(test, istripe_negotiation_finish(&n), e.finish,
			    "%s: offer %u, answer %s, ask %d", ref->wire, offer, word, ask);
	if (!e.finish)
		KUNIT_EXPECT_EQ_MSG(test, n.result.value[ref->key], e.value,
				    "%s: offer %u, answer %s, ask %d", ref->wire, offer, word,
				    ask);
}

/* Every key x offers x everything that a target may say, as an answer and of its own accord. */
static void matrix(struct kunit *test)
{
	u32 i, k, v;

	for (i = 0; i < ARRAY_SIZE(references); i++) {
		const struct reference *ref = &references[i];
		u32 offers[] = { ref->low, ref->low + 1, ref->rfc, 2, 3, 600, 8192, ref->high };

		for (v = 0; v < ARRAY_SIZE(offers); v++) {
			if (offers[v] < ref->low || offers[v] > ref->high)
				continue;
			for (k = 0; k < ARRAY_SIZE(words); k++) {
				judge(test, ref, offers[v], words[k], true);
				judge(test, ref, offers[v], words[k], false);
			}
		}
	}
}

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
	{ 262144, "16777216", -EPROTO },
	{ 262144, "", -EPROTO },
	{ 262144, "Reject", -EPROTO },
	{ 262144, "NotUnderstood", -EPROTO },
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
		istripe_negotiation_init(&n, &keys, NULL, false);
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

static struct bench *bench_begin(const struct istripe_keys *session, bool discovery)
{
	struct istripe_keys keys;

	istripe_keys_default_offer(&keys);
	istripe_negotiation_init(&bench.n, &keys, session, discovery);
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
	struct bench *b = bench_begin(NULL, false);
	u32 size;

	KUNIT_EXPECT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_ASSERT_EQ(test, b->sent.used, sizeof(text));
	KUNIT_EXPECT_EQ(test, memcmp(b->sent.buf, text, sizeof(text)), 0);
	for (size = 0; size < sizeof(text); size++) {
		b = bench_begin(NULL, false);
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
		0, 0, 1, 1, 0, 262144, 131072, 262144, 262144, 2, 20, 8, 1, 1, 0, 0, 0, 1, 0,
	};
	struct bench *b = bench_begin(NULL, false);
	u32 i;

	KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ(test, say(&b->n, answers[i][0], answers[i][1], &b->reply), 0);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, b->reply.used, 0);
	KUNIT_EXPECT_EQ(test, b->n.assumed, 0);
	for (i = 0; i < ISTRIPE_KEY_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[i], result[i], "%s",
				    istripe_key_name(i));
}

/* A target that says nothing at all gets what is safe, and it is told apart. */
static void silence(struct kunit *test)
{
	static const u32 result[ISTRIPE_KEY_COUNT] = {
		0, 0, 1, 1, 0, 262144, 8192, 262144, 65536, 2, 20, 1, 1, 1, 0, 0, 0, 1, 0,
	};
	struct bench *b = bench_begin(NULL, false);
	u32 i;

	KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	for (i = 0; i < ISTRIPE_KEY_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(test, b->n.result.value[i], result[i], "%s",
				    istripe_key_name(i));
	KUNIT_EXPECT_TRUE(test, b->n.assumed & BIT(ISTRIPE_KEY_INITIAL_R2T));
	/* "DataPDUInOrder=Yes" needs no answer. */
	KUNIT_EXPECT_FALSE(test, b->n.assumed & BIT(ISTRIPE_KEY_DATA_PDU_IN_ORDER));
}

/* Nothing was sent, nothing was received: the defaults of section 13. */
static void nothing_offered(struct kunit *test)
{
	struct bench *b = bench_begin(NULL, false);
	struct istripe_keys rfc;

	istripe_keys_rfc_default(&rfc);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&b->n.result, &rfc, sizeof(rfc)), 0);
}

static void said_twice(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(references); i++) {
		const struct reference *ref = &references[i];
		const char *word = ref->kind == 'l' ? (ref->shy ? "RFC3720" : "None") :
				   ref->key == ISTRIPE_KEY_IMMEDIATE_DATA ||
				   ref->kind == '|' ? "Yes" : ref->kind == '&' ? "No" :
				   ref->low ? "512" : "0";
		struct bench *b = bench_begin(NULL, false);

		if (ref->key == ISTRIPE_KEY_DEFAULT_TIME2WAIT)
			word = "3600";
		if (ref->high == 65535)
			word = "1";
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
		KUNIT_EXPECT_EQ_MSG(test, say(&b->n, ref->wire, word, &b->reply), 0, "%s",
				    ref->wire);
		KUNIT_EXPECT_EQ_MSG(test, say(&b->n, ref->wire, word, &b->reply), -EPROTO, "%s",
				    ref->wire);
		KUNIT_EXPECT_NOT_NULL(test, strstr(b->n.problem, ref->wire));
	}
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
		struct bench *b = bench_begin(NULL, false);

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

/* What the target asked first is answered, and then not offered any more. */
static void target_first(struct kunit *test)
{
	struct bench *b = bench_begin(NULL, false);

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
	struct bench *b = bench_begin(NULL, false);

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
} burst_rows[] = {
	{ 1048576, 262144, "No", "Yes", "1048576", "262144", 0, 262144 },
	{ 1048576, 262144, "No", "Yes", "65536", "262144", 0, 65536 },
	{ 1048576, 262144, "No", "Yes", "512", NULL, 0, 512 },
	{ 65536, 262144, "No", "Yes", "65536", "65536", 0, 65536 },
	{ 1048576, 262144, "Yes", "No", "1048576", "Irrelevant", 0, 65536 },
	{ 1048576, 262144, "Yes", "Yes", "1048576", "Irrelevant", -EPROTO },
	{ 1048576, 262144, "No", "No", "1048576", "Irrelevant", -EPROTO },
	{ 1048576, 262144, "No", "Yes", "1048576", "Reject", 0, 65536 },
};

static void bursts(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(burst_rows); i++) {
		const struct burst_row *row = &burst_rows[i];
		struct bench *b = bench_begin(NULL, false);
		struct istripe_keys keys = b->n.offer;

		keys.value[ISTRIPE_KEY_MAX_BURST_LENGTH] = row->offer_max;
		keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH] = row->offer_first;
		istripe_negotiation_init(&b->n, &keys, NULL, false);
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
		if (!row->finish)
			KUNIT_EXPECT_EQ_MSG(test,
					    b->n.result.value[ISTRIPE_KEY_FIRST_BURST_LENGTH],
					    row->result, "row %u", i);
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
	b = bench_begin(&session, false);
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

static void discovery_session(struct kunit *test)
{
	struct bench *b = bench_begin(NULL, true);

	KUNIT_EXPECT_EQ(test, istripe_negotiation_offer(&b->n, &b->sent), 0);
	KUNIT_EXPECT_EQ(test, text_pairs(&b->sent), 6);
	KUNIT_EXPECT_NULL(test, text_find(&b->sent, "MaxConnections"));
	KUNIT_EXPECT_NOT_NULL(test, text_find(&b->sent, "DefaultTime2Wait"));
	KUNIT_EXPECT_EQ(test, say(&b->n, "DefaultTime2Wait", "Irrelevant", &b->reply), 0);
	KUNIT_EXPECT_EQ(test, say(&b->n, "HeaderDigest", "Irrelevant", &b->reply), -EPROTO);
	KUNIT_EXPECT_EQ(test, say(&b->n, "InitialR2T", "No", &b->reply), 0);
	KUNIT_EXPECT_STREQ(test, text_find(&b->reply, "InitialR2T"), "Irrelevant");
	KUNIT_EXPECT_EQ(test, text_pairs(&b->reply), 1);
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&b->n), 0);
	KUNIT_EXPECT_EQ(test, b->n.result.value[ISTRIPE_KEY_INITIAL_R2T], 1);
}

/* Offers are brought into range, whatever is in the structure. */
static void wild_offers(struct kunit *test)
{
	struct test_random r = { 13 };
	struct istripe_keys keys;
	u32 round, key;

	for (round = 0; round < 2000; round++) {
		struct bench *b = bench_begin(NULL, false);

		for (key = 0; key < ISTRIPE_KEY_COUNT; key++)
			keys.value[key] = test_random_u32(&r) >> test_random_below(&r, 32);
		istripe_negotiation_init(&b->n, &keys, NULL, false);
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
	struct bench *b = bench_begin(NULL, false);
	static char value[256];
	const char *c;

	memset(value, 0xc3, sizeof(value) - 1);
	KUNIT_EXPECT_EQ(test, say(&b->n, "MaxOutstandingR2T", value, &b->reply), -EPROTO);
	KUNIT_EXPECT_GT(test, strlen(b->n.problem), 10);
	for (c = b->n.problem; *c; c++)
		KUNIT_EXPECT_TRUE(test, *c >= ' ' && *c < 0x7f);
}

static struct kunit_case negotiation_cases[] = {
	KUNIT_CASE(matrix),
	KUNIT_CASE(declared),
	KUNIT_CASE(offer_text),
	KUNIT_CASE(whole_login),
	KUNIT_CASE(silence),
	KUNIT_CASE(nothing_offered),
	KUNIT_CASE(said_twice),
	KUNIT_CASE(strangers),
	KUNIT_CASE(target_first),
	KUNIT_CASE(reply_full),
	KUNIT_CASE(bursts),
	KUNIT_CASE(further_connection),
	KUNIT_CASE(discovery_session),
	KUNIT_CASE(wild_offers),
	KUNIT_CASE(problem_printable),
	{}
};

static struct kunit_suite istripe_negotiation_suite = {
	.name = "istripe_negotiation",
	.test_cases = negotiation_cases,
};
kunit_test_suite(istripe_negotiation_suite);
