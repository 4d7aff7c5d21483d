// SPDX-License-Identifier: GPL-2.0
/*
 * Whole logins against a target of our own: every kind of session, every way of
 * authentication, and what happens to those that are not to succeed.
 */
#include <kunit/test.h>
#include <compat/unaligned.h>

#include "test_login.h"

static struct login_bench bench;

static void login_plain(struct kunit *test)
{
	struct login_bench *b = &bench;
	const struct istripe_keys *result = &b->login.negotiation.result;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.opcode, ISCSI_OP_LOGIN | ISCSI_OP_IMMEDIATE);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x81);
	KUNIT_EXPECT_MEMEQ(test, b->request.isid, login_isid, 6);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(b->request.tsih), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(b->request.cid), 3);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->request.cmdsn), LOGIN_CMD_SN);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->request.exp_statsn), 0);
	KUNIT_EXPECT_EQ(test, ntoh24(b->request.dlength), b->text_bytes);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "InitiatorName"), b->params.initiator_name);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "TargetName"), b->params.target_name);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "SessionType"), "Normal");
	KUNIT_EXPECT_STREQ(test, login_asked(b, "AuthMethod"), "None");
	KUNIT_EXPECT_NULL(test, login_asked(b, "HeaderDigest"));
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "7");
	login_say(b, "TargetAlias", "our disk");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);

	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x87);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->request.exp_statsn), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->request.cmdsn), LOGIN_CMD_SN);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "HeaderDigest"), "None");
	KUNIT_EXPECT_NULL(test, login_asked(b, "AuthMethod"));
	login_say(b, "MaxRecvDataSegmentLength", "65536");
	login_say(b, "MaxBurstLength", "131072");
	login_say(b, "HeaderDigest", "None");
	/* Section 6.2.2: no answer is needed, and none is possible. */
	login_say(b, "IFMarker", "No");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	KUNIT_EXPECT_EQ(test, b->login.stage, ISTRIPE_LOGIN_FULL_FEATURE);
	KUNIT_EXPECT_EQ(test, b->login.tsih, LOGIN_TSIH);
	KUNIT_EXPECT_EQ(test, b->login.tpgt.tag, 7);
	KUNIT_EXPECT_TRUE(test, b->login.tpgt.known);
	KUNIT_EXPECT_STREQ(test, b->login.target_alias, "our disk");
	KUNIT_EXPECT_EQ(test, b->login.cmd_sn, LOGIN_CMD_SN);
	KUNIT_EXPECT_EQ(test, b->login.exp_stat_sn, b->stat_sn);
	KUNIT_EXPECT_EQ(test, b->login.exp_cmd_sn, LOGIN_CMD_SN);
	KUNIT_EXPECT_EQ(test, b->login.max_cmd_sn, LOGIN_CMD_SN + 63);
	KUNIT_EXPECT_FALSE(test, b->login.auth_chap);
	KUNIT_EXPECT_EQ(test, result->value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH], 65536);
	KUNIT_EXPECT_EQ(test, result->value[ISTRIPE_KEY_MAX_BURST_LENGTH], 131072);
	KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->login.stage, ISTRIPE_LOGIN_FULL_FEATURE);
}

/* A connection joins a session: its keys hold, its numbers go on. */
static void login_join(struct kunit *test)
{
	struct login_bench *b = &bench;
	const struct istripe_keys *result = &b->login.negotiation.result;

	login_defaults(b);
	b->params.tsih = LOGIN_TSIH;
	b->session.value[ISTRIPE_KEY_MAX_BURST_LENGTH] = 4096;
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_NOT_NULL(test, login_asked(b, "TargetName"));
	KUNIT_EXPECT_NULL(test, login_asked(b, "SessionType"));
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(b->request.tsih), LOGIN_TSIH);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_NULL(test, login_asked(b, "MaxBurstLength"));
	KUNIT_EXPECT_NOT_NULL(test, login_asked(b, "DataDigest"));
	login_agree(b);
	b->response.exp_cmdsn = cpu_to_be32(LOGIN_CMD_SN + 10);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	KUNIT_EXPECT_EQ(test, b->login.exp_cmd_sn, LOGIN_CMD_SN + 10);
	KUNIT_EXPECT_EQ(test, result->value[ISTRIPE_KEY_MAX_BURST_LENGTH], 4096);

	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_agree(b);
	b->response.tsih = cpu_to_be16(LOGIN_TSIH + 1);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
}

