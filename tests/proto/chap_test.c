// SPDX-License-Identifier: GPL-2.0
/*
 * CHAP: every algorithm one-way and mutual against a target of our own, and
 * each single thing that a target may get wrong, or try.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/chap.h"
#include "iscsi/text.h"
#include "test_chap.h"

#define SECRET		"initiator-secret"
#define TARGET_SECRET	"secret-of-the-target"

static const u8 algorithms[] = {
	ISTRIPE_CHAP_MD5, ISTRIPE_CHAP_SHA1, ISTRIPE_CHAP_SHA256, ISTRIPE_CHAP_SHA3_256,
};

/* Too large for a kernel stack; cases do not run in parallel. */
static struct chap_bench {
	struct istripe_chap chap;
	struct istripe_chap_config config;
	struct test_chap ctx;
	struct istripe_text_writer writer;
	char text[4096];
	char value[2 * ISTRIPE_CHAP_CHALLENGE_MAX + 64];
	u8 challenge[ISTRIPE_CHAP_CHALLENGE_MAX + 1];
	u8 bytes[ISTRIPE_CHAP_CHALLENGE_MAX];
} bench;

static struct istripe_chap_config chap_credentials(bool mutual)
{
	struct istripe_chap_config config = {
		.name = "iqn.2026-01.example:host",
		.secret = (const u8 *)SECRET,
		.secret_bytes = sizeof(SECRET) - 1,
		.algorithms = ISTRIPE_CHAP_MASK_ALL,
	};

	if (mutual) {
		config.target_secret = (const u8 *)TARGET_SECRET;
		config.target_secret_bytes = sizeof(TARGET_SECRET) - 1;
	}
	return config;
}

static int chap_begin(struct chap_bench *b, bool mutual)
{
	memset(b, 0, sizeof(*b));
	b->config = chap_credentials(mutual);
	b->ctx.supported = ISTRIPE_CHAP_MASK_ALL;
	b->ctx.random.s = 4711;
	return istripe_chap_init(&b->chap, &b->config, &test_chap_ops, &b->ctx);
}

/* The target sends one key. */
static int chap_say(struct chap_bench *b, const char *key, const char *value)
{
	struct istripe_text_pair pair = {
		.value = value,
		.value_bytes = strlen(value),
	};

	strscpy(pair.key, key, sizeof(pair.key));
	return istripe_chap_receive(&b->chap, &pair);
}

static int chap_say_number(struct chap_bench *b, const char *key, u32 number)
{
	snprintf(b->value, sizeof(b->value), "%u", number);
	return chap_say(b, key, b->value);
}

static int chap_say_hex(struct chap_bench *b, const char *key, const u8 *data, u32 bytes)
{
	u32 i;

	strscpy(b->value, "0x", sizeof(b->value));
	for (i = 0; i < bytes; i++)
		snprintf(b->value + 2 + 2 * i, 3, "%02x", data[i]);
	return chap_say(b, key, b->value);
}

/* The initiator's next request. */
static int chap_next(struct chap_bench *b)
{
	memset(b->text, 0xee, sizeof(b->text));
	istripe_text_writer_init(&b->writer, b->text, sizeof(b->text));
	return istripe_chap_reply(&b->chap, &b->writer);
}

/* Finds a key in what the initiator said; -ENOENT when it is not there. */
static int chap_said(struct chap_bench *b, const char *key, struct istripe_text_pair *pair)
{
	struct istripe_text_reader reader;

	istripe_text_reader_init(&reader, b->text, b->writer.used);
	while (istripe_text_next(&reader, pair) == 1) {
		if (istripe_text_pair_is(pair, key))
			return 0;
	}
	return -ENOENT;
}

/* Up to the target's challenge, which is not yet judged. */
static void chap_challenge(struct kunit *test, struct chap_bench *b, u8 algorithm, u32 bytes)
{
	KUNIT_ASSERT_EQ(test, chap_next(b), ISTRIPE_CHAP_CONTINUE);
	test_random_fill(&b->ctx.random, b->challenge, bytes);
	KUNIT_ASSERT_EQ(test, chap_say_number(b, "CHAP_A", algorithm), 0);
	KUNIT_ASSERT_EQ(test, chap_say_number(b, "CHAP_I", 200), 0);
	KUNIT_ASSERT_EQ(test, chap_say_hex(b, "CHAP_C", b->challenge, bytes), 0);
}

