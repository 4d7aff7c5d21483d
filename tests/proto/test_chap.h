/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hashes and random numbers for tests of CHAP: not secure, but every input
 * byte and its place matters, and every algorithm gives something else.
 */
#ifndef _ISTRIPE_TEST_CHAP_H
#define _ISTRIPE_TEST_CHAP_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "iscsi/chap.h"
#include "test_random.h"

/**
 * struct test_chap - what the ops below work on
 * @supported: mask of the algorithms that are said to be available
 * @digest_error: what the digest function returns instead of a digest
 * @digests: how often it was called
 * @random: source of challenges, unless @fixed
 * @fixed: random numbers are copied from here, when not NULL
 * @fixed_bytes: that many of them, then zeroes
 */
struct test_chap {
	u32 supported;
	int digest_error;
	u32 digests;
	struct test_random random;
	const u8 *fixed;
	u32 fixed_bytes;
};

static inline u64 test_chap_mix(u64 h, const u8 *bytes, u32 len)
{
	while (len--)
		h = (h ^ *bytes++) * 0x100000001b3ULL;
	return h;
}

/* The answer of a party that knows @secret; the reference of the tests. */
static inline void test_chap_digest(u8 algorithm, u8 id, const u8 *secret, u32 secret_len,
				    const u8 *challenge, u32 challenge_len, u8 *out)
{
	struct test_random r = { .s = 0xcbf29ce484222325ULL + algorithm };

	r.s = test_chap_mix(r.s, &id, 1);
	r.s = test_chap_mix(r.s, secret, secret_len);
	r.s = test_chap_mix(r.s, challenge, challenge_len);
	test_random_fill(&r, out, istripe_chap_digest_bytes(algorithm));
}

static inline bool test_chap_op_supported(void *ctx, u8 algorithm)
{
	struct test_chap *t = ctx;

	return t->supported & ISTRIPE_CHAP_MASK(algorithm);
}

static inline int test_chap_op_digest(void *ctx, u8 algorithm, u8 id, const u8 *secret,
				      u32 secret_len, const u8 *challenge, u32 challenge_len,
				      u8 *out)
{
	struct test_chap *t = ctx;

	t->digests++;
	if (t->digest_error)
		return t->digest_error;
	test_chap_digest(algorithm, id, secret, secret_len, challenge, challenge_len, out);
	return 0;
}

static inline void test_chap_op_random(void *ctx, u8 *buf, u32 len)
{
	struct test_chap *t = ctx;

	if (!t->fixed) {
		test_random_fill(&t->random, buf, len);
		return;
	}
	memset(buf, 0, len);
	memcpy(buf, t->fixed, len < t->fixed_bytes ? len : t->fixed_bytes);
}

static const struct istripe_chap_ops test_chap_ops = {
	.supported = test_chap_op_supported,
	.digest = test_chap_op_digest,
	.random = test_chap_op_random,
};

#endif /* _ISTRIPE_TEST_CHAP_H */