/* Byte for byte, as RFC 7143 section 11.12 draws it. */
static void login_header(struct kunit *test)
{
	u8 should[ISCSI_HDR_LEN] = {
		0x43, 0x81, [8] = 0x80, 0x12, 0x34, 0x56, 0x78, 0x9a, 0x67, 0x89, 1, 2, 3, 4,
		0, 3, 0, 0, 0xff, 0xff, 0xff, 0xfe,
	};
	struct login_bench *b = &bench;

	login_defaults(b);
	b->params.tsih = 0x6789;
	b->stat_sn = 0xb1b2b3b3;
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	memset(&b->request, 0xff, sizeof(b->request));
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	put_unaligned_be24(b->text_bytes, should + 5);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)&b->request, should, sizeof(should));
	login_say(b, "AuthMethod", "None");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);

	memset(&b->request, 0xff, sizeof(b->request));
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	should[1] = 0x87;
	put_unaligned_be24(b->text_bytes, should + 5);
	put_unaligned_be32(0xb1b2b3b4, should + 28);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)&b->request, should, sizeof(should));
}

/* The target takes its time and several requests. */
static void login_slow_target(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "1");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x81);
	KUNIT_EXPECT_EQ(test, b->text_bytes, 0);
	login_say(b, "TargetPortalGroupTag", "1");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "X-org.example.colour", "blue");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x87);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "X-org.example.colour"), "NotUnderstood");
	KUNIT_EXPECT_NULL(test, login_asked(b, "HeaderDigest"));
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
}

/* Nobody needs the answer to a key that nobody knows, or to the intervals of markers. */
static void login_unknown_at_the_end(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "X#NodeArchitecture", "a");
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "1");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_NULL(test, login_asked(b, "X#NodeArchitecture"));
	KUNIT_EXPECT_NOT_NULL(test, login_asked(b, "HeaderDigest"));
	login_say(b, "HeaderDigest", "None");
	login_say(b, "X#NodeArchitecture", "a");
	login_say(b, "IFMarkInt", "2048~8192");
	login_say(b, "OFMarkInt", "2048");
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
}

/* Others must have theirs. */
static void login_owed_at_the_end(struct kunit *test)
{
	static const char * const pairs[][2] = {
		{ "DataDigest", "MD5" }, { "MaxBurstLength", "65536" },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "AuthMethod", "None");
		login_say(b, "TargetPortalGroupTag", "1");
		login_agree(b);
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
		/* Before it has had our offer, which it would answer. */
		b->login.negotiation.offered = 0;
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "X#NodeArchitecture", "a");
		login_say(b, pairs[i][0], pairs[i][1]);
		login_agree(b);
		KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
		KUNIT_EXPECT_NOT_NULL(test, strstr(b->login.reason, pairs[i][0]));
	}
}

static void login_endless_target(struct kunit *test)
{
	struct login_bench *b = &bench;
	u32 i;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	for (i = 1; i < ISTRIPE_LOGIN_REQUESTS_MAX; i++) {
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	}
	KUNIT_EXPECT_EQ(test, login_ask(b), -EPROTO);
	KUNIT_EXPECT_EQ(test, b->login.stage, ISTRIPE_LOGIN_ENDED);
	KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
}

/* CHAP up to the point where the target has judged the initiator's response. */
static void login_chap_up_to_response(struct kunit *test, struct login_bench *b)
{
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x00);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "AuthMethod"),
			   b->chap.target_secret ? "CHAP" : "CHAP,None");
	login_say(b, "AuthMethod", "CHAP");
	login_say(b, "TargetPortalGroupTag", "7");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x00);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "CHAP_A"), "7,5");
	login_say(b, "CHAP_A", "7");
	login_say(b, "CHAP_I", "17");
	login_say(b, "CHAP_C", "0x00112233445566778899aabbccddeeff");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x81);
	KUNIT_EXPECT_STREQ(test, login_asked(b, "CHAP_N"), "host");
	KUNIT_EXPECT_NOT_NULL(test, login_asked(b, "CHAP_R"));
}

static void login_finish(struct kunit *test, struct login_bench *b)
{
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x87);
	KUNIT_EXPECT_NOT_NULL(test, login_asked(b, "HeaderDigest"));
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
}

static void login_chap_one_way(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	login_chap_up_to_response(test, b);
	KUNIT_EXPECT_NULL(test, login_asked(b, "CHAP_C"));
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	login_finish(test, b);
	KUNIT_EXPECT_TRUE(test, b->login.auth_chap);
}

/* A target that authenticates nobody takes a login that could be authenticated. */
static void login_chap_declined(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x00);
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "7");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->request.flags, 0x81);
	KUNIT_EXPECT_EQ(test, b->text_bytes, 0);
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	login_finish(test, b);
	KUNIT_EXPECT_FALSE(test, b->login.auth_chap);
}