static void chap_algorithms(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, istripe_chap_algorithm_name(5), "MD5");
	KUNIT_EXPECT_STREQ(test, istripe_chap_algorithm_name(6), "SHA1");
	KUNIT_EXPECT_STREQ(test, istripe_chap_algorithm_name(7), "SHA256");
	KUNIT_EXPECT_STREQ(test, istripe_chap_algorithm_name(8), "SHA3-256");
	KUNIT_EXPECT_EQ(test, istripe_chap_digest_bytes(5), 16);
	KUNIT_EXPECT_EQ(test, istripe_chap_digest_bytes(6), 20);
	KUNIT_EXPECT_EQ(test, istripe_chap_digest_bytes(7), 32);
	KUNIT_EXPECT_EQ(test, istripe_chap_digest_bytes(8), 32);
	KUNIT_EXPECT_EQ(test, istripe_chap_digest_bytes(4), 0);
	KUNIT_EXPECT_NULL(test, istripe_chap_algorithm_name(9));
}

static void chap_config_good(struct kunit *test)
{
	struct istripe_chap_config config = chap_credentials(true);

	KUNIT_EXPECT_NULL(test, istripe_chap_config_problem(&config));
	config.target_name = "";
	KUNIT_EXPECT_NULL(test, istripe_chap_config_problem(&config));
	config.target_secret_bytes = 0;
	config.target_secret = NULL;
	KUNIT_EXPECT_NULL(test, istripe_chap_config_problem(&config));
	config.secret_bytes = 1;
	config.algorithms = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5);
	KUNIT_EXPECT_NULL(test, istripe_chap_config_problem(&config));
}

static char long_name[ISTRIPE_CHAP_NAME_MAX + 2];

/* Each damages one field of good credentials. */
static void config_no_name(struct istripe_chap_config *c)
{
	c->name = NULL;
}

static void config_empty_name(struct istripe_chap_config *c)
{
	c->name = "";
}

static void config_long_name(struct istripe_chap_config *c)
{
	c->name = long_name;
}

static void config_no_secret(struct istripe_chap_config *c)
{
	c->secret = NULL;
}

static void config_empty_secret(struct istripe_chap_config *c)
{
	c->secret_bytes = 0;
}

static void config_long_secret(struct istripe_chap_config *c)
{
	c->secret_bytes = 256;
}

static void config_no_target_secret(struct istripe_chap_config *c)
{
	c->target_secret = NULL;
}

static void config_long_target(struct istripe_chap_config *c)
{
	c->target_secret_bytes = 256;
}

static void config_long_target_name(struct istripe_chap_config *c)
{
	c->target_name = long_name;
}

static void config_no_algorithm(struct istripe_chap_config *c)
{
	c->algorithms = 0;
}

static void config_unknown_algorithm(struct istripe_chap_config *c)
{
	c->algorithms |= BIT(4);
}

static void config_same_secret(struct istripe_chap_config *c)
{
	c->target_secret = (const u8 *)SECRET;
	c->target_secret_bytes = c->secret_bytes;
}

static void chap_config_bad(struct kunit *test)
{
	static void (* const damages[])(struct istripe_chap_config *) = {
		config_no_name, config_empty_name, config_long_name, config_no_secret,
		config_empty_secret, config_long_secret, config_no_target_secret,
		config_long_target, config_long_target_name, config_no_algorithm,
		config_unknown_algorithm, config_same_secret,
	};
	u32 i;

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (i = 0; i < ARRAY_SIZE(damages); i++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
		damages[i](&bench.config);
		KUNIT_EXPECT_NOT_NULL_MSG(test, istripe_chap_config_problem(&bench.config),
					  "damage %u", i);
		KUNIT_EXPECT_EQ(test, istripe_chap_init(&bench.chap, &bench.config, &test_chap_ops,
							&bench.ctx), -EINVAL);
		KUNIT_EXPECT_NOT_NULL(test, bench.chap.problem);
	}
}

