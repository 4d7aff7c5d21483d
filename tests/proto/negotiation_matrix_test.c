// SPDX-License-Identifier: GPL-2.0
/* Every operational key offered and answered, against a reference of its own. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "iscsi/negotiation.h"
#include "test_negotiation.h"

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
	bool mild;	/* an answer that breaks the offer or the range is put up with */
} references[] = {
	{ ISTRIPE_KEY_HEADER_DIGEST, "HeaderDigest", 'l', 0, 3, 0 },
	{ ISTRIPE_KEY_DATA_DIGEST, "DataDigest", 'l', 0, 3, 0 },
	{ ISTRIPE_KEY_MAX_CONNECTIONS, "MaxConnections", '<', 1, 65535, 1, .mild = true },
	{ ISTRIPE_KEY_INITIAL_R2T, "InitialR2T", '|', 0, 1, 1, .mild = true },
	{ ISTRIPE_KEY_IMMEDIATE_DATA, "ImmediateData", '&', 0, 1, 1, .mild = true },
	{ ISTRIPE_KEY_MAX_BURST_LENGTH, "MaxBurstLength", '<', 512, 16777215, 262144,
	  .mild = true },
	{ ISTRIPE_KEY_FIRST_BURST_LENGTH, "FirstBurstLength", '<', 512, 16777215, 65536,
	  .mild = true },
	{ ISTRIPE_KEY_DEFAULT_TIME2WAIT, "DefaultTime2Wait", '>', 0, 3600, 2, .mild = true },
	{ ISTRIPE_KEY_DEFAULT_TIME2RETAIN, "DefaultTime2Retain", '<', 0, 3600, 20,
	  .mild = true },
	{ ISTRIPE_KEY_MAX_OUTSTANDING_R2T, "MaxOutstandingR2T", '<', 1, 65535, 1, .mild = true },
	{ ISTRIPE_KEY_DATA_PDU_IN_ORDER, "DataPDUInOrder", '|', 0, 1, 1 },
	{ ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER, "DataSequenceInOrder", '|', 0, 1, 1 },
	{ ISTRIPE_KEY_ERROR_RECOVERY_LEVEL, "ErrorRecoveryLevel", '<', 0, 2, 0 },
	{ ISTRIPE_KEY_IFMARKER, "IFMarker", '&', 0, 1, 0, .never = true },
	{ ISTRIPE_KEY_OFMARKER, "OFMarker", '&', 0, 1, 0, .never = true },
	{ ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL, "iSCSIProtocolLevel", '<', 0, 31, 1, .shy = true },
	{ ISTRIPE_KEY_TASK_REPORTING, "TaskReporting", 'l', 0, 0, 0, .shy = true },
};

/* The words that an offer of a list admits, in order; and the value of each word. */
static const char * const digest_offers[] = { "None", "CRC32C", "CRC32C,None", "None,CRC32C" };
static const char * const report_offers[] = { "RFC3720" };

/* NULL: the target says nothing. */
static const char * const words[] = {
	NULL, "", "0", "1", "2", "3", "16", "17", "20", "31", "32", "511", "512", "513", "8192",
	"65535", "65536", "262144", "262145", "3600", "3601", "16777215", "16777216", "4294967295",
	"4294967296", "0x200", "0x1", "-1", "+1", "01", "1,2", "1~2", "Yes", "No", "yes", "YES",
	"None", "CRC32C", "CRC32C,None", "None,CRC32C", "crc32c", "Foo", "Foo,None", "Foo,CRC32C",
	"RFC3720", "FastAbort", "ResponseFence,RFC3720", "Reject", "Irrelevant", "NotUnderstood",
};

struct expected {
	int receive, finish;
	u32 value;
	const char *reply;	/* word */
};

static const char *list_offer(const struct reference *ref, u32 offer)
{
	return ref->key == ISTRIPE_KEY_TASK_REPORTING ? report_offers[offer] : digest_offers[offer];
}