/* Says CHAP_N and CHAP_R as a target that knows the secret, XOR @damage. */
static void login_prove(struct kunit *test, struct login_bench *b, u8 damage)
{
	struct istripe_text_pair pair = { .value = login_asked(b, "CHAP_C") };
	u8 challenge[32], proof[ISTRIPE_CHAP_DIGEST_MAX];
	u32 id = 0, bytes = 0;

	KUNIT_ASSERT_NOT_NULL(test, pair.value);
	pair.value_bytes = strlen(pair.value);
	KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&pair, challenge, sizeof(challenge),
							&bytes), 0);
	pair.value = login_asked(b, "CHAP_I");
	KUNIT_ASSERT_NOT_NULL(test, pair.value);
	pair.value_bytes = strlen(pair.value);
	KUNIT_ASSERT_EQ(test, istripe_text_parse_number(&pair, 0, 255, &id), 0);
	test_chap_digest(ISTRIPE_CHAP_SHA256, id, (const u8 *)LOGIN_TARGET_SECRET,
			 sizeof(LOGIN_TARGET_SECRET) - 1, challenge, bytes, proof);
	proof[31] ^= damage;
	login_say(b, "CHAP_N", "target");
	istripe_text_put_binary(&b->writer, "CHAP_R", proof, 32);
}

static void login_chap_mutual(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, true);
	login_chap_up_to_response(test, b);
	login_prove(test, b, 0);
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	login_finish(test, b);

	/* The target stays in the stage for one more request. */
	login_defaults_chap(b, true);
	login_chap_up_to_response(test, b);
	login_prove(test, b, 0);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, b->text_bytes, 0);
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	login_finish(test, b);
}

static void login_chap_mutual_refused(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, true);
	login_chap_up_to_response(test, b);
	login_prove(test, b, 0x80);
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EACCES);

	/* It says nothing and goes on, or says nothing and stays. */
	login_defaults_chap(b, true);
	login_chap_up_to_response(test, b);
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EACCES);
	login_defaults_chap(b, true);
	login_chap_up_to_response(test, b);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EACCES);
	KUNIT_EXPECT_NE(test, b->login.reason[0], 0);
}

/* A target may choose one of the offered methods at once, without CHAP's steps. */
static void login_methods(struct kunit *test)
{
	static const struct {
		bool chap;
		const char *answer;	/* NULL: no AuthMethod */
		bool transit;
		int result;
		bool mutual;
	} rows[] = {
		{ false, "None", true, 0 },
		{ false, NULL, true, 0 },
		{ false, NULL, false, -EPROTO },
		{ false, "CHAP", true, -EPROTO },
		{ false, "CHAP", false, -EPROTO },
		{ false, "Reject", false, -EACCES },
		{ false, "none", true, -EPROTO },
		{ true, "CHAP", false, 0 },
		{ true, "CHAP", false, 0, .mutual = true },
		{ true, "None", false, 0 },
		{ true, "None", false, -EACCES, .mutual = true },
		{ true, NULL, false, -EPROTO },
		{ true, "KRB5", false, -EPROTO },
		{ true, "Reject", false, -EACCES },
		{ true, "CHAP,None", false, -EPROTO },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_defaults_chap(b, rows[i].mutual);
		if (!rows[i].chap)
			b->params.chap = NULL;
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		KUNIT_EXPECT_EQ(test, b->request.flags, rows[i].chap ? 0 : 0x81);
		if (rows[i].answer)
			login_say(b, "AuthMethod", rows[i].answer);
		login_say(b, "TargetPortalGroupTag", "1");
		if (rows[i].transit)
			login_agree(b);
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), rows[i].result, "row %u: %s", i,
				    b->login.reason);
		KUNIT_EXPECT_EQ(test, !b->login.reason[0], !rows[i].result);
	}
}

/* Authentication is not over before it is over. */
static void login_chap_cut_short(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "CHAP");
	login_say(b, "TargetPortalGroupTag", "7");
	b->response.flags = 0x81;
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);

	login_defaults_chap(b, false);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "CHAP");
	login_say(b, "TargetPortalGroupTag", "7");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	b->response.flags = 0x81;
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
}

/* Up to the request with CHAP_A. */
static void login_chap_up_to_list(struct kunit *test, struct login_bench *b, u32 algorithms)
{
	login_defaults_chap(b, false);
	b->chap.algorithms = algorithms;
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "CHAP");
	login_say(b, "TargetPortalGroupTag", "7");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
}

static void login_refuse(struct login_bench *b, u32 status)
{
	b->response.status_class = status >> 8;
	b->response.status_detail = status & 0xff;
	login_answer(b);
}