/* All sets of configured against all sets of supported algorithms. */
static void chap_offer(struct kunit *test)
{
	static const char * const lists[16] = {
		NULL, "5", "6", "6,5", "7", "7,5", "7,6", "7,6,5",
		"8", "8,5", "8,6", "8,6,5", "8,7", "8,7,5", "8,7,6", "8,7,6,5",
	};
	struct istripe_text_pair pair;
	u32 configured, supported;

	for (configured = 1; configured < 16; configured++) {
		for (supported = 0; supported < 16; supported++) {
			const char *list = lists[configured & supported];
			int err;

			chap_begin(&bench, false);
			bench.config.algorithms = configured << ISTRIPE_CHAP_MD5;
			bench.ctx.supported = supported << ISTRIPE_CHAP_MD5;
			err = istripe_chap_init(&bench.chap, &bench.config, &test_chap_ops,
						&bench.ctx);
			KUNIT_ASSERT_EQ(test, err, list ? 0 : -EOPNOTSUPP);
			if (!list)
				continue;
			KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_CONTINUE);
			KUNIT_ASSERT_EQ(test, chap_said(&bench, "CHAP_A", &pair), 0);
			KUNIT_EXPECT_STREQ(test, pair.value, list);
		}
	}
}

static void chap_expect_response(struct kunit *test, struct chap_bench *b, u8 algorithm, u32 bytes)
{
	struct istripe_text_pair pair;
	u8 expected[ISTRIPE_CHAP_DIGEST_MAX];
	u32 len = 0;

	KUNIT_ASSERT_EQ(test, chap_said(b, "CHAP_N", &pair), 0);
	KUNIT_EXPECT_STREQ(test, pair.value, b->config.name);
	KUNIT_ASSERT_EQ(test, chap_said(b, "CHAP_R", &pair), 0);
	KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&pair, b->bytes, sizeof(b->bytes), &len),
			0);
	test_chap_digest(algorithm, 200, (const u8 *)SECRET, sizeof(SECRET) - 1, b->challenge,
			 bytes, expected);
	KUNIT_ASSERT_EQ(test, len, istripe_chap_digest_bytes(algorithm));
	KUNIT_EXPECT_MEMEQ(test, b->bytes, expected, len);
}

static void chap_one_way(struct kunit *test)
{
	struct istripe_text_pair pair;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(algorithms); i++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
		chap_challenge(test, &bench, algorithms[i], 16);
		KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_LAST);
		chap_expect_response(test, &bench, algorithms[i], 16);
		KUNIT_EXPECT_EQ(test, chap_said(&bench, "CHAP_C", &pair), -ENOENT);
		KUNIT_EXPECT_EQ(test, chap_said(&bench, "CHAP_I", &pair), -ENOENT);
		KUNIT_EXPECT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_COMPLETE);
		KUNIT_EXPECT_EQ(test, bench.writer.used, 0);
		KUNIT_EXPECT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_COMPLETE);
		KUNIT_EXPECT_EQ(test, bench.chap.state, ISTRIPE_CHAP_DONE);
	}
}

/* The target's keys may come in any order, the challenge in base64. */
static void chap_base64_any_order(struct kunit *test)
{
	static const u8 challenge[] = { 0x00, 0xff, 0x10, 0x80 };

	KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
	KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_CONTINUE);
	KUNIT_EXPECT_EQ(test, chap_say(&bench, "CHAP_C", "0bAP8QgA=="), 0);
	KUNIT_EXPECT_EQ(test, chap_say(&bench, "CHAP_I", "0xC8"), 0);
	KUNIT_EXPECT_EQ(test, chap_say(&bench, "CHAP_A", "7"), 0);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_LAST);
	memcpy(bench.challenge, challenge, sizeof(challenge));
	chap_expect_response(test, &bench, 7, sizeof(challenge));
}