/* Number of the word in the list of single values, or -1. */
static int list_value(const struct reference *ref, const char *word, u32 bytes)
{
	bool reports = ref->key == ISTRIPE_KEY_TASK_REPORTING;
	u32 singles = reports ? ARRAY_SIZE(report_offers) : 2, i;

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
	if (!number_of(word, value) || *value < ref->low)
		return false;
	/* A number above the range counts as its maximum. */
	if (*value > ref->high && ref->mild)
		*value = ref->high;
	return *value <= ref->high;
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
	else if (ref->key == ISTRIPE_KEY_MAX_OUTSTANDING_R2T)
		/* The target may go by the offer. */
		e.value = offer > ref->rfc ? offer : ref->rfc;
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
	if (!said_value(ref, word, &e.value) ||
	    (result_of(ref, offer, e.value) != e.value && !ref->mild))
		return broken;
	if (ref->key == ISTRIPE_KEY_MAX_OUTSTANDING_R2T && e.value > offer)
		/* The target may go by its answer; there is room for 16. */
		e.value = max(offer, min(e.value, 16u));
	else
		e.value = result_of(ref, offer, e.value);
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
	/* Section 6.2.2: no answer is needed. */
	if ((ref->kind == '&' && !said) || (ref->kind == '|' && said))
		return e;
	scnprintf(text, sizeof(text), "%u", e.value);
	e.reply = ref->kind == '<' || ref->kind == '>' ? text : e.value ? "Yes" : "No";
	return e;
}

static void reference_keys(struct istripe_keys *keys, const struct reference *ref, u32 offer)
{
	istripe_keys_default_offer(keys);
	keys->value[ISTRIPE_KEY_MAX_BURST_LENGTH] = 16777215;
	/* Then no answer is as clear as one. */
	keys->value[ISTRIPE_KEY_FIRST_BURST_LENGTH] = 65536;
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
	istripe_negotiation_init(&n, &keys, NULL);
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

/* But for declarations, which nobody answers: negotiation_test.c has them. */
static void every_key_has_a_reference(struct kunit *test)
{
	u32 key, i;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		enum istripe_key_type type = istripe_key_rule(key)->type;

		if (type == ISTRIPE_KEY_TYPE_DECLARED || type == ISTRIPE_KEY_TYPE_PEER)
			continue;
		for (i = 0; i < ARRAY_SIZE(references) && references[i].key != key; i++)
			;
		KUNIT_EXPECT_LT_MSG(test, i, ARRAY_SIZE(references), "%s", istripe_key_name(key));
	}
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

static void said_twice(struct kunit *test)
{
	static char sent_buf[1024], reply_buf[64];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(references); i++) {
		const struct reference *ref = &references[i];
		const char *word = ref->kind == 'l' ? list_offer(ref, 0) :
				   ref->key == ISTRIPE_KEY_IMMEDIATE_DATA ||
				   ref->kind == '|' ? "Yes" : ref->kind == '&' ? "No" :
				   ref->low ? "512" : "0";
		struct istripe_text_writer sent, reply;
		struct istripe_negotiation n;
		struct istripe_keys keys;

		if (ref->key == ISTRIPE_KEY_DEFAULT_TIME2WAIT)
			word = "3600";
		if (ref->high == 65535)
			word = "1";
		istripe_keys_default_offer(&keys);
		istripe_negotiation_init(&n, &keys, NULL);
		istripe_text_writer_init(&sent, sent_buf, sizeof(sent_buf));
		istripe_text_writer_init(&reply, reply_buf, sizeof(reply_buf));
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&n, &sent), 0);
		KUNIT_EXPECT_EQ_MSG(test, say(&n, ref->wire, word, &reply), 0, "%s",
				    ref->wire);
		KUNIT_EXPECT_EQ_MSG(test, say(&n, ref->wire, word, &reply), -EPROTO, "%s",
				    ref->wire);
		KUNIT_EXPECT_NOT_NULL(test, strstr(n.problem, ref->wire));
	}
}

static struct kunit_case negotiation_matrix_cases[] = {
	KUNIT_CASE(every_key_has_a_reference),
	KUNIT_CASE(matrix),
	KUNIT_CASE(said_twice),
	{}
};

static struct kunit_suite istripe_negotiation_matrix_suite = {
	.name = "istripe_negotiation_matrix",
	.test_cases = negotiation_matrix_cases,
};

kunit_test_suite(istripe_negotiation_matrix_suite);
