// SPDX-License-Identifier: GPL-2.0
/*
 * Each single thing that a target may get wrong in a login response, one at a
 * time, and what it may say besides yes.
 */
#include <kunit/test.h>

#include "test_login.h"

static struct login_bench bench;

/* Each damages one field of a good last response. */
static void damage_opcode(struct login_bench *b)
{
	b->response.opcode = ISCSI_OP_TEXT_RSP;
}

static void damage_initiator(struct login_bench *b)
{
	b->response.opcode = ISCSI_OP_LOGIN;
}

static void damage_version(struct login_bench *b)
{
	b->response.active_version = 1;
}

static void damage_isid(struct login_bench *b)
{
	b->response.isid[5] ^= 1;
}

static void damage_itt(struct login_bench *b)
{
	b->response.itt = (__force itt_t)0;
}

static void damage_csg(struct login_bench *b)
{
	b->response.flags = 0x83;
}

static void damage_nsg(struct login_bench *b)
{
	b->response.flags = 0x85;
}

static void damage_nsg_2(struct login_bench *b)
{
	b->response.flags = 0x86;
}

static void damage_continue(struct login_bench *b)
{
	b->response.flags |= 0x40;
}

static void damage_stat_sn(struct login_bench *b)
{
	be32_add_cpu(&b->response.statsn, 1);
}

static void damage_stat_sn_old(struct login_bench *b)
{
	be32_add_cpu(&b->response.statsn, -1);
}

static void damage_exp_cmd_sn(struct login_bench *b)
{
	be32_add_cpu(&b->response.exp_cmdsn, 1);
}

static void damage_window(struct login_bench *b)
{
	be32_add_cpu(&b->response.max_cmdsn, -65);
}

static void damage_owed(struct login_bench *b)
{
	login_say(b, "TaskReporting", "RFC3720");
}

static void damage_marker(struct login_bench *b)
{
	login_say(b, "IFMarker", "Yes");
}

static void damage_method(struct login_bench *b)
{
	login_say(b, "AuthMethod", "None");
}

static void damage_chap(struct login_bench *b)
{
	login_say(b, "CHAP_A", "5");
}

static void damage_group(struct login_bench *b)
{
	login_say(b, "TargetPortalGroupTag", "8");
}

static void damage_twice(struct login_bench *b)
{
	login_say(b, "HeaderDigest", "None");
}

static void damage_range(struct login_bench *b)
{
	login_say(b, "FirstBurstLength", "511");
}

static void damage_name(struct login_bench *b)
{
	login_say(b, "InitiatorName", "x");
}

static void damage_text(struct login_bench *b)
{
	b->writer.used -= sizeof("=262144");
}

static void login_damaged(struct kunit *test)
{
	static void (* const damages[])(struct login_bench *) = {
		damage_opcode, damage_initiator, damage_version, damage_isid, damage_itt,
		damage_csg, damage_nsg, damage_nsg_2, damage_continue,
		damage_stat_sn, damage_stat_sn_old, damage_exp_cmd_sn, damage_window, damage_owed,
		damage_marker,
		damage_method, damage_chap, damage_group, damage_twice, damage_range, damage_name,
		damage_text,
	};
	struct login_bench *b = &bench;
	u32 i;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_DONE);
	for (i = 0; i < ARRAY_SIZE(damages); i++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
		damages[i](b);
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), -EPROTO, "damage %u", i);
		KUNIT_EXPECT_EQ(test, b->login.stage, ISTRIPE_LOGIN_ENDED);
		KUNIT_EXPECT_NE_MSG(test, b->login.reason[0], 0, "damage %u", i);
		KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
	}
}

/* Only a login that joins has a use for it. */
static void login_no_tsih(struct kunit *test)
{
	static const struct {
		u32 offered;
		const char *granted;	/* NULL: not asked for */
		int result;
	} rows[] = {
		{ 1, NULL, ISTRIPE_LOGIN_DONE }, { 4, "1", ISTRIPE_LOGIN_DONE },
		{ 4, "2", -EPROTO },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_defaults(b);
		b->offer.value[ISTRIPE_KEY_MAX_CONNECTIONS] = rows[i].offered;
		KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
		if (rows[i].granted)
			login_say(b, "MaxConnections", rows[i].granted);
		b->response.tsih = 0;
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), rows[i].result, "row %u", i);
		KUNIT_EXPECT_EQ(test, !!b->login.reason[0], rows[i].result < 0);
	}
}

static void login_length_lies(struct kunit *test)
{
	struct login_bench *b = &bench;
	struct iscsi_hdr bhs;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	hton24(b->response.dlength, b->writer.used + 1);
	memcpy(&bhs, &b->response, sizeof(bhs));
	KUNIT_EXPECT_EQ(test, istripe_login_response(&b->login, &bhs, b->answer, b->writer.used),
			-EPROTO);

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
	KUNIT_EXPECT_EQ(test, login_answer_part(b, 0, ISTRIPE_LOGIN_SEGMENT_BYTES + 1), -EPROTO);
}