static void chap_challenge_lengths(struct kunit *test)
{
	u32 bytes;

	for (bytes = 1; bytes <= ISTRIPE_CHAP_CHALLENGE_MAX; bytes += bytes < 40 ? 1 : 41) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
		chap_challenge(test, &bench, ISTRIPE_CHAP_SHA1, bytes);
		KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_LAST);
		chap_expect_response(test, &bench, ISTRIPE_CHAP_SHA1, bytes);
	}
	KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
	chap_challenge(test, &bench, ISTRIPE_CHAP_SHA1, ISTRIPE_CHAP_CHALLENGE_MAX);
	KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
	KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_CONTINUE);
	KUNIT_EXPECT_EQ(test, chap_say_hex(&bench, "CHAP_C", bench.challenge,
					   ISTRIPE_CHAP_CHALLENGE_MAX + 1), -EPROTO);
}

/* Up to the point where the target has to prove itself; gives its right answer. */
static void chap_mutual_up_to_proof(struct kunit *test, struct chap_bench *b, u8 algorithm,
				    u8 *proof)
{
	struct istripe_text_pair pair;
	u32 id = 0;
	u32 len = 0;

	KUNIT_ASSERT_EQ(test, chap_begin(b, true), 0);
	chap_challenge(test, b, algorithm, 16);
	KUNIT_ASSERT_EQ(test, chap_next(b), ISTRIPE_CHAP_LAST);
	KUNIT_ASSERT_EQ(test, chap_said(b, "CHAP_I", &pair), 0);
	KUNIT_ASSERT_EQ(test, istripe_text_parse_number(&pair, 0, 255, &id), 0);
	KUNIT_ASSERT_EQ(test, chap_said(b, "CHAP_C", &pair), 0);
	KUNIT_ASSERT_EQ(test, istripe_text_parse_binary(&pair, b->bytes, sizeof(b->bytes), &len),
			0);
	KUNIT_EXPECT_EQ(test, len, istripe_chap_digest_bytes(algorithm));
	test_chap_digest(algorithm, id, (const u8 *)TARGET_SECRET, sizeof(TARGET_SECRET) - 1,
			 b->bytes, len, proof);
}

static int chap_prove(struct chap_bench *b, const u8 *proof, u32 bytes)
{
	int err = chap_say(b, "CHAP_N", "target");

	return err ? err : chap_say_hex(b, "CHAP_R", proof, bytes);
}

static void chap_mutual(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(algorithms); i++) {
		u32 bytes = istripe_chap_digest_bytes(algorithms[i]);

		chap_mutual_up_to_proof(test, &bench, algorithms[i], proof);
		KUNIT_ASSERT_EQ(test, chap_prove(&bench, proof, bytes), 0);
		KUNIT_EXPECT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_COMPLETE);
		KUNIT_EXPECT_EQ(test, bench.chap.state, ISTRIPE_CHAP_DONE);
	}
}

static void chap_mutual_every_wrong_byte(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(algorithms); i++) {
		u32 bytes = istripe_chap_digest_bytes(algorithms[i]);

		for (k = 0; k < bytes * 8; k++) {
			chap_mutual_up_to_proof(test, &bench, algorithms[i], proof);
			proof[k / 8] ^= 1 << k % 8;
			KUNIT_ASSERT_EQ(test, chap_prove(&bench, proof, bytes), 0);
			KUNIT_ASSERT_EQ(test, chap_next(&bench), -EACCES);
			KUNIT_ASSERT_NOT_NULL(test, bench.chap.problem);
		}
	}
}

static void chap_mutual_lengths(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX + 1] = { 0 };

	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_SHA1, proof);
	KUNIT_EXPECT_EQ(test, chap_prove(&bench, proof, 19), -EPROTO);
	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_SHA1, proof);
	KUNIT_EXPECT_EQ(test, chap_prove(&bench, proof, 21), -EPROTO);
	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_SHA256, proof);
	KUNIT_EXPECT_EQ(test, chap_prove(&bench, proof, 33), -EPROTO);
}

