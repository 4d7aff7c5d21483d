// SPDX-License-Identifier: GPL-2.0
/*
 * A negotiation with a target that says anything. Input: a byte of flags, a byte
 * for each offer, then the target's text. Whatever it is, a result that is
 * reached lies within what was offered, and what is answered is well formed.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bits.h>
#include <linux/kernel.h>

#include "iscsi/negotiation.h"
#include "fuzz.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)
#define REPLY_BYTES		700

/* A byte reaches both ends of a key's range and what lies between. */
static u32 offer_value(const struct istripe_key_rule *rule, u8 byte)
{
	if (rule->choices)
		return byte % rule->choice_count;
	return rule->min + (u64)(rule->max - rule->min) * byte / 255;
}

static void result_check(const struct istripe_negotiation *n, u32 key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	u32 offer = n->offer.value[key], result = n->result.value[key];
	bool spoken = (n->offered | n->answered) & BIT(key);

	REQUIRE(result >= rule->min && result <= rule->max);
	if (!spoken && rule->type != ISTRIPE_KEY_TYPE_PEER)
		return;
	switch (rule->type) {
	case ISTRIPE_KEY_TYPE_AND:
	case ISTRIPE_KEY_TYPE_MIN:
	case ISTRIPE_KEY_TYPE_PEER:
		REQUIRE(result <= offer || (key == ISTRIPE_KEY_MAX_OUTSTANDING_R2T &&
					    result <= ISTRIPE_KEY_R2T_MAX));
		break;
	case ISTRIPE_KEY_TYPE_OR:
	case ISTRIPE_KEY_TYPE_MAX:
		REQUIRE(result >= offer);
		break;
	case ISTRIPE_KEY_TYPE_LIST:
		REQUIRE(rule->flags & ISTRIPE_KEY_SPARING ||
			rule->choices[offer].accept & BIT(result));
		break;
	case ISTRIPE_KEY_TYPE_DECLARED:
		REQUIRE(result == offer);
		break;
	}
}

static void results_check(const struct istripe_negotiation *n)
{
	const u32 *value = n->result.value;
	u32 key;

	REQUIRE(value[ISTRIPE_KEY_FIRST_BURST_LENGTH] <= value[ISTRIPE_KEY_MAX_BURST_LENGTH]);
	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		if (n->leading || !(istripe_key_rule(key)->flags & ISTRIPE_KEY_LEADING))
			result_check(n, key);
	}
}

static void text_check(const struct istripe_text_writer *w)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;
	int last;

	REQUIRE(w->used <= w->size);
	istripe_text_reader_init(&r, w->buf, w->used);
	while ((last = istripe_text_next(&r, &p)) == 1)
		REQUIRE(p.value_bytes);
	REQUIRE(!last);
}

static void problem_check(const struct istripe_negotiation *n)
{
	const char *c;

	REQUIRE(n->problem[0] && strlen(n->problem) < sizeof(n->problem));
	for (c = n->problem; *c; c++)
		REQUIRE(*c >= ' ' && *c < 0x7f);
}

static int target_speaks(struct istripe_negotiation *n, struct istripe_text_writer *reply,
			 const u8 *text, size_t size)
{
	struct istripe_text_reader r;
	struct istripe_text_pair p;
	int err;

	istripe_text_reader_init(&r, (const char *)text, size);
	while (istripe_text_next(&r, &p) == 1) {
		err = istripe_negotiation_receive(n, &p, reply);
		REQUIRE(!err || err == -ENOENT || err == -EPROTO || err == -EMSGSIZE);
		if (err == -EPROTO)
			problem_check(n);
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

static void negotiation_run(const struct istripe_keys *offer, u8 flags, const u8 *text,
			    size_t size)
{
	struct istripe_negotiation n;
	struct istripe_text_writer sent, reply;
	struct istripe_keys session;
	char *sent_buf = malloc(REPLY_BYTES), *reply_buf = malloc(REPLY_BYTES);
	int err;

	istripe_keys_rfc_default(&session);
	istripe_text_writer_init(&sent, sent_buf, REPLY_BYTES);
	istripe_text_writer_init(&reply, reply_buf, REPLY_BYTES);
	istripe_negotiation_init(&n, offer, flags & 1 ? &session : NULL);
	if (!(flags & 4))
		REQUIRE(!istripe_negotiation_offer(&n, &sent));
	err = target_speaks(&n, &reply, text, size);
	text_check(&reply);
	if (!err && flags & 4)
		REQUIRE(!istripe_negotiation_offer(&n, &sent));
	text_check(&sent);
	if (!err) {
		err = istripe_negotiation_finish(&n);
		REQUIRE(!err || err == -EPROTO);
		if (err)
			problem_check(&n);
		else
			results_check(&n);
	}
	free(sent_buf);
	free(reply_buf);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct istripe_keys offer;
	u32 key;

	if (size < 1 + ISTRIPE_KEY_COUNT)
		return 0;
	for (key = 0; key < ISTRIPE_KEY_COUNT; key++)
		offer.value[key] = offer_value(istripe_key_rule(key), data[1 + key]);
	negotiation_run(&offer, data[0], data + 1 + ISTRIPE_KEY_COUNT,
			size - 1 - ISTRIPE_KEY_COUNT);
	return 0;
}
