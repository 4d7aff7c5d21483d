// SPDX-License-Identifier: GPL-2.0
/*
 * The text of a login in many PDUs, the target's and the initiator's, and the
 * limits of both.
 */
#include <kunit/test.h>

#include "test_login.h"

static struct login_bench bench;

/* Sends the prepared answer as parts cut at random, all but the last with C bit. */
static int login_answer_in_parts(struct kunit *test, struct login_bench *b, struct test_random *r,
				 u32 parts)
{
	u8 flags = b->response.flags;
	u16 tsih = be16_to_cpu(b->response.tsih);
	u32 whole = b->writer.used;
	u32 from = 0;

	while (--parts) {
		u32 bytes = test_random_below(r, whole - from + 1);

		b->response.flags = ISCSI_FLAG_LOGIN_CONTINUE |
				    (flags & ISCSI_FLAG_LOGIN_CURRENT_STAGE_MASK);
		KUNIT_ASSERT_EQ(test, login_answer_part(b, from, bytes), ISTRIPE_LOGIN_SEND_NEXT);
		from += bytes;
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		KUNIT_ASSERT_EQ(test, b->text_bytes, 0);
		KUNIT_ASSERT_EQ(test, b->request.flags & 0xc0, 0);
		istripe_text_writer_init(&b->writer, b->answer, sizeof(b->answer));
	}
	b->response.tsih = cpu_to_be16(tsih);
	return login_answer_part(b, from, whole - from);
}

/* However the target cuts its text, the result is the same. */
static void login_fragments(struct kunit *test)
{
	struct login_bench *b = &bench;
	struct test_random r = { .s = 20260101 };
	struct istripe_keys whole;
	u32 i;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	whole = b->login.negotiation.result;
	for (i = 0; i < 500; i++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
		KUNIT_ASSERT_EQ(test, login_answer_in_parts(test, b, &r,
							    2 + test_random_below(&r, 8)),
				ISTRIPE_LOGIN_SEND_NEXT);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		KUNIT_ASSERT_EQ(test, b->request.flags, 0x87);
		login_agree(b);
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
		KUNIT_ASSERT_MEMEQ(test, &b->login.negotiation.result, &whole, sizeof(whole));
	}
}

/* The last pair may be without its NUL, in one PDU or in several. */
static void login_last_nul(struct kunit *test)
{
	struct login_bench *b = &bench;
	struct test_random r = { .s = 20260102 };
	const u32 *value = b->login.negotiation.result.value;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	b->writer.used--;
	memset(b->answer + b->writer.used, '9', 8);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	KUNIT_EXPECT_EQ(test, value[ISTRIPE_KEY_MAX_BURST_LENGTH], 262144);

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	b->writer.used--;
	KUNIT_ASSERT_EQ(test, login_answer_in_parts(test, b, &r, 3), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	KUNIT_EXPECT_EQ(test, value[ISTRIPE_KEY_MAX_BURST_LENGTH], 262144);
}

/* A target without an end: refused at the limit, and never beyond the buffer. */
static void login_gather_limit(struct kunit *test)
{
	struct login_bench *b = &bench;
	u32 taken;
	int err;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	memset(b->answer, 'k', sizeof(b->answer));
	for (taken = 0, err = 0; !err; taken += 4000) {
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		b->response.flags = ISCSI_FLAG_LOGIN_CONTINUE;
		err = login_answer_part(b, 0, 4000);
	}
	KUNIT_EXPECT_EQ(test, err, -EPROTO);
	KUNIT_EXPECT_EQ(test, (taken - 1) / 4000, ISTRIPE_LOGIN_GATHER_BYTES / 4000);
	KUNIT_EXPECT_NULL(test, memchr_inv(b->guard, 0, sizeof(b->guard)));
}

/* The target asks so much that the answer needs more than one PDU. */
static void login_long_request(struct kunit *test)
{
	struct login_bench *b = &bench;
	char key[64];
	u32 i, bytes;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	for (i = 0; i < 150; i++) {
		snprintf(key, sizeof(key), "X-%050u", i);
		login_say(b, key, "");
	}
	bytes = b->writer.used + 150 * (sizeof(ISTRIPE_TEXT_NOT_UNDERSTOOD) - 1);
	KUNIT_ASSERT_GT(test, bytes, ISTRIPE_LOGIN_SEGMENT_BYTES);
	KUNIT_ASSERT_LT(test, b->writer.used, ISTRIPE_LOGIN_SEGMENT_BYTES + 1);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);

	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->text_bytes, ISTRIPE_LOGIN_SEGMENT_BYTES);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x44);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->text_bytes, bytes - ISTRIPE_LOGIN_SEGMENT_BYTES);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x87);
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
}

/* In the middle of the initiator's text the target has nothing to say. */
static void login_interrupted(struct kunit *test)
{
	static const u8 flags[] = { 0x04, 0x44, 0x87 };
	struct login_bench *b = &bench;
	char key[64];
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(flags); k++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		for (i = 0; i < 150; i++) {
			snprintf(key, sizeof(key), "X-%050u", i);
			login_say(b, key, "");
		}
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		b->response.flags = flags[k];
		if (!k)
			login_say(b, "TargetAlias", "x");
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), -EPROTO, "flags %x", flags[k]);
	}
}

static void login_reply_too_long(struct kunit *test)
{
	struct login_bench *b = &bench;
	char key[64];
	u32 i, from, bytes;
	int err = 0;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	for (i = 0; i < 300; i++) {
		snprintf(key, sizeof(key), "X-%050u", i);
		login_say(b, key, "");
	}
	bytes = b->writer.used;
	for (from = 0; from + 8000 < bytes; from += 8000) {
		b->response.flags = 0x44;
		KUNIT_ASSERT_EQ(test, login_answer_part(b, from, 8000), ISTRIPE_LOGIN_SEND_NEXT);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	}
	err = login_answer_part(b, from, bytes - from);
	KUNIT_EXPECT_EQ(test, err, -EMSGSIZE);
	KUNIT_EXPECT_NE(test, b->login.reason[0], 0);
}

static struct kunit_case login_text_cases[] = {
	KUNIT_CASE(login_fragments),
	KUNIT_CASE(login_last_nul),
	KUNIT_CASE(login_gather_limit),
	KUNIT_CASE(login_long_request),
	KUNIT_CASE(login_interrupted),
	KUNIT_CASE(login_reply_too_long),
	{}
};

static struct kunit_suite istripe_login_text_suite = {
	.name = "istripe_login_text",
	.test_cases = login_text_cases,
};

kunit_test_suite(istripe_login_text_suite);