/* The target plays the initiator's own response or challenge back. */
static void chap_mutual_reflected(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];
	u8 ours[ISTRIPE_CHAP_DIGEST_MAX];

	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_SHA256, proof);
	test_chap_digest(ISTRIPE_CHAP_SHA256, 200, (const u8 *)SECRET, sizeof(SECRET) - 1,
			 bench.challenge, 16, ours);
	KUNIT_ASSERT_EQ(test, chap_prove(&bench, ours, 32), 0);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -EACCES);

	KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
	chap_challenge(test, &bench, ISTRIPE_CHAP_MD5, 16);
	bench.ctx.fixed = bench.challenge;
	bench.ctx.fixed_bytes = 16;
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -EPROTO);
	KUNIT_EXPECT_NOT_NULL(test, bench.chap.problem);
}

static void chap_mutual_name(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];

	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	bench.config.target_name = "target";
	KUNIT_EXPECT_EQ(test, chap_prove(&bench, proof, 16), 0);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_COMPLETE);
	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	bench.config.target_name = "targe";
	KUNIT_EXPECT_EQ(test, chap_prove(&bench, proof, 16), -EACCES);
}

/* A target that stays silent, or says half of it, has proved nothing. */
static void chap_mutual_missing(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];

	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -EACCES);
	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	KUNIT_EXPECT_EQ(test, chap_say(&bench, "CHAP_N", "target"), 0);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -EACCES);
	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	KUNIT_EXPECT_EQ(test, chap_say_hex(&bench, "CHAP_R", proof, 16), 0);
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -EACCES);
}

static void chap_challenge_missing(struct kunit *test)
{
	static const char * const keys[] = { "CHAP_A", "CHAP_I", "CHAP_C" };
	u32 mask, i;

	for (mask = 0; mask < 7; mask++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
		KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_CONTINUE);
		for (i = 0; i < 3; i++) {
			if (mask & BIT(i))
				KUNIT_ASSERT_EQ(test, chap_say(&bench, keys[i],
							       i == 2 ? "0x0102" : "7"), 0);
		}
		KUNIT_EXPECT_EQ_MSG(test, chap_next(&bench), -EPROTO, "keys %x", mask);
		KUNIT_EXPECT_EQ(test, bench.ctx.digests, 0);
	}
}

static void chap_bad_values(struct kunit *test)
{
	static const struct {
		const char *key, *value;
		int err;
	} rows[] = {
		{ "CHAP_A", "", -EPROTO }, { "CHAP_A", "4", -EPROTO }, { "CHAP_A", "6", -EPROTO },
		{ "CHAP_A", "9", -EPROTO }, { "CHAP_A", "32", -EPROTO },
		{ "CHAP_A", "37", -EPROTO },
		{ "CHAP_A", "69", -EPROTO }, { "CHAP_A", "255", -EPROTO },
		{ "CHAP_A", "256", -EPROTO }, { "CHAP_A", "5,7", -EPROTO },
		{ "CHAP_A", "4294967301", -EPROTO }, { "CHAP_A", "Reject", -EACCES },
		{ "CHAP_I", "256", -EPROTO }, { "CHAP_I", "-1", -EPROTO },
		{ "CHAP_I", "", -EPROTO },
		{ "CHAP_I", "0x100", -EPROTO }, { "CHAP_I", "x", -EPROTO },
		{ "CHAP_C", "", -EPROTO }, { "CHAP_C", "0x", -EPROTO }, { "CHAP_C", "0b", -EPROTO },
		{ "CHAP_C", "1234", -EPROTO }, { "CHAP_C", "0xzz", -EPROTO },
		{ "CHAP_C", "0b*", -EPROTO }, { "CHAP_N", "target", -EPROTO },
		{ "CHAP_R", "0x00", -EPROTO }, { "CHAP_X", "1", -ENOENT },
		{ "chap_a", "5", -ENOENT },
		{ "AuthMethod", "None", -ENOENT },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
		bench.chap.offered &= ~ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA1);
		KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_CONTINUE);
		KUNIT_EXPECT_EQ_MSG(test, chap_say(&bench, rows[i].key, rows[i].value), rows[i].err,
				    "%s=%s", rows[i].key, rows[i].value);
		KUNIT_EXPECT_EQ(test, !bench.chap.problem, rows[i].err == -ENOENT);
	}
}

