// SPDX-License-Identifier: GPL-2.0
/*
 * CHAP with a target that says anything. Input: a byte of flags, then the
 * target's keys as text; the key "Z" ends a message. The value "P" of CHAP_R
 * stands for the right answer, which no fuzzer would guess: only with it may a
 * mutual authentication come to a good end.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "iscsi/chap.h"
#include "iscsi/text.h"
#include "fuzz.h"
#include "test_chap.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

#define FLAG_MUTUAL	1
#define FLAG_NAME	2
#define FLAG_REFLECT	4	/* random numbers are a challenge that the target can know */
#define FLAG_SMALL	8	/* little room for the reply */
#define TARGET_SECRET	"the secret of the target"

struct fuzz_chap {
	struct istripe_chap chap;
	struct istripe_chap_config config;
	struct test_chap ctx;
	u8 flags;
	bool proved;
};

static void fuzz_config(struct fuzz_chap *f, u8 flags)
{
	memset(f, 0, sizeof(*f));
	f->flags = flags;
	f->config.name = "host";
	f->config.secret = (const u8 *)"a secret";
	f->config.secret_bytes = 8;
	f->config.algorithms = ISTRIPE_CHAP_MASK_ALL;
	f->ctx.supported = ISTRIPE_CHAP_MASK_ALL;
	f->ctx.fixed = flags & FLAG_REFLECT ? (const u8 *)"AAAAAAAA" : NULL;
	f->ctx.fixed_bytes = 8;
	if (flags & FLAG_NAME)
		f->config.target_name = "T";
	if (flags & FLAG_MUTUAL) {
		f->config.target_secret = (const u8 *)TARGET_SECRET;
		f->config.target_secret_bytes = sizeof(TARGET_SECRET) - 1;
	}
}

static int fuzz_prove(struct fuzz_chap *f)
{
	u32 bytes = istripe_chap_digest_bytes(f->chap.algorithm);
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];
	char value[2 * ISTRIPE_CHAP_DIGEST_MAX + 3] = "0x";
	struct istripe_text_pair pair = { .key = "CHAP_R", .value = value };
	u32 i;

	test_chap_digest(f->chap.algorithm, f->chap.our_id, (const u8 *)TARGET_SECRET,
			 sizeof(TARGET_SECRET) - 1, f->chap.our_challenge, bytes, proof);
	for (i = 0; i < bytes; i++)
		snprintf(value + 2 + 2 * i, 3, "%02x", proof[i]);
	pair.value_bytes = strlen(value);
	f->proved = f->chap.state == ISTRIPE_CHAP_RESPONDED;
	return istripe_chap_receive(&f->chap, &pair);
}

static int fuzz_receive(struct fuzz_chap *f, const struct istripe_text_pair *pair)
{
	if (istripe_text_pair_is(pair, "CHAP_R") && istripe_text_value_is(pair, "P"))
		return fuzz_prove(f);
	return istripe_chap_receive(&f->chap, pair);
}

static void written_check(const struct istripe_text_writer *w, int verdict)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;
	u32 pairs = 0;

	REQUIRE(w->used <= w->size);
	istripe_text_reader_init(&r, w->buf, w->used);
	while (istripe_text_next(&r, &p) == 1)
		pairs++;
	REQUIRE(r.used == r.bytes);
	REQUIRE(verdict != ISTRIPE_CHAP_CONTINUE || pairs == 1);
	REQUIRE(verdict != ISTRIPE_CHAP_LAST || pairs == 2 || pairs == 4);
	REQUIRE(verdict != ISTRIPE_CHAP_COMPLETE || !pairs);
}

static int fuzz_reply(struct fuzz_chap *f)
{
	u32 room = f->flags & FLAG_SMALL ? 90 : 400;
	struct istripe_text_writer w;
	char *text = malloc(room);
	int verdict;

	istripe_text_writer_init(&w, text, room);
	verdict = istripe_chap_reply(&f->chap, &w);
	REQUIRE(verdict >= 0 || f->chap.problem);
	written_check(&w, verdict);
	REQUIRE(verdict != ISTRIPE_CHAP_COMPLETE || !(f->flags & FLAG_MUTUAL) || f->proved);
	free(text);
	return verdict;
}

static void fuzz_run(struct fuzz_chap *f, const char *text, u32 bytes)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;
	int err = 0;

	istripe_text_reader_init(&r, text, bytes);
	while (err >= 0 && istripe_text_next(&r, &p) == 1) {
		if (istripe_text_pair_is(&p, "Z")) {
			err = fuzz_reply(f);
			continue;
		}
		err = fuzz_receive(f, &p);
		REQUIRE(!err || err == -ENOENT || err == -EPROTO || err == -EACCES);
		REQUIRE(!err || err == -ENOENT || f->chap.problem);
		if (err == -ENOENT)
			err = 0;
	}
	if (err >= 0)
		fuzz_reply(f);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz_chap f;

	if (!size)
		return 0;
	fuzz_config(&f, data[0]);
	REQUIRE(!istripe_chap_init(&f.chap, &f.config, &test_chap_ops, &f.ctx));
	if (fuzz_reply(&f) == ISTRIPE_CHAP_CONTINUE)
		fuzz_run(&f, (const char *)data + 1, size - 1);
	return 0;
}