/* Even a response that would be good is not taken before it is asked for. */
static void login_out_of_turn(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	b->response.flags = 0x87;
	b->response.statsn = cpu_to_be32(b->stat_sn);
	b->response.tsih = cpu_to_be16(LOGIN_TSIH);
	istripe_text_writer_init(&b->writer, b->answer, sizeof(b->answer));
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_past_security(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
}

static void login_portal_group(struct kunit *test)
{
	static const struct {
		const char *tag;	/* NULL: none */
		bool known;
		u32 expected;
		int result;
	} rows[] = {
		{ "7", true, 7, 0 }, { "7", true, 8, -EXDEV }, { "0", true, 0, 0 },
		{ "1", true, 0, -EXDEV }, { "65535", false, 0, 0 }, { "65536", false, 0, -EPROTO },
		{ "", false, 0, -EPROTO }, { "one", false, 0, -EPROTO },
		{ NULL, false, 0, 0 }, { NULL, true, 1, 0 },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_defaults(b);
		b->params.tpgt.known = rows[i].known;
		b->params.tpgt.tag = rows[i].expected;
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "AuthMethod", "None");
		if (rows[i].tag)
			login_say(b, "TargetPortalGroupTag", rows[i].tag);
		login_agree(b);
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), rows[i].result, "row %u", i);
	}
}

/* A target that names no portal group, or says a thing twice, and what a fence needs to know. */
static void login_portal_group_later(struct kunit *test)
{
	static const struct {
		const char *first, *later;
		bool expected;
		int result;
	} rows[] = {
		{ NULL, NULL, false, ISTRIPE_LOGIN_DONE }, { NULL, NULL, true, -EXDEV },
		{ NULL, "7", true, ISTRIPE_LOGIN_DONE }, { NULL, "8", true, -EXDEV },
		{ "7", "7", true, ISTRIPE_LOGIN_DONE }, { "7", "7", false, ISTRIPE_LOGIN_DONE },
		{ "7", "8", false, -EPROTO },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_defaults(b);
		b->params.tpgt.known = rows[i].expected;
		b->params.tpgt.tag = 7;
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "AuthMethod", "None");
		login_say(b, "TargetAlias", "a");
		if (rows[i].first)
			login_say(b, "TargetPortalGroupTag", rows[i].first);
		login_agree(b);
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "TargetAlias", "b");
		login_say(b, "TargetAlias", "c\x07");
		if (rows[i].later)
			login_say(b, "TargetPortalGroupTag", rows[i].later);
		login_agree(b);
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), rows[i].result, "row %u: %s", i,
				    b->login.reason);
		if (rows[i].result != ISTRIPE_LOGIN_DONE)
			continue;
		KUNIT_EXPECT_EQ(test, b->login.tpgt.known, rows[i].first || rows[i].later);
		KUNIT_EXPECT_STREQ(test, b->login.target_alias, "b");
	}
}

/* Operational keys have no place in the security stage, but for a declaration. */
static void login_stage_of_keys(struct kunit *test)
{
	static const struct {
		const char *key, *value;
		int result;
	} rows[] = {
		{ "MaxRecvDataSegmentLength", "8192", 0 }, { "TargetAlias", "x", 0 },
		{ "TargetAddress", "10.0.0.9:3260,1", 0 }, { "HeaderDigest", "None", -EPROTO },
		{ "MaxBurstLength", "512", -EPROTO }, { "CHAP_A", "5", -EPROTO },
		{ "X-key", "1", 0 }, { "SendTargets", "All", -EPROTO },
	};
	struct login_bench *b = &bench;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "AuthMethod", "None");
		login_say(b, "TargetPortalGroupTag", "1");
		login_say(b, rows[i].key, rows[i].value);
		login_agree(b);
		KUNIT_EXPECT_EQ_MSG(test, login_answer(b), rows[i].result, "%s: %s", rows[i].key,
				    b->login.reason);
	}
}

/* The same when the target stays in the stage, and could still get an answer. */
static void login_too_early_offer(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "1");
	login_say(b, "MaxBurstLength", "512");
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
}

/* A target that said nothing about AuthMethod cannot make up for it later. */
static void login_too_late_method(struct kunit *test)
{
	struct login_bench *b = &bench;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "TargetPortalGroupTag", "1");
	login_agree(b);
	KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_SEND_NEXT);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "None");
	login_agree(b);
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
}

/* Every status, first in a header that holds nothing else but the task tag. */
/* Class 2, but not those that are due to other connections or sessions. */
static bool login_is_refused(u32 number)
{
	return number >> 8 == 2 && number != 0x206 && number != 0x208 && number != 0x20a;
}