/* No key is taken before it is due, nor again. */
static void chap_not_due(struct kunit *test)
{
	static const char * const keys[] = { "CHAP_A", "CHAP_I", "CHAP_C", "CHAP_N", "CHAP_R" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
		KUNIT_EXPECT_EQ(test, chap_say(&bench, keys[i], "5"), -EPROTO);

		KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
		chap_challenge(test, &bench, ISTRIPE_CHAP_MD5, 16);
		KUNIT_EXPECT_EQ(test, chap_say(&bench, keys[i], "5"), -EPROTO);

		KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
		chap_challenge(test, &bench, ISTRIPE_CHAP_MD5, 16);
		KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_LAST);
		KUNIT_EXPECT_EQ(test, chap_say(&bench, keys[i], "5"), -EPROTO);
	}
}

static void chap_digest_error(struct kunit *test)
{
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];

	KUNIT_ASSERT_EQ(test, chap_begin(&bench, false), 0);
	chap_challenge(test, &bench, ISTRIPE_CHAP_MD5, 16);
	bench.ctx.digest_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -ENOMEM);
	KUNIT_EXPECT_NOT_NULL(test, bench.chap.problem);

	chap_mutual_up_to_proof(test, &bench, ISTRIPE_CHAP_MD5, proof);
	KUNIT_ASSERT_EQ(test, chap_prove(&bench, proof, 16), 0);
	bench.ctx.digest_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, chap_next(&bench), -ENOMEM);
}

/* Whatever the room, nothing is written beyond it. */
static void chap_no_room(struct kunit *test)
{
	u32 size, whole;

	KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
	chap_challenge(test, &bench, ISTRIPE_CHAP_SHA256, 16);
	KUNIT_ASSERT_EQ(test, chap_next(&bench), ISTRIPE_CHAP_LAST);
	whole = bench.writer.used;
	for (size = 0; size < whole; size++) {
		KUNIT_ASSERT_EQ(test, chap_begin(&bench, true), 0);
		chap_challenge(test, &bench, ISTRIPE_CHAP_SHA256, 16);
		memset(bench.text, 0xee, sizeof(bench.text));
		istripe_text_writer_init(&bench.writer, bench.text, size);
		KUNIT_ASSERT_EQ(test, istripe_chap_reply(&bench.chap, &bench.writer), -EMSGSIZE);
		KUNIT_ASSERT_NOT_NULL(test, bench.chap.problem);
		KUNIT_ASSERT_EQ(test, (u8)bench.text[size], 0xee);
	}
}

static struct kunit_case istripe_chap_cases[] = {
	KUNIT_CASE(chap_algorithms),
	KUNIT_CASE(chap_config_good),
	KUNIT_CASE(chap_config_bad),
	KUNIT_CASE(chap_offer),
	KUNIT_CASE(chap_one_way),
	KUNIT_CASE(chap_base64_any_order),
	KUNIT_CASE(chap_challenge_lengths),
	KUNIT_CASE(chap_mutual),
	KUNIT_CASE(chap_mutual_every_wrong_byte),
	KUNIT_CASE(chap_mutual_lengths),
	KUNIT_CASE(chap_mutual_reflected),
	KUNIT_CASE(chap_mutual_name),
	KUNIT_CASE(chap_mutual_missing),
	KUNIT_CASE(chap_challenge_missing),
	KUNIT_CASE(chap_bad_values),
	KUNIT_CASE(chap_not_due),
	KUNIT_CASE(chap_digest_error),
	KUNIT_CASE(chap_no_room),
	{}
};

static struct kunit_suite istripe_chap_suite = {
	.name = "istripe_chap",
	.test_cases = istripe_chap_cases,
};

kunit_test_suite(istripe_chap_suite);
