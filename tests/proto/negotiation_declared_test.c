// SPDX-License-Identifier: GPL-2.0
/* A key that only the initiator declares, of which the table has none so far. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/keys.h"

static const struct istripe_key_rule *rule_with_declared(enum istripe_key key);

/* The negotiation, compiled once more with a table of its own. */
#define istripe_key_rule(key)		rule_with_declared(key)
#define istripe_negotiation_init	declared_negotiation_init
#define istripe_negotiation_offer	declared_negotiation_offer
#define istripe_negotiation_receive	declared_negotiation_receive
#define istripe_negotiation_finish	declared_negotiation_finish
#include "iscsi/negotiation.c"
#include "test_negotiation.h"
#undef istripe_key_rule

static u32 declared_flags;

/* MaxConnections is made the declaration. */
static const struct istripe_key_rule *rule_with_declared(enum istripe_key key)
{
	static struct istripe_key_rule rule;

	if (key != ISTRIPE_KEY_MAX_CONNECTIONS)
		return istripe_key_rule(key);
	rule = *istripe_key_rule(key);
	rule.type = ISTRIPE_KEY_TYPE_DECLARED;
	rule.flags = declared_flags;
	return &rule;
}

static const struct row {
	const char *word;	/* the target's */
	u32 flags;
	bool ask;		/* whether the key was declared before */
	int result;
	const char *problem, *reply;
} rows[] = {
	{ NULL, 0, true },
	{ NULL, 0, false },
	{ "NotUnderstood", ISTRIPE_KEY_SPARING, true },
	{ "NotUnderstood", 0, true, -EPROTO, "which this key may not be answered with" },
	{ "Irrelevant", ISTRIPE_KEY_SPARING, true, -EPROTO,
	  "which this key may not be answered with" },
	{ "Reject", 0, true },
	{ "Reject", ISTRIPE_KEY_SPARING, true },
	{ "NotUnderstood", ISTRIPE_KEY_SPARING, false, -EPROTO, "but the key was not offered" },
	{ "Reject", 0, false, -EPROTO, "but the key was not offered" },
	/* Its own declaration is not ours. */
	{ "2", 0, true, 0, NULL, "NotUnderstood" },
	{ "2", 0, false, 0, NULL, "NotUnderstood" },
};

static void judge(struct kunit *test, u32 at)
{
	static char sent_buf[1024], reply_buf[64];
	const struct row *row = &rows[at];
	struct istripe_text_writer sent, reply;
	struct istripe_negotiation n;
	struct istripe_keys keys;
	int err = 0;

	declared_flags = row->flags;
	istripe_keys_default_offer(&keys);
	keys.value[ISTRIPE_KEY_MAX_CONNECTIONS] = 8;
	istripe_negotiation_init(&n, &keys, NULL);
	istripe_text_writer_init(&sent, sent_buf, sizeof(sent_buf));
	istripe_text_writer_init(&reply, reply_buf, sizeof(reply_buf));
	if (row->ask) {
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&n, &sent), 0);
		KUNIT_ASSERT_NOT_NULL(test, text_find(&sent, "MaxConnections"));
	}
	if (row->word)
		err = say(&n, "MaxConnections", row->word, &reply);
	KUNIT_EXPECT_EQ_MSG(test, err, row->result, "row %u: %s", at, n.problem);
	if (row->problem)
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(n.problem, row->problem), "row %u: %s", at,
					  n.problem);
	KUNIT_EXPECT_EQ_MSG(test, !!reply.used, !!row->reply, "row %u", at);
	if (row->reply && reply.used)
		KUNIT_EXPECT_STREQ(test, text_find(&reply, "MaxConnections"), row->reply);
	if (err)
		return;
	KUNIT_EXPECT_EQ(test, istripe_negotiation_finish(&n), 0);
	KUNIT_EXPECT_EQ_MSG(test, n.result.value[ISTRIPE_KEY_MAX_CONNECTIONS], row->ask ? 8 : 1,
			    "row %u", at);
}

static void answers(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		judge(test, i);
}

/* Declared by both sides: an answer is refused as a declaration, whatever we have declared. */
static void both_declare(struct kunit *test)
{
	static const char * const words[] = { "Reject", "NotUnderstood", "Irrelevant" };
	static char sent_buf[1024], reply_buf[64];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct istripe_text_writer sent, reply;
		struct istripe_negotiation n;
		struct istripe_keys keys;

		istripe_keys_default_offer(&keys);
		istripe_negotiation_init(&n, &keys, NULL);
		istripe_text_writer_init(&sent, sent_buf, sizeof(sent_buf));
		istripe_text_writer_init(&reply, reply_buf, sizeof(reply_buf));
		KUNIT_ASSERT_EQ(test, istripe_negotiation_offer(&n, &sent), 0);
		KUNIT_EXPECT_EQ(test, say(&n, "MaxRecvDataSegmentLength", words[i], &reply),
				-EPROTO);
		KUNIT_EXPECT_NOT_NULL(test, strstr(n.problem, "not a number from 512"));
	}
}

static struct kunit_case negotiation_declared_cases[] = {
	KUNIT_CASE(answers),
	KUNIT_CASE(both_declare),
	{}
};

static struct kunit_suite istripe_negotiation_declared_suite = {
	.name = "istripe_negotiation_declared",
	.test_cases = negotiation_declared_cases,
};

kunit_test_suite(istripe_negotiation_declared_suite);