static void login_statuses(struct kunit *test)
{
	struct login_bench *b = &bench;
	u32 number;

	for (number = 0x100; number < 0x500; number++) {
		u32 class = number >> 8;
		int expected = number == 0x201 ? -EACCES : -ECONNREFUSED;

		if (number == 0x101 || number == 0x102)
			expected = -EPROTO;	/* a redirect to nowhere */
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		memset(&b->response, 0, sizeof(b->response));
		b->response.opcode = ISCSI_OP_LOGIN_RSP;
		b->response.itt = b->request.itt;
		b->response.status_class = class;
		b->response.status_detail = number & 0xff;
		KUNIT_ASSERT_EQ_MSG(test, login_answer(b), expected, "status %04x", number);
		KUNIT_ASSERT_EQ_MSG(test, b->login.refused, login_is_refused(number), "status %04x",
				    number);
		KUNIT_ASSERT_EQ(test, b->login.stage, ISTRIPE_LOGIN_ENDED);
		KUNIT_ASSERT_EQ(test, b->login.status_class << 8 | b->login.status_detail, number);
		KUNIT_ASSERT_NE(test, b->login.reason[0], 0);
	}
}

/* The class says success, whatever the detail. */
static void login_success_detail(struct kunit *test)
{
	struct login_bench *b = &bench;
	u32 detail;

	for (detail = 1; detail <= 0xff; detail++) {
		login_defaults(b);
		KUNIT_ASSERT_EQ(test, login_to_last(b), 0);
		b->response.status_detail = detail;
		KUNIT_ASSERT_EQ_MSG(test, login_answer(b), ISTRIPE_LOGIN_DONE, "detail %u: %s",
				    detail, b->login.reason);
	}
}

static void login_redirect(struct kunit *test)
{
	struct login_bench *b = &bench;
	u32 detail;

	for (detail = 1; detail <= 2; detail++) {
		login_defaults(b);
		b->params.prefer_ipv6 = true;
		KUNIT_ASSERT_EQ(test, login_begin(b), 0);
		KUNIT_ASSERT_EQ(test, login_ask(b), 0);
		login_say(b, "TargetAddress", "10.0.0.7:3260,9");
		login_say(b, "TargetAddress", "[2001:db8::7]:3261,9");
		/* With and without the last NUL. */
		b->writer.used -= detail - 1;
		b->answer[b->writer.used] = 'x';
		b->response.status_class = ISCSI_STATUS_CLS_REDIRECT;
		b->response.status_detail = detail;
		KUNIT_ASSERT_EQ(test, login_answer(b), ISTRIPE_LOGIN_REDIRECT);
		KUNIT_EXPECT_STREQ(test, b->login.redirect.host, "2001:db8::7");
		KUNIT_EXPECT_EQ(test, b->login.redirect.port, 3261);
		KUNIT_EXPECT_EQ(test, login_ask(b), -EINVAL);
	}
	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "TargetAddress", "here:0");
	b->response.status_class = ISCSI_STATUS_CLS_REDIRECT;
	b->response.status_detail = 1;
	KUNIT_EXPECT_EQ(test, login_answer(b), -EPROTO);
}

static void login_rejected(struct kunit *test)
{
	struct login_bench *b = &bench;
	struct iscsi_hdr bhs = { .opcode = ISCSI_OP_REJECT, .flags = 0x80 };

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	bhs.rsvd2[0] = ISCSI_REASON_PROTOCOL_ERROR;
	hton24(bhs.dlength, 48);
	bhs.itt = RESERVED_ITT;
	KUNIT_EXPECT_EQ(test, istripe_login_response(&b->login, &bhs, b->answer, 48), -EPROTO);
	KUNIT_EXPECT_TRUE(test, strnstr(b->login.reason, "reject", sizeof(b->login.reason)));
}

/* The target's text appears in messages, but only as characters of a line. */
static void login_reason_printable(struct kunit *test)
{
	struct login_bench *b = &bench;
	const char *c;

	login_defaults(b);
	KUNIT_ASSERT_EQ(test, login_begin(b), 0);
	KUNIT_ASSERT_EQ(test, login_ask(b), 0);
	login_say(b, "AuthMethod", "\xc3\xb6%s%n\x9b");
	KUNIT_ASSERT_EQ(test, login_answer(b), -EPROTO);
	KUNIT_EXPECT_TRUE(test, strnstr(b->login.reason, "??%s%n?", sizeof(b->login.reason)));
	for (c = b->login.reason; *c; c++)
		KUNIT_EXPECT_TRUE(test, (u8)*c >= ' ' && (u8)*c < 0x7f);
}

static struct kunit_case login_response_cases[] = {
	KUNIT_CASE(login_damaged),
	KUNIT_CASE(login_no_tsih),
	KUNIT_CASE(login_length_lies),
	KUNIT_CASE(login_out_of_turn),
	KUNIT_CASE(login_portal_group),
	KUNIT_CASE(login_portal_group_later),
	KUNIT_CASE(login_stage_of_keys),
	KUNIT_CASE(login_too_early_offer),
	KUNIT_CASE(login_too_late_method),
	KUNIT_CASE(login_statuses),
	KUNIT_CASE(login_success_detail),
	KUNIT_CASE(login_redirect),
	KUNIT_CASE(login_rejected),
	KUNIT_CASE(login_reason_printable),
	{}
};

static struct kunit_suite istripe_login_response_suite = {
	.name = "istripe_login_response",
	.test_cases = login_response_cases,
};

kunit_test_suite(istripe_login_response_suite);