/* Linux before 3.15 knows no list of hashes. */
static void login_chap_list_refused(struct kunit *test)
{
	const u32 md5 = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5);
	const u32 sha1 = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA1);
	const struct {
		u32 algorithms, status, left;
	} rows[] = {
		{ ISTRIPE_CHAP_MASK_ALL, 0x0201, md5 }, { ISTRIPE_CHAP_MASK_ALL, 0x020b, md5 },
		{ md5 | sha1, 0x0200, md5 }, { md5, 0x0201, 0 },
		{ ISTRIPE_CHAP_MASK_ALL & ~md5, 0x0201, 0 }, { ISTRIPE_CHAP_MASK_ALL, 0x0206, 0 },
		{ ISTRIPE_CHAP_MASK_ALL, 0x0301, 0 },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_chap_up_to_list(test, b, rows[i].algorithms);
		login_refuse(b, rows[i].status);
		KUNIT_EXPECT_EQ_MSG(test, istripe_login_hashes_left(&b->login), rows[i].left,
				    "row %u", i);
	}
	/* The list as configured, but this kernel lacks MD5. */
	login_defaults_chap(b, false);
	b->ctx.supported &= ~md5;
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	b->login.chap.state = ISTRIPE_CHAP_OFFERED;
	b->login.refused = true;
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);
}

/* RFC 7143 section 12.1.3 lets a target that supports none of the list say Reject. */
static void login_chap_list_rejected(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_chap_up_to_list(test, b, ISTRIPE_CHAP_MASK_ALL);
	login_say(b, "CHAP_A", "Reject");
	KUNIT_EXPECT_EQ(test, login_answer(b), -EACCES);
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login),
			ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5));
}

/* The target chooses a hash, and says initiator error to the response. */
static void login_chap_response_refused(struct kunit *test, struct login_bench *b, const char *hash)
{
	login_say(b, "CHAP_A", hash);
	login_say(b, "CHAP_I", "17");
	login_say(b, "CHAP_C", "0x00112233445566778899aabbccddeeff");
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_refuse(b, 0x0200);
}

/* Linux's tgt takes the first of 5 and 7, and takes 7 for SHA-1: RFC 7143 section 12.1.3. */
static void login_chap_other_hash(struct kunit *test)
{
	const u32 md5 = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5);
	const u32 sha256 = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA256);
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	login_chap_up_to_response(test, b);
	login_refuse(b, 0x0200);
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), md5);

	/* The kernel has others, the list of the user has not. */
	login_chap_up_to_list(test, b, sha256);
	login_chap_response_refused(test, b, "7");
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);

	/* Another hash was chosen. */
	login_chap_up_to_list(test, b, sha256 | md5);
	login_chap_response_refused(test, b, "5");
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);
}

/* A login that was refused before or after the list is refused with any hash. */
static void login_chap_refused(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_refuse(b, 0x0201);
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);

	login_defaults_chap(b, false);
	login_chap_up_to_response(test, b);
	login_refuse(b, 0x0201);
	KUNIT_EXPECT_TRUE(test, b->login.refused);
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_refuse(b, 0x0201);
	KUNIT_EXPECT_EQ(test, istripe_login_hashes_left(&b->login), 0);
}

/* A window that is closed but sound is no reason to refuse. */
static void login_closed_window(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	be32_add_cpu(&b->response.max_cmdsn, -64);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	KUNIT_EXPECT_EQ(test, b->login.max_cmd_sn, b->login.cmd_sn - 1);
}

static void login_bad_chap(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults_chap(b, false);
	b->ctx.supported = 0;
	KUNIT_EXPECT_EQ(test, login_begin(b), -EOPNOTSUPP);
	login_defaults_chap(b, false);
	b->chap.secret_bytes = 0;
	KUNIT_EXPECT_EQ(test, login_begin(b), -EINVAL);
	KUNIT_EXPECT_NE(test, b->login.reason[0], 0);
	KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
}

static struct kunit_case login_cases[] = {
	KUNIT_CASE(login_plain),
	KUNIT_CASE(login_join),
	KUNIT_CASE(login_header),
	KUNIT_CASE(login_slow_target),
	KUNIT_CASE(login_unknown_at_the_end),
	KUNIT_CASE(login_owed_at_the_end),
	KUNIT_CASE(login_endless_target),
	KUNIT_CASE(login_chap_one_way),
	KUNIT_CASE(login_chap_declined),
	KUNIT_CASE(login_chap_mutual),
	KUNIT_CASE(login_chap_mutual_refused),
	KUNIT_CASE(login_methods),
	KUNIT_CASE(login_chap_cut_short),
	KUNIT_CASE(login_chap_list_refused),
	KUNIT_CASE(login_chap_list_rejected),
	KUNIT_CASE(login_chap_other_hash),
	KUNIT_CASE(login_chap_refused),
	KUNIT_CASE(login_closed_window),
	KUNIT_CASE(login_bad_chap),
	{}
};

static struct kunit_suite istripe_login_suite = {
	.name = "istripe_login",
	.test_cases = login_cases,
};

kunit_test_suite(istripe_login_suite);
